"""GGUF: the header is believed in nothing, every kind of block becomes the right numbers."""

import shutil
import struct
import sys
from contextlib import suppress

import gguf
import numpy as np
import pytest

from core.checkpoints.gguf_file import GgufFile
from core.checkpoints.model import open_model
from core.errors import AttnError
from tests.core.gguf_files import KINDS, edited, refused, text, written
from tests.core.small_checkpoints import REFERENCE


@pytest.fixture
def llama(tmp_path):
    return shutil.copy(REFERENCE / "gguf-llama" / "model.gguf", tmp_path / "model.gguf")


def test_cut_off_anywhere(llama):
    """Every cut is told in one sentence; none makes the reader run on or fill the memory."""
    whole = llama.read_bytes()
    for end in [0, 3, 8, 20, 24, 60, *range(100, len(whole), 3001), len(whole) - 1]:
        llama.write_bytes(whole[:end])
        message = refused(llama)
        assert "cut off" in message or "no GGUF file" in message


def test_every_kind_of_damage_is_a_refusal(llama):
    whole = llama.read_bytes()
    generator = np.random.default_rng(1)
    for place in generator.integers(0, 3000, 200):
        broken = bytearray(whole)
        broken[place] ^= 1 << int(generator.integers(8))
        llama.write_bytes(broken)
        with suppress(AttnError):
            open_model(llama).run([5, 3, 8])


def test_version_2_is_laid_out_alike(llama):
    whole = llama.read_bytes()
    newest = open_model(llama).run([5, 3, 8])
    llama.write_bytes(whole[:4] + struct.pack("<I", 2) + whole[8:])
    found = open_model(llama).run([5, 3, 8])
    assert np.array_equal(found.decoder.final, newest.decoder.final)


def head(version=3, tensors=0, settings=0):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, settings)


def tensor(name=b"x", shape=(4,), kind=0, offset=0):
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


@pytest.mark.parametrize(
    "content",
    [
        head(tensors=2**63),
        head(settings=2**63),
        head(settings=1) + text(b"a") + struct.pack("<IIQ", 9, 0, 2**62) + bytes(50),
        head(settings=1) + text(b"a") + struct.pack("<IIQ", 9, 8, 2**61) + bytes(50),
        head(settings=1) + struct.pack("<Q", 2**64 - 1) + bytes(50),
        head(settings=1) + text(b"a") + struct.pack("<I", 99) + bytes(50),
        head(settings=1) + text(b"a") + struct.pack("<IIQ", 9, 9, 1) + bytes(50),
        head(version=1) + bytes(50),
        head(version=50331648) + bytes(50),
        head(tensors=1) + tensor(shape=(2**62, 2**62)) + bytes(64),
        head(tensors=1) + tensor(shape=(1,) * 5) + bytes(64),
        head(tensors=1) + tensor(shape=()) + bytes(64),
        head(tensors=1) + tensor(kind=999) + bytes(64),
        head(tensors=1) + tensor(kind=2, shape=(7,)) + bytes(64),
        head(tensors=1) + tensor(offset=2**60) + bytes(64),
        head(tensors=1) + tensor(offset=3) + bytes(64),
        head(tensors=2) + tensor() + tensor() + bytes(64),
        head(tensors=2) + tensor(b"x", (16,)) + tensor(b"y", (16,), offset=32) + bytes(150),
        b"<!DOCTYPE html>",
        b"version https://git-lfs.github.com/spec/v1\n",
    ],
)
def test_header_that_lies(tmp_path, content):
    """X05, X06 for GGUF: counts, lengths, types and places are all compared with the file."""
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    refused(path)


def test_a_setting_that_stands_twice(tmp_path):
    """Of two numbers of layers the last would hold, and llama.cpp refuses the file."""
    path = tmp_path / "model.gguf"
    setting = text(b"llama.block_count") + struct.pack("<II", 4, 2)
    path.write_bytes(head(settings=2) + 2 * setting + bytes(50))
    assert f"{path} names llama.block_count twice: " in refused(path)


