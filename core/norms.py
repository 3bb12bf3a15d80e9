"""Norms of real models in float32: LayerNorm (Ba et al. 2016), RMSNorm (Zhang and Sennrich 2019)."""

from __future__ import annotations

import numpy as np

from core.room import columns
from core.transformer_types import Facts, Float32, Norm


def normalise(
    x: Float32, norm: Norm[Float32] | None, facts: Facts, out: Float32 | None = None
) -> Float32:
    """[..., d]: the norm that a model has, over the last axis; None changes nothing.

    In `out`, which may be `x`, if it is given.
    """
    if norm is None:
        return x
    out = columns(*x.shape) if out is None else out
    ones = np.ones((x.shape[-1], 1), np.float32)
    part = np.float32(1 / x.shape[-1])
    if facts.norm == "layer":
        x = np.subtract(x, (x @ ones) * part, out=out)  # [..., d]
    size = (np.square(x) @ ones) * part  # [..., 1]
    np.multiply(x, 1 / np.sqrt(size + np.float32(facts.epsilon)), out=out)
    if norm.gain is not None:
        out *= norm.gain
    if norm.bias is not None:
        out += norm.bias
    return out


def added(
    x: Float32, y: Float32, norm: Norm[Float32] | None, facts: Facts, out: Float32
) -> Float32:
    """[pos, d_model]: the sum, normalised where there is a norm behind it, in `out`."""
    return normalise(np.add(x, y, out=out), norm, facts, out)
