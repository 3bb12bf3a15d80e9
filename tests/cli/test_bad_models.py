"""Models that are none: one sentence that names the file and the fault, and nothing else."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from core.checkpoints import budget
from tests.cli.test_refusals import refuse
from tests.core.small_checkpoints import (
    edit_config,
    edit_tensors,
    f32,
    read_tensors,
    speaking,
)
from tests.core.small_tokenizers import word_level_tokenizer
from tui import cli

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"
PAGE = b"\n<!DOCTYPE html><html><title>Sign in</title></html>"
WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
INDEX = "model.safetensors.index.json"
TABLE = "bert.embeddings.word_embeddings.weight"


@pytest.fixture
def folder(tmp_path):
    return Path(speaking("bert-legacy", tmp_path))


@pytest.fixture
def shards(tmp_path):
    return Path(speaking("llama-shards", tmp_path))


def said(path, capsys, text="t5 t17"):
    return refuse(["show", "--model", str(path), text], capsys)


def cut(file):
    content = file.read_bytes()
    file.write_bytes(content[: len(content) * 2 // 3])


def header(file, change):
    """Change the header of a safetensors file, and nothing behind it."""
    content = file.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    found = json.loads(content[8 : 8 + length])
    change(found)
    text = json.dumps(found).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])


@pytest.mark.parametrize("name", ["", "notes.txt", "empty.gguf"])
def test_no_model_at_all(name, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty.gguf").write_bytes(b"")
    found = said(tmp_path / name, capsys)
    fault = {"": "has no config.json", "notes.txt": "is no model's folder and no .gguf file"}
    assert fault.get(name, "is no GGUF file") in found


@pytest.mark.parametrize("file", [WEIGHTS, CONFIG, TOKENIZER])
def test_a_missing_file(file, folder, capsys):
    (folder / file).unlink()
    assert f"{folder} has no {file}: " in said(folder, capsys)


@pytest.mark.parametrize(
    ("file", "fault"),
    [(WEIGHTS, "is cut off inside tensor"), (CONFIG, "is no JSON"), (TOKENIZER, "cannot be read")],
)
def test_a_file_that_is_cut_off(file, fault, folder, capsys):
    cut(folder / file)
    found = said(folder, capsys)
    assert str(folder / file) in found
    assert fault in found
    (folder / file).write_bytes(b"")
    assert str(folder / file) in said(folder, capsys)


@pytest.mark.parametrize("file", [WEIGHTS, CONFIG, TOKENIZER])
def test_something_else_in_its_place(file, folder, capsys):
    (folder / file).write_bytes(POINTER)
    pointer = f"{folder / file} is a Git LFS pointer, not the file itself: run git lfs pull"
    assert pointer in said(folder, capsys)
    (folder / file).write_bytes(PAGE)
    assert f"{folder / file} is a web page, not the file itself" in said(folder, capsys)


def test_something_else_in_the_place_of_an_index_and_of_a_gguf_file(shards, tmp_path, capsys):
    for file, path in ((shards / INDEX, shards), (tmp_path / "a.gguf", tmp_path / "a.gguf")):
        file.write_bytes(POINTER)
        assert f"{file} is a Git LFS pointer, not the file itself" in said(path, capsys)
        file.write_bytes(PAGE)
        assert f"{file} is a web page, not the file itself" in said(path, capsys)


def test_a_pickle(folder, capsys):
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")
    assert "as a pickle (pytorch_model.bin), which could run code" in said(folder, capsys)


def test_shards(shards, capsys):
    first = min(shards.glob("*.safetensors"))
    content = first.read_bytes()
    first.write_bytes(POINTER)
    assert f"{first} is a Git LFS pointer" in said(shards, capsys)
    first.write_bytes(content[:-5])
    assert f"{first} is cut off inside tensor" in said(shards, capsys)
    first.unlink()
    assert f"{shards} lacks a file of its weights: {first.name}" in said(shards, capsys)


@pytest.mark.parametrize("name", ["../x.safetensors", "/etc/passwd", "a/b", "a\\b", "..", "\0"])
def test_a_shard_that_lies_elsewhere(name, shards, capsys):
    index = json.loads((shards / INDEX).read_text())
    index["weight_map"][min(index["weight_map"])] = name
    (shards / INDEX).write_text(json.dumps(index))
    shown = name.replace("\0", "␀")
    assert f"{shards} names a file outside itself: {shown}" in said(shards, capsys)


def test_a_link_that_leads_elsewhere(folder, capsys):
    (folder / WEIGHTS).rename(folder.parent / "elsewhere.safetensors")
    (folder / WEIGHTS).symlink_to("../elsewhere.safetensors")
    assert "names a file outside itself: model.safetensors" in said(folder, capsys)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"shape": [10**9, 10**9]}, "bytes, which do not fit its shape"),
        ({"data_offsets": [0, 10**12]}, "1,000,000,000,000 bytes, which do not fit its shape"),
        ({"shape": [-37, -24]}, "describes tensor"),
        ({"shape": "37"}, "describes tensor"),
        ({"dtype": "F8_\x1b[31m"}, "unsupported dtype F8_␛[31m in tensor"),
    ],
)
def test_a_header_that_lies(change, fault, folder, capsys):
    header(folder / WEIGHTS, lambda found: found[TABLE].update(change))
    found = said(folder, capsys)
    assert fault in found
    assert TABLE in found


def test_a_header_that_is_longer_than_the_file(folder, capsys):
    content = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", 2**60) + content[8:])
    assert "is cut off or no safetensors file" in said(folder, capsys)


def test_a_gguf_file_that_is_cut_off(tmp_path, capsys):
    file = Path(speaking("gguf-llama", tmp_path))
    content = file.read_bytes()
    for length, fault in ((-100, "is cut off inside tensor"), (300, "is cut off or its header")):
        file.write_bytes(content[:length])
        assert fault in said(file, capsys)


@pytest.mark.parametrize("setting", ["num_hidden_layers", "num_attention_heads", "hidden_size"])
@pytest.mark.parametrize("value", [10**6, 2**31 - 1, 2**64, -1, 0, "2\x1b[2J", [2], 2.0])
def test_a_configuration_that_lies(setting, value, folder, capsys):
    """It is refused before anything is made as large as it says."""
    edit_config(folder, **{setting: value})
    found = said(folder, capsys)
    assert setting in found or "config.json" in found


def test_numbers_that_float32_has_not(tmp_path, capsys):
    folder = Path(speaking("mistral-window", tmp_path))
    edit_config(folder, rope_theta=1e300)
    assert "config.json: rope_theta 1e+300 is not supported" in said(folder, capsys)


def test_a_dtype_that_has_no_numbers_here(folder, capsys):
    name = "bert.encoder.layer.0.attention.self.query.weight"
    dtype, shape, stored = read_tensors(folder / WEIGHTS)[name]
    assert (dtype, len(stored)) == ("F32", 4 * 24 * 24)
    edit_tensors(folder, **{name.replace(".", "__"): ("F8_E4M3", shape, stored[: 24 * 24])})
    assert f"unsupported dtype F8_E4M3 in tensor {name} of {folder / WEIGHTS}" in said(
        folder, capsys
    )


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("embeddings.word_embeddings.weight", "the embedding"),
        ("embeddings.position_embeddings.weight", "the embedding"),
        ("encoder.layer.0.output.dense.bias", "layer 0"),
        ("encoder.layer.1.attention.self.value.weight", "layer 1"),
    ],
)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.filterwarnings("error")  # which would be more than one sentence
def test_weights_that_are_no_numbers(name, where, value, folder, capsys):
    _dtype, shape, _stored = read_tensors(folder / WEIGHTS)[f"bert.{name}"]
    edit_tensors(folder, **{f"bert.{name}".replace(".", "__"): f32(np.full(shape, value))})
    assert f"{where} has NaN or infinite weights in bert.{name}" in said(folder, capsys)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_language_head_that_is_no_numbers(value, tmp_path, capsys):
    folder = Path(speaking("gpt2-untied", tmp_path))
    _dtype, shape, _stored = read_tensors(folder / WEIGHTS)["lm_head.weight"]
    edit_tensors(folder, lm_head__weight=f32(np.full(shape, value)))
    words = ["show", "--model", str(folder), "--format", "npz", "--output", str(tmp_path / "a.npz")]
    found = refuse([*words, "t5"], capsys)
    assert "the numbers of the language head of gpt2-untied are not finite" in found
    assert not (tmp_path / "a.npz").exists()


def test_a_vocabulary_larger_than_the_embedding(folder, capsys):
    words = " ".join(["[UNK]", *(f"t{i}" for i in range(1, 60))])
    word_level_tokenizer(words).save(str(folder / TOKENIZER))
    found = said(folder, capsys)
    assert "token t37 has the id 37, the embedding only 37 rows" in found
    assert "the tokenizer and the weights belong to different models" in found


def test_a_tokenizer_of_another_model(folder, capsys):
    """An embedding with thousands of rows that no token has."""
    edit_config(folder, vocab_size=2000)
    _dtype, shape, _stored = read_tensors(folder / WEIGHTS)[TABLE]
    rows = f32(np.zeros((2000, shape[1])))
    edit_tensors(folder, **{TABLE.replace(".", "__"): rows})
    for name in ("cls.predictions.bias", "cls.predictions.decoder.bias"):
        if name in read_tensors(folder / WEIGHTS):
            edit_tensors(folder, **{name.replace(".", "__"): f32(np.zeros(2000))})
    found = said(folder, capsys)
    assert "the tokenizer knows 37 tokens, the embedding has 2,000 rows" in found


def test_weights_of_another_model(folder, capsys):
    edit_config(folder, hidden_size=48)
    found = said(folder, capsys)
    assert "has the shape [37, 24], config.json asks for [37, 48]" in found
    edit_config(folder, model_type="gpt2")
    assert "belong to different models" in said(folder, capsys)


def test_a_long_text_is_cut_and_keeps_its_special_tokens(folder, capsys):
    from tokenizers import Tokenizer, processors

    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="t1 $A t2", special_tokens=[("t1", 1), ("t2", 2)]
    )
    tokenizer.save(str(folder / TOKENIZER))
    with pytest.raises(SystemExit) as exited:
        cli.main(["show", "--model", str(folder), "--format", "json", "t5 " * 40])
    printed = capsys.readouterr()
    assert exited.value.code == 0
    assert printed.err == "attn-tui: note: first 19 of 42 tokens\n"
    ids = [token["id"] for token in json.loads(printed.out)["tokens"]]
    assert ids == [1, *[5] * 17, 2]


def test_memory_is_asked_for_before_it_is_taken(folder, capsys, monkeypatch):
    monkeypatch.setattr(budget, "free_bytes", lambda: 1000)
    for name in ("run_stack", "logits"):
        monkeypatch.setattr(f"core.checkpoints.model.{name}", lambda *_: pytest.fail("run"))
    assert "GiB, 0.0 are free: use a shorter text or a smaller model" in said(folder, capsys)


def test_names_out_of_files_are_shown_and_not_obeyed(folder, capsys):
    hostile = "\x1b]0;x\x07\u202e"
    edit_config(folder, model_type=hostile)
    found = said(folder, capsys)
    assert found.isprintable() or found[:-1].isprintable()
    edit_config(folder, model_type="bert")
    name = "bert.encoder.layer.0.\x1b[2Jstrange.weight"
    edit_tensors(folder, **{name.replace(".", "__"): f32(np.zeros(2))})
    found = said(folder, capsys)
    assert "␛[2Jstrange" in found
    moved = folder.with_name("a\x1b[2J\u202eb")
    folder.rename(moved)
    (moved / TOKENIZER).unlink()
    edit_tensors(moved, **{name.replace(".", "__"): None})
    assert "a␛[2J‹U+202E›b" in said(moved, capsys)
