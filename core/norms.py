"""Norms of real models in float32: LayerNorm (Ba et al. 2016), RMSNorm (Zhang, Sennrich 2019)."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from core.room import columns, lent
from core.transformer_types import Facts, Float32, Norm


def apply_norm(
    x: Float32, norm: Norm[Float32] | None, facts: Facts, out: Float32 | None = None
) -> Float32:
    """[..., d]: the norm that a model has, over the last axis; None changes nothing.

    In `out`, which may be `x`, if it is given.
    """
    if norm is None:
        return x
    out = columns(*x.shape) if out is None else out
    ones = _ones(x.shape[-1])  # [d, 1]
    part = np.float32(1 / x.shape[-1])
    if facts.norm == "layer":
        mean = x @ ones  # [..., 1]
        mean *= part
        x = np.subtract(x, mean, out=out)  # [..., d]
    squares = np.square(x, out=lent("squares", *x.shape) if x.ndim == 2 else None)  # [..., d]
    size = squares @ ones  # [..., 1]
    size *= part
    size += np.float32(facts.epsilon)
    np.sqrt(size, out=size)
    if not math.isfinite(np.vdot(size, size)):  # quicker than to look at each
        size[np.isinf(size)] = np.nan  # x would become 0, which looks like a result
    np.multiply(x, np.reciprocal(size, out=size), out=out)
    if norm.gain is not None:
        out *= norm.gain
    if norm.bias is not None:
        out += norm.bias
    return out


def added(
    x: Float32, y: Float32, norm: Norm[Float32] | None, facts: Facts, out: Float32
) -> Float32:
    """[pos, d_model]: the sum, normalised where there is a norm behind it, in `out`."""
    return apply_norm(np.add(x, y, out=out), norm, facts, out)


@cache
def _ones(size: int) -> Float32:
    """[size, 1]: rows · it are their sums."""
    return np.ones((size, 1), np.float32)
