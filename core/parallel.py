"""Work shared out to a few threads: NumPy lets go of the interpreter while it computes."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from threading import Lock, Thread
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

_MOST = 4  # a host may have many people on it
_WORTH = 15 * 10**6  # multiplications that a thread must get to be worth handing over to


def each(task: Callable[[slice], T], count: int, work: int) -> list[T]:
    """Call `task` with slices that together cover ``range(count)``, at once if it is worth it.

    Parameters
    ----------
    task : function
        Makes or writes its share of a result; must not depend on other shares.
    count : int
    work : int
        About how many multiplications all of it takes.

    Returns
    -------
    list
        What `task` returned for each share, in the order of the shares.
    """
    workers = max(1, min(count, _workers(work)))
    edges = [count * index // workers for index in range(workers + 1)]
    own, *others = [slice(*pair) for pair in pairwise(edges)]
    if not others or not _free.acquire(blocking=False):  # another thread shares out its own
        return [task(share) for share in (own, *others)]  # the same shares: they may be added up
    try:
        helpers = _helpers()[: len(others)]
        for helper, share in zip(helpers, others, strict=True):
            helper.start(task, share)
        done = [_attempt(task, own), *(helper.finish() for helper in helpers)]
    finally:
        _free.release()
    for _result, error in done:
        if error is not None:
            raise error
    return [result for result, _error in done]


def is_even(count: int, work: int) -> bool:
    """Whether `each` would give every thread that the work is worth the same number."""
    return count % _workers(work) == 0


def _workers(work: int) -> int:
    return max(1, min(threads(), work // _WORTH))


@cache
def threads() -> int:
    """How many share the work: 1 where BLAS starts its own, as it does unless told not to."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        return 1
    if not hasattr(os, "sched_getaffinity"):  # macOS
        return min(_MOST, os.cpu_count() or 1)
    return min(_MOST, len(os.sched_getaffinity(0)))


class _Helper:
    """A thread that does one task after the other; handing over takes two locks and no queue."""

    def __init__(self) -> None:
        self._given, self._done = Lock(), Lock()
        self._given.acquire()
        self._done.acquire()
        self._job: tuple[Callable[[slice], Any], slice] | None = None
        self._made: tuple[Any, BaseException | None] = None, None
        self._thread = Thread(target=self._work, name="numbers", daemon=True)
        self._thread.start()

    def start(self, task: Callable[[slice], Any], share: slice) -> None:
        self._job = task, share
        self._given.release()

    def finish(self) -> tuple[Any, BaseException | None]:
        self._done.acquire()
        done, self._made = self._made, (None, None)  # it may hold arrays
        return done

    def end(self) -> None:
        self._given.release()  # with no task
        self._thread.join()

    def _work(self) -> None:
        with np.errstate(all="ignore"):  # a thread does not take over what its caller ignores
            while True:
                self._given.acquire()
                if self._job is None:
                    return
                self._made = _attempt(*self._job)
                self._job = None  # it holds arrays
                self._done.release()


_free = Lock()  # whether the helpers are


@cache
def _helpers() -> list[_Helper]:
    return [_Helper() for _ in range(threads() - 1)]


def end_threads() -> None:
    """Let go of the threads, before a fork, which copies none; the next work starts others."""
    if _helpers.cache_info().currsize:
        for helper in _helpers():
            helper.end()
        _helpers.cache_clear()


def _attempt(task: Callable[[slice], Any], share: slice) -> tuple[Any, BaseException | None]:
    try:
        return task(share), None
    except BaseException as error:  # raised again by `each`, when all have ended
        return None, error
