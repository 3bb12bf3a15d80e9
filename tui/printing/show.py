"""A trace as text for a pipe: tables, JSON and CSV in pieces, and how they are written.

A trace of 2,048 tokens is a gigabyte of JSON, so nothing here builds the whole.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from core.comparison import Comparison
from core.reading import Reading, read_layer
from core.text import is_unseen, label
from core.types import (
    AnyModel,
    Array,
    Attention,
    BoolArray,
    CheckpointModel,
    Request,
    Switches,
    Token,
    Trace,
)
from tui.printing.compare import compared_csv, compared_lines
from tui.printing.derivation import as_markdown, as_text, blocks_of
from tui.printing.predictions import (
    places_to_print,
    predicted_csv,
    predicted_json,
    predicted_table,
)
from tui.printing.reading import (
    MORE_COLUMNS,
    WORD_COLUMNS,
    csv_rows,
    json_head,
    json_rows,
    row_of,
)
from tui.printing.table import Part, rows_of, table_lines
from tui.scene import Scene, View

if TYPE_CHECKING:
    from core.lazy import RowArray

SCHEMA = 1
COLUMNS = "layer,head,query,query_token,key,key_token,dot,attn_scores,pattern"


def formatted(
    trace: Trace,
    form: str,
    part: Part,
    precision: int,
    width: int | None,
    compared: Comparison | None = None,
) -> Iterator[str]:
    """Lines of one of the formats ``table``, ``json`` and ``csv``.

    Parameters
    ----------
    trace : Trace
    form : str
    part : Part
        JSON ignores its query: a document always has whole matrices.
    precision : int
        Digits after the point, in a table; the others give every digit.
    width : int or None
        Cells of a line of a table, None when it is not to be folded.
    compared : Comparison, optional
        With another text.
    """
    if form == "json":
        return json_lines(trace, part, compared)
    if form == "csv":
        return csv_lines(trace, part) if compared is None else compared_csv(compared, part, COLUMNS)
    if compared is not None:
        return compared_lines(compared, part, precision, width)
    return table_lines(trace, part, precision, width)


def predicted_lines(
    trace: Trace, form: str, part: Part, precision: int, width: int | None
) -> Iterator[str]:
    """What a real model expects, as ``table`` or ``csv``, or beside the trace in its ``json``."""
    shown = places_to_print(trace, part.query)  # refused here, before a line is written
    if form == "json":
        return json_lines(trace, part, predicted=predicted_json(trace, shown))
    if form == "csv":
        return predicted_csv(trace, shown)
    return predicted_table(trace, shown, part.query is not None, precision, width)


def derivation_lines(trace: Trace, view: View, form: str) -> Iterator[str]:
    """How the weight of a view's query and key comes about, as ``table`` or ``markdown``."""
    blocks = blocks_of(Scene(view, trace))
    return as_markdown(blocks) if form == "markdown" else as_text(blocks)


def json_lines(
    trace: Trace,
    part: Part,
    compared: Comparison | None = None,
    predicted: Iterator[dict[str, Any]] | None = None,
) -> Iterator[str]:
    """One JSON document, a matrix row a line; masked cells of attn_scores are null."""
    facts = [
        *document_head(trace),
        *([] if part.reading is None else json_head(part.reading, trace)),
    ]
    head = ", ".join(f"{as_json(name)}: {as_json(value)}" for name, value in facts)
    yield f"{{{head},"
    yield '"tokens": ['
    yield from _joined(_json_token(token) for token in trace.tokens)
    if trace.target_tokens is not None:
        yield '], "target_tokens": ['
        yield from _joined(_json_token(token) for token in trace.target_tokens)
    yield '], "layers": ['
    layers = part.layers(trace)
    for left, (attention, layer) in enumerate(layers, 1 - len(layers)):
        yield from _json_layer(trace, attention, layer, part)
        yield "]}," if left else "]}"
    if predicted is not None:
        yield '], "predictions": ['
        yield from _joined(map(as_json, predicted))
    if compared is None:
        yield "]}"
    else:
        yield f'], "compare": {as_json(_json_compare(compared))}}}'


