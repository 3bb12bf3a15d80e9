"""Files of a model that are missing, shared out, foreign, damaged, or written to while open."""

import json
import os
import shutil
from contextlib import suppress

import numpy as np
import pytest

from core.checkpoints.model import open_model
from core.errors import AttnError, ModelError
from tests.core.small_checkpoints import (
    copied,
    edit_tensors,
    f32,
    read_tensors,
    refused,
    safetensors_bytes,
)

IDS = [5, 17, 3, 29, 11]


@pytest.fixture
def llama(tmp_path):
    return copied("llama-shards", tmp_path)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_name_that_leaves_the_folder_by_a_link(bert, tmp_path, name):
    """X04: a link out of the folder is not followed."""
    (bert / name).rename(tmp_path / name)
    (bert / name).symlink_to(tmp_path / name)
    assert "outside itself" in refused(bert)


def test_the_hubs_cache_has_links_that_may_be_followed(bert, tmp_path):
    """The hub's own cache keeps files in blobs and links to them from snapshots."""
    snapshot = tmp_path / "models--x" / "snapshots" / "0123"
    blobs = tmp_path / "models--x" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for path in list(bert.iterdir()):
        path.rename(blobs / path.name)
        (snapshot / path.name).symlink_to(blobs / path.name)
    assert open_model(snapshot).family == "BERT"


@pytest.mark.parametrize(
    "name",
    ["../model-00001-of-00002.safetensors", "/etc/passwd", "sub/model.safetensors", "..", "",
     "a\\b.safetensors", "\x1b[2J"],
)  # fmt: skip
def test_shard_whose_name_leaves_the_folder(llama, name):
    """X04: an index names plain files of its own folder."""
    path = llama / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    first = next(iter(index["weight_map"]))
    index["weight_map"][first] = name
    path.write_text(json.dumps(index))
    message = refused(llama)
    assert "outside itself" in message or "lacks a file" in message
    assert "\x1b" not in message


def test_missing_shards_are_listed_together(llama):
    """C13: all of them in one message, and no shard is opened alone."""
    shutil.rmtree(llama / "x", ignore_errors=True)
    for name in ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"):
        (llama / name).unlink()
    message = refused(llama)
    assert "lacks 2 files" in message
    assert "00001" in message
    assert "00002" in message


def test_many_missing_shards_leave_room_for_what_to_do(llama):
    """As after a download that was broken off: with all of 30 names the hint was cut away."""
    where = {f"t{i}": f"model-{i:05}-of-00030.safetensors" for i in range(1, 31)}
    (llama / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    message = refused(llama)
    assert f"lacks 30 files of its weights: {where['t1']}, " in message
    assert "00005-of-00030.safetensors …: download the rest of the model" in message


def test_a_shard_whose_name_no_system_has(llama):
    index = llama / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "x" * 3000}}))
    assert f"{llama} lacks a file of its weights: xxx" in refused(llama)


def test_tensor_that_is_not_in_its_shard(llama):
    """C13: the index says where, and it is not there."""
    path = llama / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    name = next(n for n, f in index["weight_map"].items() if "00001" in f)
    index["weight_map"][name] = "model-00002-of-00002.safetensors"
    path.write_text(json.dumps(index))
    assert f"tensor {name} is not in model-00002" in refused(llama)


def test_tensor_that_is_there_twice(llama, bert):
    """The second would be read, though the index names the first; and gamma is weight."""
    first, second = sorted(llama.glob("*.safetensors"))
    name = min(read_tensors(first))
    both = read_tensors(second) | {name: read_tensors(first)[name]}
    second.write_bytes(safetensors_bytes(both))
    assert f"tensor {name} is there twice, the second time in {second}" in refused(llama)
    edit_tensors(bert, embeddings__LayerNorm__gamma=f32(np.zeros(24)))
    assert "tensor embeddings.LayerNorm.weight is there twice" in refused(bert)


def test_index_without_a_map(llama):
    (llama / "model.safetensors.index.json").write_text("{}")
    assert "no weight_map" in refused(llama)


def test_every_kind_of_damage_is_a_refusal(bert):
    """Bits of the header flipped one by one: opened, or refused; never another error."""
    path = bert / "model.safetensors"
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    for place in generator.integers(0, 900, 150):
        broken = bytearray(whole)
        broken[place] ^= 1 << int(generator.integers(8))
        path.write_bytes(broken)
        with suppress(AttnError):
            open_model(bert).run(IDS)


def test_file_without_permission(bert):
    """An error of the system is told as one sentence too."""
    (bert / "model.safetensors").unlink()
    os.mkdir(bert / "model.safetensors")
    assert "cannot be read" in refused(bert)
    (bert / "config.json").unlink()
    os.mkdir(bert / "config.json")
    assert "cannot be read (Is a directory): check the path and its permissions" in refused(bert)


def test_a_link_that_leads_to_itself(bert):
    weights = bert / "model.safetensors"
    weights.unlink()
    weights.symlink_to(weights.name)
    assert f"{weights} cannot be read (Too many levels of symbolic links)" in refused(bert)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_pipe_in_the_place_of_a_file(bert, name):
    """Opening a pipe waits for somebody who writes, and a device may be read without an end."""
    (bert / name).unlink(missing_ok=True)
    os.mkfifo(bert / name)
    assert f"{bert / name} is a pipe or a device, not a file" in refused(bert)


def test_a_pipe_or_a_device_in_the_place_of_an_index(llama):
    index = llama / "model.safetensors.index.json"
    index.unlink()
    index.symlink_to("/dev/zero")
    assert f"{index} is a pipe or a device" in refused(llama)
    index.unlink()
    os.mkfifo(index)
    assert f"{index} is a pipe or a device" in refused(llama)


@pytest.mark.parametrize("name", ["bert-plain", "llama-shards", "gguf-llama"])
def test_a_file_that_is_written_to_while_it_is_open(tmp_path, name):
    """Of a mapped file that was made shorter the rest cannot be read: the process ends (SIGBUS)."""
    folder = copied(name, tmp_path)
    file = max([*folder.glob("*.safetensors"), *folder.glob("*.gguf")])
    model = open_model(file if file.suffix == ".gguf" else folder)
    before = model.run(IDS).last
    shutil.copy(file, tmp_path / "new")
    os.replace(tmp_path / "new", file)  # another file: what was opened stays as it is
    assert model.run(IDS).last is before
    model = open_model(file if file.suffix == ".gguf" else folder)
    os.truncate(file, 0)
    with pytest.raises(ModelError, match="has changed since it was opened: start again"):
        model.run(IDS)
    if model.has_head:
        with pytest.raises(ModelError, match="has changed since it was opened"):
            model.logits(before)


def test_the_tensors_that_a_test_edits_are_the_files(bert):
    """The tests' own reader and writer agree with the file."""
    before = read_tensors(bert / "model.safetensors")
    assert len(safetensors_bytes(before)) > 1000
    edit_tensors(bert)
    assert read_tensors(bert / "model.safetensors") == before
