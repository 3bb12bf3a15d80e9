"""One query in two texts: both rows of weights, and which heads the other text changes most."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len

from core.comparison import Comparison, HeadChange
from core.errors import AttnError
from core.explain import largest, nice_ceiling
from core.language import _, counted
from core.text import label, visible
from core.types import Array
from tui.labels import (
    ONLY_OTHER,
    ONLY_THIS,
    capitalized,
    clip,
    pad,
    signed,
    weight,
    weight_cells,
    wrap,
)
from tui.pairs import pair_label, pair_sign, written
from tui.scene import Scene
from tui.theme import Palette, bar, signed_bar
from tui.widgets.lines import Line, line_cells
from tui.widgets.pane import Pane, around, window
from tui.widgets.weights import label_column

_MARK = 4  # the selected key, the sign of a token that one text has alone
_HALF_BAR = range(2, 9)
_HEADS = 28  # cells of the heads where they stand beside the keys
_GAP = 3
_BESIDE = 66  # cells from which they do
_WIDEST_BAR = 24


@dataclass(frozen=True, slots=True)
class Parts:
    """Where keys and heads stand: their columns and lines, and the first of each that is shown."""

    keys_width: int
    keys_height: int
    heads_x: int
    heads_y: int
    heads_width: int
    heads_height: int


def parts(width: int, height: int, keys: int, heads: int) -> Parts:
    """Heads beside the keys, or below them where the pane is narrow."""
    if width >= _BESIDE:
        left = width - _HEADS - _GAP
        return Parts(left, height, left + _GAP, 0, _HEADS, height)
    below = min(heads + 1, max(3, height // 3))
    above = min(keys + 2, height - below - 1)
    return Parts(width, above, 0, above + 1, width, height - above - 1)


@dataclass(frozen=True, eq=False, slots=True)
class Row:
    """One query in both texts: its two rows of weights by the alignment, and their scale."""

    compared: Comparison
    queries: tuple[int, int]
    mine: Array
    theirs: Array
    full: float


def row_of(scene: Scene, compared: Comparison) -> Row | None:
    """The selected query in both texts; None where the other has no such token."""
    view = scene.view
    partner = compared.partner(view.query)
    if partner is None:
        return None
    mine, theirs = compared.weights(view.layer, view.head, view.query, partner)
    full = nice_ceiling(largest(theirs - mine))
    return Row(compared, (view.query, partner), mine, theirs, full)


def key_lines(
    scene: Scene, row: Row, palette: Palette, width: int, height: int, top: int
) -> list[Line]:
    """A header, a row for each token of both texts from `top`, and the change of the whole row."""
    view, compared, precision = scene.view, row.compared, scene.view.precision
    most = max(largest(row.mine), largest(row.theirs))
    digits = max(weight_cells(precision), len(signed(-most, precision)) if scene.signed else 0)
    name = max(label_column(each.tokens, width // 3) for each in (compared.one, compared.other))
    name = min(name, width - _MARK - 3 * (digits + 1))
    half = (width - _MARK - name - 3 * (digits + 1) - 1) // 2
    half = min(half, _HALF_BAR.stop - 1) if half >= _HALF_BAR.start else 0
    header = "".join(f" {pad(text, digits, '>')}" for text in (_("this"), _("other"), _("change")))
    lines: list[Line] = [[(" " * (_MARK + name) + header, palette.dim)]]
    for place in range(top, min(top + height - 2, len(compared.alignment))):
        pair = compared.alignment[place]
        mine, theirs = float(row.mine[place]), float(row.theirs[place])
        left, right = written(compared, view.layer, row.queries, place, mine, theirs, precision)
        change = theirs - mine
        style = palette.negative if change < 0 else palette.positive if change else palette.base
        chosen = pair[0] == view.key
        lines.append(
            [
                ("› " if chosen else "  ", palette.selected),
                (f"{pair_sign(pair)} ", palette.negative if pair[1] is None else palette.positive),
                (
                    pad(pair_label(compared, pair), name),
                    palette.strong if chosen else palette.base,
                ),
                (f" {left:>{digits}}", palette.head),
                (f" {right:>{digits}}", palette.other),
                (f" {signed(change, precision):>{digits}}", style),
                (f" {signed_bar(change / row.full, half)}" if half else "", style),
            ]
        )
    total = weight(compared.change(view.layer, view.head, view.query), precision)
    words = pad(" " * _MARK + _("½ Σ |change|"), _MARK + name + 2 * (digits + 1))
    lines.append([(words, palette.dim), (f" {total:>{digits}}", palette.strong)])
    return lines


def head_lines(
    scene: Scene, compared: Comparison, palette: Palette, width: int, height: int, first: int
) -> list[Line]:
    """A header and the heads from `first`, the most changed first; one scale for all."""
    view, precision = scene.view, scene.view.precision
    count = len(compared.shared)
    title = counted("heads by change, {n} row", "heads by change, {n} rows", count)
    lines: list[Line] = [[("  " + clip(title.format(n=f"{count:,}"), width - 2), palette.dim)]]
    names = [head_name(each, len(compared.one.layers)) for each in compared.ranking]
    name = max(map(cell_len, names), default=0)
    digits = weight_cells(precision)
    full = head_scale(compared)
    for place in range(first, min(first + height - 1, len(names))):
        each = compared.ranking[place]
        chosen = (each.layer, each.head) == (view.layer, view.head)
        room = max(0, min(width - 2 - name - digits - 2, _WIDEST_BAR))
        lines.append(
            [
                ("▶ " if chosen else "  ", palette.selected),
                (pad(names[place], name), palette.selected if chosen else palette.base),
                (f" {weight(each.change, precision):>{digits}}", palette.base),
                (f" {bar(each.change / full, room)}", palette.head if chosen else palette.other),
            ]
        )
    return lines


def head_name(each: HeadChange, layers: int) -> str:
    """The head, with its layer where there are several."""
    if layers == 1:
        return _("head {n}").format(n=each.head)
    return _("layer {layer} · head {head}").format(layer=each.layer, head=each.head)


def head_scale(compared: Comparison) -> float:
    """The change that a full bar of a head stands for."""
    return nice_ceiling(compared.ranking[0].change) if compared.ranking else 1.0


def _say(text: str, palette: Palette, width: int) -> list[Line]:
    """A sentence, with a blank line and a margin around it."""
    return [[], *([(f" {line}", palette.base)] for line in wrap(text, width - 2))]


class ComparePane(Pane):
    """See what another text changes."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._parts: Parts | None = None
        self._row: Row | None = None
        self._first_head = 0

    def title(self, scene: Scene, palette: Palette) -> Line:
        place = " · " + _("layer {layer} · head {head}").format(
            layer=scene.view.layer, head=scene.view.head
        )
        compared, query = scene.compared, scene.view.query
        both = isinstance(compared, Comparison) and compared.partner(query) is not None
        message = "{token}" + (_(" in both texts") if both else _(" in this text"))
        cells = self.title_cells - cell_len(place)
        return [*around(message, label(scene.query_token), palette, cells), (place, palette.dim)]

    def foot(self, scene: Scene) -> list[str]:
        row, shown = self._row, self._parts
        if row is None or shown is None:
            return []
        facts = [_("{this} only here  {other} only there").format(this=ONLY_THIS, other=ONLY_OTHER)]
        total, rows = len(row.compared.alignment), shown.keys_height - 2
        if rows < total:
            last = min(self.top + rows, total) - 1
            facts.append(_("rows {first}–{last} of {n}").format(first=self.top, last=last, n=total))
        full = f"{row.full:g}", f"{head_scale(row.compared):g}"
        facts.append(_("full bars {keys}, {heads}").format(keys=full[0], heads=full[1]))
        return facts

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        compared, self._parts, self._row = scene.compared, None, None
        if isinstance(compared, AttnError):
            return _say(capitalized(visible(str(compared))), palette, width)
        if compared is None:
            return []
        if not compared.shared:
            return _say(_("The two texts have no token in common."), palette, width)
        shown = self._parts = parts(width, height, len(compared.alignment), len(compared.ranking))
        keys = self._keys(scene, compared, palette, shown)
        heads = self._heads(scene, compared, palette, shown)
        if not shown.heads_x:
            return [*keys, *([[]] * (shown.heads_y - len(keys))), *heads]
        lines: list[Line] = []
        left: Line
        right: Line
        for left, right in zip_longest(keys, heads, fillvalue=[]):
            gap = shown.heads_x - line_cells(left)
            lines.append([*left, (" " * gap, palette.base), *right])
        return lines

    def _keys(
        self, scene: Scene, compared: Comparison, palette: Palette, shown: Parts
    ) -> list[Line]:
        row = self._row = row_of(scene, compared)
        if row is None:
            text = _(
                "“{token}” is in this text only, so the other has no row for it."
                " Choose a token of both."
            )
            return _say(text.format(token=label(scene.query_token)), palette, shown.keys_width)
        cursor = [i for i, _j in compared.alignment].index(scene.view.key)
        count, rows = len(compared.alignment), shown.keys_height - 2
        top = self.follow_cursor(count, rows, cursor)
        return key_lines(scene, row, palette, shown.keys_width, shown.keys_height, top)

    def _heads(
        self, scene: Scene, compared: Comparison, palette: Palette, shown: Parts
    ) -> list[Line]:
        places = [(each.layer, each.head) for each in compared.ranking]
        chosen, rows = places.index((scene.view.layer, scene.view.head)), shown.heads_height - 1
        self._first_head = window(len(places), rows, chosen, self._first_head)
        return head_lines(
            scene, compared, palette, shown.heads_width, shown.heads_height, self._first_head
        )

    def places_at(self, scene: Scene, x: int, y: int) -> dict[str, int | str]:
        compared, shown = scene.compared, self._parts
        if not isinstance(compared, Comparison) or shown is None:
            return {}
        if x >= shown.heads_x and y >= shown.heads_y:
            place = self._first_head + y - shown.heads_y - 1
            if y == shown.heads_y or place >= len(compared.ranking):
                return {}
            each = compared.ranking[place]
            return {"layer": each.layer, "head": each.head}
        place = self.top + y - 1
        if self._row is None or not 1 <= y < shown.keys_height - 1:
            return {}
        key = compared.alignment[place][0] if place < len(compared.alignment) else None
        return {} if key is None else {"key": key}
