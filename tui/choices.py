"""What can be chosen, in words; imports nothing heavy, so that ``--help`` can answer at once."""

from core.language import N_
from core.names import PANES

__all__ = [
    "DEFAULT_PRECISION",
    "DEFAULT_ZOOM",
    "EXAMPLE",
    "EXAMPLE_TARGET",
    "MAX_PRECISION",
    "PANES",
    "VECTORS",
    "ZOOMS",
]

EXAMPLE = "The ball is blue"
EXAMPLE_TARGET = "La bola es azul"
VECTORS = (N_("input"), "q", "k", "v", "z", "attn_out")
ZOOMS = (1, 2, 5, 7, 9)  # widths of a matrix cell; below 5 there is no room for digits
DEFAULT_ZOOM = 5
DEFAULT_PRECISION = 3
MAX_PRECISION = 12
