"""What a run of a real model needs, said before it is allocated."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from pathlib import Path

from core.errors import BudgetError
from core.language import _
from core.transformer_types import Facts

BUDGET_BYTES = 4 * 2**30  # that the arrays of one run may take


def run_bytes(facts: Facts, count: int, source: int, keep_patterns: bool = False) -> int:
    """Bytes that the trace of one stack keeps.

    Parameters
    ----------
    facts : Facts
    count : int
        Tokens that it reads.
    source : int
        Tokens that its cross-attention reads; 0 where it has none.
    keep_patterns : bool
    """
    wide, narrow = facts.heads * facts.d_head, facts.kv_heads * facts.d_head
    rows = (wide + 2 * narrow + 2 * facts.d_model) * count  # q; k, v; attn_out, resid_post
    if source:  # cross-attention has q, k, v and attn_out too, and resid_mid before it
        rows += (wide + 2 * facts.d_model) * count + 2 * narrow * source
    masks = len({layer.window for layer in facts.layers}) * count * (count + source)
    cells = facts.heads * count * (count + source) if keep_patterns else 0
    return 4 * len(facts.layers) * (rows + cells) + masks


def check_budget(
    stacks: Sequence[tuple[Facts, int]], source: int, weights: int, keep_patterns: bool = False
) -> None:
    """Raise BudgetError if a run would need more than its budget or than is free.

    Parameters
    ----------
    stacks : sequence of Facts and int
        The stacks to be run and how many tokens each reads; an encoder before its decoder.
    source : int
        Tokens that the encoder reads.
    weights : int
        Bytes of weights that are still to be made float32.
    keep_patterns : bool
    """
    needed = sum(
        run_bytes(facts, count, source if index else 0, keep_patterns)
        for index, (facts, count) in enumerate(stacks)
    )
    hint = _("use a shorter text or a smaller model")
    if needed > BUDGET_BYTES:
        raise BudgetError(
            _(
                "{tokens:,} tokens need {needed:,.1f} GiB, and the budget is {budget:,.0f} GiB"
            ).format(
                tokens=sum(count for _facts, count in stacks),
                needed=needed / 2**30,
                budget=BUDGET_BYTES / 2**30,
            ),
            hint,
        )
    free = free_bytes()
    if free is not None and needed + weights > free:
        raise BudgetError(
            _(
                "the model and {tokens:,} tokens need {needed:,.1f} GiB, {free:,.1f} are free"
            ).format(
                tokens=sum(count for _facts, count in stacks),
                needed=(needed + weights) / 2**30,
                free=free / 2**30,
            ),
            hint,
        )


def free_bytes() -> int | None:
    """Memory that this process could still take; None where the system does not say."""
    room = []
    try:
        with Path("/proc/meminfo").open() as lines:
            found = next((line for line in lines if line.startswith("MemAvailable:")), None)
        if found is not None:
            room.append(int(found.split()[1]) * 1024)
        limit, _hard = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            room.append(max(limit - pages * resource.getpagesize(), 0))
    except (OSError, ValueError, IndexError):
        pass
    return min(room, default=None)
