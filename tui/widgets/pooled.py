"""The whole pattern of a head, in cells that stand for ranges of queries and keys.

Colours, signs and readings are those of the exact matrix.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from rich.cells import cell_len

from core.explain import shades
from core.language import _
from core.pooling import Pooled, RankedPair, edges, strongest, strongest_in
from tui.labels import DROPPED, MASKED_CELL, pad, run_of, signed, weight
from tui.scene import Scene
from tui.theme import Palette, column, ramp_step
from tui.widgets.lines import Line, append
from tui.widgets.matrix import aside_cells, removed_part, scale_word

_MARK = 2
_RULER = 10  # columns from one number over them to the next


@dataclass(frozen=True, slots=True)
class Bins:
    """Where the ranges of queries and keys begin, and where the last ones end."""

    label: int
    queries: tuple[int, ...]
    keys: tuple[int, ...]
    aside: int = 0  # cells at the right for what is removed of each row

    @property
    def left(self) -> int:
        return _MARK + self.label + 1

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.queries) - 1, len(self.keys) - 1

    @property
    def exact(self) -> bool:
        """Whether every cell is one query and one key."""
        return (self.queries[-1], self.keys[-1]) == self.shape

    def of(self, query: int, key: int) -> tuple[int, int]:
        """Row and column of a pair."""
        return bisect_right(self.queries, query) - 1, bisect_right(self.keys, key) - 1

    def ranges(self, row: int, column: int) -> tuple[range, range]:
        """The queries and the keys of a cell."""
        return (
            range(self.queries[row], self.queries[row + 1]),
            range(self.keys[column], self.keys[column + 1]),
        )

    def facts(self, scene: Scene, found: Pooled) -> str:
        """Which queries and keys the selected cell stands for, and with which number."""
        if self.exact:
            return _("every cell exact")
        view = scene.view
        place = self.of(scene.query, scene.key)
        queries, keys = self.ranges(*place)
        number = _("dropped") if found.gone[place] else _("masked")
        if found.allowed[place] and not found.gone[place]:
            write = signed if scene.signed else weight
            value = write(float(found.values[place]), view.precision)
            number = f"{_(view.pool)} {value}"
        return _("queries {queries} × keys {keys}: {number}").format(
            queries=run_of(queries), keys=run_of(keys), number=number
        )

    def strongest(self, scene: Scene, row: int, column: int) -> dict[str, int]:
        """The strongest pair of a cell, as fields of the view; its first where none may attend."""
        row, column = (
            max(0, min(place, count - 1))
            for place, count in zip((row, column), self.shape, strict=True)
        )
        queries, keys = self.ranges(row, column)
        pair = strongest_in(scene.pattern, scene.view.head, scene.mask, queries, keys)
        at = (queries.start, keys.start) if pair is None else (pair.query, pair.key)
        return {"query": scene.query_at(at[0]), "key": scene.key_at(at[1])}


def strongest_pairs(scene: Scene) -> tuple[RankedPair, ...]:
    """The strongest pairs of the selected head as it is shown: of tokens, or the first tokens of
    words; none whose key is dropped.
    """
    if scene.read is None:
        return strongest(scene.pattern, scene.view.head, scene.mask)
    found = strongest(scene.pattern, scene.view.head, scene.read.kept)
    return tuple(
        RankedPair(scene.query_at(pair.query), scene.key_at(pair.key), pair.weight)
        for pair in found
        if pair.weight or not scene.cuts  # of a row with nothing left every pair is 0
    )


def bins(scene: Scene, width: int, height: int) -> Bins:
    """As many cells as fit, below a header."""
    label = max(len(str(len(scene.queries) - 1)), cell_len(scale_word(scene.view.colours)) - 1)
    room = max(1, width - _MARK - label - 1)
    aside = aside_cells(scene, room)
    return Bins(
        label,
        tuple(edges(len(scene.queries), max(1, height - 1)).tolist()),
        tuple(edges(len(scene.keys), room - aside).tolist()),
        aside,
    )


def pooled_lines(
    scene: Scene, palette: Palette, shown: Bins, found: Pooled, full: float
) -> list[Line]:
    """A header with numbers of keys, then a line for each range of queries."""
    row, at = shown.of(scene.query, scene.key)
    parts = shades(found.values.astype(np.float64), full, scene.view.colours)
    lines = [_header(scene, palette, shown, at)]
    for y, start in enumerate(shown.queries[:-1]):
        chosen = y == row
        style = palette.selected if chosen else palette.dim
        line: Line = [("▶ " if chosen else "  ", palette.selected)]
        append(line, f"{start:>{shown.label}} ", style)
        signs = np.where(found.gone[y], DROPPED, np.where(found.allowed[y], "", MASKED_CELL))
        cells = zip(found.values[y].tolist(), parts[y].tolist(), signs.tolist(), strict=True)
        for x, (value, part, sign) in enumerate(cells):
            style = palette.dim if sign else palette.ink[ramp_step(part)]
            if value < 0:
                style = palette.negative
            if chosen and x == at:
                style = palette.cursor_glyph
            append(line, sign or column(part), style)
        if found.removed is not None and shown.aside:
            line.append(removed_part(float(found.removed[y]), shown.aside, palette))
        lines.append(line)
    return lines


def _header(scene: Scene, palette: Palette, shown: Bins, at: int) -> Line:
    """Numbers of keys over the columns where they begin, and a mark over the selected column;
    before them what the colours are by.
    """
    columns, scale = shown.shape[1], scale_word(scene.view.colours)
    text = [" "] * columns
    for x in range(0, columns, _RULER):
        number = str(shown.keys[x])
        covered = x <= at < x + len(number)  # what the mark left of it would be another number
        if x + len(number) <= columns and not covered:
            text[x : x + len(number)] = number
    before, after = "".join(text[:at]), "".join(text[at + 1 :])
    return [
        (pad(f" {scale}", shown.left), palette.dim if scale else palette.base),
        (before, palette.dim),
        ("▼", palette.selected),
        (after, palette.dim),
        (pad(_("removed"), shown.aside, ">") if shown.aside else "", palette.dim),
    ]
