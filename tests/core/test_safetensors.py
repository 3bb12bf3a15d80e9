"""The reader of safetensors: what it reads, and every lie of a header that it refuses."""

import json
import struct

import numpy as np
import pytest

from core.checkpoints.safetensors import SafetensorsFile
from core.errors import ModelError
from tests.core.small_checkpoints import f32, safetensors_bytes


def write(tmp_path, content):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    return path


def opened(tmp_path, tensors, **rest):
    return SafetensorsFile(write(tmp_path, safetensors_bytes(tensors, **rest)))


def refused(tmp_path, content):
    with pytest.raises(ModelError) as caught:
        SafetensorsFile(write(tmp_path, content))
    assert "model.safetensors" in caught.value.message
    return caught.value.message


def test_reads_what_was_written(tmp_path):
    """C16: names, shapes and numbers come back, a transposed matrix as it was meant."""
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    file = opened(tmp_path, {"a": f32(matrix), "b": f32(matrix.T), "empty": f32(np.zeros((0, 7)))})
    assert file.shapes == {"a": (2, 3), "b": (3, 2), "empty": (0, 7)}
    np.testing.assert_array_equal(file.read("a"), matrix)
    np.testing.assert_array_equal(file.read("b"), matrix.T)
    np.testing.assert_array_equal(file.read("a", [1, 1, 0]), matrix[[1, 1, 0]])
    np.testing.assert_array_equal(file.read("b", slice(1, 3)), matrix.T[1:3])
    assert file.read("empty").shape == (0, 7)


def test_float32_is_mapped_and_not_copied(tmp_path):
    """A tensor of F32 is the file's own bytes; writing to it is not possible."""
    file = opened(tmp_path, {"pad": ("U8", (3,), b"abc"), "a": f32([1, 2])})
    aligned = file.is_view("a")
    array = file.read("a")
    np.testing.assert_array_equal(array, [1, 2])
    assert array.flags.aligned
    assert array.flags.owndata != aligned or not aligned
    even = opened(tmp_path, {"a": f32([1, 2])})
    header = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    header += b" " * (-len(header) % 8)
    even = SafetensorsFile(
        write(tmp_path, struct.pack("<Q", len(header)) + header + f32([1, 2])[2])
    )
    assert even.is_view("a")
    assert not even.read("a").flags.writeable


def test_bfloat16_by_hand(tmp_path):
    """C01: BF16 is the upper half of a float32, with infinities, NaN and subnormal numbers."""
    halves = np.array([0x3F80, 0x4000, 0x7F80, 0xFF80, 0x7FC0, 0x0001], dtype="<u2")
    array = opened(tmp_path, {"a": ("BF16", (6,), halves.tobytes())}).read("a")
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array[:4], [1, 2, np.inf, -np.inf])
    assert np.isnan(array[4])
    assert array[5] == np.float32(2.0**-133)


@pytest.mark.parametrize(("dtype", "code"), [("F16", "<f2"), ("F64", "<f8"), ("F32", "<f4")])
def test_every_float_becomes_float32(tmp_path, dtype, code):
    values = np.array([[0.5, -2.25], [65504, 2.0**-14]], dtype=code)
    array = opened(tmp_path, {"a": (dtype, (2, 2), values.tobytes())}).read("a")
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array, values.astype(np.float32))


@pytest.mark.parametrize("dtype", ["F8_E4M3", "I8"])
def test_unreadable_dtype_is_named_when_it_is_needed(tmp_path, dtype):
    """C02: the file opens, since nothing may need the tensor; reading it names dtype and tensor."""
    file = opened(tmp_path, {"spare": (dtype, (2,), b"xy"), "a": f32([1])})
    with pytest.raises(ModelError, match=f"unsupported dtype {dtype} in tensor spare"):
        file.read("spare")


