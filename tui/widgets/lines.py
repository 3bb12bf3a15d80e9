"""The common ground of all that draws: lines from a scene, and repaints of what changed only."""

from __future__ import annotations

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
_GAP = 8


def line_cells(line: Line) -> int:
    """Terminal cells that a line takes."""
    return sum(cell_len(text) for text, _ in line)


def to_strip(line: Line, width: int, base: Style) -> Strip:
    """A line as a strip of exactly `width` cells."""
    used = line_cells(line)
    segments = [Segment(text, style) for text, style in line if text]
    if used < width:
        segments.append(Segment(" " * (width - used), base))
    strip = Strip(segments, max(used, width))
    return strip.crop(0, width) if used > width else strip


def changed_spans(old: Strip, new: Strip) -> list[tuple[int, int]]:
    """Cells ``[start, end)`` in which two strips of one width differ."""
    if old == new:
        return []
    spans: list[tuple[int, int]] = []
    for x, (before, after) in enumerate(zip(_cells(old), _cells(new), strict=False)):
        if before == after:
            continue
        if spans and x - spans[-1][1] <= _GAP:
            spans[-1] = (spans[-1][0], x + 1)
        else:
            spans.append((x, x + 1))
    return spans


def _cells(strip: Strip) -> list[tuple[str, Style | None, int]]:
    """One entry a cell: its grapheme, its style, and which of the grapheme's cells it is."""
    cells: list[tuple[str, Style | None, int]] = []
    for text, style, _ in strip:
        if text.isascii():
            cells.extend((char, style, 0) for char in text)
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
        raise NotImplementedError

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
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        if y < len(self._strips):
            return self._strips[y]
        return Strip.blank(self.size.width, self.rich_style)
