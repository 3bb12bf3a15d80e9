"""How far a long computation is: it tells at every step, and whoever watches may end it there.

It also offers what there is of its result so far, and whoever watches may show that meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

# What a step belongs to.
READING, LAYERS, LEARNING, COMPARING = "reading", "layers", "learning", "comparing"

Watcher: TypeAlias = Callable[[str, int, int], None]  # what, steps done, all of them
Taker: TypeAlias = Callable[[int, Callable[[], Any]], None]  # steps done, what gives the part
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
_taker: ContextVar[Taker | None] = ContextVar("taker", default=None)


class Cancelled(BaseException):
    """Whoever watches wants no more of it. No Exception, so that nothing takes it for a fault."""


@contextmanager
def watched(watcher: Watcher, taker: Taker | None = None) -> Iterator[None]:
    """Tell `watcher`, who may raise `Cancelled`, of every step of what is computed inside.

    `taker` is offered what there is so far, as often as there is more of it.

    Context variables, so that steps need no way of their own through all that lies between; each
    thread has its own.
    """
    tokens = _watcher.set(watcher), _taker.set(taker)
    try:
        yield
    finally:
        _watcher.reset(tokens[0])
        _taker.reset(tokens[1])


def step(what: str, done: int, total: int) -> None:
    """Say that the next one of `total` steps begins."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(what, done, total)


def offer(done: int, make: Callable[[], Any]) -> None:
    """Say that `make` gives what there is after so many steps."""
    taker = _taker.get()
    if taker is not None:
        taker(done, make)
