"""A trace as tables for a shell, line by line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.cells import cell_len

from core import counts
from core.explain import BAND
from core.language import N_, _
from core.names import ATTENTIONS
from core.stacks import stack_of
from core.text import label, visible
from core.types import Array, Attention, BoolArray, CheckpointModel, LayerTrace, Tokens, Trace
from tui.labels import DROPPED, MASKED, clip, pad, run_of, signed, weight, weight_cells
from tui.wording import (
    caveat,
    honest,
    learned_in_words,
    model_name,
    request_in_words,
    rule_in_words,
    shape_words,
)

if TYPE_CHECKING:
    from core.reading import Reading, Words

GAP = "  "
HEADER_CELLS = 20  # of a token in a row's or a column's header
NOTHING = N_("masked")


@dataclass(frozen=True, slots=True)
class Part:
    """What to print of a trace, None is all; and how patterns are read, None as they are."""

    layer: int | None = None
    head: int | None = None
    query: int | None = None
    attention: str | None = None
    reading: Reading | None = None

    def layers(self, trace: Trace) -> list[tuple[Attention, int]]:
        """Attention and layer in the order of computation: those of the decoder in turn."""
        found = [each for name, each in trace.attentions.items() if self.attention in (None, name)]
        rounds = [found[:1], found[1:]] if found[0] is trace.encoder else [found]
        return [
            (attention, layer)
            for group in rounds
            if group
            for layer in _one_or_all(self.layer, len(group[0].layers))
            for attention in group
        ]

    def heads(self, trace: Trace, attention: str = ATTENTIONS[0]) -> Sequence[int]:
        return _one_or_all(self.head, stack_of(trace.request.model, attention).heads)

    def queries(self, attention: Attention) -> Sequence[int]:
        return _one_or_all(self.query, len(attention.queries.tokens))


def rows_of(
    arrays: LayerTrace, head: int, queries: Sequence[int]
) -> Iterator[tuple[Any, list[float], list[float], list[float]]]:
    """Each query with its dot, attn_scores and pattern, which are made for many at a time."""
    for first in range(0, len(queries), BAND):
        some = list(queries[first : first + BAND])
        cells = (arrays.dot, arrays.attn_scores, arrays.pattern)
        yield from zip(some, *(array[head, some].tolist() for array in cells), strict=True)


def table_lines(trace: Trace, part: Part, precision: int, width: int | None) -> Iterator[str]:
    """Tables of the weights, with their facts above them.

    Parameters
    ----------
    trace : Trace
    part : Part
        Without a query: a table a head, queries down and keys across. With one: a table a layer,
        keys down and heads across, and the query's attn_out.
    precision : int
        Digits after the point.
    width : int or None
        Cells of a line; wider tables are folded into blocks of columns. None folds nothing.

    Yields
    ------
    str
        Lines without their line breaks.
    """
    yield from facts(trace)
    if part.reading is not None:
        from tui.printing.reading import fact

        yield fact(part.reading, trace.tokens)
    tables = _head_tables if part.query is None else _query_table
    for attention, layer in part.layers(trace):
        yield from tables(trace, attention, layer, part, precision, width)


def _head_tables(
    trace: Trace, attention: Attention, layer: int, part: Part, precision: int, width: int | None
) -> Iterator[str]:
    """The pattern of each head: queries down, keys across."""
    names = Names(
        token_names(attention.keys.tokens).columns, token_names(attention.queries.tokens).rows
    )
    read = None
    if part.reading is not None:
        from core.reading import read_layer
        from tui.printing.reading import matrix_lines

        read = read_layer(part.reading, attention, layer)
    for head in part.heads(trace, attention.name):
        yield ""
        said = _("layer {layer} · head {head} · pattern (query ↓, key →)")
        if attention.name == "cross":
            said = _("layer {layer} · head {head} · pattern (target ↓, source →)")
        said = _which(trace, attention) + said.format(layer=layer, head=head)
        yield said + _where_masks_differ(attention, layer)
        if read is not None:
            yield from matrix_lines(read, head, precision, width)
            continue
        rows = PatternRows(
            attention.layers[layer].pattern[head],
            attention.masks[layer],
            names.columns,
            precision,
        )
        yield from folded(names, rows, width)


def _which(trace: Trace, attention: Attention) -> str:
    """The name of an attention where there are several."""
    return "" if trace.decoder is None else f"{_(attention.name)} · "


def _where_masks_differ(attention: Attention, layer: int) -> str:
    """The mask of a layer, where others have another."""
    if len(set(attention.rules)) == 1:
        return ""
    return f" · {rule_in_words(attention.rules[layer])}"


class PatternRows:
    """Rows of weights, formatted a row at a time: 2,048 tokens have four million cells a head."""

    def __init__(
        self, pattern: Array | None, mask: BoolArray, names: Sequence[str], precision: int
    ) -> None:
        self._pattern = pattern
        self._mask = mask
        self._nothing = np.logical_not(mask.any(axis=1))  # queries that may attend to no key
        self._plain = _least_plain(precision)
        self.widths = [max(cell_len(name), weight_cells(precision)) for name in names]
        tiny = weight(self._plain / 2, precision)
        # What a cell turns into, by kind. A plain one is a place for a number: filling all the
        # places of a row at once is three times faster than formatting its cells one by one.
        kinds = (
            [f"{GAP}%{cells}.{precision}f" for cells in self.widths],
            [GAP + tiny.rjust(cells) for cells in self.widths],
            [GAP + MASKED.rjust(cells) for cells in self.widths],
            [GAP + DROPPED.rjust(cells) for cells in self.widths],
        )
        self._kinds = np.array(kinds, dtype=object)
        self._index = np.arange(len(names))
        self._masked = _(NOTHING)

    def row(self, query: int) -> Array:
        """The weights of one row."""
        assert self._pattern is not None  # noqa: S101 - or a subclass has others
        row: Array = self._pattern[query]
        return row

    def gone(self, row: Array) -> BoolArray | None:
        """Which cells of a row are dropped, if any can be."""
        return None

    def line(self, query: int, columns: slice) -> str:
        """The cells of some columns of one row, each with the gap before it."""
        if self._nothing[query]:
            room = max(self.widths[columns][0], cell_len(self._masked))
            return GAP + pad(self._masked, room, ">")
        row = self.row(query)
        weights, gone = row[columns], self.gone(row)
        tiny = (weights > 0) & (weights < self._plain)
        kind = np.where(self._mask[query, columns], tiny.astype(np.intp), 2)
        if gone is not None:
            kind[gone[columns] & self._mask[query, columns]] = 3
        cells = self._kinds[kind, self._index[columns]]
        return "".join(cells.tolist()) % tuple(weights[kind == 0].tolist())


class TextRows:
    """Rows of a small table, already formatted."""

    def __init__(self, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self._rows = rows
        self.widths = [
            max(cell_len(name), *(cell_len(row[column]) for row in rows))
            for column, name in enumerate(names)
        ]

    def line(self, row: int, columns: slice) -> str:
        """The cells of some columns of one row, each with the gap before it."""
        pairs = zip(self._rows[row][columns], self.widths[columns], strict=True)
        return "".join(GAP + pad(text, cells, ">") for text, cells in pairs)


Rows = PatternRows | TextRows


def _least_plain(precision: int) -> float:
    """The smallest weight that `weight` prints as a number and not as a tiny one."""
    edge = float(f"5e-{precision + 1}")  # rounds up or down, by what it is in binary
    return math.nextafter(edge, 1.0) if weight(edge, precision).startswith("<") else edge


def _one_or_all(index: int | None, count: int) -> Sequence[int]:
    return range(count) if index is None else (index,)


def facts(trace: Trace) -> Iterator[str]:
    """Model, switches and tokens, a line each."""
    model, request = trace.request.model, trace.request
    facts = [model_name(model)]
    if model.seed is not None:
        facts.append(_("seed {seed}").format(seed=model.seed))
    stacks = shape_words(request)
    facts += [stacks] if stacks else []
    facts.append(counts.shapes(model, model.writes if isinstance(model, CheckpointModel) else None))
    facts.append(f"d_model {model.d_model}")
    if request.learning is not None and request.learning.steps:
        facts.append(honest(request.learning))
    else:
        facts.append(_(caveat(model)))
    yield " · ".join(facts)
    words = request_in_words(request, trace.encoder.rule)
    tokens = counts.tokens(len(trace.tokens))
    if trace.target_tokens is not None or len(set(trace.encoder.rules)) > 1:
        words[words.index(rule_in_words(trace.encoder.rule))] = _masks_in_words(trace)
    if trace.target_tokens is not None:
        tokens = _("{tokens}, {count:,} of the target").format(
            tokens=tokens, count=len(trace.target_tokens)
        )
    yield " · ".join(words)
    if request.learning is not None:
        yield " · ".join(learned_in_words(trace))
    if isinstance(model, CheckpointModel):
        yield _("{tokens} · the model's own tokenizer").format(tokens=tokens)
    else:
        name = visible(request.tokenizer)
        yield _("{tokens} · tokenizer {name}").format(tokens=tokens, name=name)


def _masks_in_words(trace: Trace) -> str:
    """Which mask holds in each attention, or which ones in the layers of one."""
    if trace.decoder is None:
        return ", ".join(map(rule_in_words, dict.fromkeys(trace.encoder.rules)))
    return ", ".join(
        f"{_(name)} {rule_in_words(attention.rule)}" for name, attention in trace.attentions.items()
    )


@dataclass(frozen=True, slots=True)
class Names:
    """Number and label of each token, over columns and beside rows."""

    columns: list[str]
    rows: list[str]


def token_name(tokens: Tokens, index: int) -> str:
    """Number and label of a token."""
    return f"{index} {clip(label(tokens[index]), HEADER_CELLS)}"


def token_names(tokens: Tokens, words: Words | None = None) -> Names:
    """The names of tokens over columns and beside rows; of words with their tokens, if several."""
    labels = [clip(label(token), HEADER_CELLS) for token in tokens]
    for index, word in enumerate(words or ()):
        labels[index] += f" {run_of(word)}" if len(word) > 1 else ""
    digits = len(str(len(tokens) - 1))
    return Names(
        [f"{index} {text}" for index, text in enumerate(labels)],
        [f"{index:>{digits}} {text}" for index, text in enumerate(labels)],
    )


def folded(names: Names, rows: Rows, width: int | None) -> Iterator[str]:
    """Blocks of columns, each with its header and its row names."""
    aside = max(map(cell_len, names.rows))
    aligned = [pad(name, aside) for name in names.rows]
    for number, block in enumerate(_blocks(rows.widths, aside, width)):
        if number:
            yield ""
        pairs = zip(names.columns[block], rows.widths[block], strict=True)
        yield " " * aside + "".join(GAP + pad(name, cells, ">") for name, cells in pairs)
        for row, name in enumerate(aligned):
            yield name + rows.line(row, block)


def _blocks(widths: Sequence[int], aside: int, width: int | None) -> Iterator[slice]:
    """Cut the columns so that each block fits `width`; a block has at least one column."""
    if width is None:
        yield slice(0, len(widths))
        return
    start, used = 0, aside
    for column, cells in enumerate(widths):
        needed = len(GAP) + cells
        if column > start and used + needed > width:
            yield slice(start, column)
            start, used = column, aside
        used += needed
    yield slice(start, len(widths))


def _query_table(
    trace: Trace, attention: Attention, layer: int, part: Part, precision: int, width: int | None
) -> Iterator[str]:
    """What one query attends to: keys down, heads across, and what it gets."""
    query = part.query or 0
    asks = token_names(attention.queries.tokens).columns[query]
    read = None
    if part.reading is not None:
        from core.reading import read_layer
        from tui.printing.reading import query_lines, query_name

        read = read_layer(part.reading, attention, layer)
        asks = query_name(read, query)
    allowed = attention.masks[layer][query]
    yield ""
    said = _("layer {layer} · query {query} · pattern (key ↓, head →)")
    masked = "" if allowed.any() else f" · {_(NOTHING)}"
    yield _which(trace, attention) + said.format(layer=layer, query=asks) + masked
    if read is not None:
        yield from query_lines(read, attention, layer, part, precision, width)
        return
    heads, pattern = part.heads(trace, attention.name), attention.layers[layer].pattern

    def cell(head: int, key: int) -> str:
        return weight(float(pattern[head, query, key]), precision) if allowed[key] else MASKED

    names = token_names(attention.keys.tokens)
    columns = [_("head {n}").format(n=head) for head in heads]
    cells = [[cell(head, key) for head in heads] for key in range(len(names.rows))]
    yield from folded(Names(columns, names.rows), TextRows(columns, cells), width)
    yield ""
    yield from vector_lines("attn_out", attention.layers[layer].attn_out[query], precision, width)


def vector_lines(name: str, vector: Array, precision: int, width: int | None) -> Iterator[str]:
    """A vector as a table of one row, its dimensions across."""
    columns = [_("dim {n}").format(n=0), *map(str, range(1, len(vector)))]
    cells = [signed(value, precision) for value in vector.tolist()]
    yield from folded(Names(columns, [name]), TextRows(columns, [cells]), width)