def test_unknown_dtype_is_named(tmp_path):
    """C02: of a dtype that the format does not have even the size is unknown."""
    message = refused(tmp_path, safetensors_bytes({"x": ("Q4", (2,), b"xy")}))
    assert "unsupported dtype Q4 in tensor x" in message


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "Git LFS pointer"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "web page"),
        (b"\n <html>sign in</html>", "web page"),
        (b"PK\x03\x04" + bytes(60), "could run code"),
        (b"\x80\x02}q\x00X" + bytes(60), "could run code"),
        (b"GGUF\x03\x00\x00\x00" + bytes(60), "GGUF file"),
        (b"", "cut off"),
        (b"1234567", "cut off"),
    ],
)
def test_something_else_in_its_place(tmp_path, content, what):
    """C15, X05: a pointer, a page, a pickle are called what they are, not "header too large"."""
    assert what in refused(tmp_path, content)


@pytest.mark.parametrize("length", [0, 2**63, 2**64 - 1, 100_000_001, 1000])
def test_header_length_that_lies(tmp_path, length):
    """X05: no length makes the reader allocate or read past the end."""
    refused(tmp_path, struct.pack("<Q", length) + b"{}" + bytes(50))


GOOD = safetensors_bytes({"a": f32([1, 2]), "b": f32([3])})


@pytest.mark.parametrize("cut", [3, 9, 60, len(GOOD) - 1])
def test_cut_off_anywhere(tmp_path, cut):
    assert "cut off" in refused(tmp_path, GOOD[:cut])


def entry(start, end, shape=(2,), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}


@pytest.mark.parametrize(
    ("header", "what"),
    [
        ({"b": entry(4, 12)}, "overlap before tensor b"),
        ({"b": entry(0, 8)}, "overlap before tensor b"),
        ({"b": entry(12, 20)}, "gap"),
        ({"b": entry(8, 16, (3,))}, "tensor b"),
        ({"b": entry(8, 4)}, "tensor b"),
        ({"b": entry(-8, 0)}, "tensor b"),
        ({"b": entry(8, 16, (-2,))}, "tensor b"),
        ({"b": entry(8, 16, (2**62, 2))}, "tensor b"),
        ({"b": entry(8, 16, (True, 2))}, "tensor b"),
        ({"b": entry(8.0, 16)}, "tensor b"),
        ({"b": {"dtype": "F32", "shape": [2]}}, "tensor b"),
        ({"b": {"dtype": "F32", "shape": [2], "data_offsets": [8]}}, "tensor b"),
        ({"b": 7}, "tensor b"),
        ({"b": {"dtype": ["F32"], "shape": [2], "data_offsets": [8, 16]}}, "tensor b"),
        ({"b": entry(8, 16, (0, 2**62))}, "tensor b"),
    ],
)
def test_place_that_lies(tmp_path, header, what):
    """X06, X07: overlaps, gaps, negative and huge numbers are refused by the tensor's name."""
    content = safetensors_bytes({"a": f32([1, 2]), "b": f32([3, 4])}, header)
    assert what in refused(tmp_path, content)


def test_bytes_behind_the_last_tensor(tmp_path):
    assert "behind" in refused(tmp_path, GOOD + b"xyz")


def test_a_name_that_stands_twice(tmp_path):
    """X06: the last of two entries does not silently win."""
    text = b'{"a":%s,"a":%s}' % ((json.dumps(entry(0, 8)).encode(),) * 2)
    content = struct.pack("<Q", len(text)) + text + bytes(8)
    assert "names a twice" in refused(tmp_path, content)


@pytest.mark.parametrize("text", [b"{", b'{"a":}', b"{" * 20000, b'{"a\xff":1}'])
def test_header_that_is_no_json(tmp_path, text):
    refused(tmp_path, struct.pack("<Q", len(text)) + text)


def test_names_are_made_visible(tmp_path):
    """X01: a tensor's name cannot send escapes to the terminal."""
    message = refused(tmp_path, safetensors_bytes({"\x1b]0;pwn\x07": ("Q4", (1,), b"x")}))
    assert "\x1b" not in message
    assert "␛]0;pwn␇" in message


def test_file_that_is_not_there(tmp_path):
    with pytest.raises(ModelError, match="cannot be read"):
        SafetensorsFile(tmp_path / "none.safetensors")
