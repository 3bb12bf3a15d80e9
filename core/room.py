"""Room for the arrays of a run, cut out of allocations that the system serves quickly.

A page costs the system some microseconds when it is first written to, and a trace of 128 tokens has
5,000 pages of 4 KiB: a quarter of the time of the whole run. For an allocation of some MiB NumPy
asks for pages of 2 MiB instead; and one that no array is left of serves the next run, its pages
written to already.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from weakref import finalize

import numpy as np

from core.transformer_types import Float32

_CHUNK = 2**24  # numbers: 64 MiB, of which the system gives what is written to
_PAGE = 2**21  # bytes; what lies before the first whole page would come in pages of 4 KiB
_SMALL = 2**14  # numbers: what is smaller finds used memory
_LINE = 16  # numbers in a line of a processor's cache
_SPARES = 3  # chunks whose memory is kept


class _Chunks:
    """Chunks, one after the other, out of which arrays are cut."""

    def __init__(self) -> None:
        self._rest = np.empty(0, np.float32)

    def cut(self, size: int) -> Float32:
        if len(self._rest) < size:
            chunk = _chunk(max(size, _CHUNK))
            self._rest = chunk[-chunk.ctypes.data % _PAGE // 4 :]
        taken = self._rest[:size]
        self._rest = self._rest[-(-size // _LINE) * _LINE :]
        return taken


class _Room(local):
    kept: _Chunks | None = None  # of what a trace holds; None outside a run
    passing: _Chunks  # of what is lent, which ends with the run
    lent: dict[str, Float32]


_room = _Room()
_spare: list[Float32] = []  # memory of chunks that ended: a run takes what one before it had


@contextmanager
def room() -> Iterator[None]:
    """What this thread allocates inside shares chunks; each is freed with its last array."""
    _room.kept, _room.passing, _room.lent = _Chunks(), _Chunks(), {}
    try:
        yield
    finally:
        _room.kept, _room.passing, _room.lent = None, _Chunks(), {}


def empty(*shape: int) -> Float32:
    """As `numpy.empty`."""
    return _empty(_room.kept, shape)


def _empty(chunks: _Chunks | None, shape: tuple[int, ...]) -> Float32:
    size = math.prod(shape)
    if chunks is None or size < _SMALL:
        return np.empty(shape, np.float32)
    return chunks.cut(size).reshape(shape)


def aligned(size: int) -> Float32:
    """Numbers whose first begins a line of a processor's cache: vectors are read a line at once."""
    memory = np.empty(size + _LINE, np.float32)
    start = -memory.ctypes.data % (4 * _LINE) // 4
    return memory[start : start + size]


def _chunk(size: int) -> Float32:
    """At least so many numbers. It owns no memory, so that its end does not end the memory's."""
    if size > _CHUNK:
        return np.empty(size + _PAGE // 4, np.float32)
    try:
        memory = _spare.pop()
    except IndexError:
        memory = np.empty(size + _PAGE // 4, np.float32)
    chunk = np.frombuffer(memory.data, np.float32)
    finalize(chunk, _give_back, memory).atexit = False
    return chunk


def _give_back(memory: Float32) -> None:
    if len(_spare) < _SPARES:
        _spare.append(memory)


def columns(*shape: int) -> Float32:
    """As `empty`, but it is the last axis but one that lies closest in memory."""
    *outer, rows, width = shape
    return empty(*outer, width, rows).swapaxes(-1, -2)


def lent(name: str, rows: int, width: int) -> Float32:
    """As `columns`, for what is not kept: the same memory whenever a run asks by this name."""
    if _room.kept is None:
        return columns(rows, width)
    found = _room.lent.get(name)
    if found is None or found.shape != (rows, width):
        found = _room.lent[name] = _empty(_room.passing, (width, rows)).T
    return found
