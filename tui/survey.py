"""What is known of the heads of an attention, layer by layer as it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.types import CheckpointModel, Trace

if TYPE_CHECKING:
    from core.head_statistics import HeadFacts, Meant
    from core.pooling import Pooled

# Of patterns that are looked at in about a frame (16 ms); a head costs as much as so many cells.
QUICK_CELLS = 2_000_000
_HEAD_CELLS = 8_000


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
    """The heads of one attention of a trace. A layer's patterns are read once and then let go."""

    def __init__(self, trace: Trace, attention: str) -> None:
        self.trace, self.attention = trace, trace.attentions[attention]
        self.facts: dict[int, list[HeadFacts]] = {}
        self._bins: tuple[int, int, str] | None = None
        self._matrices: dict[int, list[Pooled]] = {}
        self._meant: Meant | None = None

    def is_of(self, trace: Trace, attention: str) -> bool:
        return self.trace is trace and self.attention is trace.attentions[attention]

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
        return heads * (self.attention.mask.size + _HEAD_CELLS) <= QUICK_CELLS

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

        if self._meant is None:
            self._meant = meant(self.attention)
        pattern, mask = self.attention.layers[layer].pattern, self.attention.masks[layer]
        known, measured = self.facts.get(layer), normalises(self.trace)
        rows = counted_rows(self._meant, mask) if known is None and measured else None
        facts, matrices = [], []
        for head in range(len(pattern)):
            if known is None:
                found = head_facts(pattern, layer, head, rows) if rows else unmeasured(layer, head)
                facts.append(found)
            if wanted.bins is not None:
                matrices.append(pooled(pattern, head, mask, *wanted.bins))
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
