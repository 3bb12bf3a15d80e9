"""Weights out of a plan and its tensors: made float32 when a layer asks, kept while they fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Protocol

import numpy as np

from core.checkpoints.budget import free_bytes
from core.checkpoints.plain import shown
from core.checkpoints.plan import HeadPlan, Source, StackPlan, load, sources
from core.errors import ModelError
from core.language import _
from core.transformer_types import BlockWeights, EmbeddingParts, Float32, HeadParts, Norm

# Float32 copies of weights that a model may keep. Above, each layer is made anew when it is
# asked for, and only one is held at a time.
KEEP_BYTES = 2 * 2**30
# And of the unembedding: made anew for each prediction, it takes ten times as long.
KEEP_HEAD_BYTES = 2**30


class Tensors(Protocol):
    """A checkpoint's tensors, whatever its format."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Every tensor's name and shape."""

    def check_unchanged(self) -> None:
        """Raise ModelError if a file was written to since it was opened."""

    def is_view(self, name: str) -> bool:
        """Whether `read` gives the file's own bytes."""

    def read(self, name: str, rows: slice | Sequence[int] | None = None) -> Float32:
        """A tensor, or some of its rows, as float32."""


class Weights:
    """One stack's weights: `core.transformer_types.StackWeights` over a plan."""

    def __init__(self, plan: StackPlan, tensors: Tensors) -> None:
        self._plan = plan
        self._tensors = tensors
        self._sizes = copied_bytes(plan, tensors)
        self._keep = sum(self._sizes.values()) <= KEEP_BYTES
        self._blocks: dict[int, BlockWeights[Float32]] = {}
        self.embedding: EmbeddingParts[Float32] = load(plan.embedding, self._read)
        self.final: Norm[Float32] | None = load(plan.final, self._read)
        self.relative: Float32 | None = load(plan.relative, self._read)

    @property
    def unmade_bytes(self) -> int:
        """Bytes that the next run will take for weights; the last one may have been cancelled."""
        if not self._keep:
            return 0 if self._blocks else max(self._sizes.values())
        return sum(size for key, size in self._sizes.items() if key not in self._blocks)

    def rows(self, ids: Sequence[int]) -> Float32:
        return self._tensors.read(self._plan.table.name, list(ids))

    def has_block(self, index: int) -> bool:
        return id(self._plan.blocks[index]) in self._blocks

    def block(self, index: int) -> BlockWeights[Float32]:
        plan = self._plan.blocks[index]
        key = id(plan)  # layers that share their weights share a plan (ALBERT)
        if key not in self._blocks:
            if not self._keep:
                self._blocks.clear()
            read = cache(self._tensors.read)  # a fused tensor is made float32 once
            self._blocks[key] = load(plan, lambda source: source.take(read(source.name)))
        return self._blocks[key]

    def at_hand(self, index: int) -> BlockWeights[Float32] | None:
        """One layer, where it need not be made anew each time."""
        return self.block(index) if self._keep else None

    def check(self, x: Float32, index: int | None) -> None:
        # A third of the time of the other, where nothing is wrong and no copy is needed.
        if x.T.flags.c_contiguous and math.isfinite(np.vdot(x.T, x.T)):
            return
        if np.isfinite(x).all():
            return
        where, parts = self._at(index)
        broken = [
            s.name for s in sources(parts) if not np.isfinite(self._tensors.read(s.name)).all()
        ]
        if index is None and not broken:
            broken = [self._plan.table.name]
        if broken:
            message = _("{where} has NaN or infinite weights in {name}")
            raise ModelError(
                message.format(where=where, name=shown(broken[0])),
                _("the file is damaged; download it again"),
            )
        raise ModelError(
            _("the numbers of {where} are no longer finite").format(where=where),
            _("this model needs more range than float32 has; open another"),
        )

    def _at(self, index: int | None) -> tuple[str, object]:
        """What `check` calls a place, and the sources of what was computed there."""
        if index is None:
            return _("the embedding"), self._plan.embedding
        if index == len(self._plan.blocks):
            return _("the last norm"), self._plan.final
        found = self._plan.blocks[index], self._plan.relative
        return _("layer {index}").format(index=index), found

    def _read(self, source: Source) -> Float32:
        return source.take(self._tensors.read(source.name))


class Head:
    """The language head: `core.transformer_types.HeadWeights` over a plan."""

    def __init__(self, plan: HeadPlan, tensors: Tensors) -> None:
        self._plan = plan
        self._tensors = tensors
        self.count = plan.table.shape[0]
        size = 4 * math.prod(plan.table.shape)
        free = free_bytes()
        self._keep = size <= KEEP_HEAD_BYTES and (free is None or 2 * size <= free)
        self._kept: dict[tuple[int, int], Float32] = {}
        self.parts: HeadParts[Float32] = load(
            plan.parts, lambda source: source.take(tensors.read(source.name))
        )

    def rows(self, start: int, stop: int) -> Float32:
        found = self._kept.get((start, stop))
        if found is None:
            found = self._tensors.read(self._plan.table.name, slice(start, stop))
            if self._keep:
                self._kept[start, stop] = found
        return found


def copied_bytes(stack: StackPlan, tensors: Tensors) -> dict[int, int]:
    """Bytes of float32 that each layer would take in memory, by the id of its plan."""

    def size(block: BlockWeights[Source]) -> int:
        shapes = {source.name: source.shape for source in sources(block)}
        copied = (shape for name, shape in shapes.items() if not tensors.is_view(name))
        return sum(4 * math.prod(shape) for shape in copied)

    return {id(block): size(block) for block in stack.blocks}
