"""The pattern of the selected head: queries down, keys across, one cell a weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.style import Style

from core.explain import BAND, DECADES, largest, nice_ceiling, shades
from core.language import _
from core.names import SCALES
from core.text import label
from tui.choices import ZOOMS
from tui.labels import (
    DROPPED,
    MASKED_CELL,
    capitalized,
    clip,
    pad,
    short_signed,
    short_weight,
    signed,
    weight,
    weight_cells,
)
from tui.scene import Scene
from tui.theme import Palette, column, ramp_step
from tui.widgets.lines import Line, append
from tui.widgets.pane import Pane, cells_of, window
from tui.widgets.weights import label_column

if TYPE_CHECKING:
    from core.pooling import Pooled
    from tui.widgets.pooled import Bins

_MARK = 2
_REMOVED_DIGITS = 3
_LEAST_LABEL = 4  # cells of a label in the foot
_DIGITS_FROM = 5  # the narrowest cell with digits in it


class Grid(NamedTuple):
    """Which cells are shown, and how wide: rows are queries, columns are keys."""

    label: int
    cell: int
    rows: range
    keys: range

    aside: int = 0  # cells at the right for what is removed of each row

    @property
    def left(self) -> int:
        return _MARK + self.label + 1


def grid(scene: Scene, width: int, height: int, top: int, first_key: int) -> Grid:
    """As many whole cells as fit."""
    count, cell = len(scene.keys), scene.view.zoom
    label_cells = label_column(scene.queries, max(4, min(width // 5, 16)))
    room = width - _MARK - label_cells - 1
    aside = aside_cells(scene, room - cell + 1)
    if cell >= _DIGITS_FROM:
        cell = _labelled_cell(scene, room - aside)
    fit = max(1, (room - aside) // cell)
    first = window(count, fit, scene.key, first_key)
    rows = range(top, min(top + height - 1, len(scene.queries)))
    return Grid(label_cells, cell, rows, range(first, min(first + fit, count)), aside)


def _labelled_cell(scene: Scene, room: int) -> int:
    """Cells of the zoom, or as many more as the labels of the keys need, if all keys have them."""
    zoom, most = scene.view.zoom, min(room // len(scene.keys), ZOOMS[-1])
    if most <= zoom:
        return zoom
    return max(zoom, min(most, 1 + max(cell_len(label(token)) for token in scene.keys)))


def aside_cells(scene: Scene, room: int) -> int:
    """Cells at the right for what is removed of each row; none where no cell would be left."""
    wanted = max(cell_len(_("removed")), weight_cells(_REMOVED_DIGITS)) + 1
    return wanted if scene.cuts and wanted < room else 0


def removed_part(share: float, cells: int, palette: Palette) -> tuple[str, Style]:
    """What is removed of a row, at its end."""
    return f"{weight(share, _REMOVED_DIGITS):>{cells}}", palette.dim


def matrix_lines(scene: Scene, palette: Palette, shown: Grid, full: float) -> list[Line]:
    """A header of keys, then a line for each query."""
    view, allowed = scene.view, scene.mask
    # Only these rows: a real model's are made when they are looked at.
    pattern, removed = scene.rows(shown.rows.start, shown.rows.stop)  # [row, key], [row]
    at, keys = (scene.query, scene.key), slice(shown.keys.start, shown.keys.stop)
    steps, cursor = palette.ramp, palette.cursor
    if shown.cell < _DIGITS_FROM:
        steps, cursor = palette.ink, palette.cursor_glyph
    lines = [_header(scene, palette, shown)]
    for query in shown.rows:
        chosen = query == at[0]
        line: Line = [
            ("▶ " if chosen else "  ", palette.selected),
            (
                pad(label(scene.queries[query]), shown.label) + " ",
                palette.selected if chosen else palette.base,
            ),
        ]
        row = pattern[query - shown.rows.start]
        values, kept = row[keys].tolist(), allowed[query, keys].tolist()
        parts = [value / full for value in values]
        if view.colours != SCALES[0]:
            parts = shades(row, full, view.colours)[keys].tolist()
        gone = scene.gone(row)
        for key, value, part, keep in zip(shown.keys, values, parts, kept, strict=True):
            style = steps[ramp_step(part)]
            if not keep:
                text, style = _sign(MASKED_CELL, shown.cell), palette.dim
            elif gone is not None and gone[key]:
                text, style = _sign(DROPPED, shown.cell), palette.dim
            else:
                text = _cell(scene, value, part, shown.cell)
            if value < 0:
                style = palette.negative
            if chosen and key == at[1]:
                style = cursor
            append(line, text, style)
        if removed is not None and shown.aside:
            share = float(removed[query - shown.rows.start])
            line.append(removed_part(share, shown.aside, palette))
        lines.append(line)
    return lines


def _cell(scene: Scene, value: float, part: float, cells: int) -> str:
    if cells < _DIGITS_FROM:
        return column(abs(part)) * cells
    zoom = scene.view.zoom
    digits = min(scene.view.precision, zoom - 3 if zoom == _DIGITS_FROM else zoom - 4)
    if scene.signed:
        text = short_signed(value, digits, zoom - 1)
    else:
        text = short_weight(value, digits) if zoom == _DIGITS_FROM else weight(value, digits)
    return f"{text:>{cells - 1}} "


def _sign(sign: str, cells: int) -> str:
    """A cell without a number."""
    return sign.rjust(cells) if cells < _DIGITS_FROM else f"{sign} ".rjust(cells)


def scale_word(scale: str) -> str:
    """What the colours are by, for a header; nothing where they are by the whole matrix."""
    return {"row": _("by row"), "log": _("log")}.get(scale, "")


def _header(scene: Scene, palette: Palette, shown: Grid) -> Line:
    scale = scale_word(scene.view.colours)
    line: Line = [(pad(f" {scale}", shown.left), palette.dim if scale else palette.base)]
    at = scene.key
    for key in shown.keys:
        style = palette.selected if key == at else palette.dim
        if shown.cell >= _DIGITS_FROM:
            text = pad(label(scene.keys[key]), shown.cell - 1, ">") + " "
            append(line, text, style)
        else:
            mark = "▼" if key == at else "╷" if key % 10 == 0 else " "
            append(line, mark.ljust(shown.cell), style)
    if shown.aside:
        line.append((pad(_("removed"), shown.aside, ">"), palette.dim))
    return line


def pair_in_words(scene: Scene, cells: int) -> str:
    """The selected pair and its weight; labels give way where there are fewer cells."""
    said, number = _("“{query}” → “{key}” {number}"), _number(scene)
    query, key = label(scene.query_token), label(scene.key_token)
    room = max(2 * _LEAST_LABEL, cells - cell_len(said.format(query="", key="", number=number)))
    query = clip(query, max(room // 2, room - cell_len(key)))
    return said.format(query=query, key=clip(key, room - cell_len(query)), number=number)


def _number(scene: Scene) -> str:
    """The weight under the cursor, or why there is none."""
    row = scene.rows(scene.query, scene.query + 1).weights[0]
    if not scene.mask[scene.query, scene.key]:
        return _("masked")
    gone = scene.gone(row)
    if gone is not None and gone[scene.key]:
        return _("dropped") if row.any() else _("all dropped")
    write = signed if scene.signed else weight
    return write(float(row[scene.key]), scene.view.precision)


def scale_in_words(scale: str, full: float) -> list[str]:
    """What the colours stand for; nothing where that is the weights themselves."""
    if scale == "row":
        return [_("full colour: each row's largest")]
    if scale == "log":
        least = full / 10**DECADES
        return [_("colours from {least:g} to {most:g}").format(least=least, most=full)]
    return [] if full == 1 else [_("full colour {value:g}").format(value=full)]


def _largest(scene: Scene) -> float:
    """The largest weight of a head, some rows at a time: more may be more than memory holds."""
    found = 0.0
    for start in range(0, len(scene.queries), BAND):
        found = max(found, largest(scene.rows(start, start + BAND).weights))
        if found >= 1 and not scene.signed:
            break
    return found


class MatrixPane(Pane):
    """The whole pattern of one head, with a cursor."""

    reads = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._grid: Grid | None = None
        self._first_key = 0
        self._scale: tuple[object, int, float] = (None, -1, 1.0)
        self._bins: Bins | None = None  # where the whole pattern is pooled
        self._pooled: tuple[tuple[object, ...], Pooled] | None = None
        self.rank: int | None = None  # of the selected pair, where pairs are ranked

    def title(self, scene: Scene, palette: Palette) -> Line:
        view = scene.view
        name = _("Pattern")
        if scene.trace.decoder is not None:
            name = capitalized(_(view.attention))
        facts = [_("layer {layer} · head {head}").format(layer=view.layer, head=view.head)]
        if self._bins is not None and not self._bins.exact:
            facts.append(_("pooled: {pool}").format(pool=_(view.pool)))
        facts.append(_("target ↓ source →") if scene.crosses else _("query ↓ key →"))
        return [
            (name, palette.strong),
            ("".join(f" · {fact}" for fact in facts), palette.dim),
        ]

    def foot(self, scene: Scene) -> list[str]:
        count = len(scene.keys)
        facts: list[str] = []
        if self.rank is not None:
            facts.append(_("pair {n} by weight").format(n=self.rank + 1))
        if self._bins is not None and self._pooled is not None:
            facts.append(self._bins.facts(scene, self._pooled[1]))
        elif self._grid and len(self._grid.keys) < count:
            keys = self._grid.keys
            some = _("keys {first}–{last} of {n:,}")
            facts.append(some.format(first=keys.start, last=keys.stop - 1, n=count))
        pair = pair_in_words(scene, self.foot_cells - cells_of(["", *facts]))
        # A pooled cell says more than one pair in it, unless that is what was jumped to.
        pooled = self._bins is not None and self._pooled is not None
        at = 1 if pooled and self.rank is None else 0
        facts.insert(at, pair)
        return facts + scale_in_words(scene.view.colours, self._full(scene))

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        if scene.view.zoom == 0:
            return self._whole(scene, palette, width, height)
        self._bins = None
        top = self.follow_cursor(len(scene.queries), height - 1, scene.query)
        self._grid = grid(scene, width, height, top, self._first_key)
        self._first_key = self._grid.keys.start
        return matrix_lines(scene, palette, self._grid, self._full(scene))

    def _whole(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        """The whole pattern, pooled to the pane once."""
        from core.pooling import pooled  # not needed for the first frame
        from tui.widgets.pooled import bins, pooled_lines

        view, shown = scene.view, bins(scene, width, height)
        place = (view.attention, view.layer, view.head)
        # The request stands for its trace, which would be kept alive.
        key = (scene.trace.request, place, shown.shape, view.pool, view.reading)
        if self._pooled is None or self._pooled[0] != key:
            dropped = None if scene.read is None else scene.read.dropped
            found = pooled(scene.rows, scene.mask, *shown.shape, view.pool, dropped)
            self._pooled = (key, found)
        self._bins = shown
        return pooled_lines(scene, palette, shown, self._pooled[1], self._full(scene))

    def _full(self, scene: Scene) -> float:
        """The weight of full colour: one scale for the head, found once a trace and head.

        Means have a scale of their own, since few of them come near to a weight.
        """
        if self._bins is not None and self._pooled is not None and scene.view.pool == "mean":
            return nice_ceiling(largest(self._pooled[1].values))
        of, head = scene.read or scene.layer.pattern, scene.view.head
        if self._scale[0] is not of or self._scale[1] != head:
            full = nice_ceiling(_largest(scene))
            self._scale = (of, head, full if scene.signed else min(1.0, full))
        return self._scale[2]

    def places_at(self, scene: Scene, x: int, y: int) -> dict[str, int | str]:
        if self._bins is not None:
            row, column = y - 1, x - self._bins.left
            rows, columns = self._bins.shape
            inside = 0 <= row < rows and 0 <= column < columns
            return dict(self._bins.strongest(scene, row, column)) if inside else {}
        shown = self._grid
        if shown is None:
            return {}
        places: dict[str, int | str] = {}
        query, key = shown.rows.start + y - 1, shown.keys.start + (x - shown.left) // shown.cell
        if y >= 1 and query in shown.rows:
            places["query"] = scene.query_at(query)
        if x >= shown.left and key in shown.keys:
            places["key"] = scene.key_at(key)
        return places

    def neighbour(self, scene: Scene, down: int, across: int) -> dict[str, int]:
        """Among bins, the strongest pair of the next one."""
        if self._bins is None:
            return {}
        row, column = self._bins.of(scene.query, scene.key)
        return self._bins.strongest(scene, row + down, column + across)

    def page(self, scene: Scene, by: int) -> dict[str, int]:
        return {"query": scene.moved("query", by * (self.size.height - 4))}
