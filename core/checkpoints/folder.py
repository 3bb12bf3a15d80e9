"""A model's folder as Hugging Face lays it out: which files are there, and the tensors in them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from core.checkpoints.plain import json_object, listed, pickled, shown
from core.checkpoints.safetensors import SafetensorsFile
from core.errors import ModelError
from core.language import _, counted
from core.transformer_types import Float32

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
_NAMED = 5  # missing files that a message lists


class Shards:
    """Tensors of one or several files, under the names of today.

    Raises
    ------
    ModelError
        A tensor is there twice.
    """

    def __init__(self, files: list[SafetensorsFile]) -> None:
        self._files = files
        self._places: dict[str, tuple[SafetensorsFile, str]] = {}
        for file in files:
            for name in file.shapes:
                self._place(file, name)
        self.shapes = {name: file.shapes[old] for name, (file, old) in self._places.items()}

    def _place(self, file: SafetensorsFile, name: str) -> None:
        """Of two tensors with one name nobody can say which is the model's."""
        new = _modern(name)
        if new in self._places:
            raise ModelError(
                _("tensor {tensor} is there twice, the second time in {file}").format(
                    tensor=shown(new), file=shown(file.path)
                ),
                _("download the model's files again"),
            )
        self._places[new] = file, name

    def check_unchanged(self) -> None:
        for file in self._files:
            file.check_unchanged()

    def is_view(self, name: str) -> bool:
        file, old = self._places[name]
        return file.is_view(old)

    def read(self, name: str, rows: slice | Sequence[int] | None = None) -> Float32:
        file, old = self._places[name]
        return file.read(old, rows)


def _modern(name: str) -> str:
    """Files converted from the first BERTs call a LayerNorm's arrays gamma and beta."""
    for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
        if name.endswith("LayerNorm" + old):
            return name.removesuffix(old) + new
    return name


def open_tensors(folder: Path) -> Shards:
    """The tensors of a folder's one safetensors file, or of its shards.

    Raises
    ------
    ModelError
        There is none, a shard is missing or lies elsewhere, or a file is damaged.
    """
    if (folder / SINGLE).exists() or (folder / SINGLE).is_symlink():
        return Shards([SafetensorsFile(inside(folder, SINGLE))])
    if (folder / INDEX).exists():
        return _open_shards(folder)
    refused = pickled(folder, (path.name for path in folder.glob("*")))
    if refused is not None:
        raise refused
    raise ModelError(
        _("{folder} has no {name}").format(folder=shown(folder), name=SINGLE),
        _("download the model's weights as safetensors, or name a .gguf file"),
    )


def shards_of(folder: Path) -> list[str]:
    """Names of the files that a folder's index spreads the weights over.

    Raises
    ------
    ModelError
        There is no index, it is none, or it names a file that lies elsewhere.
    """
    names = sorted(set(_where(folder).values()))
    for name in names:
        inside(folder, name)
    return names


def _where(folder: Path) -> dict[str, str]:
    """The file of each tensor, by the folder's index."""
    index = folder / INDEX
    where = json_object(index).get("weight_map")
    if not isinstance(where, dict) or not all(isinstance(name, str) for name in where.values()):
        raise ModelError(
            _("{path} has no weight_map").format(path=shown(index)), _("download it again")
        )
    return where


def _open_shards(folder: Path) -> Shards:
    where, names = _where(folder), shards_of(folder)
    paths = [folder / name for name in names]
    missing = [path.name for path in paths if not os.path.isfile(path)]  # of any name
    if missing:
        raise ModelError(
            counted(
                "{folder} lacks a file of its weights: {names}",
                "{folder} lacks {n} files of its weights: {names}",
                len(missing),
            ).format(folder=shown(folder), n=len(missing), names=listed(missing, _NAMED)),
            _("download the rest of the model"),
        )
    files = dict(zip(names, map(SafetensorsFile, paths), strict=True))
    for tensor, name in where.items():
        if tensor not in files[name].shapes:
            raise ModelError(
                _("tensor {tensor} is not in {file}, where {index} has it").format(
                    tensor=shown(tensor), file=shown(name), index=INDEX
                ),
                _("download the model's files again"),
            )
    return Shards(list(files.values()))


def inside(folder: Path, name: str) -> Path:
    """The path of a file that the folder itself names, if it lies in there.

    A link may lead to the ``blobs`` beside a hub's ``snapshots``, which is how its cache is laid
    out, and nowhere else.

    Raises
    ------
    ModelError
        The name has a path in it, or the file lies elsewhere.
    """
    path = folder / name
    plain = name not in ("", ".", "..") and not any(char in name for char in "/\\\0")
    if plain:
        # Unlike Path.resolve it raises for no link that leads to itself; to open it does.
        home, target = Path(os.path.realpath(folder)), Path(os.path.realpath(path))
        blobs = home.parent.parent / "blobs"
        if target.parent == home or (home.parent.name == "snapshots" and target.parent == blobs):
            return path
    raise ModelError(
        _("{folder} names a file outside itself: {name}").format(
            folder=shown(folder), name=shown(name)
        ),
        _("open a model whose files lie in its own folder"),
    )
