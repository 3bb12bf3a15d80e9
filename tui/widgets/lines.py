"""The common ground of all that draws: lines from a scene, and repaints of what changed only."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cached_cell_len as cell_len  # of lines: short, and many times over
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.strip import Strip

from tui.labels import graphemes
from tui.scene import Scene
from tui.terminal.compositor import Part, Patch, Patched
from tui.theme import Palette

Line = list[Part]
# Two changed spans closer than this are cheaper to send as one than with a cursor move between.
_GAP = 16


def line_cells(line: Line) -> int:
    """Terminal cells that a line takes."""
    return sum([cell_len(text) for text, _ in line])


def append(line: Line, text: str, style: Style) -> None:
    """Add to the line, joined with its last part when that has the same style."""
    if line and line[-1][1] is style:
        line[-1] = (line[-1][0] + text, style)
    else:
        line.append((text, style))


def fit(line: Line, width: int, base: Style, side: Part | None = None) -> Line:
    """A line of exactly `width` cells, between two sides if there are."""
    used = line_cells(line)
    if used < width:
        line = [*line, (" " * (width - used), base)]
    elif used > width:
        line = [(text, style or base) for text, style, _ in to_strip(line, used).crop(0, width)]
    return line if side is None else [side, *line, side]


def to_strip(line: Line, width: int) -> Strip:
    """A line of `width` cells as Textual draws it."""
    return Strip([Segment(text, style) for text, style in line if text], width)


class _Changes:
    """Gathers, cell by cell, what differs; what lies close together becomes one."""

    def __init__(self) -> None:
        self.found: list[tuple[int, int, list[Part]]] = []  # start, end and what is new there
        self._kept: list[Part] = []  # behind the last of these, and the same in both lines
        self._x = 0

    def keep(self, shown: Sequence[str], style: Style, cells: int) -> None:
        if cells:
            self._kept.append((_text(shown), style))
            self._x += cells

    def change(self, shown: Sequence[str], style: Style, cells: int) -> None:
        x, self._x = self._x, self._x + cells
        if self.found:
            start, end, parts = self.found[-1]
            if x - end <= _GAP:
                parts += self._kept
                parts.append((_text(shown), style))
                self.found[-1] = start, self._x, parts
                self._kept = []
                return
        self.found.append((x, self._x, [(_text(shown), style)]))
        self._kept = []


def changes(old: Line, new: Line) -> list[tuple[int, int, list[Part]]]:
    """Where two lines of one width differ: cells ``[start, end)`` and what is new there.

    Both are walked at once, in pieces that end where a part of either ends. Styles are the
    palette's own, so the same style is the same object.
    """
    gathered, olds = _Changes(), iter(old)
    was: Sequence[str] = ""
    for text, style in new:
        now: Sequence[str] = text
        while now:
            while not was:
                was, was_style = next(olds)
            same = was_style is style
            if same and was == now:  # mostly
                gathered.keep(now, style, cell_len(text) if now is text else len(now))
                was = now = ""
                continue
            was, now = _cells(was), _cells(now)
            cells = len(now)
            if len(was) == cells:
                one, was, other, now = was, "", now, ""
            else:
                cells = min(len(was), cells)
                one, was, other, now = was[:cells], was[cells:], now[:cells], now[cells:]
            at = 0
            for start, end in _differing(one, other) if same else ((0, cells),):
                gathered.keep(other[at:start], style, start - at)
                gathered.change(other[start:end], style, end - start)
                at = end
            gathered.keep(other[at:], style, cells - at)
    return gathered.found


def _cells(text: Sequence[str]) -> Sequence[str]:
    """What stands in each cell: graphemes, and further parts of wide ones."""
    if not isinstance(text, str) or text.isascii() or _PLAIN.fullmatch(text):
        return text
    drawn = [text[start:end] for start, end in graphemes(text)]
    return [each + _MORE * part for each in drawn for part in range(cell_len(each))]


# One cell and one grapheme each: ASCII, Latin-1, lines and blocks.
_PLAIN = re.compile("[ -~\u00a1-\u00ac\u00ae-\u00ff\u2013\u2016\u2026\u2500-\u259f]*")
_MORE = "\0"  # ends a further part of a wide grapheme


def _text(cells: Sequence[str]) -> str:
    if isinstance(cells, str):
        return cells
    return "".join([cell for cell in cells if cell[-1] != _MORE])


def _differing(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Spans of cells, in order; what lies close together is one."""
    cells = len(one)
    if cells > _GAP:
        spans: list[tuple[int, int]] = []
        for x in (x for x in range(cells) if one[x] != other[x]):
            if spans and x - spans[-1][1] <= _GAP:
                spans[-1] = (spans[-1][0], x + 1)
            else:
                spans.append((x, x + 1))
        return spans
    start = 0
    while start < cells and one[start] == other[start]:
        start += 1
    if start == cells:
        return []
    while one[cells - 1] == other[cells - 1]:
        cells -= 1
    return [(start, cells)]


