"""Small GGUF files by the package's own writer, and what is said of those that are refused."""

import struct

import gguf
import pytest

from core.checkpoints.model import open_model
from core.errors import ModelError
from tests.core.small_checkpoints import REFERENCE

KINDS = gguf.GGMLQuantizationType


def refused(path):
    with pytest.raises(ModelError) as caught:
        open_model(path)
    assert str(caught.value).isprintable()
    return str(caught.value)


def written(path, tensors=(), architecture="llama", **settings):
    """A small file by the package's own writer."""
    writer = gguf.GGUFWriter(path, architecture)
    for name, value in settings.items():
        name = name.replace("__", ".")
        add = {
            str: writer.add_string,
            int: writer.add_uint32,
            float: writer.add_float32,
            bool: writer.add_bool,
            list: writer.add_array,
        }
        add[type(value)](name, value)
    for name, stored, kind in tensors:
        writer.add_tensor(name, stored, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def text(value):
    return struct.pack("<Q", len(value)) + value


def edited(name, tmp_path, *changes):
    """A reference's file with some of its bytes exchanged for as many others."""
    raw = (REFERENCE / name / "model.gguf").read_bytes()
    for old, new in changes:
        assert len(old) == len(new)
        assert raw.count(old) == 1
        raw = raw.replace(old, new)
    path = tmp_path / "model.gguf"
    path.write_bytes(raw)
    return path
