"""What is known of the heads of an attention, layer by layer as it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from core.types import Array, CheckpointModel, Trace

if TYPE_CHECKING:
    from core.head_statistics import HeadFacts, Meant
    from core.lazy import HeadArray
    from core.pooling import Pattern, Pooled
    from core.reading import Read, Reading

# Of patterns that are looked at in about a frame (16 ms); a head costs as much as so many cells.
QUICK_CELLS = 2_000_000
_HEAD_CELLS = 8_000
_READ_TIMES = 4  # as much, where columns are dropped or words merged


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a grid shows: of which layers, and with matrices of which size.

    Attributes
    ----------
    layers : tuple of int
    bins : (rows, columns, pool), optional
        Of each head's matrix; None where only values are shown.
    """

    layers: tuple[int, ...] = ()
    bins: tuple[int, int, str] | None = None


class Survey:
    """The heads of one attention of a trace, as they are computed or read. A layer's patterns are
    looked at once and then let go.
    """

    def __init__(self, trace: Trace, attention: str, reading: Reading | None = None) -> None:
        self.trace, self.attention, self.reading = trace, trace.attentions[attention], reading
        self.facts: dict[int, list[HeadFacts]] = {}
        self._bins: tuple[int, int, str] | None = None
        self._matrices: dict[int, list[Pooled]] = {}
        self._meant: Meant | None = None

    def is_of(self, trace: Trace, attention: str, reading: Reading | None) -> bool:
        same = self.trace is trace and self.attention is trace.attentions[attention]
        return same and self.reading == reading

    def missing(self, wanted: Wanted) -> list[int]:
        """The layers among those wanted of which something is not known yet."""
        drawn = self._matrices if wanted.bins == self._bins else {}
        return [
            layer
            for layer in wanted.layers
            if layer not in self.facts or (wanted.bins is not None and layer not in drawn)
        ]

    def is_quick(self, layers: Sequence[int]) -> bool:
        """Whether layers are looked at in about a frame; those of a real model may have to be made
        first.
        """
        if isinstance(self.trace.request.model, CheckpointModel):
            return False
        heads = self.trace.request.model.heads * len(layers)
        cells = heads * (self.attention.mask.size + _HEAD_CELLS)
        return cells * (1 if self.reading is None else _READ_TIMES) <= QUICK_CELLS

    def look(self, layer: int, wanted: Wanted) -> None:
        """Look at the heads of a layer, each once; may be called in a thread."""
        from core.head_statistics import (  # most sessions open no grid
            counted_rows,
            head_facts,
            meant,
            normalises,
            unmeasured,
        )
        from core.pooling import pooled

        pattern: HeadArray | Read = self.attention.layers[layer].pattern
        mask, kept, read = self.attention.masks[layer], self.attention.masks[layer], None
        if self.reading is not None and normalises(self.trace):
            from core.reading import read_layer

            pattern = read = read_layer(self.reading, self.attention, layer)
            mask, kept = read.mask, read.kept
        if self._meant is None:
            self._meant = meant(self.attention, read)
        known, measured = self.facts.get(layer), normalises(self.trace)
        rows = counted_rows(self._meant, kept) if known is None and measured else None
        facts, matrices = [], []
        for head in range(len(pattern)):
            if known is None:
                found = head_facts(pattern, layer, head, rows) if rows else unmeasured(layer, head)
                facts.append(found)
            if wanted.bins is not None:
                dropped = None if read is None else read.dropped
                lines = partial(_lines, pattern, head)
                matrices.append(pooled(lines, mask, *wanted.bins, dropped))
        if known is None:
            self.facts[layer] = facts
        if wanted.bins is not None:
            if self._bins != wanted.bins:
                self._bins, self._matrices = wanted.bins, {}
            self._matrices[layer] = matrices

    def of_head(self, layer: int, head: int) -> HeadFacts | None:
        """The facts of a head; None as long as they are not known."""
        found = self.facts.get(layer)
        return None if found is None else found[head]

    def matrix(self, layer: int, head: int, bins: tuple[int, int, str]) -> Pooled | None:
        """The pooled matrix of a head; None as long as it is not known in this size."""
        found = self._matrices.get(layer) if self._bins == bins else None
        return None if found is None else found[head]


def _lines(pattern: Pattern, head: int, start: int, stop: int) -> tuple[Array, None]:
    """Some rows of a head; what is removed of them is not drawn here."""
    return pattern[head, start:stop], None
