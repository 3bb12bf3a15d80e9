"""From q, k and v to what the heads mix: scores, mask, softmax; and the cells that are looked at.

A pattern is [head, query, key]. The forward pass works through blocks of it and keeps none; the
same steps make the rows that somebody looks at.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from core.attention import build_mask
from core.lazy import HeadArray, KeptHeads, LazyArray
from core.parallel import each
from core.room import empty
from core.transformer_types import BoolArray, Facts, Float32, LayerFacts, Scoring
from core.types import Mask

_BLOCK = 2**18  # scores that are worked on at a time, so that they stay in a processor's cache
_SAFE = 60.0  # a score below it needs no other subtracted: exp(60) × 10,000 is a float32


def mix(
    q: Float32,
    k: Float32,
    v: Float32 | None,
    scoring: Scoring,
    some: slice,
    out: Float32 | None,
    pattern: Float32 | None = None,
) -> None:
    """What some heads mix, pattern · v [head, query, d_head]: a block of scores at a time.

    The pattern [head, query, key] stays where room for it is given; without v that is all.
    """
    shared = len(q) // len(k)  # query heads to a key/value head
    heads, queries, keys = some.stop - some.start, q.shape[1], k.shape[1]
    read = slice(some.start // shared, -(-some.stop // shared))  # others may not be written yet
    # Else it costs what it saves.
    small = queries >= q.shape[2] and bound(q[some], k[read], scoring) < _SAFE
    high = max(1, min(queries, _BLOCK // keys))
    wide = max(1, _BLOCK // (high * keys))

    for top in range(0, queries, high):
        rows = slice(top, min(top + high, queries))
        placed = slice(scoring.first + rows.start, scoring.first + rows.stop)
        seen, barred = reach(scoring.mask, placed, keys, whole=pattern is not None)
        for start in range(0, heads, wide):
            part = slice(start, min(start + wide, heads))
            of_all = slice(some.start + part.start, some.start + part.stop)
            bias = None if scoring.bias is None else scoring.bias[of_all, placed, seen]
            place = None if pattern is None else pattern[of_all, rows]
            scores = score(q[of_all, rows], k[:, seen], of_all, shared, scoring, bias, out=place)
            softmax(scores, barred, small=small)  # [head, query, key]
            if v is not None and out is not None:
                # In `out`, where features lie together, OpenBLAS would take half as long again.
                out[of_all, rows] = product_by_heads(scores, v[:, seen], of_all, shared)


def bound(q: Float32, k: Float32, scoring: Scoring) -> float:
    """What no score is above."""
    bias = 0.0 if scoring.bias is None else float(np.abs(scoring.bias).max())
    return largest(q) * largest(k) * abs(scoring.scale) + bias


def score(
    q: Float32,
    k: Float32,
    heads: slice,
    shared: int,
    scoring: Scoring,
    bias: Float32 | None,
    out: Float32 | None = None,
) -> Float32:
    """[head, query, key] of some heads: q·k scaled, soft-capped, with a bias; before the mask."""
    keys = k.transpose(0, 2, 1)  # [kv_head, d_head, key]
    scores = product_by_heads(q * np.float32(scoring.scale), keys, heads, shared, out)
    if scoring.softcap is not None:
        scores /= np.float32(scoring.softcap)
        np.tanh(scores, out=scores)
        scores *= np.float32(scoring.softcap)
    if bias is not None:
        scores += bias
    return scores


def product_by_heads(
    x: Float32, y: Float32, heads: slice, shared: int, out: Float32 | None = None
) -> Float32:
    """[head, row, column]: x [head, row, n] of some query heads · y [kv_head, n, column], which so
    many of them share; y is not copied for each.
    """
    if shared == 1:
        made: Float32 = np.matmul(x, y[heads], out=out)
        return made
    made = np.empty((*x.shape[:2], y.shape[2]), np.float32) if out is None else out
    for kv_head in range(heads.start // shared, -(-heads.stop // shared)):
        start = max(kv_head * shared - heads.start, 0)
        some = slice(start, (kv_head + 1) * shared - heads.start)
        np.matmul(x[some], y[kv_head], out=made[some])
    return made


def reach(
    mask: BoolArray | None, rows: slice, keys: int, whole: bool
) -> tuple[slice, Float32 | None]:
    """From the first key to the last that some of the queries see, and the barrier among these.

    All keys if the `whole` row is wanted.
    """
    if mask is None:
        return slice(0, keys), None
    allowed = mask[rows]
    if allowed.all():
        return slice(0, keys), None
    if whole:
        return slice(0, keys), barrier(allowed)
    places = np.flatnonzero(allowed.any(axis=0))
    seen = slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, keys)
    allowed = allowed[:, seen]
    return seen, None if allowed.all() else barrier(allowed)


def cells(
    q: HeadArray, k: Float32, v: Float32, scoring: Scoring, kept: KeptHeads
) -> dict[str, Any]:
    """What is made when it is looked at, by the names of `AttentionTrace`, as `mix` has it."""
    shared = len(q) // len(k)
    shape = (len(q), q.shape[1], k.shape[1])

    def dot(heads: slice, rows: Any) -> Float32:
        keys = k.transpose(0, 2, 1)  # [kv_head, d_head, key]
        return product_by_heads(q[heads][:, rows], keys, heads, shared)

    def attn_scores(heads: slice, rows: Any) -> Float32:
        bias = None if scoring.bias is None else scoring.bias[heads][:, rows]
        return score(q[heads][:, rows], k, heads, shared, scoring, bias)

    def pattern(heads: slice, rows: Any) -> Float32:
        if isinstance(rows, slice):
            made = empty(heads.stop - heads.start, rows.stop - rows.start, k.shape[1])
            bias = None if scoring.bias is None else scoring.bias[heads]
            placed = replace(scoring, first=rows.start, bias=bias)
            asks, answers = q[heads][:, rows], _shared_rows(k, heads, shared)

            def some_heads(part: slice) -> None:
                mix(asks, answers, None, placed, part, None, made)

            each(some_heads, len(made), work=made.size * 2 * q.shape[2])
            return made
        scores = attn_scores(heads, rows)
        softmax(scores, None if scoring.mask is None else barrier(scoring.mask[rows]))
        return scores

    def z(heads: slice, rows: Any) -> Float32:
        return product_by_heads(pattern(heads, rows), v, heads, shared)

    def for_heads(x: Float32) -> HeadArray:
        """[head, pos, d_head]: k or v as every query head reads it."""
        if shared == 1:
            return x
        shape = (len(q), *x.shape[1:])
        return LazyArray(shape, lambda heads, rows: _shared_rows(x, heads, shared)[:, rows], kept)

    return {
        "k": for_heads(k),
        "v": for_heads(v),
        "dot": LazyArray(shape, dot, kept),
        "attn_scores": LazyArray(shape, attn_scores, kept),
        "pattern": LazyArray(shape, pattern, kept),
        "z": LazyArray((len(q), q.shape[1], v.shape[2]), z, kept),
    }


def _shared_rows(x: Float32, heads: slice, shared: int) -> Float32:
    """[head, key, d_head]: the key/value heads that some query heads read, as `columns` has it."""
    if shared == 1:
        return x[heads]
    read = [head // shared for head in range(heads.start, heads.stop)]
    return x.swapaxes(1, 2)[read].swapaxes(1, 2)


def largest(x: Float32) -> float:
    """The largest length of a vector of [head, pos, d_head]."""
    return math.sqrt(np.einsum("hpd,hpd->hp", x, x).max())


def softmax(scores: Float32, barred: Float32 | None, small: bool = False) -> None:
    """[..., query, key], each row over its allowed keys; masked cells and empty rows are 0.

    The row's largest allowed score is subtracted first, so that nothing overflows, unless all
    scores are known to be `small`; where it is −∞ the weights of the row are no numbers. The −∞
    that stands in for a masked cell is in `barred`, see `barrier`, and never in the scores.
    """
    if barred is not None:
        scores += barred
    if not small:
        top = scores.max(axis=-1, keepdims=True)
        if barred is not None:
            without = np.isneginf(top)
            if without.any():
                without &= np.isneginf(barred).all(axis=-1, keepdims=True)
                top[without] = 0  # a row without a key: exp(−∞ − 0) = 0
        scores -= top
    np.exp(scores, out=scores)
    total = scores @ np.ones((scores.shape[-1], 1), np.float32)  # [..., query, 1]
    if barred is not None:
        total[total == 0] = 1
    scores /= total


def barrier(mask: BoolArray) -> Float32:
    """[query, key]: 0 where a key may be attended to, −∞ where not."""
    return np.where(mask, np.float32(0), np.float32(-np.inf))


def layer_mask(
    count: int, facts: Facts, layer: LayerFacts, blocked: frozenset[int]
) -> BoolArray | None:
    """[query, key], True = may be attended; None when every key may be."""
    if not facts.causal and not blocked and layer.window is None:
        return None
    window = None if layer.window is None else layer.window - 1  # the query's own position counts
    return build_mask(count, Mask(facts.causal, window, blocked))
