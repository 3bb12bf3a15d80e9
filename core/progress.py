"""How far a long computation is: it tells at every step, and whoever watches may end it there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

# What a step belongs to.
READING, LAYERS, LEARNING, COMPARING = "reading", "layers", "learning", "comparing"

Watcher: TypeAlias = Callable[[str, int, int], None]  # what, steps done, all of them
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


class Cancelled(BaseException):
    """Whoever watches wants no more of it. No Exception, so that nothing takes it for a fault."""


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell `watcher`, who may raise `Cancelled`, of every step of what is computed inside.

    A context variable, so that steps need no way of their own through all that lies between; each
    thread has its own.
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def step(what: str, done: int, total: int) -> None:
    """Say that the next one of `total` steps begins."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(what, done, total)
