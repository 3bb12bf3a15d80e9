"""What can be chosen, in words; imports nothing heavy, so that ``--help`` can answer at once."""

from collections.abc import Sequence

from core.language import N_
from core.names import PANES, STATISTICS, ZOOMS

__all__ = [
    "CELLS",
    "DEFAULT_PRECISION",
    "DEFAULT_ZOOM",
    "EXAMPLE",
    "EXAMPLE_TARGET",
    "MAX_PRECISION",
    "ORDERS",
    "PANES",
    "SHOWN",
    "SMALLEST",
    "VECTORS",
    "ZOOMS",
    "beside",
]

EXAMPLE = "The ball is blue"
EXAMPLE_TARGET = "La bola es azul"
SMALLEST = (60, 18)  # columns and lines that a screen or a picture must have
VECTORS = (N_("input"), "q", "k", "v", "z", "attn_out")
# Of the grid of heads: what is shown of each, as what, and in which order.
SHOWN = (N_("badge"), *STATISTICS)
CELLS = ("value", "matrix")
ORDERS = ("layers", "statistic")
DEFAULT_ZOOM = 5
DEFAULT_PRECISION = 3
MAX_PRECISION = 12


def beside(values: Sequence[float], now: float, by: int) -> float:
    """The next of rising values above (by = 1) or below (by = -1) one; itself at the end."""
    if by > 0:
        return min((value for value in values if value > now), default=now)
    return max((value for value in values if value < now), default=now)
