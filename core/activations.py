"""Activations of real models in float32, a block of rows at a time so that each stays in cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from core.transformer_types import Float32

Activation: TypeAlias = Callable[[Float32], Float32]

_BLOCK = 2**15  # numbers that are worked on at a time
_TANH_SLOPE = np.float32(2 * math.sqrt(2 / math.pi))
_TANH_CUBE = np.float32(0.044715)
# Abramowitz and Stegun 1964, formula 7.1.26: erf to 1.5e-7. NumPy has none.
_ERF_P = np.float32(0.3275911)
_ERF = tuple(map(np.float32, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)))
_ROOT_HALF = np.float32(math.sqrt(0.5))


def relu(x: Float32) -> Float32:
    """max(x, 0)"""
    return np.maximum(x, 0)


def silu(x: Float32) -> Float32:
    """X · σ(x)"""
    return _sigmoid_product(x, x)


def gelu_tanh(x: Float32) -> Float32:
    """x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))) (Hendrycks and Gimpel 2016), as x · σ(2 …)."""
    return _sigmoid_product(x, _TANH_SLOPE * (x + _TANH_CUBE * x * x * x))


def gelu(x: Float32) -> Float32:
    """X · Φ(x) = x/2 · (1 + erf(x / √2)), not its approximation by tanh."""
    size = np.abs(x) * _ROOT_HALF
    t: Float32 = np.float32(1) / (np.float32(1) + _ERF_P * size)
    tail = t * _ERF[0]
    for coefficient in _ERF[1:]:
        tail += coefficient
        tail *= t
    tail *= np.exp(-size * size)  # 1 - erf(size) = 2 · (1 - Φ(|x|))
    tail *= np.float32(0.5) * np.abs(x)
    out: Float32 = np.maximum(x, 0) - tail
    return out


def _sigmoid_product(x: Float32, y: Float32) -> Float32:
    """X / (1 + exp(-y)); where exp overflows the result is 0, as it should be."""
    with np.errstate(over="ignore"):
        out: Float32 = x / (1 + np.exp(-y))
    return out


def _in_blocks(formula: Activation) -> Activation:
    def activation(x: Float32) -> Float32:
        flat = x.reshape(-1)
        if flat.size <= _BLOCK:
            return formula(flat).reshape(x.shape)
        out = np.empty_like(flat)
        for start in range(0, flat.size, _BLOCK):
            out[start : start + _BLOCK] = formula(flat[start : start + _BLOCK])
        return out.reshape(x.shape)

    return activation


# By the names that configurations use.
ACTIVATIONS: dict[str, Activation] = {
    "relu": relu,
    "silu": _in_blocks(silu),
    "swish": _in_blocks(silu),
    "gelu": _in_blocks(gelu),
    "gelu_python": _in_blocks(gelu),
    "gelu_new": _in_blocks(gelu_tanh),
    "gelu_fast": _in_blocks(gelu_tanh),
    "gelu_pytorch_tanh": _in_blocks(gelu_tanh),
}
