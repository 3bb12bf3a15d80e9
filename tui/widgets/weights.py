"""The weights of the selected query: wide bars and digits for one head, small bars for all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from core.explain import entropy_bits, largest, nice_ceiling
from core.language import _
from core.text import label
from core.types import Array, Tokens
from tui.labels import DROPPED, MASKED, pad, short_weight, signed, weight, weight_cells
from tui.scene import Scene, heads_of
from tui.theme import Palette, bar, signed_bar
from tui.widgets.lines import Line
from tui.widgets.pane import Pane, around, cells_of, window

if TYPE_CHECKING:
    from core.reading import Read

_WIDE_BAR = range(12, 41)  # cells, from tolerable to enough
_NARROW = (4, 3, 2)  # widths of the small bars where there are many heads
_MARK = 2


class Columns(NamedTuple):
    """Where the columns stand: label, heads left of the selected one, it, heads right of it."""

    label: int
    heads: range
    small: int
    wide: int
    digits: int
    before: int = 0  # cells for the weights before the last switch, 0 where they are not shown

    @property
    def left(self) -> int:
        return _MARK + self.label + 1

    @property
    def chosen(self) -> int:
        """Cells of the selected head: before, now, bar."""
        return self.before + self.digits + 1 + self.wide


def columns(scene: Scene, width: int, first_head: int) -> Columns:
    """Divide the width: as many heads as fit, the rest to the bar of the selected one."""
    heads = heads_of(scene.view)
    digits = weight_cells(scene.view.precision)
    if scene.signed:
        digits = max(digits, len(signed(-_largest(scene), scene.view.precision)))
    label_cells = label_column(scene.keys, width // 4)
    if scene.cuts:
        label_cells = max(label_cells, cell_len(_("removed")))
    before = digits + 1 if scene.before is not None else 0
    if scene.read is not None and scene.read_before is None:
        before = 0
    room = width - _MARK - label_cells - 1 - before - digits - 1
    if room < _WIDE_BAR.start:
        room, before = room + before, 0
    narrow = _NARROW[:-1] if scene.cuts else _NARROW  # what is removed needs three
    for small in (max(6, cell_len(_head(heads - 1))), *narrow):
        others = max(0, min(heads - 1, (room - _WIDE_BAR.start) // (small + 1)))
        if others == heads - 1:
            break
    wide = min(room - others * (small + 1), _WIDE_BAR.stop - 1)
    first = window(heads, others + 1, scene.view.head, first_head)
    shown = range(first, first + others + 1)
    return Columns(label_cells, shown, small, max(wide, 1), digits, before)


def label_column(tokens: Tokens, most: int) -> int:
    """Cells for token labels: what the longest needs, between 4 and `most`."""
    longest = 4
    for token in tokens:
        longest = max(longest, cell_len(label(token)))
        if longest >= most:
            return max(4, most)
    return longest


def weight_lines(
    scene: Scene, palette: Palette, cols: Columns, height: int, top: int
) -> list[Line]:
    """Heads as a header, a row for each key from `top`, the entropies at the end."""
    view = scene.view
    heads = slice(cols.heads.start, cols.heads.stop)
    rows = scene.row[heads]  # [head, key]
    if not scene.mask[scene.query].any():
        return [[("  " + _("masked: this query may attend to no key"), palette.dim)]]
    chosen = view.head - cols.heads.start
    keys = range(top, min(top + height - 2 - scene.cuts, len(scene.keys)))
    lines = [_header(cols, view.head, palette), *_key_lines(scene, palette, cols, rows, keys)]
    if not scene.signed:
        lines.append(_bits_line(scene, palette, cols, rows))
    if scene.read is not None and scene.cuts:
        removed = scene.read.row(scene.query).removed[heads].tolist()
        small = [_share(value, cols.small) for value in removed]
        number = weight(removed[chosen], view.precision)
        lines.append(_facts(cols, _("removed"), small, number, chosen, palette))
    return lines


def _key_lines(
    scene: Scene, palette: Palette, cols: Columns, rows: Array, keys: range
) -> Iterator[Line]:
    """A row of the pane for each of some keys: its label, its weight in every head [head, key]."""
    full, mask, at = full_bar(scene), scene.mask[scene.query], scene.key
    chosen = scene.view.head - cols.heads.start
    gone = scene.gone(rows[chosen])
    write = signed if scene.signed else weight
    for key in keys:
        values = [float(value) for value in rows[:, key]]
        allowed = bool(mask[key])
        number = write(values[chosen], scene.view.precision) if allowed else MASKED
        if gone is not None and gone[key] and allowed:
            number = DROPPED
        small = [_bar(value / full, cols.small, scene.signed) for value in values]
        wide = _bar(values[chosen] / full, cols.wide, scene.signed)
        at_key = key == at
        yield [
            ("› " if at_key else "  ", palette.selected),
            (
                pad(label(scene.keys[key]), cols.label) + " ",
                palette.strong if at_key else palette.base,
            ),
            ("".join(f"{text} " for text in small[:chosen]), palette.other),
            (_before(scene, cols, key), palette.dim),
            (f"{number:>{cols.digits}} {wide}", palette.head),
            ("".join(f" {text}" for text in small[chosen + 1 :]), palette.other),
        ]


def _bits_line(scene: Scene, palette: Palette, cols: Columns, rows: Array) -> Line:
    """The entropy of the row [head, key] in every head."""
    chosen = scene.view.head - cols.heads.start
    bits = entropy_bits(rows).tolist()
    small = [f"{value:.2f}" if cols.small >= 4 else "" for value in bits]
    number = f"{bits[chosen]:.{scene.view.precision}f}"
    if scene.cuts:  # where nothing is left there is nothing to be spread
        left = [bool(row.any()) for row in rows]
        small = [text if some else DROPPED for text, some in zip(small, left, strict=True)]
        number = number if left[chosen] else DROPPED
    return _facts(cols, _("bits"), small, number, chosen, palette)


def _before(scene: Scene, cols: Columns, key: int) -> str:
    """The weight of the selected head before the last switch, with a gap."""
    if scene.before is None or not cols.before:
        return ""
    if scene.read_before is not None:
        return f"{pad(_read_before(scene, scene.read_before, key), cols.before - 1, '>')} "
    view, old = scene.view, scene.before.attentions[scene.view.attention]
    if not old.masks[view.layer][view.query, key]:
        return f"{MASKED:>{cols.before - 1}} "
    value = float(old.layers[view.layer].pattern[view.head, view.query, key])
    signed_before = scene.before.request.switches.normalizer == "none"
    text = signed(value, view.precision) if signed_before else weight(value, view.precision)
    return f"{pad(text, cols.before - 1, '>')} "


def _read_before(scene: Scene, before: Read, key: int) -> str:
    """The weight before the last switch, as it is read."""
    row = before.row(scene.query).weights[scene.view.head]
    gone = before.gone(row)
    if not before.mask[scene.query, key]:
        return MASKED
    return DROPPED if gone is not None and gone[key] else weight(row[key], scene.view.precision)


def _bar(fraction: float, cells: int, has_sign: bool) -> str:
    return signed_bar(fraction, cells // 2).ljust(cells) if has_sign else bar(fraction, cells)


def _largest(scene: Scene) -> float:
    return largest(scene.row)


def full_bar(scene: Scene) -> float:
    """The weight of a full bar: one scale for every head of the query."""
    full = nice_ceiling(_largest(scene))
    return full if scene.signed else min(1.0, full)


def _head(index: int) -> str:
    return _("head {n}").format(n=index)


def _header(cols: Columns, head: int, palette: Palette) -> Line:
    def names(heads: range) -> str:
        long = cols.small >= cell_len(_head(head))
        return "".join(pad(_head(h) if long else str(h), cols.small) + " " for h in heads)

    left = names(range(cols.heads.start, head))
    right = names(range(head + 1, cols.heads.stop))
    name = pad(_head(head), cols.chosen - cols.before)
    return [
        (" " * cols.left, palette.base),
        (left, palette.dim),
        (pad(_("before"), cols.before - 1, ">") + " " if cols.before else "", palette.dim),
        (name, palette.selected),
        (f" {right}".rstrip(), palette.dim),
    ]


def _share(value: float, cells: int) -> str:
    """A number from 0 to 1 in a column of three cells or more."""
    return f"{value:.2f}" if cells > 3 else short_weight(round(value, 2), 2)[:3]


def _facts(
    cols: Columns, name: str, facts: list[str], number: str, chosen: int, palette: Palette
) -> Line:
    """One number of each head, under its bars; `number` is that of the selected one."""
    small = [pad(text, cols.small) for text in facts]
    return [
        (pad("  " + name, cols.left), palette.dim),
        ("".join(f"{text} " for text in small[:chosen]), palette.dim),
        ((" " * cols.before + f"{number:>{cols.digits}}").ljust(cols.chosen), palette.dim),
        ("".join(f" {text}" for text in small[chosen + 1 :]).rstrip(), palette.dim),
    ]


class WeightsPane(Pane):
    """Compare the heads here."""

    reads = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._first_head = 0
        self._columns: Columns | None = None

    def title(self, scene: Scene, palette: Palette) -> Line:
        place = scene.which + " · " + _("layer {n}").format(n=scene.view.layer)
        cells = self.title_cells - cell_len(place)
        return [
            *around(_("What {token} attends to"), label(scene.query_token), palette, cells),
            (place, palette.dim),
        ]

    def foot(self, scene: Scene) -> list[str]:
        gone = scene.cuts and not scene.row[scene.view.head].any()
        first, facts = [_("all dropped")] if gone else [], []
        shown = self.size.height - 4 - scene.cuts
        if shown < len(scene.keys):
            last = min(self.top + shown, len(scene.keys)) - 1
            some = _("keys {first}–{last} of {n:,}")
            facts.append(some.format(first=self.top, last=last, n=len(scene.keys)))
        heads = heads_of(scene.view)
        if self._columns and len(self._columns.heads) < heads:
            seen = self._columns.heads
            some = _("heads {first}–{last} of {n}")
            facts.append(some.format(first=seen.start, last=seen.stop - 1, n=heads))
        # Before what is not to be seen where there is room for all of it, else behind it.
        scale = _("full bar {value:g}").format(value=full_bar(scene))
        whole = [*first, scale, *facts]
        return whole if cells_of(whole) <= self.foot_cells else [*first, *facts, scale]

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        top = self.follow_cursor(len(scene.keys), height - 2 - scene.cuts, scene.key)
        self._columns = columns(scene, width, self._first_head)
        self._first_head = self._columns.heads.start
        return weight_lines(scene, palette, self._columns, height, top)

    def places_at(self, scene: Scene, x: int, y: int) -> dict[str, int | str]:
        places: dict[str, int | str] = {}
        if 1 <= y <= min(self.size.height - 4 - scene.cuts, len(scene.keys) - self.top):
            places["key"] = scene.key_at(self.top + y - 1)
        cols = self._columns
        if cols and x >= cols.left:
            at = cols.left
            for head in cols.heads:
                chosen = head == scene.view.head
                at += (cols.chosen if chosen else cols.small) + 1
                if x < at:
                    places["head"] = head
                    break
        return places
