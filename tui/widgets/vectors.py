"""The vectors of the selected token, from what enters the layer to attn_out."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len
from rich.style import Style

from core.explain import largest, nice_ceiling, norm
from core.language import _
from core.text import label
from core.types import Array
from tui.choices import VECTORS
from tui.labels import pad, signed
from tui.scene import Scene
from tui.theme import Palette, signed_bar
from tui.widgets.lines import Line
from tui.widgets.pane import Pane, around, window

_HALF_BAR = range(2, 9)
_GAPS = (2, 1)  # the closer one where more vectors are seen for it
_NORM = "‖x‖"


class Table(NamedTuple):
    """Which vectors are shown, and how wide their columns are."""

    names: tuple[str, ...]
    dim: int
    gap: int
    digits: int
    half: int
    full: float

    @property
    def column(self) -> int:
        return self.gap + self.digits + 1 + 2 * self.half


def table(scene: Scene, width: int) -> Table:
    """As many columns as fit: input first, the others around the selected one."""
    precision = scene.view.precision
    most = max(largest(scene.vector(name)) for name in VECTORS)
    digits = len(signed(-most, precision))
    dim = max(len(_NORM), len(str(scene.view.request.model.d_model - 1)))
    rest = digits + 1 + 2 * _HALF_BAR.start
    fits = {gap: max(1, min(len(VECTORS), (width - dim) // (gap + rest))) for gap in _GAPS}
    gap = max(fits, key=lambda gap: fits[gap])
    half = ((width - dim) // fits[gap] - gap - digits - 1) // 2
    half = max(0, min(half, _HALF_BAR.stop - 1))
    return Table(_chosen(scene.view.vector, fits[gap]), dim, gap, digits, half, nice_ceiling(most))


def _chosen(selected: str, fit: int) -> tuple[str, ...]:
    if fit == 1:
        return (selected,)
    others = VECTORS[1:]
    place = max(0, VECTORS.index(selected) - 1)
    first = window(len(others), fit - 1, place, place - (fit - 1) // 2)
    return (VECTORS[0], *others[first : first + fit - 1])


def vector_lines(scene: Scene, palette: Palette, shown: Table, height: int, top: int) -> list[Line]:
    """A header of names, a row for each dimension from `top`, the norms at the end."""
    vectors = [scene.vector(name) for name in shown.names]
    lines = [_header(scene, palette, shown)]
    rows = max(len(values) for values in vectors)
    for i in range(top, min(top + height - 2, rows)):
        line: Line = [(f"{i:>{shown.dim}}", palette.dim)]
        for values in vectors:
            line.append(_cell(values, i, shown, palette, scene.view.precision))
        lines.append(line)
    norms: Line = [(_NORM.rjust(shown.dim), palette.dim)]
    for values in vectors:
        length = f"{norm(values):.{scene.view.precision}f}"
        norms.append((f"{'':{shown.gap}}{length:>{shown.digits}}".ljust(shown.column), palette.dim))
    lines.append(norms)
    return lines


def _cell(
    values: Array, i: int, shown: Table, palette: Palette, precision: int
) -> tuple[str, Style]:
    if i >= len(values):
        return " " * shown.column, palette.base
    value = float(values[i])
    style = palette.negative if value < 0 else palette.positive if value > 0 else palette.base
    bar = signed_bar(value / shown.full, shown.half)
    return f"{'':{shown.gap}}{signed(value, precision):>{shown.digits}} {bar}", style


def _header(scene: Scene, palette: Palette, shown: Table) -> Line:
    line: Line = [(" " * shown.dim, palette.base)]
    for name in shown.names:
        chosen = name == scene.view.vector
        space = " " * (shown.gap + max(0, shown.digits - cell_len(_(name))))
        text = pad(space + _(name), shown.column)
        line.append((text, palette.selected if chosen else palette.dim))
    return line


class VectorsPane(Pane):
    """The numbers that go in, and those that come out."""

    reads = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._table: Table | None = None

    def title(self, scene: Scene, palette: Palette) -> Line:
        words = scene.query_words
        several = words is not None and len(words[scene.query]) > 1
        name = _("Average of {token}") if several else _("Vectors of {token}")
        place = " · " + _("head {n}").format(n=scene.view.head)
        cells = self.title_cells - cell_len(place)
        return [*around(name, label(scene.query_token), palette, cells), (place, palette.dim)]

    def foot(self, scene: Scene) -> list[str]:
        facts = [_("full bar {value:g}").format(value=self._table.full)] if self._table else []
        if scene.cuts:
            facts.insert(0, _("as computed: nothing dropped"))
        if scene.crosses:
            facts.insert(0, _("k and v of “{key}”").format(key=label(scene.key_token)))
        if self._table and len(self._table.names) < len(VECTORS):
            facts.append(_("v next vector"))
        dims, shown = scene.view.request.model.d_model, self.size.height - 4
        if shown < dims:
            last = min(self.top + shown, dims) - 1
            some = _("dims {first}–{last} of {n}")
            facts.append(some.format(first=self.top, last=last, n=dims))
        return facts

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        self._table = table(scene, width)
        dims = scene.view.request.model.d_model
        self.top = max(0, min(self.top, dims - (height - 2)))
        return vector_lines(scene, palette, self._table, height, self.top)

    def places_at(self, scene: Scene, x: int, y: int) -> dict[str, int | str]:
        shown = self._table
        if shown is None or x < shown.dim:
            return {}
        index = (x - shown.dim) // shown.column
        return {"vector": shown.names[index]} if index < len(shown.names) else {}
