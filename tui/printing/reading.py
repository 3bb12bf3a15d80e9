"""Patterns as they are read, printed: what was removed of each row stands beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from core.explain import BAND
from core.language import _
from core.reading import Read, Reading, merged, words_of
from core.types import Array, Attention, BoolArray, Tokens, Trace
from tui.labels import DROPPED, MASKED, weight
from tui.printing.table import (
    Names,
    Part,
    PatternRows,
    TextRows,
    folded,
    token_name,
    token_names,
    vector_lines,
)
from tui.reading import reading_in_words

# In place of the columns of cells, where words are read.
WORD_COLUMNS = "layer,head,query,query_word,key,key_word,read,removed"
MORE_COLUMNS = "read,removed"
_NAMED = 3  # so many single keys are named, more are counted


def fact(reading: Reading, tokens: Tokens) -> str:
    """A line on how patterns are read, before all numbers; `tokens` are those of the text."""
    names = None
    if len(reading.keys) <= _NAMED:
        names = [
            _("key {name}").format(name=token_name(tokens, key)) for key in sorted(reading.keys)
        ]
    said = " · ".join(reading_in_words(reading, names=names))
    if reading.cuts:
        said += " · " + _("the rest of each row made 1 again")
    return _("read: {reading}").format(reading=said)


def row_of(read: Read, query: int) -> int:
    """Where the token of a query is among what is read."""
    words = read.query_words
    return query if words is None else next(i for i, word in enumerate(words) if query in word)


def query_name(read: Read, query: int) -> str:
    """Number and label of the token of a query, or of its word."""
    return token_names(read.queries, read.query_words).columns[row_of(read, query)]


def matrix_lines(read: Read, head: int, precision: int, width: int | None) -> Iterator[str]:
    """Queries down, keys across, and at the end of each row what was removed of it."""
    names, mask = token_names(read.keys, read.key_words).columns, read.mask
    if read.reading.cuts:
        names = [*names, _("removed")]
        mask = np.column_stack([mask, np.ones(len(mask), dtype=bool)])
    rows = ReadRows(read, head, mask, names, precision)
    yield from folded(Names(names, token_names(read.queries, read.query_words).rows), rows, width)


class ReadRows(PatternRows):
    """Rows as they are read, with what was removed as the last column; made some at a time."""

    def __init__(
        self, read: Read, head: int, mask: BoolArray, names: Sequence[str], precision: int
    ) -> None:
        super().__init__(None, mask, names, precision)
        self._read, self._head = read, head
        self._first = -1
        self._made: Array = np.empty((0, 0))

    def row(self, query: int) -> Array:
        first = query - query % BAND
        if first != self._first:
            weights, removed = self._read.rows(self._head, first, first + BAND)
            cuts = self._read.reading.cuts
            self._first = first
            self._made = np.column_stack([weights, removed]) if cuts else weights
        row: Array = self._made[query - first]
        return row

    def gone(self, row: Array) -> BoolArray | None:
        gone = self._read.gone(row[: len(self._read.keys)])
        return None if gone is None else np.append(gone, False)


def query_lines(
    read: Read, attention: Attention, layer: int, part: Part, precision: int, width: int | None
) -> Iterator[str]:
    """What one query attends to: keys down, heads across, what was removed; and what it gets."""
    token = part.query or 0
    query = row_of(read, token)
    rows, allowed = read.row(query), read.mask[query]
    heads = range(len(rows.weights)) if part.head is None else (part.head,)

    def cell(head: int, key: int) -> str:
        row = rows.weights[head]
        gone = read.gone(row)
        if not allowed[key]:
            return MASKED
        return DROPPED if gone is not None and gone[key] else weight(float(row[key]), precision)

    columns = [_("head {n}").format(n=head) for head in heads]
    names = token_names(read.keys, read.key_words).rows
    cells = [[cell(head, key) for head in heads] for key in range(len(names))]
    if read.reading.cuts:
        names = [*names, _("removed")]
        cells.append([weight(float(rows.removed[head]), precision) for head in heads])
    yield from folded(Names(columns, names), TextRows(columns, cells), width)
    yield ""
    words = read.query_words
    tokens = range(token, token + 1) if words is None else words[query]
    name = "attn_out"
    if len(tokens) > 1:
        name = _("attn_out, average of {n} tokens").format(n=len(tokens))
    out = attention.layers[layer].attn_out[tokens.start : tokens.stop].mean(axis=0)
    yield from vector_lines(name, out, precision, width)


def json_head(reading: Reading, trace: Trace) -> Iterator[tuple[str, Any]]:
    """What was read, and the tokens of each word."""
    yield (
        "reading",
        {
            "words": reading.words,
            "drop": reading.drop,
            "keys": sorted(reading.keys),
            "cap": reading.cap,
        },
    )
    if not reading.words:
        return
    yield "words", _json_words(trace.tokens)
    if trace.target_tokens is not None:
        yield "target_words", _json_words(trace.target_tokens)


def _json_words(tokens: Tokens) -> list[dict[str, Any]]:
    words = words_of(tokens)
    return [
        {"text": whole.text, "start": whole.start, "end": whole.end, "tokens": list(word)}
        for whole, word in zip(merged(tokens, words), words, strict=True)
    ]


def json_rows(read: Read, head: int) -> Iterator[str]:
    """The rows of a head as they are read, and what was removed of each."""
    yield '"read": ['
    shares = []
    for weights, removed in read.lines(head):
        shares.append(removed)
        yield repr(weights.tolist()) + ("," if len(shares) < len(read.queries) else "")
    yield f'], "removed": {json.dumps(shares)}'


def csv_rows(read: Read, head: int, query: int, cells: Sequence[str]) -> str:
    """The lines of the cells of one row, with what is read of each and removed of the row."""
    weights, removed = read.rows(head, query, query + 1)
    share = repr(float(removed[0]))
    pairs = zip(cells, weights[0].tolist(), strict=True)
    return "\n".join(f"{cell},{value!r},{share}" for cell, value in pairs)
