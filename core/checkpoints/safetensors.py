"""Reading ``.safetensors``: a checked header, and tensors out of a memory map.

The format: eight bytes with the header's length, a JSON header that gives each tensor's dtype,
shape and place, then the tensors' bytes without a gap
(https://github.com/huggingface/safetensors#format).
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from core.checkpoints.mapping import check_unchanged, let_go, state_of
from core.checkpoints.plain import (
    HEAD,
    damaged,
    refuse_foreign,
    shown,
    size_of,
    unreadable,
    whole,
)
from core.errors import ModelError
from core.language import _
from core.transformer_types import Float32

MAX_HEADER = 100_000_000  # the format's own limit
_SIZES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1,
    "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1,
}  # fmt: skip
_READABLE = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
Place: TypeAlias = tuple[str, tuple[int, ...], int, int]  # dtype, shape, start, end


class SafetensorsFile:
    """One file, mapped into memory; nothing is read before it is asked for.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ModelError
        The file is missing, cut off, something else, or its header lies.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._bytes, self._data = _open(path)
        self._state = state_of(path)
        header = _parse(path, self._bytes[8 : self._data])
        self._places = {
            name: _place(path, name, entry)
            for name, entry in header.items()
            if name != "__metadata__"
        }
        _check_order(path, self._places, len(self._bytes) - self._data)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every tensor's name and shape."""
        return {name: shape for name, (_, shape, _, _) in self._places.items()}

    def check_unchanged(self) -> None:
        """Raise ModelError if the file was written to since."""
        check_unchanged(self.path, self._state)

    def is_view(self, name: str) -> bool:
        """Whether `read` gives the file's own bytes, which take no memory of their own."""
        dtype, _, start, _ = self._places[name]
        return dtype == "F32" and (self._data + start) % 4 == 0

    def read(self, name: str, rows: slice | Sequence[int] | None = None) -> Float32:
        """A tensor, or some rows of it, as float32.

        Raises
        ------
        ModelError
            The tensor's dtype is none of F64, F32, F16 and BF16.
        """
        dtype, shape, start, end = self._places[name]
        if dtype not in _READABLE:
            raise _unreadable(self.path, name, dtype)
        place = self._data + start
        stored: Any = np.frombuffer(self._bytes, _READABLE[dtype], math.prod(shape), place)
        stored = stored.reshape(shape)
        if rows is not None:
            stored = stored[rows]
        if dtype == "BF16":  # the upper half of a float32
            out: Float32 = (stored.astype(np.uint32) << 16).view(np.float32)
        else:
            with np.errstate(over="ignore"):  # a float64 too large becomes ∞, told by layer
                out = np.require(stored, np.float32, "A")
        if rows is None and not self.is_view(name):
            let_go(self._bytes, place, self._data + end)
        return out


def _open(path: Path) -> tuple[mmap.mmap, int]:
    """The mapped file, and where its tensors begin."""
    try:
        size = size_of(path)
        with path.open("rb") as file:
            head = file.read(HEAD)
            length = int.from_bytes(head[:8], "little")
            sound = size >= 8 and length <= size - 8 and head[8:9] == b"{"
            if not sound:
                refuse_foreign(path, head)
                raise damaged(path, _("is cut off or no safetensors file"))
            if length > MAX_HEADER:
                raise damaged(path, _("has a header of {n:,} bytes").format(n=length))
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), 8 + length
    except OSError as error:
        raise unreadable(path, error) from error


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    def no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _value in pairs]
        if len(set(names)) < len(names):
            twin = next(name for name in names if names.count(name) > 1)
            raise damaged(path, _("names {name} twice").format(name=shown(twin)))
        return dict(pairs)

    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=no_twins)
    except (ValueError, RecursionError) as error:
        raise damaged(path, _("has a header that is no JSON")) from error
    if not isinstance(header, dict):
        raise damaged(path, _("has a header that is no JSON object"))
    return header


def _place(path: Path, name: str, entry: Any) -> Place:
    """One tensor's dtype, shape and place, if they fit together."""
    try:
        dtype, shape, (start, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        sound = isinstance(dtype, str) and isinstance(shape, list)
        sound = sound and all(map(whole, [*shape, start, end]))
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise damaged(path, _("describes tensor {name} wrongly").format(name=shown(name)))
    if dtype not in _SIZES:
        raise _unreadable(path, name, dtype)
    if end - start != math.prod(shape) * _SIZES[dtype]:
        raise damaged(
            path,
            _("gives tensor {name} {n:,} bytes, which do not fit its shape").format(
                name=shown(name), n=end - start
            ),
        )
    return dtype, tuple(shape), start, end


def _check_order(path: Path, places: dict[str, Place], size: int) -> None:
    """The tensors must fill the file's data without a gap, an overlap or a rest."""
    reach = 0
    for name, (_dtype, _shape, start, end) in sorted(
        places.items(), key=lambda item: (item[1][2], item[1][3])
    ):
        if start != reach:
            raise damaged(
                path,
                _("has a gap or an overlap before tensor {name}").format(name=shown(name)),
            )
        if end > size:
            raise damaged(path, _("is cut off inside tensor {name}").format(name=shown(name)))
        reach = end
    if reach != size:
        raise damaged(path, _("has {n:,} bytes behind its tensors").format(n=size - reach))


def _unreadable(path: Path, name: str, dtype: object) -> ModelError:
    return ModelError(
        _("unsupported dtype {dtype} in tensor {name} of {path}").format(
            dtype=shown(dtype), name=shown(name), path=shown(path)
        ),
        _("save the model as F32, F16 or BF16"),
    )
