"""What can be chosen, in words; imports nothing, so that ``--help`` can answer at once."""

EXAMPLE = "The ball is blue"
PANES = ("tokens", "weights", "matrix", "vectors", "derivation")
VECTORS = ("input", "q", "k", "v", "z", "attn_out")
ZOOMS = (1, 2, 5, 7, 9)  # widths of a matrix cell; below 5 there is no room for digits
DEFAULT_ZOOM = 5
DEFAULT_PRECISION = 3
MAX_PRECISION = 12
