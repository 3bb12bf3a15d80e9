"""The grid of heads: where each stands, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from core.language import N_
from core.names import BADGES
from tui.choices import SHOWN

if TYPE_CHECKING:
    from core.head_statistics import HeadFacts
    from tui.survey import Survey

Place = tuple[int, int]  # layer and head
BADGE = SHOWN[0]
# Where a word has no room; a shorter one may be the same.
SHORT = {
    "special": N_("spec"),
    "previous": N_("prev"),
    "duplicate": N_("dupl"),
    "induction": N_("induc"),
    "focused": N_("focus"),
}
_GAP = 1
_VALUE = range(6, 13)  # cells of a value with its gap: from tolerable to enough
_NAMED = range(12, 15)  # the same with the name of the head
_MATRIX = range(7, 34)
_NAMED_MATRIX = range(11, 34)
_MATRIX_LINES = range(2, 17)


@dataclass(frozen=True, slots=True)
class Layout:
    """How large heads are drawn, and how many at once.

    Attributes
    ----------
    label : int
        Cells of what stands before a row.
    cell, lines : int
        Cells of a head, the first of them a gap, and its lines.
    rows, columns : int
        Of the whole grid.
    high, wide : int
        Rows and columns that are seen at once.
    """

    label: int
    cell: int
    lines: int
    rows: int
    columns: int
    high: int
    wide: int


def layout(shape: Place, by_layer: bool, matrices: bool, width: int, height: int) -> Layout:
    """As many whole heads as fit, and as large as all of them fit if they do.

    Parameters
    ----------
    shape : (int, int)
        Layers, and heads of each.
    by_layer : bool
        A row is a layer; else heads follow each other, and each has its name.
    matrices : bool
        A head is a matrix; else a value.
    width, height : int
        Cells and lines, without a header.
    """
    layers, heads = shape
    label = len(str(layers - 1)) + 2 if by_layer else 1
    plain, named = (_MATRIX, _NAMED_MATRIX) if matrices else (_VALUE, _NAMED)
    widths = plain if by_layer else named
    room = width - label
    columns = heads if by_layer else max(1, min(layers * heads, room // widths.start))
    cell = max(widths.start, min(room // columns, widths.stop - 1))
    rows = ceil(layers * heads / columns)
    most = height // rows
    if matrices:
        name = 0 if by_layer else 1
        square = max(_MATRIX_LINES.start, min((cell - _GAP) // 2, _MATRIX_LINES.stop - 1))
        lines = max(_MATRIX_LINES.start, min(most - name, square)) + name
    else:
        lines = max(1, min(most if by_layer else height, 2))
    high, wide = max(1, height // lines), max(1, room // cell)
    return Layout(label, cell, lines, rows, columns, min(high, rows), min(wide, columns))


def ordered(survey: Survey | None, shape: Place, statistic: str) -> list[Place]:
    """Every head by a statistic, the largest first; then those where it is undefined or unknown.

    By badge, heads with the same badge are together, in the order of `BADGES`.
    """
    places = [(layer, head) for layer in range(shape[0]) for head in range(shape[1])]
    if survey is None:
        return places

    def rank(place: Place) -> tuple[int, float]:
        facts = survey.of_head(*place)
        value = None if facts is None else shown_value(facts, statistic)
        if facts is None or value is None:
            return len(BADGES), 0.0
        group = BADGES.index(facts.badge) if statistic == BADGE and facts.badge else 0
        return group, -value

    return sorted(places, key=rank)


def shown_value(facts: HeadFacts, statistic: str) -> float | None:
    """The number of a head that a grid shows: a statistic, or the one behind the badge."""
    return facts.number if statistic == BADGE else facts.values[statistic]


def is_nowhere(survey: Survey | None, layers: int, statistic: str) -> bool:
    """Whether every head of so many layers is known, and a statistic is undefined in all."""
    if survey is None or len(survey.facts) < layers:
        return False
    heads = (head for layer in survey.facts.values() for head in layer)
    return all(shown_value(head, statistic) is None for head in heads)


def moved(places: Sequence[Place], place: Place, by: int) -> Place:
    """The head so many places after another, or the last one before the end."""
    return places[max(0, min(places.index(place) + by, len(places) - 1))]
