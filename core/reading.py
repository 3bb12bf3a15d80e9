"""A pattern as it is read: columns dropped or capped, pieces of words merged. No model runs anew.

Columns go first, token by token; then words are merged: keys are summed, queries averaged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core.errors import SettingError, choose_from
from core.explain import BAND
from core.language import _
from core.tokenization import word_spans
from core.types import Array, Attention, BoolArray, Token, Tokens

if TYPE_CHECKING:
    from core.lazy import HeadArray


@dataclass(frozen=True, slots=True)
class Reading:
    """How patterns are read. One that changes nothing is written None.

    Attributes
    ----------
    words : bool
        Merge the tokens of a word.
    drop : str, optional
        Columns to drop: one of `core.names.DROPS`.
    keys : frozenset of int
        Columns to drop besides, by the index of the key among the tokens of the text.
    cap : float
        What a weight in such a column is cut to; 0 drops the column.
    """

    words: bool = False
    drop: str | None = None
    keys: frozenset[int] = frozenset()
    cap: float = 0.0

    @property
    def cuts(self) -> bool:
        """Whether columns are chosen."""
        return self.drop is not None or bool(self.keys)

    def or_none(self) -> Reading | None:
        """None for one that changes nothing; a cap goes with its last column."""
        reading = self if self.cuts else replace(self, cap=0.0)
        return reading if reading.cuts or reading.words else None


class Rows(NamedTuple):
    """Weights as they are read.

    Attributes
    ----------
    weights : ndarray [..., query, key]
        Each row sums to 1 where anything is left of it, else it is all 0.
    removed : ndarray [..., query]
        How much of a row was taken away before the rest was made 1 again.
    """

    weights: Array
    removed: Array


Words = tuple[range, ...]  # the tokens of each word, in order; each token is in one


def checked(reading: Reading, count: int) -> None:
    """Raise SettingError unless the cap is a share, and the keys are among `count` tokens."""
    if not (math.isfinite(reading.cap) and 0 <= reading.cap < 1):
        raise SettingError(
            _("cap {value:g} is out of range").format(value=reading.cap),
            _("choose a weight from 0, which drops, to below 1"),
        )
    if reading.cap and not reading.cuts:
        raise SettingError(
            _("there is no column to cap"),
            _("choose some, as in --drop specials, --drop first or --drop 0"),
        )
    for key in sorted(reading.keys):
        if not 0 <= key < count:
            raise SettingError(
                _("column {value} to drop is out of range").format(value=key),
                choose_from(0, count - 1),
            )


def columns(reading: Reading, tokens: Tokens, own: bool = True) -> list[int]:
    """The keys whose columns are dropped or capped, in order.

    Parameters
    ----------
    reading : Reading
    tokens : Tokens
        The keys.
    own : bool
        They are the tokens that `Reading.keys` counts.
    """
    found = set(reading.keys) if own else set()
    if reading.drop == "first":
        found.add(0)
    elif reading.drop == "specials":
        found |= {index for index, token in enumerate(tokens) if token.special}
    return sorted(found)


def cut_columns(weights: Array, chosen: Sequence[int], cap: float = 0.0) -> Rows:
    """Cut the weights of some columns to at most `cap`, and share what is taken among the others.

    The others keep their proportions. Where they have no weight at all a row cannot be made 1
    again: dropped (`cap` 0) it becomes all 0, capped it stays as it is.

    Parameters
    ----------
    weights : ndarray [..., query, key]
        Rows that sum to 1, or are all 0.
    chosen : sequence of int
    cap : float
        From 0 to below 1.
    """
    cut = np.array(weights, dtype=np.float64)
    columns = list(chosen)
    whole = cut[..., columns]
    kept = np.minimum(whole, cap)
    removed: Array = (whole - kept).sum(axis=-1)
    cut[..., columns] = 0
    rest = cut.sum(axis=-1)
    alone = rest == 0
    cut *= (1 + np.divide(removed, rest, where=~alone, out=np.zeros_like(rest)))[..., None]
    if cap:
        kept[alone] = whole[alone]
        removed[alone] = 0
    cut[..., columns] = kept
    return Rows(cut, removed)


def sum_keys(weights: Array, words: Words) -> Array:
    """Weights of words as keys: the sum over their tokens. [..., token] becomes [..., word]."""
    summed: Array = np.add.reduceat(
        weights, [word.start for word in words], axis=-1, dtype=np.float64
    )
    return summed


def average_queries(rows: Rows, words: Words) -> Rows:
    """Rows of words as queries: the average over their tokens. [..., token, key] → [..., word, key]

    A row with nothing left has nothing to say of where the weights go, and counts only in how much
    was removed; a row that was masked from the start counts in neither.
    """
    starts = [word.start for word in words]
    left: BoolArray = np.asarray(rows.weights.any(axis=-1))
    some: BoolArray = left | (rows.removed > 0)

    def counted(which: BoolArray) -> Array:
        count: Array = np.add.reduceat(which.astype(np.float64), starts, axis=-1)
        return np.maximum(count, 1)

    removed = np.add.reduceat(rows.removed, starts, axis=-1) / counted(some)
    weights = np.add.reduceat(rows.weights, starts, axis=-2) / counted(left)[..., None]
    return Rows(weights, removed)


@lru_cache(maxsize=4)  # layer after layer
def words_of(tokens: Tokens) -> Words:
    """Runs of tokens that belong to one word of the text.

    A word is what the tokenizer ``mixed`` makes one token: letters, digits and marks that nothing
    parts, a character of a script without spaces, a sign. Tokens that share a word or a character
    are in one run; a token over several words takes them with it. Special tokens, masked
    ones, padding and white space stay apart.
    """
    spans = word_spans(tokens.text)
    words: list[range] = []
    last = reach = -1  # the last word of the text in the run so far, and where its characters end
    at = 0
    for index, token in enumerate(tokens):
        if token.special or token.hides is not None or index in tokens.padding:
            words.append(range(index, index + 1))
            last = reach = -1
            continue
        end = max(token.end, token.start + 1)  # a space put before a word has no characters
        while at and spans[at - 1][1] > token.start:
            at -= 1
        while at < len(spans) and spans[at][1] <= token.start:
            at += 1
        after = at
        while after < len(spans) and spans[after][0] < end:
            after += 1
        if words and (token.start < reach or (after > at and at <= last)):
            words[-1] = range(words[-1].start, index + 1)
        else:
            words.append(range(index, index + 1))
            last = reach = -1
        last, reach = max(last, after - 1 if after > at else -1), max(reach, token.end)
    return tuple(words)


def merged(tokens: Tokens, words: Words) -> Tokens:
    """Words as tokens: their spans without the white space around, their texts as pieces.

    The id of a word of several tokens is -1.
    """
    items = tuple(_merged(tokens.text, [tokens[i] for i in word]) for word in words)
    padding = frozenset(i for i, word in enumerate(words) if tokens.padding.issuperset(word))
    return Tokens(tokens.text, items, len(items), padding, tokens.notices)


def _merged(text: str, parts: list[Token]) -> Token:
    first = parts[0]
    if first.special or first.hides is not None:
        return first
    start, end = min(part.start for part in parts), max(part.end for part in parts)
    source = text[start:end]
    if source.strip():
        start += len(source) - len(source.lstrip())
        end = start + len(source.strip())
    source = text[start:end]
    if len(parts) == 1:
        return replace(first, text=source, start=start, end=end)
    piece = next((part.piece for part in parts if part.unknown), source or first.piece)
    return Token(source, piece, -1, start, end, unknown=any(part.unknown for part in parts))


class Read:
    """A layer of one attention as it is read; made as far as it is looked at.

    It remembers the last row, so whoever keeps it keeps the pattern alive.

    Parameters
    ----------
    reading : Reading
    pattern : ndarray or LazyArray [head, query, key]
    mask : ndarray [query, key] of bool
    queries, keys : Tokens
    own : bool
        The keys are the tokens that `Reading.keys` counts.

    Attributes
    ----------
    queries, keys : Tokens
        Words where words are read.
    query_words, key_words : tuple of range, optional
        The tokens of each of them; None where tokens are read.
    mask : ndarray [query, key] of bool
        Of words: True where any of their tokens may be attended.
    columns : list of int
        Tokens whose columns are cut.
    dropped : ndarray [key] of bool
        What is gone altogether.
    kept : ndarray [query, key] of bool
        The mask without those columns.
    """

    def __init__(
        self,
        reading: Reading,
        pattern: HeadArray,
        mask: BoolArray,
        queries: Tokens,
        keys: Tokens,
        own: bool = True,
    ) -> None:
        self.reading = reading
        self._pattern = pattern
        self.queries, self.keys, self.mask = queries, keys, mask
        self.query_words: Words | None = None
        self.key_words: Words | None = None
        self.columns = columns(reading, keys, own) if reading.cuts else []
        self.dropped = np.zeros(len(keys), dtype=bool)
        if not reading.cap:
            self.dropped[self.columns] = True
        if reading.words:
            self._merge(queries, keys)
        self.kept: BoolArray = self.mask & ~self.dropped
        self._row: tuple[int, Rows] | None = None

    def __len__(self) -> int:
        """How many heads there are."""
        return len(self._pattern)

    def __getitem__(self, place: Any, /) -> Array:
        """Weights of a head as of a pattern: ``[head, rows]`` or ``[head, rows, keys]``, the rows
        as a slice or as an array of places.
        """
        head, rows, *keys = place
        if isinstance(rows, slice):
            found: Array = self.rows(head, rows.start, rows.stop).weights[(slice(None), *keys)]
            return found
        return np.concatenate([self.rows(head, row, row + 1).weights for row in rows.tolist()])

    def _merge(self, queries: Tokens, keys: Tokens) -> None:
        asking = words_of(queries)
        answering = asking if keys is queries else words_of(keys)
        self.query_words, self.key_words = asking, answering
        self.queries = merged(queries, asking)
        self.keys = self.queries if keys is queries else merged(keys, answering)
        across = [word.start for word in answering]
        mask = np.logical_or.reduceat(self.mask, [word.start for word in asking], axis=0)
        self.mask = np.logical_or.reduceat(mask, across, axis=1)
        self.dropped = np.logical_and.reduceat(self.dropped, across)

    def row(self, query: int) -> Rows:
        """What a query attends to in every head: weights [head, key], removed [head]."""
        if self._row is None or self._row[0] != query:
            words = None if self.query_words is None else (self.query_words[query],)
            tokens = range(query, query + 1) if words is None else words[0]
            rows = self._read(self._pattern[:, tokens.start : tokens.stop], words)
            self._row = query, Rows(rows.weights[:, 0], rows.removed[:, 0])
        return self._row[1]

    def rows(self, head: int, start: int, stop: int) -> Rows:
        """Some rows of a head: weights [query, key], removed [query]."""
        queries = range(len(self.queries))[start:stop]
        words = None
        if self.query_words is not None:
            words = self.query_words[queries.start : queries.stop]
            queries = range(words[0].start, words[-1].stop)
        return self._read(self._pattern[head, queries.start : queries.stop], words)

    def lines(self, head: int, at_once: int = BAND) -> Iterator[tuple[Array, float]]:
        """Every row of a head, [key], and what was removed of it; made some at a time."""
        for start in range(0, len(self.queries), at_once):
            weights, removed = self.rows(head, start, start + at_once)
            yield from zip(weights, removed.tolist(), strict=True)

    def gone(self, row: Array) -> BoolArray | None:
        """[key], what is dropped of a row; all where nothing is left, None where none can be."""
        if not self.columns:
            return None
        return self.dropped if row.any() else np.ones(len(row), dtype=bool)

    def _read(self, weights: Array, words: Words | None) -> Rows:
        """Read rows [..., query, key] of the pattern, those of `words` where words are read."""
        rows = Rows(weights, np.zeros(weights.shape[:-1]))
        if self.columns:
            rows = cut_columns(weights, self.columns, self.reading.cap)
        if words is None or self.key_words is None:
            return rows
        rows = Rows(sum_keys(rows.weights, self.key_words), rows.removed)
        first = words[0].start
        return average_queries(rows, tuple(range(w.start - first, w.stop - first) for w in words))


def read_layer(reading: Reading, attention: Attention, layer: int) -> Read:
    """A layer of an attention as it is read; a decoder's own keys are not the text's."""
    return Read(
        reading,
        attention.layers[layer].pattern,
        attention.masks[layer],
        attention.queries.tokens,
        attention.keys.tokens,
        own=attention.name != "decoder",
    )
