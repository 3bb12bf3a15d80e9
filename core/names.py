"""The words that a request may use; imports nothing, so that a command line can offer them."""

PROJECTIONS = ("seeded", "identity")
# What a screen has a pane for, and a lesson can show.
PANES = ("tokens", "weights", "matrix", "vectors", "derivation")
NORMALIZERS = ("softmax", "linear", "none")
# Of a derivation, in order; each is also the name of its part. "softmax" holds whichever normalizer
# is switched on.
STAGES = (
    "embedding",
    "positions",
    "projections",
    "dot",
    "scale",
    "mask",
    "softmax",
    "z",
    "output",
)
