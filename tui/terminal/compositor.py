"""Textual's compositor, which renders and sends the changed spans and nothing around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from rich.cells import cached_cell_len as cell_len  # of lines: short, and many times over
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


class Piece(NamedTuple):
    """Cells ``[left, right)`` of a line of the screen that show a line of a widget."""

    left: int
    right: int
    widget: Widget
    region: Region


def _rendered(text: str, style: Style | None, system: ColorSystem | None) -> str:
    return style.render(text, color_system=system) if style else text


class SpansUpdate(CompositorUpdate):
    """Segments to write, each list at its place ``(y, x)``."""

    def __init__(self, spans: list[tuple[int, int, Iterable[Segment]]]) -> None:
        self.spans = spans

    def render_segments(self, console: Console) -> str:
        out: list[str] = []
        system = console._color_system
        for y, x, segments in self.spans:
            out.append(f"\x1b[{y + 1};{x + 1}H")
            waiting, wanted = "", None  # neighbours of one style go together
            for text, style, _ in segments:
                if style is not wanted:
                    if waiting:
                        out.append(_rendered(waiting, wanted, system))
                    waiting, wanted = "", style
                waiting += text
            out.append(_rendered(waiting, wanted, system))
        return "".join(out)


def cut(strip: Strip, spans: Sequence[tuple[int, int]]) -> list[list[Segment]]:
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

    def render_partial_update(self) -> SpansUpdate | ChopsUpdate | None:  # type: ignore[override]
        regions, screen = self._dirty_regions.copy(), self.size.region
        self._dirty_regions.clear()
        found = [
            (y, piece._replace(left=max(piece.left, start), right=min(piece.right, end)))
            for y, start, end in self._regions_to_spans(regions)
            if 0 <= y < screen.height
            for piece in self._pieces(y)
            if piece.left < end and piece.right > start
        ]
        return SpansUpdate(_drawn(found)) if found else None

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
    spans.sort(key=itemgetter(0, 1))  # the shortest way for the cursor
    return spans


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
