"""Facts about rows of a trace, for people: no layout, no rounding."""

from __future__ import annotations

import math

import numpy as np

from core.attention import divisor
from core.types import Array, Trace
from core.weights import own_weights

BAND = 256  # rows of a pattern that are made or looked at together: all of a head may be too many
DECADES = 3  # from full colour to none, on a logarithmic scale
_STEPS = (1, 1.5, 2, 3, 5, 7, 10)


def entropy_bits(pattern: Array) -> Array:
    """Shannon entropy of each row over the last axis, in bits; 0 log 0 is 0.

    Parameters
    ----------
    pattern : ndarray [..., key]

    Returns
    -------
    ndarray [...]
        From 0 (all weight on one key) to log2 of the number of keys (spread evenly).
    """
    logs = np.log2(pattern, where=pattern > 0, out=np.zeros_like(pattern))
    entropy: Array = -(pattern * logs).sum(axis=-1)
    # A weight that rounding left above 1 counts less than 0; + 0.0 turns -0 into 0.
    return np.maximum(entropy, 0) + 0.0


def nice_ceiling(value: float) -> float:
    """The smallest of …, 1, 1.5, 2, 3, 5, 7, 10, … that is not below `value`; 1 for 0.

    A scale for bars and colours that changes rarely and can be said in a word.
    """
    if value <= 0:
        return 1.0
    decade = 10.0 ** math.floor(math.log10(value))
    return next(step * decade for step in _STEPS if step * decade >= value * (1 - 1e-9))


def shades(values: Array, full: float, scale: str) -> Array:
    """How strongly weights are coloured, from 0 (not at all) to 1.

    Parameters
    ----------
    values : ndarray [..., key]
        Whole rows, which a scale by rows needs.
    full : float
        What full colour stands for in the whole matrix.
    scale : str
        One of `core.names.SCALES`: as a share of `full`, of the row's own largest weight, or by the
        powers of ten that lie below `full`, `DECADES` of them.
    """
    sizes: Array = np.abs(values)
    shares: Array = sizes / full
    if scale == "row":
        most = sizes.max(axis=-1, keepdims=True)
        shares = np.divide(sizes, most, where=most > 0, out=np.zeros_like(sizes))
    elif scale == "log":
        logs = np.log10(shares, where=shares > 0, out=np.full_like(shares, -DECADES))
        shares = np.maximum(1 + logs / DECADES, 0)
    return shares


def norm(vector: Array) -> float:
    """Euclidean length of a vector."""
    return float(np.linalg.norm(vector))


def largest(vector: Array) -> float:
    """Largest absolute value of a vector."""
    return float(np.abs(vector).max())


def original(trace: Trace, array: str, place: tuple[int, ...]) -> float:
    """What stands at a place when nothing is typed over there; other edits stay."""
    if array == "x":
        return float(trace.embed[place] + trace.pos_embed[place])
    if array == "attn_scores":
        dot = trace.layers[place[0]].dot
        return float(dot[place[1:]] / divisor(trace.request.model.d_head, trace.request.switches))
    return float(getattr(own_weights(trace.request)[place[0]], array)[place[1:]])
