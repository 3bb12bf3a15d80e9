"""Facts about rows of a trace, for people: no layout, no rounding."""

from __future__ import annotations

import numpy as np

from core.types import Array


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
