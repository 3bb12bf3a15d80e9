"""How real models tell positions apart: rows of a table, rotations, learned biases. Float32."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from core.transformer_types import Facts, Float32, RelativeBias, Rotary


def position_rows(facts: Facts, ids: Sequence[int], blocked: frozenset[int]) -> list[int]:
    """Which row of the position table each token takes.

    ``plain`` counts all tokens; ``unpadded`` only those that are not padding, which take the row
    before the first (OPT by its mask, RoBERTa by the id of padding).
    """
    offset = facts.position_offset
    if facts.position_rule == "plain":
        return [offset + i for i in range(len(ids))]
    rows, seen = [], 0
    for index, token in enumerate(ids):
        pad = token == facts.pad_id if facts.position_rule == "unpadded-id" else index in blocked
        rows.append(offset - 1 if pad else offset + seen)
        seen += not pad
    return rows


def sinusoids(count: int, width: int) -> Float32:
    """[pos, width]: sines in the first half, cosines in the second (Vaswani et al. 2017, 3.5)."""
    rates = 10000.0 ** -(np.arange(0, width, 2) / width)  # [width / 2]
    angles = np.arange(count)[:, None] * rates
    return np.concatenate(
        [np.sin(angles), np.cos(angles)[:, : width // 2]], axis=1, dtype=np.float32
    )


def rotation(count: int, rotary: Rotary | None, first: int = 0) -> tuple[Float32, Float32] | None:
    """Cosines and sines [pos, d_rotary / 2] of position × frequency, in float32 throughout.

    Of the positions from `first` on.
    """
    if rotary is None:
        return None
    frequencies = np.asarray(rotary.frequencies, dtype=np.float32)
    angles = np.arange(first, count, dtype=np.float32)[:, None] * frequencies
    factor = np.float32(rotary.factor)
    return np.cos(angles) * factor, np.sin(angles) * factor


def rotate(x: Float32, turn: tuple[Float32, Float32] | None) -> None:
    """[head, pos, d_head], in place: dimension i turns with i + d_rotary / 2, the rest stays."""
    if turn is None:
        return
    cos, sin = turn  # [pos, d_rotary / 2]
    half = cos.shape[-1]
    first, second = x[..., :half], x[..., half : 2 * half]
    turned = second * cos + first * sin
    first[...] = first * cos - second * sin
    second[...] = turned


def relative_bias(count: int, relative: RelativeBias, table: Float32) -> Float32:
    """[head, query, key]: a learned number for how far the key is from the query.

    Near distances have a bucket each, far ones share buckets that widen logarithmically
    (Raffel et al. 2020, section 2.1). `table` is [bucket, head]. What is returned is a view of a
    number for each distance.
    """
    ahead = np.arange(1 - count, count)  # key - query
    buckets = relative.buckets
    if relative.both_ways:
        buckets //= 2
        bucket = np.where(ahead > 0, buckets, 0)
        distance = np.abs(ahead)
    else:
        bucket = np.zeros_like(ahead)
        distance = np.maximum(-ahead, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, 1).astype(np.float32) / np.float32(exact))
    ratio = ratio / np.float32(np.log(relative.max_distance / exact)) * np.float32(buckets - exact)
    far = np.minimum(exact + ratio.astype(np.int64), buckets - 1)
    bucket = bucket + np.where(distance < exact, distance, far)
    distances = np.ascontiguousarray(table[bucket].T)  # [head, key - query]
    return sliding_window_view(distances, count, axis=1)[:, ::-1]
