"""How many there are of something, in words: ``1 token``, ``2,048 tokens``."""

from __future__ import annotations

from core.language import counted


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
