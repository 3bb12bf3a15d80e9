"""How patterns are read: the next choice of each key, and what is chosen in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from core.language import _, counted
from core.names import DROPS
from core.reading import Reading, columns
from tui.scene import READ_PANES

if TYPE_CHECKING:
    from core.types import Tokens
    from tui.scene import Scene
    from tui.state import Explorer

CAPS = (0.0, 0.05, 0.1, 0.2, 0.5)


def with_words(reading: Reading | None) -> Reading | None:
    """Words instead of tokens, or tokens again."""
    reading = reading or Reading()
    return replace(reading, words=not reading.words).or_none()


def next_drop(reading: Reading | None, keys: Tokens) -> Reading | None:
    """Special tokens if there are any, the first key, nothing; single columns go with each."""
    reading = reading or Reading()
    special = any(token.special for token in keys)
    rounds = (None, *(drop for drop in DROPS if special or drop != "specials"))
    place = rounds.index(reading.drop) + 1 if reading.drop in rounds else 1
    return replace(reading, drop=rounds[place % len(rounds)], keys=frozenset()).or_none()


def toggled(reading: Reading | None, keys: Tokens, chosen: Iterable[int]) -> Reading | None:
    """Drop some keys, or keep them all if one of them is dropped; the others stay as they are."""
    reading, those = reading or Reading(), frozenset(chosen)
    now = frozenset(columns(reading, keys))
    if not now & those:
        return replace(reading, keys=reading.keys | those)
    return replace(reading, drop=None, keys=now - those).or_none()


def next_cap(reading: Reading) -> Reading:
    """The next larger of `CAPS`, or 0 again, which drops."""
    return replace(reading, cap=next((cap for cap in CAPS if cap > reading.cap), CAPS[0]))


def read_anew(state: Explorer, change: str) -> str:
    """Change how patterns are read; gives a sentence where that cannot be done.

    `change` is ``words``, ``drop``, ``key`` or ``cap``.
    """
    scene, reading = state.scene, state.view.reading
    if scene is None:
        return ""
    if scene.signed:
        return _("without a normalizer weights do not sum to 1, so none are dropped or merged")
    if change == "words":
        reading = with_words(reading)
    elif change == "drop":
        reading = next_drop(reading, scene.keys)
    elif change == "cap":
        if reading is None or not reading.cuts:
            return _("first choose the columns to cap: f drops special tokens or the first key")
        reading = next_cap(reading)
    elif scene.view.attention == "decoder":
        return _("single keys are dropped in the encoder and in cross; f drops the first here too")
    else:
        reading = toggled(reading, scene.keys, _selected(state.as_read(scene)))
    state.select(reading=reading)
    return ""


def _selected(scene: Scene) -> range:
    """The tokens of the selected key; in the list of tokens, of the one under its cursor."""
    name = "query" if scene.view.pane == "tokens" and not scene.crosses else "key"
    words = scene.query_words if name == "query" else scene.key_words
    token = int(getattr(scene.view, name))
    if words is None or scene.view.pane not in READ_PANES:
        return range(token, token + 1)
    return words[scene.query if name == "query" else scene.key]


def reading_in_words(reading: Reading) -> list[str]:
    """What is merged and dropped, as the status line and the table name it."""
    words = [_("words")] if reading.words else []
    if not reading.cuts:
        return words
    chosen = {"specials": _("specials"), "first": _("first key")}
    which = [chosen[reading.drop]] if reading.drop is not None else []
    count = len(reading.keys)
    if count:
        which.append(counted("{n} key", "{n} keys", count).format(n=count))
    said = _("{columns} capped at {cap:g}") if reading.cap else _("{columns} dropped")
    return [*words, said.format(columns=" + ".join(which), cap=reading.cap)]