class Lines(Patched):
    """A widget that is a list of lines, drawn anew at each change and compared with the last."""

    palette: reactive[Palette | None] = reactive(None, repaint=False)
    draws_scene = True
    reads = False  # shows patterns as they are read, not as they were computed

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._scene: Scene | None = None
        self.lines: list[Line] = []  # each as wide as the widget was
        self._width = 0
        self._sent: tuple[list[Line], int] = [], 0  # lines and width that the terminal shows
        self._painted: Size | None = None  # before the news of this size came

    # A plain property: a reactive costs as much again, and ten widgets get every scene.
    @property
    def scene(self) -> Scene | None:
        return self._scene

    @scene.setter
    def scene(self, scene: Scene | None) -> None:
        self._scene = scene
        self.redraw()

    def draw(self, palette: Palette, width: int, height: int) -> list[Line]:
        """Lines for the whole widget, `width` cells each; subclasses say what stands in them."""
        return []

    def watch_palette(self) -> None:
        self.redraw()

    def on_resize(self, event: events.Resize) -> None:
        painted, self._painted = self._painted, None
        if event.size != painted:
            self.redraw()

    def redraw(self) -> None:
        """Draw all lines and ask that what changed be sent."""
        if self.size and self.palette is not None:
            self._draw(self.palette)
            self.ask_to_send()

    def _draw(self, palette: Palette) -> None:
        width, height = self.size
        self.lines, self._width = self.draw(palette, width, height), width

    def changes(self) -> list[Patch]:
        old, width = self._sent
        self.mark_sent()
        if len(old) == len(self.lines) and width == self._width:
            return [
                Patch(x, y, end - x, parts)
                for y, (was, now) in enumerate(zip(old, self.lines, strict=True))
                if was != now
                for x, end, parts in changes(was, now)
            ]
        width, height = self.size
        blank: Line = [(" " * width, self.rich_style)]
        lines = self.lines + [blank] * (height - len(self.lines))
        return [Patch(0, y, width, line) for y, line in enumerate(lines)]

    def mark_sent(self) -> None:
        self._sent = self.lines, self._width

    def render_lines(self, crop: Region) -> list[Strip]:
        width = self.size.width
        if self.palette and not (self.lines and self._width == width):
            # The first paint comes before the news of the size: draw now, not a frame later.
            self._painted = None if self.lines else self.size
            self._draw(self.palette)
            self.mark_sent()
        # No border, padding or tint is to be added, and the colours are true ones.
        strips = [self.render_line(y) for y in crop.line_range]
        for each in self.get_line_filters()[1:]:
            strips = [strip.apply_filter(each, self.background_colors[1]) for strip in strips]
        if crop.column_span == (0, width):
            return strips
        return [strip.crop(*crop.column_span) for strip in strips]

    def render_line(self, y: int) -> Strip:
        if y < len(self.lines):
            return to_strip(self.lines[y], self._width)
        return Strip.blank(self.size.width, self.rich_style)
