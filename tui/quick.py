"""What takes about a frame (16 ms) or less, so that it is made at once."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from core.types import CheckpointModel, Request, Tokens

# Up to here a trace takes about a frame (16 ms), so it is made at once.
QUICK_CHARACTERS = 20_000
QUICK_CELLS = 1_000_000
QUICK_WEIGHTS = 50_000  # of one kind; those of a new model are drawn first
QUICK_PRODUCTS = 20_000_000
QUICK_STEPS = 200  # of learning


def goes_on(*requests: Request) -> bool:
    """Whether each takes up learning where the one before left it."""
    return all(
        one.learning is not None
        and other.learning is not None
        and one.learning.steps < other.learning.steps
        and replace(one, learning=replace(one.learning, steps=other.learning.steps)) == other
        for one, other in pairwise(requests)
    )


def learns_quickly(request: Request, before: Request | None) -> bool:
    """Whether learning takes about a frame or less, after what another request has learned."""
    if request.learning is None:
        return True
    taken = 0
    if before is not None and before.learning is not None and goes_on(before, request):
        taken = before.learning.steps
    return request.learning.steps - taken <= QUICK_STEPS


def is_quick(request: Request, tokens: Tokens, target: Tokens | None = None) -> bool:
    """Whether the trace takes about a frame or less; learning comes on top."""
    if isinstance(request.model, CheckpointModel):  # its weights may have to be read
        return False
    model, count, other = request.model, len(tokens), len(target or ())
    weights = model.layers * model.d_model**2
    cells = count**2 + other**2 + other * count
    return (
        model.layers * model.heads * cells <= QUICK_CELLS
        and weights * (1 if target is None else 3) <= QUICK_WEIGHTS
        and weights * (count + 2 * other) <= QUICK_PRODUCTS
    )