def test_without_the_package(llama, monkeypatch):
    monkeypatch.setitem(sys.modules, "gguf", None)
    assert "attn-tui[gguf]" in refused(llama)


@pytest.mark.parametrize("architecture", ["llama", ""])
def test_a_part_of_a_model(architecture, tmp_path):
    """Only the first says what the model is; that it lacks tensors would be no help."""
    path = tmp_path / "model-00001-of-00002.gguf"
    message = refused(written(path, architecture=architecture, split__count=2, split__no=0))
    assert f"{path} is one of 2 parts of a model: join them: llama-gguf-split" in message


def test_architecture_that_is_not_known(tmp_path):
    assert "architecture 'mamba' is not supported" in refused(
        written(tmp_path / "a.gguf", architecture="mamba")
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("llama__expert_count", 8),
        ("llama__rope__scaling__type", "yarn"),
        ("llama__attention__scale", 0.5),
        ("llama__rope__dimension_count", 4),
        ("llama__attention__value_length", 16),
        ("llama__attention__causal", False),
        ("llama__use_parallel_residual", True),
    ],
)
def test_setting_that_is_not_known(tmp_path, name, value):
    """A setting that nothing here computes is refused by its name."""
    settings = {"llama__attention__head_count": 4, "llama__embedding_length": 32}
    path = written(tmp_path / "a.gguf", **settings, **{name: value})
    assert name.replace("__", ".") in refused(path) or "rope.scaling.type" in refused(path)


@pytest.mark.parametrize("architecture", ["gemma3", "phi3", "qwen3"])
@pytest.mark.parametrize("value", [[1, 2], "x", float("nan"), True])
@pytest.mark.parametrize(
    "name", ["block_count", "embedding_length", "attention__head_count", "attention__key_length"]
)
def test_size_that_is_no_number(tmp_path, architecture, name, value):
    """Others are worked out from it before anything looks at it: that ended in a traceback."""
    settings = {f"{architecture}__attention__head_count": 4, f"{architecture}__block_count": 2}
    settings[f"{architecture}__{name}"] = value
    path = written(tmp_path / "a.gguf", architecture=architecture, **settings)
    assert f"{architecture}.{name.replace('__', '.')} " in refused(path)


def test_architecture_that_is_no_word(tmp_path):
    path = tmp_path / "a.gguf"
    listed = text(b"general.architecture") + struct.pack("<IIQI", 9, 4, 1, 7)
    path.write_bytes(head(settings=1) + listed + bytes(50))
    assert "architecture [7] is not supported" in refused(path)


def bits(value, start, count):
    return (int(value) >> start) & ((1 << count) - 1)


