"""Products with weights, for some features at a time, so that threads can share them out.

Whoever makes some features of a layer's middle, heads or units of the MLP, also makes what they add
to its result (Shoeybi et al. 2019, "Megatron-LM"): threads wait for each other once for both.

A column of a result, a feature of all tokens, lies together in memory: with its factors in that
order OpenBLAS takes a twentieth less time. What is added to a result and normalised is kept in the
same order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.activations import ACTIVATIONS
from core.parallel import each
from core.room import columns
from core.transformer_types import Float32, Linear

_SMALL = 10**6  # multiplications of a product up to which OpenBLAS packs no factor
_FEW = 16  # tokens up to which products of that size are the quicker ones
_READ = 12  # multiplications that reading a weight takes as long as, at least


def project(
    x: Float32,
    linear: Linear[Float32],
    activation: str | None = None,
    out: Float32 | None = None,
) -> Float32:
    """[pos, in] -> [pos, out], and the activation of it where one is named."""
    made = columns(len(x), linear.weight.shape[1]) if out is None else out

    def some_features(some: slice) -> None:
        project_some(x, linear, some, made, activation)

    each(some_features, made.shape[1], effort(x, linear))
    return made


def project_some(
    x: Float32, linear: Linear[Float32], some: slice, out: Float32, activation: str | None = None
) -> None:
    """Some features of a projection: some columns of `out` [pos, out]."""
    made = out.T[some]  # [some, pos]
    product(linear.weight[:, some].T, x.T, made)
    if linear.bias is not None:
        made += linear.bias[some, None]
    if activation is not None:
        ACTIVATIONS[activation](made, out=made)


def contribution(x: Float32, linear: Linear[Float32], some: slice, out: Float32) -> Float32:
    """[pos, out]: what some features of x [pos, in] add to a projection; of the first in `out`."""
    if some.start:
        out = np.empty_like(out)
    product(linear.weight[some].T, x.T[some], out.T)
    return out


def total(contributions: Sequence[Float32], linear: Linear[Float32]) -> Float32:
    """[pos, out]: a projection, of what all features of x add to it."""
    out, *others = contributions
    for other in others:
        out += other
    if linear.bias is not None:
        out += linear.bias
    return out


def effort(x: Float32, *linears: Linear[Float32]) -> int:
    """About how many multiplications some projections take the time of."""
    return max(len(x), _READ) * sum(linear.weight.size for linear in linears)


def product(weight: Float32, x: Float32, out: Float32) -> None:
    """[out, in] · [in, pos] -> [out, pos].

    One column by `numpy.dot`, which lets go of the interpreter, as `numpy.matmul` does not where it
    makes less than 500 numbers. Few columns are quicker in small pieces.
    """
    count = x.shape[1]
    if count == 1 and out.strides[0] == out.itemsize:
        np.dot(weight, x[:, 0], out=out[:, 0])
    elif count <= _FEW:
        x = np.ascontiguousarray(x)
        step = max(8, _SMALL // x.size // 4 * 4)
        for start in range(0, len(weight), step):
            some = slice(start, start + step)
            np.matmul(weight[some], x, out=out[some])
    else:
        np.matmul(weight, x, out=out)
