"""The common ground of all that draws: lines from a scene, and repaints of what changed only."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.messages import Update
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


class Cells(NamedTuple):
    """A strip cell by cell: a grapheme or a further part of one, and its style."""

    texts: list[str]
    styles: list[Style | None]


# One cell and one grapheme each: ASCII, Latin-1, lines and blocks.
_PLAIN = re.compile("[ -~\u00a1-\u00ac\u00ae-\u00ff\u2013\u2016\u2026\u2500-\u259f]*")


def cells_of(strip: Strip) -> Cells:
    """What stands in each cell of a strip."""
    texts: list[str] = []
    styles: list[Style | None] = []
    for text, style, _ in strip:
        if _PLAIN.fullmatch(text):
            texts += text
        else:
            for start, end, width in split_graphemes(text)[0]:
                texts += (text[start:end] + "\0" * part for part in range(width))
        styles += repeat(style, len(texts) - len(styles))
    return Cells(texts, styles)


def changed_spans(old: Cells, new: Cells) -> list[tuple[int, int]]:
    """Cells ``[start, end)`` in which two lines of one width differ."""
    # Styles are the palette's own, so the same style is the same object.
    changed = [
        x
        for x, (was, now, style_was, style_now) in enumerate(
            zip(old.texts, new.texts, old.styles, new.styles, strict=True)
        )
        if was != now or style_was is not style_now
    ]
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

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._scene: Scene | None = None
        self._strips: list[Strip] = []
        self._cells: dict[int, tuple[Strip, Cells]] = {}

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
            for start, end in self._changed(y, before, after)
        ]
        if regions:
            # As `refresh` does, but it would wake this widget first, and that wakes the screen.
            self._set_dirty(*regions)
            self.screen.post_message(Update(self))

    def _changed(self, y: int, before: Strip, after: Strip) -> list[tuple[int, int]]:
        """The changed spans of a line, whose cells are kept for its next change."""
        strip, was = self._cells.get(y, (None, None))
        now = cells_of(after)
        self._cells[y] = after, now
        return changed_spans(was if was and strip is before else cells_of(before), now)

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
