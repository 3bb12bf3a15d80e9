"""Textual's compositor, which renders and sends the changed spans and nothing around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from rich.cells import cached_cell_len as cell_len  # of lines: short, and many times over
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

_PLACE = itemgetter(0, 1)  # line and column
Part: TypeAlias = tuple[str, Style]


class Patch(NamedTuple):
    """What is new in a line of a widget, from a cell on."""

    x: int
    y: int
    cells: int
    parts: list[Part]


class Patched(Widget):
    """A widget that knows what of it has changed since it was sent."""

    def ask_to_send(self) -> None:
        """As `refresh`, but that would wake this widget first, and it wakes the screen."""
        screen = self.screen
        screen._dirty_widgets.add(self)
        screen.check_idle()

    def changes(self) -> list[Patch]:
        """What has changed, from left to right in each line; from now on it counts as sent."""
        raise NotImplementedError

    def mark_sent(self) -> None:
        """All that is to be seen of this widget is being sent."""
        raise NotImplementedError


class Piece(NamedTuple):
    """Cells ``[left, right)`` of a line of the screen that show a line of a widget."""

    left: int
    right: int
    widget: Widget
    region: Region


def _rendered(text: str, style: Style | None, system: ColorSystem | None) -> str:
    return style.render(text, color_system=system) if style else text


class SpansUpdate(CompositorUpdate):
    """Parts to write, each list at its place ``(y, x)``."""

    def __init__(self, spans: list[tuple[int, int, list[Part]]]) -> None:
        self.spans = spans

    def render_segments(self, console: Console) -> str:
        out: list[str] = []
        system = console._color_system
        for y, x, parts in self.spans:
            out.append(f"\x1b[{y + 1};{x + 1}H")
            waiting, wanted = "", None  # neighbours of one style go together
            for text, style in parts:
                if style is not wanted:
                    if waiting:
                        out.append(_rendered(waiting, wanted, system))
                    waiting, wanted = "", style
                waiting += text
            out.append(_rendered(waiting, wanted, system))
        return "".join(out)


def cut(strip: Iterable[Segment], spans: Sequence[tuple[int, int]]) -> list[list[Segment]]:
    """Segments of the cells ``[start, end)`` of each span; the spans come in order."""
    parts: list[list[Segment]] = [[] for _ in spans]
    index, at = 0, 0
    start, end = spans[0]
    for segment in strip:
        after = at + cell_len(segment.text)
        while start < after:
            piece = segment
            if at < start or after > end:
                piece = _between(segment, start - at, end - at)
            parts[index].append(piece)
            if end > after:
                break
            index += 1
            if index == len(spans):
                return parts
            start, end = spans[index]
        at = after
    return parts


def _between(segment: Segment, start: int, end: int) -> Segment:
    """The cells ``[start, end)`` of a segment, as far as it has them."""
    text, style, control = segment
    if text.isascii():
        return Segment(text[max(0, start) : end], style, control)
    if start > 0:
        segment, end = segment.split_cells(start)[1], end - start
    return segment.split_cells(end)[0] if end < segment.cell_length else segment


class SpansCompositor(Compositor):
    """Textual's own partial update renders every widget on the lines that changed, and its full
    one cuts what lies in front where something behind it ends.
    """

    _of: object = None  # the layout that `_lines` belongs to
    _lines: dict[int, list[Piece]]

    def __init__(self) -> None:
        super().__init__()
        self._patched: set[Patched] = set()  # those that ask to send

    def update_widgets(self, widgets: set[Widget]) -> None:
        patched = {widget for widget in widgets if isinstance(widget, Patched)}
        self._patched |= patched
        super().update_widgets(widgets - patched)

    def render_full_update(self, simplify: bool = False) -> LayoutUpdate:
        """All there is, so that of no widget anything is left to send."""
        update = super().render_full_update(simplify)
        seen = {widget for widget in self.visible_widgets if isinstance(widget, Patched)}
        for widget in seen | self._patched:
            widget.mark_sent()
        self._patched.clear()
        return update

    def render_partial_update(self) -> SpansUpdate | ChopsUpdate | None:  # type: ignore[override]
        regions, self._dirty_regions = self._dirty_regions, set()
        patched, self._patched = self._patched, set()
        screen = self.size.region
        found = [
            (y, piece._replace(left=max(piece.left, start), right=min(piece.right, end)))
            for y, start, end in self._regions_to_spans(regions)
            if 0 <= y < screen.height
            for piece in self._pieces(y)
            if piece.left < end and piece.right > start
        ]
        spans = [(y, x, _parts(segments)) for y, x, segments in _drawn(found)]
        for widget in patched:
            spans += self._changes(widget, regions)
        spans.sort(key=_PLACE)  # the shortest way for the cursor
        return SpansUpdate(spans) if spans else None

    def _changes(
        self, widget: Patched, painted: set[Region]
    ) -> Iterator[tuple[int, int, list[Part]]]:
        """What has changed of a widget, where it is to be seen."""
        region, clip = self.visible_widgets.get(widget, (None, None))
        if region is None or region.intersection(clip) in painted:
            widget.mark_sent()  # what comes into sight is painted whole
            return
        filters = widget.get_line_filters()[1:]
        for x, y, cells, parts in widget.changes():
            left, top = region.x + x, region.y + y
            right = left + cells
            for piece in self._pieces(top):
                if piece.widget is not widget or piece.left >= right or piece.right <= left:
                    continue
                if filters or piece.left > left or piece.right < right:
                    segments = Strip([Segment(*part) for part in parts], cells)
                    segments = segments.crop(max(0, piece.left - left), piece.right - left)
                    for each in filters:
                        segments = segments.apply_filter(each, widget.background_colors[1])
                    yield top, max(left, piece.left), _parts(segments)
                else:
                    yield top, left, parts

    def _render_chops(
        self, crop: Region, is_rendered_line: Callable[[int], bool]
    ) -> Sequence[Mapping[int, Strip]]:
        """All lines, for a full update.

        Textual cuts a line wherever a widget begins or ends, also one that is covered: a wide
        character of what lies over it, such as a notice, is lost there.
        """
        lines = range(self.size.height)
        found = [(y, piece) for y in filter(is_rendered_line, lines) for piece in self._pieces(y)]
        places = {(y, piece.left): piece for y, piece in found}
        chops: list[dict[int, Strip]] = [{} for _ in lines]
        for y, left, segments in _drawn(found):
            piece = places[y, left]  # a widget may draw less than its line, as a placeholder does
            strip = Strip(segments)
            chops[y][left] = strip.adjust_cell_length(
                piece.right - left, piece.widget.visual_style.rich_style
            )
        return chops

    def _pieces(self, y: int) -> list[Piece]:
        """What stands on a line of the screen: the widget in front, cell by cell."""
        if self._of is not self.visible_widgets:
            self._of, self._lines = self.visible_widgets, {}
        pieces = self._lines.get(y)
        if pieces is None:
            pieces = self._lines[y] = list(_in_front(self.visible_widgets, y, self.size.width))
        return pieces


def _drawn(found: Iterable[tuple[int, Piece]]) -> list[tuple[int, int, Iterable[Segment]]]:
    """The segments of pieces of lines ``y``, each at its place ``(y, x)``, in order."""
    wanted: dict[Widget, dict[int, list[tuple[int, int]]]] = {}  # spans by widget and line
    places: dict[Widget, Region] = {}
    for y, piece in found:
        places[piece.widget] = piece.region
        span = piece.left - piece.region.x, piece.right - piece.region.x
        wanted.setdefault(piece.widget, {}).setdefault(y, []).append(span)
    spans: list[tuple[int, int, Iterable[Segment]]] = []
    for widget, lines in wanted.items():
        region, first = places[widget], min(lines)
        strips = widget.render_lines(_lines_of(region, first, max(lines)))
        for y, cells in lines.items():
            parts = cut(strips[y - first], cells)
            spans += [
                (y, region.x + left, part) for (left, _), part in zip(cells, parts, strict=True)
            ]
    spans.sort(key=_PLACE)
    return spans


def _parts(segments: Iterable[Segment]) -> list[Part]:
    return [(text, style or Style.null()) for text, style, _ in segments]


def _lines_of(region: Region, first: int, last: int) -> Region:
    """The part of a widget between two lines of the screen."""
    return Region(0, first - region.y, region.width, last - first + 1)


def _in_front(widgets: dict[Widget, tuple[Region, Region]], y: int, width: int) -> Iterable[Piece]:
    """Share a line of the screen out; the widgets come front to back, the first one wins."""
    free = [(0, width)]
    for widget, (region, clip) in widgets.items():
        x, top, columns, rows = region.intersection(clip)
        if not (columns and top <= y < top + rows):
            continue
        left_over = []
        for start, end in free:
            left, right = max(start, x), min(end, x + columns)
            if left >= right:
                left_over.append((start, end))
                continue
            yield Piece(left, right, widget, region)
            left_over += [part for part in ((start, left), (right, end)) if part[0] < part[1]]
        free = left_over
