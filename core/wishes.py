"""Wished-for weights: read and written as people do, painted, and carried along by an edit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from core.errors import SettingError, choose_from
from core.language import _
from core.learning_types import Learning, Wish
from core.text import brief
from core.types import Array, BoolArray

ROUNDING = 1e-9  # what the sum of written weights may miss 1 by
_SHOWN = 40
_PAIR = re.compile(r"([0-9]{1,9})\s*=\s*([0-9]*\.?[0-9]+(?:[eE]-?[0-9]{1,3})?)")


def read_wish(text: str) -> Wish:
    """Read ``5:3=0.6,2=0.3``, a query and its keys with their weights.

    Raises
    ------
    SettingError
        It is written otherwise.
    """
    query, _colon, weights = text.partition(":")
    if not re.fullmatch(r"\s*[0-9]{1,9}\s*", query):
        raise SettingError(
            _("the wish {text} does not begin with a query").format(text=_quoted(text)),
            _("write QUERY:KEY=WEIGHT,KEY=WEIGHT as in 5:3=0.6,2=0.3"),
        )
    return Wish(int(query), read_weights(weights))


def read_weights(text: str) -> tuple[tuple[int, float], ...]:
    """Read ``3=0.6, 2=0.3``, keys with their weights, into the order of the keys.

    Raises
    ------
    SettingError
        It is written otherwise, or names a key twice.
    """
    found: dict[int, float] = {}
    for part in re.split(r"[,\s]+", re.sub(r"\s*=\s*", "=", text.strip())):
        pair = _PAIR.fullmatch(part)
        if pair is None:
            raise SettingError(
                _("{text} is no wished-for weight").format(text=_quoted(part)),
                _("write KEY=WEIGHT as in 3=0.6,2=0.3"),
            )
        key = int(pair[1])
        if key in found:
            raise SettingError(
                _("key {key} is wished for twice").format(key=key), _("name each key once")
            )
        found[key] = float(pair[2])
    return tuple(sorted(found.items()))


def weights_in_words(wish: Wish) -> str:
    """The weights of a wish, as `read_weights` reads them."""
    return ",".join(f"{key}={repr(weight).removesuffix('.0')}" for key, weight in wish.weights)


def wish_in_words(wish: Wish) -> str:
    """A wish, as `read_wish` reads it."""
    return f"{wish.query}:{weights_in_words(wish)}"


def wished_rows(wishes: Iterable[Wish], mask: BoolArray) -> Array:
    """The whole rows that are wished for.

    Parameters
    ----------
    wishes : iterable of Wish
    mask : ndarray [query, key] of bool

    Returns
    -------
    ndarray [row, key]
        A row a wish; each sums to 1 and is 0 where masked.

    Raises
    ------
    SettingError
        A wish names what is not there, a masked key, or weights that cannot sum to 1.
    """
    return np.stack([_wished_row(wish, mask) for wish in wishes])


def _wished_row(wish: Wish, mask: BoolArray) -> Array:
    count, allowed = len(mask), _allowed(wish, mask)
    row, rest = np.zeros(count), allowed.copy()  # [key]
    for key, weight in wish.weights:
        if weight and not allowed[key]:
            raise SettingError(
                _(
                    "query {query} may not attend to key {key}, which has a wish of {weight:g}"
                ).format(query=wish.query, key=key, weight=weight),
                _("take the wish back or change the mask"),
            )
        row[key], rest[key] = weight, False
    total = math.fsum(weight for _key, weight in wish.weights)
    if total > 1 + ROUNDING or (total < 1 - ROUNDING and not rest.any()):
        raise SettingError(
            _("the wished-for weights of query {query} sum to {total:.6g}").format(
                query=wish.query, total=total
            ),
            _("choose weights that sum to at most 1")
            if rest.any()
            else _("choose weights that sum to 1"),
        )
    if rest.any():
        row[rest] = max(0.0, 1 - total) / rest.sum()
    whole: Array = row / row.sum()
    return whole


def _allowed(wish: Wish, mask: BoolArray) -> BoolArray:
    """The keys that the wish may name."""
    for index in (wish.query, *(key for key, _weight in wish.weights)):
        if not 0 <= index < len(mask):
            raise SettingError(
                _("there is no token {index} to wish for").format(index=index),
                choose_from(0, len(mask) - 1),
            )
    allowed: BoolArray = mask[wish.query]
    if not allowed.any():
        raise SettingError(
            _("query {query} may attend to no key, so its row cannot learn").format(
                query=wish.query
            ),
            _("take the wish back or change the mask"),
        )
    return allowed


def painted(
    wishes: Sequence[Wish], query: int, key: int, weight: float, allowed: Sequence[bool]
) -> tuple[Wish, ...]:
    """The wishes after one weight was painted.

    What there is not enough of for the new weight is taken from the largest of the other named
    ones; where every key is named, what becomes free goes to the largest of the others.

    Parameters
    ----------
    wishes : sequence of Wish
    query, key : int
    weight : float
        From 0 to 1.
    allowed : sequence of bool
        The keys that the query may attend to; `key` is one of them.
    """
    named = {k: w for wish in wishes if wish.query == query for k, w in wish.weights if k != key}
    others = sorted(named, key=lambda k: (-named[k], k))
    free = round(1 - weight - math.fsum(named.values()), 6)
    for other in others:
        if free >= 0:
            break
        taken = min(named[other], -free)
        named[other], free = round(named[other] - taken, 6), round(free + taken, 6)
    unnamed = sum(allowed) - sum(allowed[k] for k in named) - 1
    if free > 0 and not unnamed:
        if not others:
            weight = 1.0  # the only key
        else:
            named[others[0]] = round(named[others[0]] + free, 6)
    named[key] = weight
    return with_wish(wishes, Wish(query, tuple(sorted(named.items()))))


def with_wish(wishes: Iterable[Wish], wish: Wish) -> tuple[Wish, ...]:
    """The wishes with one more, or another one for its query; in the order of the queries."""
    others = [each for each in wishes if each.query != wish.query]
    return tuple(sorted([*others, wish], key=lambda each: each.query))


def moved(learning: Learning, place: Callable[[int], int | None], count: int) -> Learning | None:
    """What is left of the wishes when the text was edited; nothing of it is learned yet.

    Parameters
    ----------
    learning : Learning
    place : callable
        From the index of a token before the edit to the one after it; None where it is gone.
    count : int
        Tokens after the edit.
    """
    kept = []
    for wish in learning.wishes:
        query = place(wish.query)
        placed = ((place(key), weight) for key, weight in wish.weights)
        weights = tuple((key, weight) for key, weight in placed if key is not None)
        whole = len(weights) < count or len(weights) == len(wish.weights)
        if query is not None and weights and whole:
            kept.append(Wish(query, weights))
    return replace(learning, wishes=tuple(kept), steps=0) if kept else None


def _quoted(text: str) -> str:
    return f"“{brief(text, _SHOWN)}”"
