"""What a run of a causal model takes over from an earlier one that begins with the same tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from core.lazy import RowArray
from core.transformer_types import Facts, Float32, StackTrace


def common_start(
    facts: Facts, earlier: StackTrace, ids: Sequence[int], blocked: frozenset[int]
) -> int:
    """How many tokens of an earlier run need not be run again, at the start.

    In a causal stack nothing that comes later reaches a token: not by attention, nor by its
    position, since no rotation that is known here depends on the length of the text. One token is
    always run.
    """
    if not facts.causal:
        return 0
    most = min(len(ids) - 1, len(earlier.ids))
    for place in range(most):
        known = (earlier.ids[place], place in earlier.blocked)
        if known != (ids[place], place in blocked):
            return place
    return most


class Joined(NDArrayOperatorsMixin):
    """[..., pos, d]: rows of an earlier run, then new ones; put together when it is looked at.

    A letter makes a row of a hundred arrays, of which people look at a few. It is used like an
    ndarray, though it is none, and cannot be written to.

    Parameters
    ----------
    earlier : ndarray or Joined
    new : ndarray [..., new, d]
    first : int
        Where the new rows stand.
    """

    dtype: np.dtype[Any] = np.dtype(np.float32)

    def __init__(self, earlier: RowArray, new: Float32, first: int) -> None:
        # Not the earlier one itself, so that no chain of runs is kept alive.
        known = earlier.before(first) if isinstance(earlier, Joined) else np.asarray(earlier)
        if 2 * first < known.shape[-2]:  # a short text keeps no long one alive
            known = known[..., :first, :].copy()
        known.setflags(write=False)
        new.setflags(write=False)
        *outer, rows, width = new.shape
        self.shape: tuple[int, ...] = (*outer, first + rows, width)
        self.new = new
        self._known: Float32 = known
        self._first = first
        self._whole: Float32 | None = None

    def before(self, row: int) -> Float32:
        """An array with the rows before one."""
        return self._known if row <= self._first else self.whole

    @property
    def whole(self) -> Float32:
        """All rows."""
        if self._whole is None:  # two threads may make it at once, and make the same
            *outer, rows, width = self.shape
            # In no run's room: the next run may ask for it and be cancelled.
            out = np.empty((*outer, width, rows), np.float32).swapaxes(-1, -2)
            made = join(self._known, self.new, self._first, out)
            made.setflags(write=False)
            self._whole = self._known = made
        return self._whole

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.whole)

    def __getitem__(self, place: Any, /) -> Any:
        return self.whole[place]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.whole, dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **how: Any) -> Any:
        arrays = (each.whole if isinstance(each, Joined) else each for each in inputs)
        return getattr(ufunc, method)(*arrays, **how)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.whole, name)  # a method of an ndarray


def new_rows(rows: RowArray, first: int) -> Float32:
    """Rows [..., new, d] from `first` on, where rows [..., pos, d] may be `Joined` there."""
    if isinstance(rows, Joined):
        return rows.new
    made: Float32 = rows[..., first:, :]
    return made


def join(earlier: RowArray, new: Float32, first: int, out: Float32) -> Float32:
    """Rows [..., pos, d] of an earlier run before `first`, then the new ones, in `out`."""
    out[..., :first, :] = earlier[..., :first, :]
    out[..., first:, :] = new
    return out