def csv_lines(trace: Trace, part: Part) -> Iterator[str]:
    """A header and a line for each cell; a masked one has no attn_scores.

    With a target the first column names the attention.
    """
    several = trace.decoder is not None
    if part.reading is not None:
        yield from _csv_as_read(trace, part, part.reading)
        return
    yield f"attention,{COLUMNS}" if several else COLUMNS
    for attention, layer in part.layers(trace):
        asking, answering = (
            [f"{index},{_csv_cell(label(token))}" for index, token in enumerate(side.tokens)]
            for side in (attention.queries, attention.keys)
        )
        place = f"{attention.name},{layer}" if several else f"{layer}"
        for head in part.heads(trace, attention.name):
            for query, *numbers in rows_of(attention.layers[layer], head, part.queries(attention)):
                start = f"{place},{head},{asking[query]}"
                yield _csv_row(numbers, attention.masks[layer][query], start, answering)


def _csv_as_read(trace: Trace, part: Part, reading: Reading) -> Iterator[str]:
    """The cells with two columns more, or the cells of words."""
    several = trace.decoder is not None
    columns = WORD_COLUMNS if reading.words else f"{COLUMNS},{MORE_COLUMNS}"
    yield f"attention,{columns}" if several else columns
    for attention, layer in part.layers(trace):
        read, place = read_layer(reading, attention, layer), f"{layer}"
        asking, answering = (
            [f"{index},{_csv_cell(label(token))}" for index, token in enumerate(side)]
            for side in (read.queries, read.keys)
        )
        queries = range(len(asking)) if part.query is None else (row_of(read, part.query),)
        for head in part.heads(trace, attention.name):
            for query in queries:
                start = f"{attention.name},{place}" if several else place
                start = f"{start},{head},{asking[query]}"
                cells = [f"{start},{key}" for key in answering]
                if not reading.words:
                    ((_place, *numbers),) = rows_of(attention.layers[layer], head, (query,))
                    allowed = attention.masks[layer][query]
                    cells = _csv_row(numbers, allowed, start, answering).split("\n")
                yield csv_rows(read, head, query, cells)


def document_head(trace: Trace) -> Iterator[tuple[str, Any]]:
    model = trace.request.model
    yield "schema", SCHEMA
    yield (
        "model",
        {
            "name": model.name,
            **({"family": model.family} if isinstance(model, CheckpointModel) else {}),
            "layers": model.layers,
            "heads": model.heads,
            "d_model": model.d_model,
            "d_head": model.d_head,
            **_json_decoder(model),
            "seed": model.seed,
        },
    )
    yield "switches", _json_switches(trace)
    yield "text", trace.tokens.text
    if trace.target_tokens is not None:
        yield "target", trace.target_tokens.text


def _json_decoder(model: AnyModel) -> dict[str, Any]:
    """The shape of the decoder of a real encoder–decoder; the seeded one's is its encoder's."""
    if not isinstance(model, CheckpointModel) or model.writes is None:
        return {}
    decoder = model.writes
    return {
        "decoder": {
            "layers": decoder.layers,
            "heads": decoder.heads,
            "d_head": decoder.d_head,
        }
    }


def _json_switches(trace: Trace) -> dict[str, Any]:
    """What was switched; of a real model that is its mask alone, null where layers differ."""
    request, switches, rules = trace.request, trace.request.switches, trace.encoder.rules
    blocked = sorted(trace.encoder.rule.blocked)
    if isinstance(request.model, CheckpointModel):
        hidden = {"masked": sorted(switches.masked)} if switches.masked else {}
        rule = rules[0].name if len(set(rules)) == 1 else None
        return {"mask": rule, "blocked": blocked, **hidden}
    return {
        "tokenizer": request.tokenizer,
        "as_saved": request.as_saved,
        "mask": switches.mask.name,
        "blocked": blocked,
        "positions": switches.positions,
        "scale": switches.scale,
        "temperature": switches.temperature,
        "projections": _projections(request),
        "normalizer": switches.normalizer,
        **_edits(switches),
        **_json_learning(trace),
    }


