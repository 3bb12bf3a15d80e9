"""Facts about rows of a trace, for people: no layout, no rounding."""

from __future__ import annotations

import math

import numpy as np

from core.attention import divisor
from core.types import Array, Trace
from core.weights import own_weights

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
    entropy: Array = -(pattern * logs).sum(axis=-1) + 0.0  # + 0.0 turns -0 into 0
    return entropy


def nice_ceiling(value: float) -> float:
    """The smallest of …, 1, 1.5, 2, 3, 5, 7, 10, … that is not below `value`; 1 for 0.

    A scale for bars and colours that changes rarely and can be said in a word.
    """
    if value <= 0:
        return 1.0
    decade = 10.0 ** math.floor(math.log10(value))
    return next(step * decade for step in _STEPS if step * decade >= value * (1 - 1e-9))


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
