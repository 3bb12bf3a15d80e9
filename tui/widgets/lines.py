"""The common ground of all that draws: lines from a scene, and repaints of what changed only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import repeat

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
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


def to_strip(line: Line, width: int, base: Style, side: Segment | None = None) -> Strip:
    """A line as a strip of exactly `width` cells, between two sides if there are."""
    return _strip(tuple(line), width, base, side)


@lru_cache(maxsize=1024)  # most lines are what they were a moment ago
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


def changed_spans(old: Strip, new: Strip) -> list[tuple[int, int]]:
    """Cells ``[start, end)`` in which two strips of one width differ."""
    if old is new:
        return []
    before, after = list(old), list(new)
    last = min(len(before), len(after))
    first = 0
    while first < last and before[first] == after[first]:
        first += 1
    if first == last and len(before) == len(after):
        return []
    end = 0
    while end < last - first and before[-1 - end] == after[-1 - end]:
        end += 1
    start = sum(cell_len(text) for text, _, _ in after[:first])
    old_cells = _cells(before[first : len(before) - end])
    new_cells = _cells(after[first : len(after) - end])
    spans: list[tuple[int, int]] = []
    for x, (was, now) in enumerate(zip(old_cells, new_cells, strict=False), start):
        if was == now:
            continue
        if spans and x - spans[-1][1] <= _GAP:
            spans[-1] = (spans[-1][0], x + 1)
        else:
            spans.append((x, x + 1))
    return spans


# One cell and one grapheme each: ASCII, Latin-1, lines and blocks.
_PLAIN = re.compile("[ -~\u00a1-\u00ac\u00ae-\u00ff\u2013\u2016\u2026\u2500-\u259f]*")


def _cells(segments: Iterable[Segment]) -> list[tuple[str, Style | None, int]]:
    """One entry a cell: its grapheme, its style, and which of the grapheme's cells it is."""
    cells: list[tuple[str, Style | None, int]] = []
    for text, style, _ in segments:
        if _PLAIN.fullmatch(text):
            cells += zip(text, repeat(style), repeat(0))
        else:
            for start, end, width in split_graphemes(text)[0]:
                cells.extend((text[start:end], style, part) for part in range(width))
    return cells


class Lines(Widget):
    """A widget that is a list of strips, drawn anew at each change and compared with the last."""

    scene: reactive[Scene | None] = reactive(None, repaint=False)
    palette: reactive[Palette | None] = reactive(None, repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._strips: list[Strip] = []

    def draw(self, palette: Palette, width: int, height: int) -> list[Strip]:
        """Strips for the whole widget; subclasses say what stands in them."""
        return []

    def watch_scene(self) -> None:
        self.redraw()

    def watch_palette(self) -> None:
        self.redraw()

    def on_resize(self, event: events.Resize) -> None:
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
            for start, end in changed_spans(before, after)
        ]
        if regions:
            self.refresh(*regions)

    def render_lines(self, crop: Region) -> list[Strip]:
        width, height = self.size
        if self.palette and not (self._strips and self._strips[0].cell_length == width):
            # The first paint comes before the news of the size: draw now, not a frame later.
            self._strips = self.draw(self.palette, width, height)
        if len(self._strips) < crop.bottom or self.get_line_filters()[1:]:
            return super().render_lines(crop)
        # No border, padding or tint is to be added, and the colours are true ones.
        return [strip.crop(*crop.column_span) for strip in self._strips[crop.y : crop.bottom]]

    def render_line(self, y: int) -> Strip:
        if y < len(self._strips):
            return self._strips[y]
        return Strip.blank(self.size.width, self.rich_style)
