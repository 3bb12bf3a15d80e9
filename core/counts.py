"""How many there are of something, in words: ``1 token``, ``2,048 tokens``."""

from __future__ import annotations

from typing import Protocol

from core.checkpoint_model import Stack
from core.language import _, counted


class Shaped(Protocol):
    """What has layers and heads: a model, one of its stacks, a model that was found."""

    @property
    def layers(self) -> int: ...

    @property
    def heads(self) -> int: ...


def tokens(count: int) -> str:
    return counted("{n:,} token", "{n:,} tokens", count).format(n=count)


def layers(count: int) -> str:
    return counted("{n:,} layer", "{n:,} layers", count).format(n=count)


def heads(count: int) -> str:
    return counted("{n:,} head", "{n:,} heads", count).format(n=count)


def rows(count: int) -> str:
    return counted("{n:,} row", "{n:,} rows", count).format(n=count)


def columns(count: int) -> str:
    return counted("{n:,} column", "{n:,} columns", count).format(n=count)


def numbers(count: int) -> str:
    return counted("{n:,} number", "{n:,} numbers", count).format(n=count)


def digits(count: int) -> str:
    return counted("{n:,} digit", "{n:,} digits", count).format(n=count)


def shape(model: Shaped) -> str:
    """``2 layers × 4 heads``."""
    return f"{layers(model.layers)} × {heads(model.heads)}"


def shapes(model: Shaped, writes: Stack | None) -> str:
    """The shape of a model, and of the decoder of an encoder–decoder."""
    if writes is None:
        return shape(model)
    both = _("encoder {encoder}, decoder {decoder}")
    return both.format(encoder=shape(model), decoder=shape(writes))
