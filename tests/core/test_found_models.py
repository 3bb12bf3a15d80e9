"""Models that other programs keep, in folders laid out as theirs are."""

import json
import shutil

import pytest

from core import counts, found_models
from core.found_models import look_into, named_paths
from core.trained import describe
from tests.core.small_checkpoints import REFERENCE, speaking

GGUF = REFERENCE / "gguf-llama" / "model.gguf"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home without any model, and no package that brings one."""
    for name in ("HF_HOME", "HF_HUB_CACHE", "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(found_models, "_PACKAGES", {})
    return tmp_path


def snapshot(hub, folder, name, commit="0123abcd"):
    """A checkpoint as the hub's client lays it out: a snapshot of links into blobs."""
    root = hub / folder
    blobs, links = root / "blobs", root / "snapshots" / commit
    blobs.mkdir(parents=True, exist_ok=True)
    links.mkdir(parents=True)
    for file in (REFERENCE / name).iterdir():
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


def test_ollama(home):
    root = home / ".ollama" / "models"
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
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF")
    assert look_into("broken", broken).fault


def test_an_encoder_decoder_has_two_shapes():
    found = look_into("bart", REFERENCE / "bart-plain")
    assert (found.family, found.layers, found.heads, found.fault) == ("BART", 3, 3, "")
    assert (found.writes.layers, found.writes.heads) == (2, 4)
    assert counts.shapes(found, found.writes) == (
        "encoder 3 layers × 3 heads, decoder 2 layers × 4 heads"
    )


def test_a_blob_without_a_suffix_is_opened(tmp_path):
    blob = tmp_path / "sha256-12ab"
    shutil.copy(GGUF, blob)
    shutil.copy(f"{speaking('bert-legacy', tmp_path)}/tokenizer.json", tmp_path)
    assert describe(str(blob)).family == "Llama"
