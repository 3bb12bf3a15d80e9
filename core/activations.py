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
_SLOPE = math.sqrt(2 / math.pi)
# Φ(x) = (1 + tanh(x · P(x²))) / 2 to 7e-8 of x · Φ(x) for every x; fitted for the least largest
# error. By falling powers.
_GELU = (
    1.813925065451484e-09, -1.337831010371657e-07, 3.9740691683052635e-06,
    -5.5273374869946645e-05, -3.3026742690911665e-05, 3.633414917814363e-02, 0.7978842683828261,
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
        with np.errstate(over="ignore"):  # where exp overflows x / (1 + exp) is 0, as it should be
            for start in range(0, numbers.size, _BLOCK):
                block = slice(start, start + _BLOCK)
                self._formula(numbers[block], results[block])
        return out


def relu(x: Float32, out: Float32) -> None:
    """max(x, 0)"""
    np.maximum(x, 0, out=out)


def silu(x: Float32, out: Float32) -> None:
    """X · σ(x)"""
    y = np.negative(x, out=_scratch(0, x.size))
    np.exp(y, out=y)
    y += np.float32(1)
    np.divide(x, y, out=out)


def gelu_tanh(x: Float32, out: Float32) -> None:
    """x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))) (Hendrycks and Gimpel 2016)"""
    _half_of_one_plus_tanh(x, (0.044715 * _SLOPE, _SLOPE), out)


def gelu(x: Float32, out: Float32) -> None:
    """X · Φ(x) = x/2 · (1 + erf(x / √2)), not its approximation by tanh; NumPy has no erf."""
    _half_of_one_plus_tanh(x, _GELU, out)


def _half_of_one_plus_tanh(x: Float32, coefficients: Sequence[float], out: Float32) -> None:
    """x/2 · (1 + tanh(x · P(x²))), the coefficients of P by falling powers."""
    first, second, *rest = map(np.float32, coefficients)
    square = np.multiply(x, x, out=_scratch(0, x.size))
    y = np.multiply(square, first, out=_scratch(1, x.size))
    y += second
    for coefficient in rest:
        y *= square
        y += coefficient
    y *= x
    np.tanh(y, out=y)
    y += np.float32(1)
    y *= np.float32(0.5)
    np.multiply(x, y, out=out)


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
