"""How patterns are read: the next choice of each key, and what is chosen in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from core.hiding import shown_again
from core.language import _, counted
from core.names import DROPS
from core.reading import Reading, columns, words_of

if TYPE_CHECKING:
    from core.types import Tokens
    from tui.scene import Scene

CAPS = (0.0, 0.05, 0.1, 0.2, 0.5)


def with_words(reading: Reading) -> Reading | None:
    """Words instead of tokens, or tokens again."""
    return replace(reading, words=not reading.words).or_none()


def next_drop(reading: Reading, keys: Tokens) -> Reading | None:
    """Special tokens if there are any, the first key, nothing; single columns go with each."""
    special = any(token.special for token in keys)
    rounds = (None, *(drop for drop in DROPS if special or drop != "specials"))
    place = rounds.index(reading.drop) + 1 if reading.drop in rounds else 1
    return replace(reading, drop=rounds[place % len(rounds)], keys=frozenset()).or_none()


def toggled(reading: Reading, keys: Tokens, chosen: Iterable[int]) -> Reading | None:
    """Drop some keys, or keep them all if one of them is dropped; the others stay as they are."""
    those = frozenset(chosen)
    now = frozenset(columns(reading, keys))
    if not now & those:
        return replace(reading, keys=reading.keys | those)
    return replace(reading, drop=None, keys=now - those).or_none()


def next_cap(reading: Reading) -> Reading:
    """The next larger of `CAPS`, or 0 again, which drops."""
    return replace(reading, cap=next((cap for cap in CAPS if cap > reading.cap), CAPS[0]))


def refused(scene: Scene, change: str) -> str:
    """Why how patterns are read cannot be changed so, in a sentence; empty where it can."""
    if scene.signed:
        return _("without a normalizer weights do not sum to 1, so none are dropped or merged")
    if change == "cap" and not scene.cuts:
        return _("first choose the columns to cap: f drops special tokens or the first key")
    if change == "key" and scene.view.attention == "decoder":
        return _("single keys are dropped in the encoder and in cross; f drops the first here too")
    return ""


def changed(scene: Scene, change: str) -> Reading | None:
    """How patterns are read after a change, one of ``words``, ``drop``, ``key`` and ``cap``.

    The scene is the one that is read.
    """
    reading, keys = scene.view.reading or Reading(), scene.plain.keys
    if change == "words":
        return with_words(reading)
    if change == "drop":
        return next_drop(reading, keys)
    if change == "cap":
        return next_cap(reading)
    listed = scene.view.pane == "tokens" and not scene.crosses  # where the cursor is the query
    return toggled(reading, keys, scene.selected("query" if listed else "key"))


def word_at(tokens: Tokens, place: int) -> range:
    """The tokens of the word that one of them is in, as if none of them were masked."""
    return next(word for word in words_of(shown_again(tokens)) if place in word)


def reading_in_words(
    reading: Reading, own: bool = True, names: Sequence[str] | None = None
) -> list[str]:
    """What is merged and dropped, as the status line and the table name it.

    `own` says whether the keys are the tokens that `Reading.keys` counts; without their `names`
    they are counted.
    """
    words = [_("words")] if reading.words else []
    count = len(reading.keys) if own else 0
    if reading.drop is None and not count:
        return words
    chosen = {"specials": _("specials"), "first": _("first key")}
    which = [chosen[reading.drop]] if reading.drop is not None else []
    if count and names is not None:
        which += names
    elif count:
        which.append(counted("{n} key", "{n} keys", count).format(n=count))
    said = _("{columns} capped at {cap:g}") if reading.cap else _("{columns} dropped")
    return [*words, said.format(columns=" + ".join(which), cap=reading.cap)]
