"""The words that a request may use; imports nothing heavy, so a command line can offer them."""

import re

from core.language import N_

PROJECTIONS = ("seeded", "identity")
# What a screen has a pane for, and a lesson can show.
PANES = (
    *(N_("tokens"), N_("weights"), N_("matrix"), N_("vectors")),
    *(N_("derivation"), N_("numbers"), N_("learning"), N_("compare")),
    *(N_("grid"), N_("predictions")),
)
# Of a head: how its weight is spread, and where it lies; `core.head_statistics` defines them.
STATISTICS = (
    *(N_("entropy"), N_("evenness"), N_("first"), N_("special"), N_("self")),
    *(N_("previous"), N_("next"), N_("duplicate"), N_("induction")),
)
# Words for a head, the most telling first: a statistic that holds most of its weight, else how that
# is spread.
BADGES = (
    *("induction", "duplicate", "previous", "next", "self", "first", "special"),
    *(N_("focused"), N_("mixed"), N_("broad")),
)
# What stands for a bin of a large matrix.
POOLS = (N_("max"), N_("mean"))
# Self-attention of the text; with a target also its own, and from the target to the text.
ATTENTIONS = (N_("encoder"), N_("decoder"), N_("cross"))
NORMALIZERS = ("softmax", N_("linear"), N_("none"))
# Of a derivation, in order; each is also the name of its part. "softmax" holds whichever normalizer
# is switched on.
STAGES = (
    N_("embedding"),
    N_("positions"),
    N_("projections"),
    N_("dot"),
    N_("scale"),
    N_("mask"),
    N_("softmax"),
    N_("z"),
    N_("output"),
)
# Widths of a matrix cell; below 5 there is no room for digits, at 0 all is pooled to the pane.
ZOOMS = (0, 1, 2, 5, 7, 9)
# Columns that a reading drops: special tokens, or the first key, a common sink.
DROPS = ("specials", "first")
# What the full colour of the matrix stands for; ``log`` goes down in powers of ten.
SCALES = ("matrix", "row", "log")
# Of learning: at this rate the loss of a row of a short sentence falls in every step.
DEFAULT_RATE = 0.02
MAX_STEPS = 2000
# What can be typed over, and what the indexes of each count. A column counts over all heads; x is
# what enters layer 0.
EDITABLE = {
    "attn_scores": ("layer", "head", "query", "key"),
    "x": ("token", "dim"),
    "w_q": ("layer", "row", "column"),
    "w_k": ("layer", "row", "column"),
    "w_v": ("layer", "row", "column"),
}
MASK_FORMS = ("none", "causal", "window:N", "causal+window:N")
_MASK = re.compile(r"none|(?P<causal>causal)|(?P<both>causal\+)?window:(?P<window>[0-9]{1,18})")


def mask_parts(text: str) -> tuple[bool, int | None] | None:
    """One of `MASK_FORMS` as (causal, window); None where it is none of them."""
    found = _MASK.fullmatch(text)
    if found is None:
        return None
    window = found["window"]
    return bool(found["causal"] or found["both"]), None if window is None else int(window)
