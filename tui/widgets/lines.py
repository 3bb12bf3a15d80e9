"""The common ground of all that draws: lines from a scene, and repaints of what changed only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from rich.cells import cached_cell_len as cell_len  # of lines: short, and many times over
from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from tui.scene import Scene
from tui.theme import Palette

Line = list[tuple[str, Style]]
# Two changed spans closer than this are cheaper to send as one than with a cursor move between.
_GAP = 16


def line_cells(line: Line) -> int:
    """Terminal cells that a line takes."""
    return sum(cell_len(text) for text, _ in line)


def append(line: Line, text: str, style: Style) -> None:
    """Add to the line, joined with its last part when that has the same style."""
    if line and line[-1][1] is style:
        line[-1] = (line[-1][0] + text, style)
    else:
        line.append((text, style))


def to_strip(line: Line, width: int, base: Style, side: Segment | None = None) -> Strip:
    """A line as a strip of exactly `width` cells, between two sides if there are."""
    return _strip(tuple(line), width, base, side)


@lru_cache(maxsize=256)  # most lines are what they were a moment ago
def _strip(
    line: tuple[tuple[str, Style], ...], width: int, base: Style, side: Segment | None
) -> Strip:
    used = sum(cell_len(text) for text, _ in line)
    segments = [Segment(text, style) for text, style in line if text]
    if used < width:
        segments.append(Segment(" " * (width - used), base))
    elif used > width:
        segments = list(Strip(segments, used).crop(0, width))
    if side is None:
        return Strip(segments, width)
    return Strip([side, *segments, side], width + 2)


# One cell and one grapheme each: ASCII, Latin-1, lines and blocks.
_PLAIN = re.compile("[ -~\u00a1-\u00ac\u00ae-\u00ff\u2013\u2016\u2026\u2500-\u259f]*")


def changed_spans(old: Strip, new: Strip) -> list[tuple[int, int]]:
    """Cells ``[start, end)`` in which two strips of one width differ.

    Both are walked at once, in pieces that end where a segment of either ends. Styles are the
    palette's own, so the same style is the same object.
    """
    changed: list[int] = []
    olds, news = _segments(old), _segments(new)
    was: Sequence[str] = ""
    now: Sequence[str] = ""
    x, width = 0, new.cell_length
    while x < width:
        if not was:
            was, was_style = next(olds)
        if not now:
            now, now_style = next(news)
        if was_style is now_style and was == now:  # mostly
            x += len(now)
            was = now = ""
            continue
        cells = min(len(was), len(now))
        one, was, other, now = was[:cells], was[cells:], now[:cells], now[cells:]
        if was_style is not now_style:
            changed += range(x, x + cells)
        elif one != other:
            pairs = enumerate(zip(one, other, strict=True), x)
            changed += [at for at, pair in pairs if pair[0] != pair[1]]
        x += cells
    return _joined(changed)


def _segments(strip: Strip) -> Iterator[tuple[Sequence[str], Style | None]]:
    """What stands in the cells of each segment: graphemes, and further parts of wide ones."""
    for text, style, _ in strip:
        if text.isascii() or _PLAIN.fullmatch(text):
            yield text, style
        else:
            graphemes = split_graphemes(text)[0]
            yield (
                [text[start:end] + "\0" * part for start, end, n in graphemes for part in range(n)],
                style,
            )


def _joined(changed: Iterable[int]) -> list[tuple[int, int]]:
    """Spans of cells, in order; what lies close together is one."""
    spans: list[tuple[int, int]] = []
    for x in changed:
        if spans and x - spans[-1][1] <= _GAP:
            spans[-1] = (spans[-1][0], x + 1)
        else:
            spans.append((x, x + 1))
    return spans


class Lines(Widget):
    """A widget that is a list of strips, drawn anew at each change and compared with the last."""

    palette: reactive[Palette | None] = reactive(None, repaint=False)
    draws_scene = True
    reads = False  # shows patterns as they are read, not as they were computed

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._scene: Scene | None = None
        self._strips: list[Strip] = []
        self._painted: Size | None = None  # before the news of this size came

    # A plain property: a reactive costs as much again, and ten widgets get every scene.
    @property
    def scene(self) -> Scene | None:
        return self._scene

    @scene.setter
    def scene(self, scene: Scene | None) -> None:
        self._scene = scene
        self.redraw()

    def draw(self, palette: Palette, width: int, height: int) -> list[Strip]:
        """Strips for the whole widget; subclasses say what stands in them."""
        return []

    def watch_palette(self) -> None:
        self.redraw()

    def on_resize(self, event: events.Resize) -> None:
        painted, self._painted = self._painted, None
        if event.size != painted:
            self.redraw()

    def redraw(self) -> None:
        """Draw all lines and ask for a repaint of the cells that changed."""
        width, height = self.size
        if not width or not height or self.palette is None:
            return
        old, self._strips = self._strips, self.draw(self.palette, width, height)
        if not old or len(old) != len(self._strips) or old[0].cell_length != width:
            self.refresh()
            return
        regions = [
            Region(start, y, end - start, 1)
            for y, (before, after) in enumerate(zip(old, self._strips, strict=True))
            if before is not after
            for start, end in changed_spans(before, after)
        ]
        if regions:
            # As `refresh` does, but it would wake this widget first, and that wakes the screen.
            self._set_dirty(*regions)
            screen = self.screen
            screen._dirty_widgets.add(self)
            screen.check_idle()

    def render_lines(self, crop: Region) -> list[Strip]:
        width, height = self.size
        if self.palette and not (self._strips and self._strips[0].cell_length == width):
            # The first paint comes before the news of the size: draw now, not a frame later.
            self._painted = None if self._strips else self.size
            self._strips = self.draw(self.palette, width, height)
        if len(self._strips) < crop.bottom or self.get_line_filters()[1:]:
            return super().render_lines(crop)
        # No border, padding or tint is to be added, and the colours are true ones.
        strips = self._strips[crop.y : crop.bottom]
        if crop.column_span == (0, width):
            return strips
        return [strip.crop(*crop.column_span) for strip in strips]

    def render_line(self, y: int) -> Strip:
        if y < len(self._strips):
            return self._strips[y]
        return Strip.blank(self.size.width, self.rich_style)
