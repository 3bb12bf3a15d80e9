"""Files of checkpoints made by hand, right and wrong, and copies of the reference's to break."""

import json
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

from core.checkpoints.model import open_model
from core.errors import ModelError

REFERENCE = Path(__file__).parents[1] / "reference" / "checkpoints"


def safetensors_bytes(tensors, header=None, rest=b""):
    """A file of ``{name: (dtype, shape, bytes)}``; `header` replaces entries, `rest` follows."""
    entries, data = {}, b""
    for name, (dtype, shape, stored) in tensors.items():
        entries[name] = {
            "dtype": dtype,
            "shape": list(shape),
            "data_offsets": [len(data), len(data) + len(stored)],
        }
        data += stored
    text = json.dumps(entries | (header or {})).encode()
    return struct.pack("<Q", len(text)) + text + data + rest


def f32(values):
    """An F32 tensor for `safetensors_bytes`."""
    array = np.ascontiguousarray(values, dtype="<f4")
    return "F32", array.shape, array.tobytes()


def copied(name, tmp_path):
    """A reference checkpoint that a test may break."""
    folder = tmp_path / name
    shutil.copytree(REFERENCE / name, folder)
    return folder


def edit_config(folder, **settings):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


def read_tensors(path):
    """``{name: (dtype, shape, bytes)}`` of a file, without any reader of the project."""
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__", None)
    return {
        name: (
            entry["dtype"],
            entry["shape"],
            raw[8 + length :][slice(*entry["data_offsets"])],
        )
        for name, entry in header.items()
    }


def edit_tensors(folder, **changes):
    """Replace or (None) drop tensors of a checkpoint; ``__`` in a name stands for a dot."""
    path = folder / "model.safetensors"
    tensors = read_tensors(path)
    for name, tensor in changes.items():
        tensors[name.replace("__", ".")] = tensor
    kept = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    path.write_bytes(safetensors_bytes(kept))


def speaking(name, tmp_path, mask=None):
    """A reference checkpoint with a tokenizer for the words t0, t1 …, and the path to open.

    `mask` is the id of its mask token, in the place of a word.
    """
    from tests.core.small_tokenizers import word_level_tokenizer

    folder = copied(name, tmp_path)
    words = ["[UNK]", *(f"t{i}" for i in range(1, 37))]
    if mask is not None:
        words[mask] = "[MASK]"
    word_level_tokenizer(" ".join(words)).save(str(folder / "tokenizer.json"))
    file = folder / "model.gguf"
    return str(file if file.exists() else folder)


def expected_of(name):
    """What the reference made: the arrays, and the text for `speaking`."""
    with np.load(REFERENCE / name / "expected.npz") as file:
        arrays = {key: file[key] for key in file.files}
    return arrays, " ".join(f"t{i}" for i in arrays["ids"])


def refused(path, kind=ModelError):
    """The one sentence with which a model is not opened."""
    with pytest.raises(kind) as caught:
        open_model(path)
    assert str(caught.value).isprintable()
    return str(caught.value)
