"""Facts about rows of a trace, for people: no layout, no rounding."""

from __future__ import annotations

import math

import numpy as np

from core.types import Array

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
