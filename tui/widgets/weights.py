"""The weights of the selected query: wide bars and digits for one head, small bars for all."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len

from core.explain import entropy_bits, largest, nice_ceiling
from core.language import _
from core.text import label
from core.types import Tokens
from tui.labels import MASKED, pad, signed, weight, weight_cells
from tui.scene import Scene, heads_of
from tui.theme import Palette, bar, signed_bar
from tui.widgets.lines import Line
from tui.widgets.pane import Pane, around, window

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
    before = digits + 1 if scene.before is not None else 0
    room = width - _MARK - label_cells - 1 - before - digits - 1
    if room < _WIDE_BAR.start:
        room, before = room + before, 0
    for small in (max(6, cell_len(_head(heads - 1))), *_NARROW):
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
    view, pattern = scene.view, scene.layer.pattern
    rows = pattern[cols.heads.start : cols.heads.stop, view.query]  # [head, key]
    if not scene.mask[view.query].any():
        return [[("  " + _("masked: this query may attend to no key"), palette.dim)]]
    full = full_bar(scene)
    chosen = view.head - cols.heads.start
    lines = [_header(cols, view.head, palette)]
    for key in range(top, min(top + height - 2, len(scene.keys))):
        allowed = bool(scene.mask[view.query, key])
        values = [float(value) for value in rows[:, key]]
        write = signed if scene.signed else weight
        number = write(values[chosen], view.precision) if allowed else MASKED
        small = [_bar(value / full, cols.small, scene.signed) for value in values]
        wide = _bar(values[chosen] / full, cols.wide, scene.signed)
        at_key = key == view.key
        lines.append(
            [
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
        )
    if not scene.signed:
        bits = entropy_bits(rows).tolist()
        lines.append(_entropies(cols, bits, chosen, view.precision, palette))
    return lines


def _before(scene: Scene, cols: Columns, key: int) -> str:
    """The weight of the selected head before the last switch, with a gap."""
    if scene.before is None or not cols.before:
        return ""
    view, old = scene.view, scene.before.attentions[scene.view.attention]
    if not old.masks[view.layer][view.query, key]:
        return f"{MASKED:>{cols.before - 1}} "
    value = float(old.layers[view.layer].pattern[view.head, view.query, key])
    signed_before = scene.before.request.switches.normalizer == "none"
    text = signed(value, view.precision) if signed_before else weight(value, view.precision)
    return f"{pad(text, cols.before - 1, '>')} "


def _bar(fraction: float, cells: int, has_sign: bool) -> str:
    return signed_bar(fraction, cells // 2).ljust(cells) if has_sign else bar(fraction, cells)


def _largest(scene: Scene) -> float:
    return largest(scene.layer.pattern[:, scene.view.query])


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


def _entropies(
    cols: Columns, bits: list[float], chosen: int, precision: int, palette: Palette
) -> Line:
    small = [pad(f"{value:.2f}" if cols.small >= 4 else "", cols.small) for value in bits]
    number = f"{bits[chosen]:.{precision}f}"
    return [
        (pad("  " + _("bits"), cols.left), palette.dim),
        ("".join(f"{text} " for text in small[:chosen]), palette.dim),
        ((" " * cols.before + f"{number:>{cols.digits}}").ljust(cols.chosen), palette.dim),
        ("".join(f" {text}" for text in small[chosen + 1 :]).rstrip(), palette.dim),
    ]


class WeightsPane(Pane):
    """Compare the heads here."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._first_head = 0
        self._columns: Columns | None = None

    def title(self, scene: Scene, palette: Palette) -> Line:
        return [
            *around(_("What {token} attends to"), label(scene.query_token), palette),
            (scene.which + " · " + _("layer {n}").format(n=scene.view.layer), palette.dim),
        ]

    def foot(self, scene: Scene) -> list[str]:
        facts = [_("full bar {value:g}").format(value=full_bar(scene))]
        shown = self.size.height - 4
        if shown < len(scene.keys):
            last = min(self.top + shown, len(scene.keys)) - 1
            some = _("keys {first}–{last} of {n:,}")
            facts.append(some.format(first=self.top, last=last, n=len(scene.keys)))
        heads = heads_of(scene.view)
        if self._columns and len(self._columns.heads) < heads:
            seen = self._columns.heads
            some = _("heads {first}–{last} of {n}")
            facts.append(some.format(first=seen.start, last=seen.stop - 1, n=heads))
        return facts

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        top = self.follow_cursor(len(scene.keys), height - 2, scene.view.key)
        self._columns = columns(scene, width, self._first_head)
        self._first_head = self._columns.heads.start
        return weight_lines(scene, palette, self._columns, height, top)

    def places_at(self, scene: Scene, x: int, y: int) -> dict[str, int | str]:
        places: dict[str, int | str] = {}
        if 1 <= y <= min(self.size.height - 4, len(scene.keys) - self.top):
            places["key"] = self.top + y - 1
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
