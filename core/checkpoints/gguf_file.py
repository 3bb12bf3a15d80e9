"""Reading ``.gguf``: a header walked with care, and tensors dequantized by the `gguf` package.

The format: magic, version, counts, typed metadata, then each tensor's name, dimensions, type and
place, then the aligned tensors (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). The
package has a reader too; it believes what a header says, and a length that lies keeps it busy
until memory is full.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.checkpoints.mapping import check_unchanged, let_go, state_of
from core.checkpoints.plain import HEAD, damaged, refuse_foreign, shown, unreadable
from core.errors import ModelError
from core.language import _
from core.parallel import each
from core.transformer_types import Float32

_NUMBERS = dict(
    enumerate(["B", "b", "H", "h", "I", "i", "f", "?", "s", "a", "Q", "q", "d"])
)  # by the format's type numbers
_STRING, _ARRAY = 8, 9
_MOST_DIMENSIONS = 4
_DEFAULT_ALIGNMENT = 32
_BLOCK = 2**17  # numbers that are dequantized at a time, so that they stay in cache


@dataclass(frozen=True, slots=True)
class _Place:
    shape: tuple[int, ...]  # rows first, as NumPy has it
    kind: Any  # the package's GGMLQuantizationType
    start: int
    end: int


class GgufFile:
    """One file, mapped into memory; nothing is dequantized before it is asked for.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ModelError
        The file is missing, cut off, something else, or its header lies; or the `gguf` package
        is not installed.
    """

    def __init__(self, path: Path) -> None:
        try:
            import gguf
        except ImportError as error:
            raise ModelError(
                _("{path} needs the package gguf").format(path=shown(path)),
                _("pip install 'attn-tui[gguf]'"),
            ) from error
        self.path = path
        self._package = gguf
        walk = _Walk(path)
        self._bytes = walk.bytes
        self._state = state_of(path)
        self.metadata, self._places = _walk_header(walk, gguf)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every tensor's name and shape."""
        return {name: place.shape for name, place in self._places.items()}

    def check_unchanged(self) -> None:
        """Raise ModelError if the file was written to since."""
        check_unchanged(self.path, self._state)

    def is_view(self, name: str) -> bool:
        """Whether `read` gives the file's own bytes."""
        return bool(self._places[name].kind == self._package.GGMLQuantizationType.F32)

    def read(self, name: str, rows: slice | Sequence[int] | None = None) -> Float32:
        """A tensor, or some rows of it, as float32.

        Raises
        ------
        ModelError
            The `gguf` package cannot dequantize the tensor's type.
        """
        place = self._places[name]
        stored = np.frombuffer(self._bytes, np.uint8, place.end - place.start, place.start)
        if len(place.shape) == 1:
            return self._dequantized(name, stored)
        stored = stored.reshape(place.shape[0], -1)
        stored = stored if rows is None else stored[rows]
        if self.is_view(name):
            return self._dequantized(name, stored).reshape(-1, *place.shape[1:])
        out = np.empty((len(stored), math.prod(place.shape[1:])), np.float32)
        step = max(1, _BLOCK // out.shape[1])

        def some_rows(some: slice) -> None:
            for start in range(some.start, some.stop, step):
                part = slice(start, min(start + step, some.stop))
                out[part] = self._dequantized(name, stored[part].reshape(-1)).reshape(
                    -1, out.shape[1]
                )

        each(some_rows, len(stored), work=80 * out.size)
        if rows is None:
            let_go(self._bytes, place.start, place.end)
        return out.reshape(-1, *place.shape[1:])

    def _dequantized(self, name: str, stored: Any) -> Float32:
        kind = self._places[name].kind
        try:
            values: Float32 = self._package.dequantize(stored, kind)
        except (NotImplementedError, KeyError) as error:
            raise ModelError(
                _("unsupported type {kind} in tensor {name} of {path}").format(
                    kind=shown(kind.name), name=shown(name), path=shown(self.path)
                ),
                _("open the model as Q8_0, Q4_K, F16 or BF16"),
            ) from error
        return values


class _Walk:
    """Reads a file's header from the front and never past its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.at = 0
        try:
            with path.open("rb") as file:
                head = file.read(HEAD)
                if not head.startswith(b"GGUF"):
                    refuse_foreign(path, head)
                    raise self.damaged(_("is no GGUF file"))
                self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise unreadable(path, error) from error
        self.at = 4

    def take(self, count: int) -> bytes:
        if count > len(self.bytes) - self.at:
            raise self.damaged(_("is cut off or its header lies"))
        self.at += count
        return self.bytes[self.at - count : self.at]

    def number(self, code: str) -> Any:
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def string(self) -> str:
        return self.take(self.number("Q")).decode("utf-8", errors="replace")

    def strings(self, count: int) -> list[str]:
        """As `string`, for vocabularies: a call for each of 100,000 takes a quarter of a second."""
        found, at = [], self.at
        for _index in range(count):
            start = at + 8
            at = start + int.from_bytes(self.bytes[at:start], "little")
            if at > len(self.bytes):
                raise self.damaged(_("is cut off or its header lies"))
            found.append(self.bytes[start:at].decode("utf-8", errors="replace"))
        self.at = at
        return found

    def count(self, least: int) -> int:
        """A number of things of at least so many bytes each, all of which must be in the file."""
        count: int = self.number("Q")
        if count * least > len(self.bytes) - self.at:
            raise self.damaged(_("is cut off or its header lies"))
        return count

    def value(self) -> Any:
        return self._value(self.number("I"))

    def _value(self, kind: int) -> Any:
        if kind not in _NUMBERS:
            raise self.damaged(_("has metadata of an unknown type"))
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.number(_NUMBERS[kind])
        inner = self.number("I")
        if inner == _ARRAY or inner not in _NUMBERS:
            raise self.damaged(_("has metadata of an unknown type"))
        if inner == _STRING:
            return self.strings(self.count(8))
        code = _NUMBERS[inner]
        count = self.count(struct.calcsize("<" + code))
        return list(
            struct.unpack(f"<{count}{code}", self.take(count * struct.calcsize("<" + code)))
        )

    def damaged(self, what: str) -> ModelError:
        return damaged(self.path, what)


def _walk_header(walk: _Walk, package: Any) -> tuple[dict[str, Any], dict[str, _Place]]:
    version = walk.number("I")
    if version not in (2, 3):
        raise walk.damaged(_("is GGUF of version {n}, not 2 or 3").format(n=version))
    tensors = walk.count(24)
    metadata: dict[str, Any] = {}
    for _index in range(walk.count(13)):
        name = walk.string()
        if name in metadata:
            raise walk.damaged(_("names {name} twice").format(name=shown(name)))
        metadata[name] = walk.value()
    infos = [_tensor_info(walk, package) for _index in range(tensors)]
    alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or not 0 < alignment <= 2**20:
        raise walk.damaged(_("has the alignment {n}").format(n=shown(alignment)))
    data = -(-walk.at // alignment) * alignment
    places: dict[str, _Place] = {}
    for name, shape, kind, offset in infos:
        block, size = package.GGML_QUANT_SIZES[kind]
        start = data + offset
        end = start + math.prod(shape) // block * size
        if name in places or shape[-1] % block or offset % alignment:
            raise walk.damaged(_("describes tensor {name} wrongly").format(name=shown(name)))
        if end > len(walk.bytes):
            raise walk.damaged(_("is cut off inside tensor {name}").format(name=shown(name)))
        places[name] = _Place(shape, kind, start, end)
    _check_overlap(walk, places)
    return metadata, places


def _tensor_info(walk: _Walk, package: Any) -> tuple[str, tuple[int, ...], Any, int]:
    name = walk.string()
    dimensions = walk.number("I")
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        raise walk.damaged(_("describes tensor {name} wrongly").format(name=shown(name)))
    shape = tuple(walk.number("Q") for _index in range(dimensions))[::-1]
    kind = walk.number("I")
    try:
        kind = package.GGMLQuantizationType(kind)
    except ValueError as error:
        raise walk.damaged(
            _("has tensor {name} in an unknown type {kind}").format(name=shown(name), kind=kind)
        ) from error
    return name, shape, kind, walk.number("Q")


def _check_overlap(walk: _Walk, places: dict[str, _Place]) -> None:
    reach = 0
    for name, place in sorted(places.items(), key=lambda item: item[1].start):
        if place.start < reach:
            raise walk.damaged(_("has an overlap at tensor {name}").format(name=shown(name)))
        reach = place.end
