"""Two texts side by side, as tables and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from core.comparison import Comparison
from core.language import _, counted
from core.text import label, visible
from tui.labels import ONLY_OTHER, ONLY_THIS, clip, signed, weight
from tui.pairs import pair_label, pair_sign, written
from tui.printing.table import (
    HEADER_CELLS,
    Names,
    Part,
    TextRows,
    facts,
    folded,
    rows_of,
    token_names,
)

CSV_COLUMNS = "other_query,other_key,other_pattern,change"


def compared_lines(
    compared: Comparison, part: Part, precision: int, width: int | None
) -> Iterator[str]:
    """With a query its rows in both texts; without, the heads by change and the change of rows.

    Yields
    ------
    str
        Lines without their line breaks.
    """
    yield from facts(compared.one)
    yield _("compared with: {text}").format(text=visible(compared.text))
    yield in_words(compared)
    if part.query is None:
        if compared.shared:
            yield from _ranking(compared, part, precision, width)
            yield from _changes(compared, part, precision, width)
        return
    partner = compared.partner(part.query)
    if partner is None:
        name = clip(label(compared.one.tokens[part.query]), HEADER_CELLS)
        yield ""
        yield _("{token} is in this text only: there is no other row").format(
            token=f"{part.query} {name}"
        )
        return
    for _attention, layer in part.layers(compared.one):
        for head in part.heads(compared.one):
            yield ""
            yield from _side_by_side(compared, layer, head, (part.query, partner), precision, width)


def in_words(compared: Comparison) -> str:
    """How many tokens both texts have, and how many one of them alone, with their signs."""
    both = len(compared.shared)
    return " · ".join(
        (
            counted("{n} token in both", "{n} tokens in both", both).format(n=f"{both:,}"),
            _("{n} only in this ({sign})").format(
                n=f"{len(compared.one.tokens) - both:,}", sign=ONLY_THIS
            ),
            _("{n} only in the other ({sign})").format(
                n=f"{len(compared.other.tokens) - both:,}", sign=ONLY_OTHER
            ),
        )
    )


def _ranking(compared: Comparison, part: Part, precision: int, width: int | None) -> Iterator[str]:
    heads = [
        each
        for each in compared.ranking
        if part.layer in (None, each.layer) and part.head in (None, each.head)
    ]
    rows = [
        _("layer {layer} · head {head}").format(layer=each.layer, head=each.head) for each in heads
    ]
    columns = [_("change")]
    cells = [[weight(each.change, precision)] for each in heads]
    yield ""
    yield _("heads by change: the mean of ½ Σ |other − this| over the tokens in both")
    yield from folded(Names(columns, rows), TextRows(columns, cells), width)


def _changes(compared: Comparison, part: Part, precision: int, width: int | None) -> Iterator[str]:
    """The change of each row that both texts have: queries down, heads across."""
    names = token_names(compared.one.tokens).rows
    rows = [names[i] for i, _j in compared.shared]
    heads = part.heads(compared.one)
    columns = [_("head {n}").format(n=head) for head in heads]
    for _attention, layer in part.layers(compared.one):
        changes = compared.rows[layer]
        cells = [
            [weight(float(changes[head, place]), precision) for head in heads]
            for place in range(len(rows))
        ]
        yield ""
        yield _("layer {layer} · change of each row (query ↓, head →)").format(layer=layer)
        yield from folded(Names(columns, rows), TextRows(columns, cells), width)


def _side_by_side(
    compared: Comparison,
    layer: int,
    head: int,
    queries: tuple[int, int],
    precision: int,
    width: int | None,
) -> Iterator[str]:
    """A query's weights in both texts: keys down."""
    mine, theirs = compared.weights(layer, head, *queries)
    cells = [
        [*written(compared, layer, queries, place, a, b, precision), signed(b - a, precision)]
        for place, (a, b) in enumerate(zip(mine.tolist(), theirs.tolist(), strict=True))
    ]
    columns = [_("this"), _("other"), _("change")]
    yield _("layer {layer} · head {head} · query {query} · ½ Σ |change| = {total}").format(
        layer=layer,
        head=head,
        query=token_names(compared.one.tokens).columns[queries[0]],
        total=weight(compared.change(layer, head, queries[0]), precision),
    )
    yield from folded(Names(columns, _row_names(compared)), TextRows(columns, cells), width)


def _row_names(compared: Comparison) -> list[str]:
    return [
        f"{pair_sign(pair)} {clip(pair_label(compared, pair), HEADER_CELLS)}"
        for pair in compared.alignment
    ]


def compared_csv(compared: Comparison, part: Part, columns: str) -> Iterator[str]:
    """The usual `columns` and those of the other text, a line for each query and token of both.

    What a text does not have is empty; of a query that only this text has, so is all of the other.
    """
    yield f"{columns},{CSV_COLUMNS}"
    one = compared.one
    for attention, layer in part.layers(one):
        for head in part.heads(one):
            for query, *numbers in rows_of(attention.layers[layer], head, part.queries(attention)):
                yield _csv_rows(compared, (layer, head, query), *numbers)


def _csv_rows(
    compared: Comparison,
    place: tuple[int, int, int],
    dots: list[float],
    scores: list[float],
    mine: list[float],
) -> str:
    """The lines of one query, together."""
    layer, head, query = place
    one, partner = compared.one, compared.partner(query)
    theirs: list[float] = []
    if partner is not None:
        theirs = compared.other.layers[layer].pattern[head, partner].tolist()
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    for i, j in compared.alignment:
        name = pair_label(compared, (i, j))
        row: list[object] = [layer, head, query, label(one.tokens[query])]
        if i is None:
            row += ["", name, "", "", ""]
        else:
            row += [
                i,
                name,
                dots[i],
                scores[i] if one.encoder.masks[layer][query, i] else "",
                mine[i],
            ]
        if partner is not None:
            weights = 0.0 if i is None else mine[i], 0.0 if j is None else theirs[j]
            row += [partner, *(["", ""] if j is None else [j, theirs[j]]), weights[1] - weights[0]]
        elif i is None:
            continue
        else:
            row += [""] * 4
        writer.writerow(row)
    return lines.getvalue().removesuffix("\n")
