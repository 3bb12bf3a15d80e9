"""Activations of real models in float32, a block of rows at a time so that each stays in cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from threading import local
from typing import TypeAlias

import numpy as np

from core.room import aligned
from core.transformer_types import Float32

Formula: TypeAlias = Callable[[Float32, Float32], object]  # of x, into an array that may be x

_BLOCK = 3 * 2**15  # numbers that are worked on at a time
_TANH_SLOPE = -2 * math.sqrt(2 / math.pi)
# Φ(x) = σ(x · P(x²)) to 7e-8 of x · Φ(x) for every x; fitted for the least largest error. By
# falling powers, with the sign of exp(−…).
_GELU = (
    -3.627850130902968e-09, 2.675662020743314e-07, -7.948138336610527e-06,
    1.1054674973989329e-04, 6.605348538182333e-05, -7.266829835628726e-02, -1.5957685367656522,
)  # fmt: skip


class Activation:
    """A formula, applied to blocks of an array."""

    def __init__(self, formula: Formula) -> None:
        self._formula = formula

    def __call__(self, x: Float32, out: Float32 | None = None) -> Float32:
        """The formula of every number of `x`, in `out` (contiguous; may be `x`) if it is given."""
        if out is None:
            out = np.empty(x.shape, np.float32)
        numbers, results = x.reshape(-1), out.reshape(-1)
        # Where exp or a power of x overflows, x / (1 + exp) is 0 or x, as it should be.
        with np.errstate(over="ignore"):
            for start in range(0, numbers.size, _BLOCK):
                block = slice(start, start + _BLOCK)
                self._formula(numbers[block], results[block])
        return out


def relu(x: Float32, out: Float32) -> None:
    """max(x, 0)"""
    np.maximum(x, 0, out=out)


def silu(x: Float32, out: Float32) -> None:
    """X · σ(x)"""
    _sigmoid_product(x, np.negative(x, out=_scratch(0, x.size)), out)


def gelu_tanh(x: Float32, out: Float32) -> None:
    """x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))) (Hendrycks and Gimpel 2016), as x · σ(2 …)."""
    _sigmoid_product(x, _odd(x, (0.044715 * _TANH_SLOPE, _TANH_SLOPE)), out)


def gelu(x: Float32, out: Float32) -> None:
    """X · Φ(x) = x/2 · (1 + erf(x / √2)), not its approximation by tanh; NumPy has no erf."""
    _sigmoid_product(x, _odd(x, _GELU), out)


def _odd(x: Float32, coefficients: Sequence[float]) -> Float32:
    """X · P(x²), the coefficients of P by falling powers; in the scratch."""
    first, second, *rest = map(np.float32, coefficients)
    square = np.multiply(x, x, out=_scratch(1, x.size))
    out = np.multiply(square, first, out=_scratch(0, x.size))
    out += second
    for coefficient in rest:
        out *= square
        out += coefficient
    out *= x
    return out


def _sigmoid_product(x: Float32, y: Float32, out: Float32) -> None:
    """X / (1 + exp(y)), in `out`; y is used up. NumPy's tanh is slow where AVX-512 is missing."""
    np.exp(y, out=y)
    y += np.float32(1)
    np.divide(x, y, out=out)


class _Scratch(local):
    """Two blocks for each thread: memory that is in its cache."""

    def __init__(self) -> None:
        self.blocks = [aligned(_BLOCK) for _ in range(2)]


_scratches = _Scratch()


def _scratch(which: int, size: int) -> Float32:
    return _scratches.blocks[which][:size]


# By the names that configurations use.
ACTIVATIONS: dict[str, Activation] = {
    "relu": Activation(relu),
    "silu": Activation(silu),
    "swish": Activation(silu),
    "gelu": Activation(gelu),
    "gelu_python": Activation(gelu),
    "gelu_new": Activation(gelu_tanh),
    "gelu_fast": Activation(gelu_tanh),
    "gelu_pytorch_tanh": Activation(gelu_tanh),
}
