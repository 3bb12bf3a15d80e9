"""The statistics of heads as a table, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from core.head_statistics import HeadFacts, Meant, layer_facts, meant
from core.language import _
from core.names import STATISTICS
from core.reading import read_layer
from core.types import Trace
from tui.labels import MASKED, weight
from tui.printing.reading import fact, json_head
from tui.printing.show import as_json, document_head
from tui.printing.table import Names, Part, TextRows, facts, folded


@dataclass(frozen=True, slots=True)
class Row:
    """A head of one attention."""

    attention: str
    facts: HeadFacts


def statistics_lines(
    trace: Trace, form: str, part: Part, precision: int, width: int | None
) -> Iterator[str]:
    """Every head with its badge and its statistics, in one of ``table``, ``json`` and ``csv``.

    Layers are looked at one after the other, as their lines are asked for.
    """
    if form == "json":
        return _json_lines(trace, part)
    if form == "csv":
        return _csv_lines(trace, part)
    return _table_lines(trace, part, precision, width)


def _rows(trace: Trace, part: Part) -> Iterator[Row]:
    about: dict[str, Meant] = {}
    for attention, layer in part.layers(trace):
        name, read = attention.name, None
        if part.reading is not None:
            read = read_layer(part.reading, attention, layer)
        if name not in about:
            about[name] = meant(attention, read)
        found = layer_facts(trace, attention, layer, about[name], read)
        for head in part.heads(trace, attention.name):
            yield Row(attention.name, found[head])


def _table_lines(trace: Trace, part: Part, precision: int, width: int | None) -> Iterator[str]:
    yield from facts(trace)
    if part.reading is not None:
        yield fact(part.reading, trace.tokens)
    yield ""
    yield _("means over the rows whose weight could have gone elsewhere; entropy in bits")
    several, names, cells = trace.decoder is not None, [], []
    for row in _rows(trace, part):
        layer, head, values, badge, number = row.facts
        place = _("layer {layer} · head {head}").format(layer=layer, head=head)
        names.append(f"{_(row.attention)} · {place}" if several else place)
        numbers = [number, *(values[name] for name in STATISTICS)]
        texts = [MASKED if each is None else weight(each, precision) for each in numbers]
        cells.append([_(badge) if badge else MASKED, *texts])
    columns = [_("badge"), "", *map(_, STATISTICS)]
    yield from folded(Names(columns, names), TextRows(columns, cells), width)


def _json_lines(trace: Trace, part: Part) -> Iterator[str]:
    told = [*document_head(trace)]
    told += [] if part.reading is None else json_head(part.reading, trace)
    head = ", ".join(f"{as_json(name)}: {as_json(value)}" for name, value in told)
    yield f'{{{head}, "heads": ['
    before = ""
    for row in _rows(trace, part):
        layer, index, values, badge, number = row.facts
        place = {"attention": row.attention, "layer": layer, "head": index}
        if before:
            yield f"{before},"
        before = as_json({**place, "badge": badge, "number": number, **values})
    yield before
    yield "]}"


def _csv_lines(trace: Trace, part: Part) -> Iterator[str]:
    yield ",".join(("attention", "layer", "head", "badge", "number", *STATISTICS))
    for row in _rows(trace, part):
        layer, head, values, badge, number = row.facts
        numbers = [number, *(values[name] for name in STATISTICS)]
        texts = ["" if each is None else repr(each) for each in numbers]
        yield ",".join((row.attention, str(layer), str(head), badge or "", *texts))
