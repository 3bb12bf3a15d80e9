"""The pattern of the selected head: queries down, keys across, one cell a weight."""

from __future__ import annotations

from typing import NamedTuple

from rich.style import Style

from core.explain import largest, nice_ceiling
from core.language import _
from core.text import label
from tui.labels import pad, short_signed, short_weight, signed, weight
from tui.scene import Scene
from tui.theme import Palette, column, ramp_step
from tui.widgets.lines import Line
from tui.widgets.pane import Pane, window
from tui.widgets.weights import label_column

_MARK = 2
_ROWS = 256  # of a real model's pattern that are made at a time
_DIGITS_FROM = 5  # the narrowest cell with digits in it


class Grid(NamedTuple):
    """Which cells are shown, and how wide: rows are queries, columns are keys."""

    label: int
    cell: int
    rows: range
    keys: range

    @property
    def left(self) -> int:
        return _MARK + self.label + 1


def grid(scene: Scene, width: int, height: int, top: int, first_key: int) -> Grid:
    """As many whole cells as fit."""
    count, cell = len(scene.keys), scene.view.zoom
    label_cells = label_column(scene.queries, max(4, min(width // 5, 16)))
    fit = max(1, (width - _MARK - label_cells - 1) // cell)
    first = window(count, fit, scene.view.key, first_key)
    rows = range(top, min(top + height - 1, len(scene.queries)))
    return Grid(label_cells, cell, rows, range(first, min(first + fit, count)))


def matrix_lines(scene: Scene, palette: Palette, shown: Grid, full: float) -> list[Line]:
    """A header of keys, then a line for each query."""
    view = scene.view
    # Only these rows: a real model's are made when they are looked at.
    pattern = scene.layer.pattern[view.head, shown.rows.start : shown.rows.stop]  # [row, key]
    allowed = scene.mask
    keys = slice(shown.keys.start, shown.keys.stop)
    steps, cursor = palette.ramp, palette.cursor
    if shown.cell < _DIGITS_FROM:
        steps, cursor = palette.ink, palette.cursor_glyph
    lines = [_header(scene, palette, shown)]
    for query in shown.rows:
        chosen = query == view.query
        line: Line = [
            ("▶ " if chosen else "  ", palette.selected),
            (
                pad(label(scene.queries[query]), shown.label) + " ",
                palette.selected if chosen else palette.base,
            ),
        ]
        values = pattern[query - shown.rows.start, keys].tolist()
        kept = allowed[query, keys].tolist()
        for key, value, keep in zip(shown.keys, values, kept, strict=True):
            style = steps[ramp_step(value / full)] if keep else palette.dim
            if value < 0:
                style = palette.negative
            if chosen and key == view.key:
                style = cursor
            text = _cell(scene, value, full, shown.cell) if keep else _masked(shown.cell)
            _append(line, text, style)
        lines.append(line)
    return lines


def _append(line: Line, text: str, style: Style) -> None:
    """Add to the line, joined with its last part when that has the same style."""
    if line and line[-1][1] is style:
        line[-1] = (line[-1][0] + text, style)
    else:
        line.append((text, style))


def _cell(scene: Scene, value: float, full: float, cells: int) -> str:
    if cells < _DIGITS_FROM:
        return column(abs(value) / full) * cells
    digits = min(scene.view.precision, cells - 3 if cells == _DIGITS_FROM else cells - 4)
    if scene.signed:
        text = short_signed(value, digits, cells - 1)
    else:
        text = short_weight(value, digits) if cells == _DIGITS_FROM else weight(value, digits)
    return f"{text:>{cells - 1}} "


def _masked(cells: int) -> str:
    return "·".rjust(cells) if cells < _DIGITS_FROM else "· ".rjust(cells)


def _header(scene: Scene, palette: Palette, shown: Grid) -> Line:
    line: Line = [(" " * shown.left, palette.base)]
    for key in shown.keys:
        style = palette.selected if key == scene.view.key else palette.dim
        if shown.cell >= _DIGITS_FROM:
            text = pad(label(scene.keys[key]), shown.cell - 1, ">") + " "
            _append(line, text, style)
        else:
            mark = "▼" if key == scene.view.key else "╷" if key % 10 == 0 else " "
            _append(line, mark.ljust(shown.cell), style)
    return line


def _matrix_place(layer: int, head: int, crosses: bool) -> str:
    words = _("layer {layer} · head {head} · query ↓ key →")
    if crosses:
        words = _("layer {layer} · head {head} · target ↓ source →")
    return words.format(layer=layer, head=head)


def _largest(scene: Scene, head: int) -> float:
    """The largest weight of a head, some rows at a time: more may be more than memory holds."""
    found, pattern = 0.0, scene.layer.pattern
    for start in range(0, len(scene.queries), _ROWS):
        found = max(found, largest(pattern[head, start : start + _ROWS]))
        if found >= 1 and not scene.signed:
            break
    return found


class MatrixPane(Pane):
    """The whole pattern of one head, with a cursor."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._grid: Grid | None = None
        self._first_key = 0
        self._scale: tuple[object, int, float] = (None, -1, 1.0)

    def title(self, scene: Scene, palette: Palette) -> Line:
        view = scene.view
        name = _("Pattern")
        if scene.trace.decoder is not None:
            name = _(view.attention)
            name = name[:1].upper() + name[1:]
        place = _matrix_place(view.layer, view.head, scene.crosses)
        return [
            (name, palette.strong),
            (" · " + place, palette.dim),
        ]

    def foot(self, scene: Scene) -> list[str]:
        view, count = scene.view, len(scene.keys)
        value = float(scene.layer.pattern[view.head, view.query, view.key])
        kept = scene.mask[view.query, view.key]
        write = signed if scene.signed else weight
        number = write(value, view.precision) if kept else _("masked")
        facts = [
            _("“{query}” → “{key}” {number}").format(
                query=label(scene.query_token), key=label(scene.key_token), number=number
            )
        ]
        if self._grid and len(self._grid.keys) < count:
            keys = self._grid.keys
            some = _("keys {first}–{last} of {n:,}")
            facts.append(some.format(first=keys.start, last=keys.stop - 1, n=count))
        if self._full(scene) != 1:
            facts.append(_("full colour {value:g}").format(value=self._full(scene)))
        return facts

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        top = self.follow_cursor(len(scene.queries), height - 1, scene.view.query)
        self._grid = grid(scene, width, height, top, self._first_key)
        self._first_key = self._grid.keys.start
        return matrix_lines(scene, palette, self._grid, self._full(scene))

    def _full(self, scene: Scene) -> float:
        """The weight of full colour: one scale for the head, found once a trace and head."""
        pattern, head = scene.layer.pattern, scene.view.head
        if self._scale[0] is not pattern or self._scale[1] != head:
            full = nice_ceiling(_largest(scene, head))
            self._scale = (pattern, head, full if scene.signed else min(1.0, full))
        return self._scale[2]

    def places_at(self, scene: Scene, x: int, y: int) -> dict[str, int | str]:
        shown = self._grid
        if shown is None:
            return {}
        places: dict[str, int | str] = {}
        query, key = shown.rows.start + y - 1, shown.keys.start + (x - shown.left) // shown.cell
        if y >= 1 and query in shown.rows:
            places["query"] = query
        if x >= shown.left and key in shown.keys:
            places["key"] = key
        return places

    def page(self, scene: Scene, by: int) -> dict[str, int]:
        return {"query": scene.view.query + by * (self.size.height - 4)}
