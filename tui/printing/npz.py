"""A trace as a ``.npz`` file: every array under its name, written one after the other.

The whole never lies in memory twice: an array is asked for when its turn comes, and logits are made
a block of rows at a time.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from core.explain import BAND
from core.learning_types import History
from core.reading import Read, Rows, read_layer, words_of
from core.types import Array, Attention, CheckpointModel, LayerTrace, Side, Tokens, Trace
from tui.printing.table import Part

BLOCK_BYTES = 2**26  # of logits that are made at a time
# The arrays of a layer in the order of computation.
ARRAYS = (
    *("resid_pre", "source", "q", "k", "v", "dot", "attn_scores", "mask", "pattern", "z"),
    *("attn_out", "resid_post"),
)
WEIGHTS = ("w_q", "w_k", "w_v", "w_o")


@dataclass(frozen=True, slots=True)
class Entry:
    """One array of the file: its name, what it is, and its rows in order once they are asked for.

    `rows` gives arrays that make up the whole, one after the other along the first axis.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    rows: Callable[[], Iterable[Any]]

    @property
    def size(self) -> int:
        """Bytes of its numbers."""
        return math.prod(self.shape) * self.dtype.itemsize


def entries(trace: Trace, part: Part) -> Iterator[Entry]:
    """Every array of a trace; with `part` those of one layer, head or attention, and no logits."""
    yield from _of_texts(trace)
    if part.head is not None:
        yield _ready("heads", np.array([part.head]))
    if part.reading is not None and part.reading.words:
        yield from _of_words(trace)
    for attention, layer in part.layers(trace):
        yield from _of_layer(trace, attention, layer, part)
    if trace.history is not None:
        yield from _of_learning(trace.history)
    if (part.layer, part.head, part.attention) == (None, None, None):
        yield from _logits(trace)


def write_npz(made: Iterable[Entry], file: BinaryIO) -> None:
    """Write arrays as ``numpy.savez`` does, to a file or a pipe; the same arrays give the same
    bytes.
    """
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for entry in made:
            # A date of its own would make each file another; NumPy leaves it out too.
            name = zipfile.ZipInfo(f"{entry.name}.npy")
            with archive.open(name, "w", force_zip64=True) as member:
                header = {
                    "descr": np.lib.format.dtype_to_descr(entry.dtype),
                    "fortran_order": False,
                    "shape": entry.shape,
                }
                np.lib.format.write_array_header_1_0(member, header)
                for rows in entry.rows():
                    flat = np.ascontiguousarray(rows, entry.dtype).reshape(-1)
                    member.write(flat.view(np.uint8).data)


def _of_texts(trace: Trace) -> Iterator[Entry]:
    yield from _of_text("", trace.encoder.queries)
    if trace.decoder is not None:
        yield from _of_text("target_", trace.decoder.queries)


def _of_text(which: str, side: Side) -> Iterator[Entry]:
    yield _ready(f"{which}tokens", _pieces(side.tokens))
    yield _ready(f"{which}token_ids", np.array([token.id for token in side.tokens], np.int64))
    yield _ready(f"{which}embed", side.embed)
    yield _ready(f"{which}pos_embed", side.pos_embed)


def _of_words(trace: Trace) -> Iterator[Entry]:
    """For each token, the number of its word."""
    yield _ready("words", _word_of_each(trace.tokens))
    if trace.target_tokens is not None:
        yield _ready("target_words", _word_of_each(trace.target_tokens))


def _word_of_each(tokens: Tokens) -> Any:
    words = words_of(tokens)
    return np.repeat(np.arange(len(words)), [len(word) for word in words])


def _pieces(tokens: Tokens) -> Any:
    """The vocabulary's own spelling, for labels."""
    return np.array([token.piece for token in tokens])


def _of_layer(trace: Trace, attention: Attention, layer: int, part: Part) -> Iterator[Entry]:
    start = f"{'layers' if trace.decoder is None else attention.name}.{layer}"
    arrays = attention.layers[layer]
    for name in ARRAYS:
        array = attention.masks[layer] if name == "mask" else getattr(arrays, name)
        if array is not None:
            yield _some_heads(f"{start}.{name}", array, part.head)
    if part.reading is not None:
        yield from _as_read(start, read_layer(part.reading, attention, layer), arrays, part.head)
    if arrays.weights is not None:
        for name in WEIGHTS:
            yield _ready(f"{start}.{name}", getattr(arrays.weights, name))


def _as_read(start: str, read: Read, arrays: LayerTrace, head: int | None) -> Iterator[Entry]:
    """A layer's pattern as it is read, and where columns are cut, what was removed of each row."""
    heads = range(arrays.pattern.shape[0]) if head is None else [head]
    shape, dtype = (len(heads), len(read.queries)), np.dtype(np.float64)

    def parts() -> Iterator[Rows]:
        for each in heads:
            for first in range(0, shape[1], BAND):
                yield read.rows(each, first, first + BAND)

    yield Entry(
        f"{start}.read", (*shape, len(read.keys)), dtype, lambda: (rows.weights for rows in parts())
    )
    if read.reading.cuts:
        yield Entry(f"{start}.removed", shape, dtype, lambda: (rows.removed for rows in parts()))


def _some_heads(name: str, array: Any, head: int | None) -> Entry:
    """An array of a layer, head by head where it has heads: one may be made as it is read."""
    if len(array.shape) < 3:
        return _ready(name, array)
    heads = range(array.shape[0]) if head is None else [head]
    shape = (len(heads), *array.shape[1:])
    return Entry(name, shape, array.dtype, lambda: (array[each] for each in heads))


def _of_learning(history: History) -> Iterator[Entry]:
    yield _ready("learning.queries", np.array(history.queries))
    yield _ready("learning.wished", history.wished)
    yield _ready("learning.losses", np.array(history.losses))


def _logits(trace: Trace) -> Iterator[Entry]:
    """What a real model's language head says behind every token, where it has one."""
    described = trace.request.model
    if not isinstance(described, CheckpointModel):
        return

    from core.predictions import read_by_head
    from core.trained import opened

    model, final = opened(described.path), read_by_head(trace)
    if final is None or not model.vocabulary:
        return
    step = max(1, BLOCK_BYTES // (4 * model.vocabulary))

    def rows() -> Iterator[Array]:
        for begin in range(0, len(final), step):
            yield model.logits_of(final[begin : begin + step])

    yield Entry("logits", (len(final), model.vocabulary), final.dtype, rows)


def _ready(name: str, array: Any) -> Entry:
    return Entry(name, array.shape, array.dtype, lambda: (array,))