def q4_k(block):
    """One block of 256 numbers, after the format's description, number by number."""
    scale, least = np.frombuffer(block[:4], "<f2").astype(float)
    packed, quants, out = block[4:16], block[16:], []
    for group in range(8):
        if group < 4:
            factor, floor = bits(packed[group], 0, 6), bits(packed[group + 4], 0, 6)
        else:
            factor = bits(packed[group + 4], 0, 4) | bits(packed[group - 4], 6, 2) << 4
            floor = bits(packed[group + 4], 4, 4) | bits(packed[group], 6, 2) << 4
        for index in range(32):
            byte = quants[32 * (group // 2) + index]
            quant = bits(byte, 4 * (group % 2), 4)
            out.append(scale * factor * quant - least * floor)
    return out


def q6_k(block):
    low, high = block[:128], block[128:192]
    factors = np.frombuffer(block[192:208], np.int8)
    scale = float(np.frombuffer(block[208:], "<f2")[0])
    out = []
    for index in range(256):
        half, rest = divmod(index, 128)
        quarter, place = divmod(rest, 32)
        lower = bits(low[64 * half + 32 * (quarter % 2) + place], 4 * (quarter // 2), 4)
        upper = bits(high[32 * half + place], 2 * quarter, 2)
        out.append(scale * factors[index // 16] * ((lower | upper << 4) - 32))
    return out


@pytest.mark.parametrize(("kind", "decode"), [(KINDS.Q4_K, q4_k), (KINDS.Q6_K, q6_k)])
def test_blocks_of_256(tmp_path, kind, decode):
    """Q4_K and Q6_K by the format's description, bit by bit."""
    size = gguf.GGML_QUANT_SIZES[kind][1]
    stored = np.random.default_rng(2).integers(0, 256, (3, 2 * size), dtype=np.uint8)
    halves = [0, 2] if kind == KINDS.Q4_K else [size - 2]
    for start in halves:  # scales that are numbers
        for block in range(2):
            place = block * size + start
            stored[:, place : place + 2] = np.frombuffer(np.float16(0.013).tobytes(), np.uint8)
    path = written(tmp_path / "a.gguf", [("x", stored, kind)])
    file = GgufFile(path)
    assert file.shapes == {"x": (3, 512)}
    expected = [decode(row[:size].tobytes()) + decode(row[size:].tobytes()) for row in stored]
    np.testing.assert_allclose(file.read("x"), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(file.read("x", [2, 0]), [expected[2], expected[0]], rtol=1e-5)
    np.testing.assert_allclose(file.read("x", slice(1, 2)), expected[1:2], rtol=1e-5)


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1"])
def test_kinds_that_a_value_survives(tmp_path, kind):
    """Values that a kind can hold come back as they were, whole and by rows."""
    values = np.tile(np.arange(-8, 8, dtype=np.float32), (5, 4))
    values[:, 0] *= np.arange(1, 6)
    if kind.startswith("Q"):
        values = np.sign(values)
    stored = gguf.quantize(values, KINDS[kind])
    path = written(tmp_path / "a.gguf", [("x", stored, KINDS[kind])])
    file = GgufFile(path)
    near = {"F": 0, "B": 0, "Q8": 1e-3, "Q4": 0.14}
    tolerance = next(value for start, value in near.items() if kind.startswith(start))
    np.testing.assert_allclose(file.read("x"), values, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(file.read("x", [3, 1]), file.read("x")[[3, 1]])
    assert file.is_view("x") == (kind == "F32")


def whole_number(key, value):
    """A setting as the file has it."""
    return text(key) + struct.pack("<II", 4, value)


def test_window_of_phi3(tmp_path):
    """A file that names no window gives no text that is longer than the narrowest one."""
    key = b"phi3.attention.sliding_window"
    model = open_model(REFERENCE / "gguf-phi3" / "model.gguf")
    assert {layer.window for layer in model.facts.layers} == {5}
    context = (whole_number(b"phi3.context_length", 64), whole_number(b"phi3.context_length", 4096))
    length = b"phi3.rope.scaling.original_context_length"
    longer = (whole_number(length, 64), whole_number(length, 4096))
    old = edited("gguf-phi3", tmp_path, context, longer, (key, b"old3" + key[4:]))
    assert {layer.window for layer in open_model(old).facts.layers} == {None}
    assert open_model(old).facts.limit == 2047


def test_short_factors_hold_as_far_as_they_were_made_for():
    assert open_model(REFERENCE / "gguf-phi3-long" / "model.gguf").facts.limit == 16


@pytest.mark.parametrize("architecture", ["nomic-bert", "jina-bert-v2", "modern-bert", "t5"])
def test_other_encoders_are_refused_by_name(architecture, tmp_path):
    path = written(tmp_path / "a.gguf", architecture=architecture)
    assert f"architecture '{architecture}' is not supported" in refused(path)


def test_bert_must_say_that_all_tokens_are_seen(tmp_path):
    key = text(b"bert.attention.causal") + struct.pack("<I?", 7, False)
    causal = text(b"bert.attention.causal") + struct.pack("<I?", 7, True)
    path = edited("gguf-bert", tmp_path, (key, causal))
    assert "bert.attention.causal True is not supported" in refused(path)
    path = edited("gguf-bert", tmp_path, (b"bert.attention.causal", b"abcd.attention.causal"))
    assert "lacks bert.attention.causal" in refused(path)
