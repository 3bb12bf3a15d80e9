"""A real model as part of a request: plain data that can be compared and hashed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckpointModel:
    """A model whose weights lie in files; `core.trained.describe` makes one.

    Attributes
    ----------
    path : str
        Its folder or file, absolute.
    name, family : str
        Fit to be shown, such as ``all-MiniLM-L6-v2`` and ``BERT``.
    layers, heads, d_model, d_head : int
    causal : bool
    windows : tuple of int or None
        Of each layer: a query sees itself and the window - 1 tokens before it.
    predicts : bool
        It has a language head.
    mask_token : str, optional
        The piece that hides a token from it, such as ``[MASK]``; None where it has none.
    """

    path: str
    name: str
    family: str
    layers: int
    heads: int
    d_model: int
    d_head: int
    causal: bool
    windows: tuple[int | None, ...]
    predicts: bool = False
    mask_token: str | None = None

    @property
    def seed(self) -> None:
        return None
