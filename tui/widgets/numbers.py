"""The numbers of one array, with a cursor: scores, X, W_Q, W_K or W_V."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from rich.style import Style

from core.explain import largest
from core.language import _
from core.names import ATTENTIONS
from core.text import label
from tui.labels import capitalized, clip, pad, signed, wrap
from tui.numbers import (
    ELSEWHERE,
    MOST_CELLS,
    NAMES,
    Sheet,
    before,
    edit_of,
    in_words,
    now,
    sheet,
    unused,
    written,
)
from tui.scene import Scene, cursor_of
from tui.theme import Palette
from tui.widgets.lines import Line
from tui.widgets.pane import Pane, window
from tui.widgets.weights import label_column

TYPED = "*"
_MARK = 2
_AROUND = 6  # lines around the rows: arrays and header above, a gap and three of facts below


@dataclass(frozen=True, slots=True)
class Grid:
    """Which cells are shown, and how wide."""

    label: int
    cell: int
    rows: range
    columns: range

    @property
    def left(self) -> int:
        return _MARK + self.label + 1


def number_cells(largest: float, precision: int) -> int:
    """Cells of the widest number."""
    return min(len(signed(-largest, precision)), MOST_CELLS)


def grid(scene: Scene, found: Sheet, width: int, rows: range, first: int, most: float) -> Grid:
    """As many whole columns as fit, among them the cursor's; `most` is the largest number."""
    count = found.values.shape[1]
    names = len(str(len(found.values) - 1))
    if found.tokens[0]:
        names = label_column(scene.trace.tokens, max(4, width // 5))
    cell = number_cells(most, scene.view.precision) + len(TYPED) + 1
    fit = max(1, (width - _MARK - names - 1) // cell)
    start = window(count, fit, found.column, first)
    return Grid(names, cell, rows, range(start, min(start + fit, count)))


def array_line(array: str, palette: Palette) -> Line:
    """The names of the arrays, the shown one marked."""
    return [
        (text, palette.selected if name == array else palette.dim)
        for name, text in array_texts(array)
    ]


def array_texts(array: str) -> list[tuple[str, str]]:
    """Arrays, and what stands for each in the line of their names."""
    shown = ((name, _(text)) for name, text in NAMES.items())
    return [(name, f"{'▸' if name == array else ' '}{text} ") for name, text in shown]


def number_lines(scene: Scene, palette: Palette, found: Sheet, shown: Grid) -> list[Line]:
    """A header, and a line for each row."""
    columns = slice(shown.columns.start, shown.columns.stop)
    lines = [_header(scene, palette, found, shown)]
    for row in shown.rows:
        at_cursor = row == found.row
        name = label(scene.trace.tokens[row]) if found.tokens[0] else str(row)
        line: Line = [
            ("▶ " if at_cursor else "  ", palette.selected),
            (
                pad(name, shown.label, "<" if found.tokens[0] else ">") + " ",
                palette.selected if at_cursor else palette.base,
            ),
        ]
        values = found.values[row, columns].tolist()
        for column, value in zip(shown.columns, values, strict=True):
            typed = (row, column) in found.typed
            text = written(value, scene.view.precision, shown.cell - 2)
            style = palette.selected if typed else _style(scene, palette, row, column, value)
            if at_cursor and column == found.column:
                style = palette.cursor
            line.append((f"{text:>{shown.cell - 2}}{TYPED if typed else ' '}", style))
            line.append((" ", palette.base))
        lines.append(line)
    return lines


def _style(scene: Scene, palette: Palette, row: int, column: int, value: float) -> Style:
    if scene.view.array == "attn_scores" and not scene.trace.mask[row, column]:
        return palette.dim
    return palette.negative if value < 0 else palette.positive if value > 0 else palette.base


def _header(scene: Scene, palette: Palette, found: Sheet, shown: Grid) -> Line:
    line: Line = [(" " * shown.left, palette.base)]
    for column in shown.columns:
        style = palette.selected if column == found.column else palette.dim
        named = found.tokens[1]
        name = label(scene.trace.tokens[column]) if named else str(found.first_column + column)
        line.append((pad(name, shown.cell - 2, ">") + "  ", style))
    return line


def fact_lines(scene: Scene, palette: Palette, found: Sheet, width: int) -> list[Line]:
    """What the cursor is on, and what stood there before."""
    view, precision = scene.view, scene.view.precision
    value = written(now(scene), precision, MOST_CELLS).strip()
    words = clip(f" {in_words(scene)}", width - len(value) - 2)
    lines: list[Line] = [[(f"{words}  ", palette.dim), (value, palette.strong)]]
    if edit_of(view) is not None:
        old = written(before(scene), precision, MOST_CELLS).strip()
        typed = _("typed over, was {number}").format(number=old)
        lines.append([(clip(f" {TYPED} {typed}", width), palette.selected)])
    elif found.typed:
        typed = _("typed over")
        lines.append([(f" {TYPED} {typed}", palette.dim)])
    note = unused(scene)
    if view.array == "attn_scores" and not scene.trace.mask[view.query, view.key]:
        note = note or _("masked: it takes no part")
    if note:
        lines.append([(clip(f" {note}", width), palette.dim)])
    return lines


def _range(words: str, shown: range, count: int, arrow: str) -> str:
    numbers = words.format(first=shown.start, last=shown.stop - 1, count=f"{count:,}")
    return f"{numbers} {arrow}"


class NumbersPane(Pane):
    """One array at a time; its numbers can be typed over."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._grid: Grid | None = None
        self._first_column = 0
        self._most: tuple[tuple[object, ...], float] = ((), 1.0)

    def title(self, scene: Scene, palette: Palette) -> Line:
        view = scene.view
        if view.attention != ATTENTIONS[0]:
            return [(_("Numbers of the encoder"), palette.strong)]
        where = _("layer {layer} · head {head}").format(layer=view.layer, head=view.head)
        names = {
            "attn_scores": (_("Scores"), _("query ↓ key →"), where),
            "x": ("X", _("token ↓ dim →"), _("what enters layer 0")),
        }
        name, *facts = names.get(view.array, (NAMES[view.array], _("dim ↓ column →"), where))
        return [(name, palette.strong), ("".join(f" · {fact}" for fact in facts), palette.dim)]

    def foot(self, scene: Scene) -> list[str]:
        """Which rows and columns are shown, where that is not all of them."""
        shown = self._grid
        if shown is None or scene.view.attention != ATTENTIONS[0]:
            return []
        counts = sheet(scene).values.shape
        parts = ((shown.rows, counts[0], "↓"), (shown.columns, counts[1], "→"))
        cut = [part for part in parts if len(part[0]) < part[1]]
        if not cut:
            return []
        text = " · ".join(_range(_("{first}–{last} of {count}"), *part) for part in cut)
        if cell_len(text) > self.size.width - 6:
            text = " ".join(_range("{first}–{last}/{count}", *part) for part in cut)
        return [text]

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        if scene.view.attention != ATTENTIONS[0]:
            words = _(ELSEWHERE)
            folded = wrap(capitalized(words), width - 2)
            return [[(f" {line}", palette.dim)] for line in folded]
        found = sheet(scene)
        size = max(1, height - _AROUND)
        top = self.follow_cursor(len(found.values), size, found.row)
        rows = range(top, min(top + size, len(found.values)))
        most = self._largest(scene, found)
        self._grid = grid(scene, found, width, rows, self._first_column, most)
        self._first_column = self._grid.columns.start
        lines = [array_line(scene.view.array, palette)]
        lines += number_lines(scene, palette, found, self._grid)
        return [*lines, [], *fact_lines(scene, palette, found, width)]

    def _largest(self, scene: Scene, found: Sheet) -> float:
        """The largest number of the sheet, found once: there may be millions."""
        view = scene.view
        key = (scene.trace, view.array, view.layer, view.head)
        if self._most[0] != key:
            self._most = (key, largest(found.values))
        return self._most[1]

    def places_at(self, scene: Scene, x: int, y: int) -> dict[str, int | str]:
        shown = self._grid
        if scene.view.attention != ATTENTIONS[0]:
            return {}
        if y == 0:
            for name, text in array_texts(scene.view.array):
                x -= cell_len(text)
                if x < 0:
                    return {"array": name}
            return {}
        if shown is None or y > len(shown.rows) + 1:
            return {}
        down, across = cursor_of(scene.view.array)
        places: dict[str, int | str] = {}
        row, column = shown.rows.start + y - 2, shown.columns.start + (x - shown.left) // shown.cell
        if y >= 2 and row in shown.rows:
            places[down] = row
        if x >= shown.left and column in shown.columns:
            places[across] = column
        return places

    def page(self, scene: Scene, by: int) -> dict[str, int]:
        down, _across = cursor_of(scene.view.array)
        return {down: getattr(scene.view, down) + by * max(1, self.size.height - 2 - _AROUND)}
