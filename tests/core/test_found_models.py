"""Models that other programs keep, in folders laid out as theirs are."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from core import counts, found_models
from core.errors import ModelError
from core.found_models import look_into, model_path, named_paths
from core.hub import HubName, cached
from core.trained import describe
from tests.core.small_checkpoints import REFERENCE, edit_config, speaking

GGUF = REFERENCE / "gguf-llama" / "model.gguf"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home without any model, and no package that brings one."""
    caches = ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME")
    for name in (*caches, "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(found_models, "_PACKAGES", {})
    monkeypatch.setattr(found_models, "_OLLAMA_SERVICE", tmp_path / "service")
    return tmp_path


def snapshot(hub, folder, name, commit="0123abcd"):
    """A checkpoint as the hub's client lays it out: a snapshot of links into blobs."""
    root = hub / folder
    blobs, links = root / "blobs", root / "snapshots" / commit
    blobs.mkdir(parents=True, exist_ok=True)
    links.mkdir(parents=True)
    for file in Path(speaking(name, root / commit)).iterdir():
        shutil.copy(file, blobs / f"{commit}-{file.name}")
        (links / file.name).symlink_to(f"../../blobs/{commit}-{file.name}")
    return links


def test_nothing_is_found_in_an_empty_home(home):
    assert named_paths() == {}


def test_hugging_face(home):
    hub = home / ".cache" / "huggingface" / "hub"
    links = snapshot(hub, "models--some--bert", "bert-legacy")
    assert named_paths() == {"some/bert": links}
    found = look_into("some/bert", links)
    assert (found.family, found.layers, found.heads, found.fault) == ("BERT", 2, 3, "")
    assert found.size == (REFERENCE / "bert-legacy" / "model.safetensors").stat().st_size


def test_a_model_that_nobody_may_read_hides_no_other(home, monkeypatch):
    """On a shared machine the cache has the models of others, who may keep them to themselves."""
    hub = home / ".cache" / "huggingface" / "hub"
    shut = snapshot(hub, "models--some--a", "bert-legacy")
    links = snapshot(hub, "models--some--b", "bert-legacy")
    there = Path.exists

    def exists(path):
        if path.is_relative_to(shut.parents[1]):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return there(path)

    monkeypatch.setattr(Path, "exists", exists)
    assert named_paths() == {"some/a": shut.parents[1], "some/b": links}
    assert look_into("some/a", shut).fault == "config.json cannot be read (Permission denied)"
    assert look_into("some/b", links).fault == ""


def test_a_cached_model_with_a_shard_whose_name_no_system_has(home):
    hub = home / ".cache" / "huggingface" / "hub"
    links = snapshot(hub, "models--some--llama", "llama-shards")
    (links / "model.safetensors.index.json").unlink()
    index = json.dumps({"weight_map": {"a": "x" * 3000}})
    (links / "model.safetensors.index.json").write_text(index)
    assert look_into("some/llama", links).fault.startswith("lacks a file of its weights: xxx")
    assert cached(HubName("some/llama")) is None


def test_a_cache_that_cannot_be_read(home, monkeypatch):
    """Names of other places are found; one that must be in there says why it is not."""
    (home / ".lmstudio/models/a/b").mkdir(parents=True)
    (home / ".lmstudio/models/a/b/c.gguf").touch()
    monkeypatch.setenv("HF_HUB_CACHE", str(home / ("x" * 300)))
    assert list(named_paths()) == ["a/b/c.gguf"]
    with pytest.raises(ModelError, match=r"cannot be read \(File name too long\)"):
        model_path("some/bert")


def test_snapshot_is_that_of_the_main_branch(home, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(home / "elsewhere"))
    hub = home / "elsewhere"
    snapshot(hub, "models--gpt2", "gpt2-plain", "aaaa")
    main = snapshot(hub, "models--gpt2", "gpt2-plain", "bbbb")
    refs = hub / "models--gpt2" / "refs"
    refs.mkdir()
    (refs / "main").write_text("bbbb")
    assert named_paths() == {"gpt2": main}
    (refs / "main").write_text("../../../..")  # leads nowhere
    assert named_paths()["gpt2"].name == "aaaa"


@pytest.mark.parametrize("place", [".ollama/models", "service", "named"])
def test_ollama(place, home, monkeypatch):
    root = home / place
    if place == "named":
        monkeypatch.setenv("OLLAMA_MODELS", str(root))
    folder = root / "manifests" / "registry.ollama.ai" / "library" / "small"
    folder.mkdir(parents=True)
    (root / "blobs").mkdir()
    blob = root / "blobs" / "sha256-12ab"
    shutil.copy(GGUF, blob)
    layers = [
        {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:99"},
        {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:12ab"},
    ]
    (folder / "1b").write_text(json.dumps({"layers": layers}))
    (folder / "broken").write_text("{")
    (folder / "other").write_text('{"layers": [3]}')
    outside = [{"mediaType": layers[1]["mediaType"], "digest": "../../../../etc/passwd"}]
    (folder / "outside").write_text(json.dumps({"layers": outside}))
    assert named_paths() == {"small:1b": blob}
    found = look_into("small:1b", blob)  # a file without the suffix .gguf
    assert (found.family, found.fault, found.size) == ("Llama", "", GGUF.stat().st_size)


@pytest.mark.parametrize("kind", ["deep", "long", "pipe"])
def test_a_manifest_that_is_none_hides_no_other_model(kind, home):
    """One that nests deeper than a reader goes, one with a name too long, one without an end."""
    root = home / ".ollama" / "models"
    folder = root / "manifests" / "registry.ollama.ai" / "library" / "a"
    folder.mkdir(parents=True)
    (root / "blobs").mkdir()
    (root / "blobs" / "sha256-12").touch()

    def layers(digest):
        layer = {"mediaType": "application/vnd.ollama.image.model", "digest": digest}
        return json.dumps({"layers": [layer]})

    (folder / "good").write_text(layers("sha256:12"))
    if kind == "pipe":
        os.mkfifo(folder / "bad")
    else:
        (folder / "bad").write_text("[" * 100_000 if kind == "deep" else layers("1" * 5000))
    assert list(named_paths()) == ["a:good"]


def test_lm_studio(home):
    folder = home / ".lmstudio" / "models" / "someone" / "Small-GGUF"
    folder.mkdir(parents=True)
    shutil.copy(GGUF, folder / "small.gguf")
    assert named_paths() == {"someone/Small-GGUF/small.gguf": folder / "small.gguf"}


def test_a_package_is_looked_up_and_not_imported(home, monkeypatch):
    package = home / "some_weights"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    shutil.copytree(REFERENCE / "bert-legacy", package / "model")
    monkeypatch.syspath_prepend(str(home))
    monkeypatch.setattr(found_models, "_PACKAGES", {"some-weights": ("some_weights", "model")})
    assert named_paths() == {"some-weights": package / "model"}


def test_what_cannot_be_shown_says_why(home, tmp_path):
    broken = home / "broken.gguf"
    broken.write_bytes(b"GGUF")
    assert look_into("broken", broken).fault


def test_an_encoder_decoder_has_two_shapes(tmp_path):
    found = look_into("bart", Path(speaking("bart-plain", tmp_path)))
    assert (found.family, found.layers, found.heads, found.fault) == ("BART", 3, 3, "")
    assert (found.writes.layers, found.writes.heads) == (2, 4)
    assert counts.shapes(found, found.writes) == (
        "encoder 3 layers × 3 heads, decoder 2 layers × 4 heads"
    )


def unknown_family(folder):
    edit_config(folder, model_type="mamba")


def without_family(folder):
    edit_config(folder, model_type=None)


def without_tokenizer(folder):
    (folder / "tokenizer.json").unlink()


def with_a_pickle(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def as_a_pointer(folder):
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1")


def cut_off(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])


def of_another_model(folder):
    edit_config(folder, hidden_size=48, intermediate_size=96)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (unknown_family, "config.json: model_type 'mamba' is not supported"),
        (without_family, "config.json names no model_type"),
        (without_tokenizer, "has no tokenizer.json"),
        (with_a_pickle, "has its weights as a pickle (pytorch_model.bin), which could run code"),
        (as_a_pointer, "model.safetensors is a Git LFS pointer, not the file itself"),
        (cut_off, "model.safetensors is cut off inside tensor"),
        (of_another_model, "config.json asks for [37, 48]"),
    ],
)
def test_reason_is_short_and_says_what_is_wrong_with_a_folder(spoil, reason, home):
    links = snapshot(home / ".cache" / "huggingface" / "hub", "models--some--bert", "bert-legacy")
    for link in list(links.iterdir()):  # files, which can be spoiled
        target = link.resolve()
        link.unlink()
        shutil.copy(target, link)
    spoil(links)
    assert named_paths() == {"some/bert": links}
    found = look_into("some/bert", links)
    assert reason in found.fault
    assert str(home) not in found.fault
    assert found.size > 0
    assert (found.family, found.layers, found.heads) == ("", 0, 0)


def test_reason_of_a_file(home):
    content = GGUF.read_bytes()
    file = home / "a.gguf"
    for spoiled, reason in (
        (b"GGUF", "is cut off or its header lies"),
        (content[:-1], "is cut off inside tensor"),
        (b"<html>", "is a web page, not the file itself"),
        (content.replace(b"\5\0\0\0\0\0\0\0llama", b"\5\0\0\0\0\0\0\0mamba", 1), "architecture"),
    ):
        file.write_bytes(spoiled)
        found = look_into("a", file)
        assert reason in found.fault
        assert str(home) not in found.fault
        assert found.size == len(spoiled)


def test_a_tokenizer_alone_is_no_model(home):
    links = snapshot(home / ".cache" / "huggingface" / "hub", "models--some--bert", "bert-legacy")
    (links / "model.safetensors").unlink()
    assert named_paths() == {}


@pytest.mark.parametrize("name", ["", " "])
def test_a_name_that_is_empty(name, home):
    """As from a variable of the shell that is not set: the sentence had a hole in it."""
    with pytest.raises(ModelError, match="the name of the model is empty: name a folder"):
        model_path(name)


def test_a_name_of_two_places_is_said(home):
    hub = home / ".cache" / "huggingface" / "hub" / "models--some--small"
    folder = hub / "snapshots" / "0123abcd"
    folder.mkdir(parents=True)
    shutil.copy(GGUF, folder / "small.gguf")
    studio = home / ".lmstudio" / "models" / "some" / "small"
    studio.mkdir(parents=True)
    shutil.copy(GGUF, studio / "small.gguf")
    told = []
    assert model_path("some/small/small.gguf", told.append) == studio / "small.gguf"
    assert told == [
        "some/small/small.gguf is the name of 2 models here; the one at"
        f" {studio / 'small.gguf'} is opened"
    ]


def test_a_file_of_a_found_name_is_opened_by_it(home):
    folder = home / ".lmstudio" / "models" / "some" / "small"
    folder.mkdir(parents=True)
    shutil.copy(GGUF, folder / "small.gguf")
    told = []
    assert model_path("some/small/small.gguf", told.append) == folder / "small.gguf"
    assert model_path(str(GGUF), told.append) == GGUF
    assert told == []


def test_a_blob_without_a_suffix_is_opened(tmp_path):
    blob = tmp_path / "sha256-12ab"
    shutil.copy(GGUF, blob)
    shutil.copy(f"{speaking('bert-legacy', tmp_path)}/tokenizer.json", tmp_path)
    assert describe(str(blob)).family == "Llama"
