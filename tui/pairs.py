"""Pairs of tokens of two texts in words, the same for a screen and a shell."""

from __future__ import annotations

from core.comparison import Comparison, TokenPair
from core.text import label
from tui.labels import MASKED, ONLY_OTHER, ONLY_THIS, signed, weight


def pair_sign(pair: TokenPair) -> str:
    """A sign where a token is in one text only, else a space."""
    return ONLY_OTHER if pair[0] is None else ONLY_THIS if pair[1] is None else " "


def pair_label(compared: Comparison, pair: TokenPair) -> str:
    """The label of the token, which is the same in both texts."""
    i, j = pair
    if i is not None:
        return label(compared.one.tokens[i])
    return label(compared.other.tokens[j or 0])


def written(
    compared: Comparison,
    layer: int,
    queries: tuple[int, int],
    place: int,
    mine: float,
    theirs: float,
    precision: int,
) -> tuple[str, str]:
    """The two weights of a pair; empty where a text has no such token, a dash where it is masked.

    Parameters
    ----------
    compared : Comparison
    layer : int
    queries : tuple of int
        The query in each text.
    place : int
        Of the pair, in the alignment.
    mine, theirs : float
    precision : int
        Digits after the point.
    """
    write = signed if compared.one.request.switches.normalizer == "none" else weight
    (i, j), (query, partner) = compared.alignment[place], queries
    allowed, others = (each.encoder.masks[layer] for each in (compared.one, compared.other))
    left = right = ""
    if i is not None:
        left = write(mine, precision) if allowed[query, i] else MASKED
    if j is not None:
        right = write(theirs, precision) if others[partner, j] else MASKED
    return left, right
