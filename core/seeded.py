"""Random numbers that are the same on every machine and on every day.

The bits come from SHAKE-128 (FIPS 202) and every operation after it is exact or correctly
rounded by IEEE 754, so no release of Python or NumPy and no processor can change a digit.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np

from core.types import Array

_BITS = 16
_TERMS = 4
_MEAN = _TERMS * (2**_BITS - 1) // 2
_STD = math.sqrt(_TERMS * (2 ** (2 * _BITS) - 1) / 12)


def draw(label: str, *shape: int) -> Array:
    """Draw numbers with mean 0 and variance 1 that depend on nothing but `label`.

    Each is the standardised sum of four uniform 16-bit integers (Irwin-Hall), close to a
    normal distribution and never beyond 3.47.

    Parameters
    ----------
    label : str
        What the numbers are for; another label gives other numbers.
    *shape : int
        Shape of the result.

    Returns
    -------
    ndarray of float64
    """
    count = math.prod(shape)
    raw = hashlib.shake_128(label.encode()).digest(count * _TERMS * _BITS // 8)
    terms = np.frombuffer(raw, dtype="<u2").reshape(*shape, _TERMS)
    sums: Array = terms.sum(axis=-1, dtype=np.float64)  # exact: whole numbers below 2**18
    sums -= _MEAN
    sums /= _STD
    return sums
