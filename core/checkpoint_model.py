"""A real model as part of a request: plain data that can be compared and hashed."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Stack:
    """One stack of layers, as far as it can be looked at.

    Attributes
    ----------
    layers, heads, d_head : int
    causal : bool
    windows : tuple of int or None
        Of each layer: a query sees itself and the window - 1 tokens before it.
    """

    layers: int
    heads: int
    d_head: int
    causal: bool
    windows: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class CheckpointModel:
    """A model whose weights lie in files; `core.trained.describe` makes one.

    Attributes
    ----------
    path : str
        Its folder or file, absolute.
    name, family : str
        Fit to be shown, such as ``all-MiniLM-L6-v2`` and ``BERT``.
    d_model : int
    reads : Stack
        Reads the text: an encoder, or the decoder of a model without one.
    writes : Stack, optional
        The decoder of an encoder–decoder, which reads a target and attends to the text.
    predicts : bool
        It has a language head.
    mask_token : str, optional
        The piece that hides a token from it, such as ``[MASK]``; None where it has none.
    asked : str, optional
        The name that it was found by, such as ``owner/name`` of the hub; None where it was a path.
    """

    path: str
    name: str
    family: str
    d_model: int
    reads: Stack
    writes: Stack | None = None
    predicts: bool = False
    mask_token: str | None = None
    asked: str | None = field(default=None, compare=False)  # one model has several names

    @property
    def seed(self) -> None:
        return None

    def stack(self, attention: str) -> Stack:
        """The one whose tokens ask in one of `core.names.ATTENTIONS`."""
        return self.reads if attention == "encoder" or self.writes is None else self.writes

    # Of the stack that reads the text, as other models have them.

    @property
    def layers(self) -> int:
        return self.reads.layers

    @property
    def heads(self) -> int:
        return self.reads.heads

    @property
    def d_head(self) -> int:
        return self.reads.d_head

    @property
    def causal(self) -> bool:
        return self.reads.causal
