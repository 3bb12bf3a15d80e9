"""From token ids to vectors: the seeded table and the positional encoding."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np

from core.seeded import draw
from core.types import Array, Tokens


def piece_id(piece: str) -> int:
    """Row of a piece in the open table: the first 4 bytes of the SHA-256 of its UTF-8."""
    return int.from_bytes(hashlib.sha256(piece.encode()).digest()[:4], "big")


@lru_cache(maxsize=2048)
def table_row(seed: int, token_id: int, d_model: int) -> Array:
    """Row `token_id` of the seeded table, made on demand.

    Returns
    -------
    ndarray [d_model]
        Mean 0, variance 1; a longer row starts with the numbers of a shorter one.
    """
    row = draw(f"embedding {seed} {token_id}", d_model)
    row.setflags(write=False)
    return row


def embed(tokens: Tokens, seed: int, d_model: int) -> Array:
    """Look the tokens up in the seeded table.

    Returns
    -------
    ndarray [pos, d_model]
    """
    return np.stack([table_row(seed, token.id, d_model) for token in tokens])


@lru_cache(maxsize=8)  # each keystroke asks for those of the same few lengths
def sinusoidal_positions(count: int, d_model: int) -> Array:
    """Positional encoding of Vaswani et al. 2017, "Attention is all you need", section 3.5.

    Dimension 2i of position p is sin(p / 10000^(2i/d_model)), dimension 2i+1 its cosine.

    Returns
    -------
    ndarray [pos, d_model]
    """
    even = np.arange(0, d_model, 2)
    angles = np.arange(count)[:, None] / 10000.0 ** (even / d_model)  # [pos, ceil(d_model / 2)]
    encoding = np.empty((count, d_model))
    encoding[:, 0::2] = np.sin(angles)
    encoding[:, 1::2] = np.cos(angles[:, : d_model // 2])
    encoding.setflags(write=False)
    return encoding
