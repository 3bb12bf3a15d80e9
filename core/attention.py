"""Multi-head attention, a step a function, each with its shapes.

Vaswani et al. 2017, "Attention is all you need": attention(Q, K, V) = softmax(QKᵀ / √d_head) V,
heads side by side, then W_O; "Add & Norm" around it (section 3.1).
"""

from __future__ import annotations

import math

import numpy as np

from core.edits import edited, typed_over
from core.types import Array, BoolArray, LayerTrace, LayerWeights, Mask, Switches

LAYER_NORM_EPSILON = 1e-5


def split_heads(x: Array, heads: int) -> Array:
    """[pos, d_model] -> [head, pos, d_head]"""
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def merge_heads(z: Array) -> Array:
    """[head, pos, d_head] -> [pos, d_model]"""
    return z.transpose(1, 0, 2).reshape(z.shape[1], -1)


def divisor(d_head: int, switches: Switches) -> float:
    """What q·k is divided by: √d_head when scaling is on, times the temperature."""
    return (math.sqrt(d_head) if switches.scale else 1.0) * switches.temperature


def build_mask(queries: int, mask: Mask, keys: int | None = None) -> BoolArray:
    """[query, key], True = may be attended: every part of the mask must allow the cell.

    There are as many keys as queries unless `keys` says otherwise.
    """
    keys = queries if keys is None else keys
    query = np.arange(queries)[:, None]
    key = np.arange(keys)[None, :]
    allowed = np.ones((queries, keys), dtype=np.bool_)
    if mask.causal:
        allowed &= key <= query
    if mask.window is not None:
        distance = query - key
        allowed &= np.abs(distance, out=distance) <= mask.window
    if mask.blocked:
        allowed[:, sorted(mask.blocked)] = False
    return allowed


def masked_softmax(scores: Array, mask: BoolArray) -> Array:
    """Softmax over the last axis, among the allowed cells only.

    The row's maximum is subtracted first, so no score overflows. A masked cell is exactly 0
    and a row without an allowed cell is all 0.

    Parameters
    ----------
    scores : ndarray [..., query, key]
    mask : ndarray [query, key] of bool

    Returns
    -------
    ndarray [..., query, key]
    """
    allowed = np.broadcast_to(mask, scores.shape)
    top = scores.max(axis=-1, keepdims=True, where=allowed, initial=-np.inf)
    weights: Array = np.subtract(scores, top, where=allowed, out=np.zeros_like(scores))
    np.exp(weights, where=allowed, out=weights)
    total = weights.sum(axis=-1, keepdims=True)
    np.divide(weights, total, where=total > 0, out=weights)
    return weights


def feature_map(x: Array) -> Array:
    """elu(x) + 1 > 0, element by element (Katharopoulos et al. 2020, "Transformers are RNNs")."""
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def masked_linear(q: Array, k: Array, mask: BoolArray) -> Array:
    """Weights of linear attention: feature_map(q) · feature_map(k), each row divided by its sum.

    Parameters
    ----------
    q : ndarray [head, query, d_head]
    k : ndarray [head, key, d_head]
    mask : ndarray [query, key] of bool

    Returns
    -------
    ndarray [head, query, key]
        Masked cells are exactly 0 and a row without an allowed cell is all 0.
    """
    similarity = np.where(mask, feature_map(q) @ feature_map(k).transpose(0, 2, 1), 0.0)
    total = similarity.sum(axis=-1, keepdims=True)  # [head, query, 1]
    np.divide(similarity, total, where=total > 0, out=similarity)
    return similarity


def layer_norm(x: Array) -> Array:
    """[pos, d_model], each row to mean 0 and variance 1 (Ba et al. 2016, without gain and bias)"""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    normed: Array = centred / np.sqrt(variance + LAYER_NORM_EPSILON)
    return normed


def attend(
    x: Array,
    weights: LayerWeights,
    heads: int,
    mask: BoolArray,
    switches: Switches,
    layer: int = 0,
    source: Array | None = None,
) -> LayerTrace:
    """One layer: what enters it, every array on the way, what leaves it.

    Parameters
    ----------
    x : ndarray [pos, d_model]
    weights : LayerWeights
    heads : int
        Divides d_model.
    mask : ndarray [query, key] of bool
    switches : Switches
        Scaling, temperature, normalizer and scores typed over; the mask is already in `mask`.
    layer : int
        Which one it is, for the scores typed over.
    source : ndarray [key, d_model], optional
        What is attended to, in cross-attention (Vaswani et al. 2017, section 3.2.3); else x.
    """
    answering = x if source is None else source  # [key, d_model]
    q = split_heads(x @ weights.w_q, heads)  # [head, query, d_head]
    k = split_heads(answering @ weights.w_k, heads)  # [head, key, d_head]
    v = split_heads(answering @ weights.w_v, heads)  # [head, key, d_head]

    dot = q @ k.transpose(0, 2, 1)  # [head, query, key]
    attn_scores: Array = dot / divisor(q.shape[-1], switches)  # [head, query, key]
    attn_scores = edited(attn_scores, typed_over(switches, "attn_scores", layer))
    if switches.normalizer == "softmax":
        pattern = masked_softmax(attn_scores, mask)  # [head, query, key]
    elif switches.normalizer == "linear":
        pattern = masked_linear(q, k, mask)  # [head, query, key]
    else:
        pattern = np.where(mask, attn_scores, 0.0)  # [head, query, key]

    z = pattern @ v  # [head, query, d_head]
    attn_out = merge_heads(z) @ weights.w_o  # [query, d_model]
    resid_post = layer_norm(x + attn_out)  # [query, d_model]

    return LayerTrace(
        weights, x, q, k, v, dot, attn_scores, pattern, z, attn_out, resid_post, source
    )
