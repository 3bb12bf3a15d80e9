"""Work shared out to a few threads: NumPy lets go of the interpreter while it computes."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import numpy as np

_MOST = 4  # a host may have many people on it
_WORTH = 2**21  # multiplications below which handing over costs more than it saves


def each(task: Callable[[slice], None], count: int, work: int) -> None:
    """Call `task` with slices that together cover ``range(count)``, at once if it is worth it.

    Parameters
    ----------
    task : function
        Writes its slice of a result; must not depend on other slices.
    count : int
    work : int
        About how many multiplications all of it takes.
    """
    workers = min(threads(), count, work // _WORTH)
    if workers < 2:
        task(slice(0, count))
        return
    edges = [count * index // workers for index in range(workers + 1)]
    slices = [slice(*pair) for pair in pairwise(edges)]
    rest = [_pool().submit(_quietly, task, piece) for piece in slices[1:]]
    _quietly(task, slices[0])
    for future in rest:
        future.result()


@cache
def threads() -> int:
    """How many share the work: 1 where BLAS starts its own, as it does unless told not to."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        return 1
    if not hasattr(os, "sched_getaffinity"):  # macOS
        return min(_MOST, os.cpu_count() or 1)
    return min(_MOST, len(os.sched_getaffinity(0)))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads() - 1, thread_name_prefix="numbers")


def _quietly(task: Callable[[slice], None], piece: slice) -> None:
    with np.errstate(all="ignore"):  # a thread does not take over what its caller ignores
        task(piece)
