"""Arrays of real models of which rows are made when somebody looks at them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from operator import index
from threading import Lock
from typing import Any, Protocol

import numpy as np

from core.transformer_types import Float32

KEPT_BYTES = 2**26  # of heads made last, so that a cursor that moves in one does not make it anew


class RowArray(Protocol):
    """[..., row, column]: an ndarray, or rows that are made when they are looked at."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, place: Any, /) -> Any: ...
    def __array__(self) -> Any: ...


class HeadArray(RowArray, Protocol):
    """[head, row, column]: an ndarray, or a `LazyArray` or `Joined`, looked at like one."""


class LazyArray:
    """[head, row, column] in float32, made a few rows at a time.

    It is indexed and iterated like an ndarray, and NumPy's functions take it for one. An ndarray's
    methods and operators are missing, because each of them would make all of it. What is made
    cannot be written to.

    Parameters
    ----------
    shape : tuple of int
    make : function
        [head, row, column] of a slice of heads and of a slice or an array of rows.
    kept : KeptHeads
        Whole heads that were made last.
    """

    dtype: np.dtype[Any] = np.dtype(np.float32)
    ndim = 3

    def __init__(
        self,
        shape: tuple[int, int, int],
        make: Callable[[slice, Any], Float32],
        kept: KeptHeads,
    ) -> None:
        self.shape = shape
        self._make = make
        self._kept = kept

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Float32]:
        return (self[head] for head in range(len(self)))

    def __getitem__(self, place: Any) -> Any:
        places = place if isinstance(place, tuple) else (place,)
        if _is_simple(places):
            found = self._some(*places)
        elif isinstance(places[0], slice) and (heads := range(len(self))[places[0]]):
            found = np.stack([self[head][places[1:]] for head in heads])
        else:
            found = np.asarray(self)[place]
        if isinstance(found, np.ndarray):
            found.setflags(write=False)
        return found

    def _some(self, head: Any, row: Any = slice(None), *column: Any) -> Any:
        """What an index picks that `_is_simple`."""
        heads, inner = _as_slice(head, self.shape[0])
        if isinstance(row, list | np.ndarray):
            return self._rows(heads, np.asarray(row))[(inner, slice(None), *column)]
        rows, inside = _as_slice(row, self.shape[1])
        return self._rows(heads, rows)[(inner, inside, *column)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError  # as NumPy wants it: what is made anew is a copy
        whole = self._make(slice(0, self.shape[0]), slice(0, self.shape[1]))
        return whole if dtype is None else whole.astype(dtype)

    def _rows(self, heads: slice, rows: Any) -> Float32:
        """[head, row, column], out of a whole head where it is kept."""
        if heads.stop - heads.start != 1:
            return self._make(heads, rows)
        place = (id(self), heads.start)
        whole = self._kept.get(place)
        if whole is not None:
            return whole[:, rows]
        made = self._make(heads, rows)
        if isinstance(rows, slice) and rows == slice(0, self.shape[1], 1):
            made.setflags(write=False)
            self._kept.put(place, made)
        return made


class KeptHeads:
    """Up to `KEPT_BYTES` of the heads that were looked at last, of all arrays of a run."""

    def __init__(self) -> None:
        self._heads: OrderedDict[tuple[int, int], Float32] = OrderedDict()
        self._lock = Lock()  # a screen draws while a thread compares

    def get(self, place: tuple[int, int]) -> Float32 | None:
        with self._lock:
            found = self._heads.get(place)
            if found is not None:
                self._heads.move_to_end(place)
            return found

    def put(self, place: tuple[int, int], head: Float32) -> None:
        with self._lock:
            self._heads[place] = head
            while sum(each.nbytes for each in self._heads.values()) > KEPT_BYTES:
                self._heads.popitem(last=False)


def _is_simple(places: tuple[Any, ...]) -> bool:
    """Whether an index is one of head, rows and columns of which at most the rows are a list."""
    if len(places) > 3:
        return False
    listed = len(places) > 1 and isinstance(places[1], list | np.ndarray)
    if listed and np.ndim(places[1]) != 1:
        return False
    plain = [each for at, each in enumerate(places) if at != 1 or not listed]
    return all(isinstance(each, slice) or _is_number(each) for each in plain)


def _is_number(place: object) -> bool:
    return isinstance(place, int | np.integer) and not isinstance(place, bool)


def _as_slice(place: Any, count: int) -> tuple[slice, Any]:
    """A slice with positive ends, and what picks the same out of what it gives."""
    if isinstance(place, slice):
        start, stop, step = place.indices(count)
        if step != 1:
            return slice(0, count, 1), place
        return slice(start, max(start, stop), 1), slice(None)
    number = index(place)
    if not -count <= number < count:
        raise IndexError(number)
    return slice(number % count, number % count + 1, 1), 0