def _json_learning(trace: Trace) -> dict[str, Any]:
    """What was learned and how it went; nothing where nothing was."""
    learning, history = trace.request.learning, trace.history
    if learning is None or history is None:
        return {}
    rows = zip(history.queries, history.wished.tolist(), strict=True)
    found = {
        "layer": 0,
        "head": learning.head,
        "wishes": [{"query": query, "weights": row} for query, row in rows],
        "steps": learning.steps,
        "rate": learning.rate,
        "losses": history.losses,
        "least_loss": history.least,
    }
    return {"learning": found}


def _edits(switches: Switches) -> dict[str, Any]:
    """The numbers typed over, if there are any."""
    found = [
        {"array": edit.array, "place": edit.place, "value": edit.value} for edit in switches.edits
    ]
    return {"edits": found} if found else {}


def _projections(request: Request) -> str:
    """The switch, but given matrices are not called seeded."""
    name, given = request.switches.projections, request.model.seed is None
    return "given" if given and name == "seeded" else name


def _json_token(token: Token) -> str:
    return as_json(_token_facts(token))


def _token_facts(token: Token) -> dict[str, Any]:
    names = ("text", "piece", "id", "start", "end", "special")
    found = {name: getattr(token, name) for name in names}
    if token.hides is not None:
        found["hides"] = {"piece": token.hides.piece, "id": token.hides.id}
    return found


def _json_compare(compared: Comparison) -> dict[str, Any]:
    """The other text, which tokens go together, and every head, the most changed first."""
    return {
        "text": compared.other.tokens.text,
        "tokens": [_token_facts(token) for token in compared.other.tokens],
        "alignment": compared.alignment,
        "heads": [each._asdict() for each in compared.ranking],
    }


def _json_layer(trace: Trace, attention: Attention, layer: int, part: Part) -> Iterator[str]:
    arrays = attention.layers[layer]
    name = "" if trace.decoder is None else f'"attention": "{attention.name}", '
    if len(set(attention.rules)) > 1:
        name += f'"mask": "{attention.rules[layer].name}", '
    read = None
    if part.reading is not None:
        read = read_layer(part.reading, attention, layer)
        name += f'"columns": {as_json(read.columns)}, '
    yield f'{{"layer": {layer}, {name}"attn_out": ['
    yield from _json_rows(arrays.attn_out)
    yield '], "heads": ['
    heads = part.heads(trace, attention.name)
    for head in heads:
        yield f'{{"head": {head},'
        for name in ("q", "k", "v", "dot", "attn_scores", "pattern", "z"):
            yield f'"{name}": ['
            mask = attention.masks[layer] if name == "attn_scores" else None
            yield from _json_rows(getattr(arrays, name)[head], mask)
            yield "]," if name != "z" or part.reading is not None else "]"
        if read is not None:
            yield from json_rows(read, head)
        yield "}," if head != heads[-1] else "}"


def _json_rows(matrix: RowArray, mask: BoolArray | None = None) -> Iterator[str]:
    return _joined(
        # The shortest digits that give the number back; every number of a trace is finite.
        repr(row.tolist()) if mask is None or mask[index].all() else _with_nulls(row, mask[index])
        for index, row in enumerate(matrix)
    )


def _with_nulls(row: Array, allowed: BoolArray) -> str:
    pairs = zip(row.tolist(), allowed.tolist(), strict=True)
    return json.dumps([value if shown else None for value, shown in pairs])


def _joined(rows: Iterable[str]) -> Iterator[str]:
    """Lines with a comma after each but the last."""
    before: str | None = None
    for row in rows:
        if before is not None:
            yield f"{before},"
        before = row
    if before is not None:
        yield before


def as_json(value: Any) -> str:
    """Readable JSON with escapes for all that a terminal would obey, hide or misplace."""
    return re.sub(r"[^ -~]", _escaped, json.dumps(value, ensure_ascii=False))


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    return json.dumps(char)[1:-1] if is_unseen(char) else char


def _csv_cell(text: str) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([text])
    return line.getvalue()


def _csv_row(numbers: list[list[float]], allowed: BoolArray, start: str, keys: list[str]) -> str:
    """The lines of one query, together: a piece a line would take half as long again."""
    columns = zip(keys, *numbers, allowed.tolist(), strict=True)
    return "\n".join(
        [
            f"{start},{key},{dot!r},{score if shown else ''},{weight!r}"
            for key, dot, score, weight, shown in columns
        ]
    )
