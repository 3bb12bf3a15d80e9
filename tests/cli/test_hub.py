"""``--model owner/name``: out of the cache, or by the real client from a hub on the loopback."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
from collections import namedtuple
from pathlib import Path

import pytest

from core import found_models
from core import hub as client
from core.errors import ModelError
from core.hub import HubName
from tests.cli.command import ATTN_TUI, attn_tui, environment, sentence
from tests.core.fake_hub import COMMIT, fake_hub
from tests.core.small_checkpoints import REFERENCE, edit_config, speaking
from tests.core.test_targets import marian, opened  # noqa: F401 - a fixture

WEIGHTS = "model.safetensors"
NEEDED = ["config.json", "model.safetensors", "tokenizer.json"]


@pytest.fixture
def served():
    with fake_hub() as found:
        yield found


@pytest.fixture
def hub(served):
    """Without models at first."""
    return served[0]


@pytest.fixture
def home(tmp_path, served):
    """The environment of a person with an empty cache, and that hub."""
    names = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME", "HF_TOKEN")
    return environment(
        HOME=str(tmp_path / "home"),
        HF_HOME=str(tmp_path / "hf"),
        HF_ENDPOINT=served[1],
        HF_HUB_OFFLINE=None,
        HF_HUB_DISABLE_PROGRESS_BARS=None,
        OLLAMA_MODELS=None,
        **dict.fromkeys(names),
    )


@pytest.fixture
def bert(tmp_path):
    return Path(speaking("bert-legacy", tmp_path))


def show(env, name, *words, text="t5 t17"):
    return attn_tui("show", "--model", name, "--head", "0", *words, text, env=env)


def files(env):
    """Names of the files in the cache's snapshots, by revision."""
    hub = Path(env["HF_HOME"]) / "hub"
    return sorted(path.name for path in hub.glob("models--*/snapshots/*/*"))


def half_files(env):
    return list(Path(env["HF_HOME"]).rglob("*.incomplete"))


def test_only_what_is_needed_comes_and_only_once(hub, home, bert):
    hub.add("some/bert", bert, pytorch_model__bin=b"pickle", README__md=b"hello")
    first = show(home, "some/bert")
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith(b"some/bert \xc2\xb7 BERT \xc2\xb7 2 layers")
    assert f"note: downloading some/bert into {home['HF_HOME']}/hub: 2 files" in (
        first.stderr.decode()
    )
    assert sorted(hub.downloaded()) == NEEDED
    assert files(home) == NEEDED
    hub.asked.clear()
    second = show(home, "some/bert")
    assert (second.stdout, second.stderr) == (first.stdout, b"")
    assert hub.asked == []  # not even whether there is a newer one


def test_a_revision(hub, home, bert):
    hub.add("some/bert", bert)
    hub.revisions.add("v2")
    for name in ("some/bert@v2", f"some/bert@{COMMIT}"):
        result = show(home, name)
        assert result.returncode == 0, result.stderr
    said = sentence(show(home, "some/bert@v9"))
    assert "some/bert has no revision v9: name a branch, a tag or a commit" in said


def test_shards(hub, home, tmp_path):
    folder = Path(speaking("llama-shards", tmp_path))
    hub.add("some/llama", folder)
    result = show(home, "some/llama")
    assert result.returncode == 0, result.stderr
    assert " · Llama · " in result.stdout.decode()
    assert [name for name in hub.downloaded() if name.endswith(".safetensors")]
    assert files(home) == sorted(
        path.name for path in folder.iterdir() if path.name != "expected.npz"
    )


def test_what_else_the_tokenizer_of_an_encoder_decoder_reads(hub, home, tmp_path, request):
    hub.add("some/marian", request.getfixturevalue("marian"), README__md=b"hello")
    words = ("show", "--model", "some/marian", "--target", "cat", "the cat")
    result = attn_tui(*words, env=home)
    assert result.returncode == 0, result.stderr
    spoken = ["config.json", WEIGHTS, "source.spm", "target.spm", "vocab.json"]
    assert sorted(hub.downloaded()) == spoken
    hub.asked.clear()
    assert attn_tui(*words, env=home).returncode == 0
    assert hub.asked == []
    hub.add("some/mbart", opened("mbart", tmp_path)[0])
    attn_tui("show", "--model", "some/mbart", "the cat", env=home)
    assert sorted(hub.downloaded()) == sorted([*NEEDED, "tokenizer_config.json"])


def test_a_download_that_was_cut_off_goes_on(hub, home, tmp_path):
    """Of shards, one of which is there and one is not."""
    folder = Path(speaking("llama-shards", tmp_path))
    hub.add("some/llama", folder)
    assert show(home, "some/llama").returncode == 0
    lost = max(Path(home["HF_HOME"]).glob("hub/models--*/snapshots/*/*.safetensors"))
    Path(os.path.realpath(lost)).unlink()
    lost.unlink()
    hub.asked.clear()
    result = show(home, "some/llama")
    assert result.returncode == 0, result.stderr
    assert hub.downloaded() == [lost.name]


@pytest.mark.parametrize(
    "name", ["some/quants/small.gguf", "some/quants:small", "some/quants:small.gguf"]
)
def test_a_gguf_file(name, hub, home):
    content = (REFERENCE / "gguf-llama" / "model.gguf").read_bytes()
    hub.models["some/quants"] = {"small.gguf": content, "large.gguf": b"x", "README.md": b"x"}
    result = show(home, name, text="ABBA")
    assert result.returncode == 0, result.stderr
    assert result.stdout.decode().startswith("some/quants · Llama · ")
    assert hub.downloaded() == ["small.gguf"]


def sentence_after_notes(result):
    """The refusal behind the note that says what comes."""
    *notes, last = result.stderr.decode().splitlines()
    assert all(": note: downloading" in note for note in notes)
    assert result.returncode == 2
    return last


def test_a_file_has_to_be_named(hub, home):
    hub.models["some/quants"] = {"b.gguf": b"x", "a.gguf": b"\x1b"}
    for name in ("some/quants", "some/quants/c.gguf"):
        said = sentence(show(home, name))
        assert "some/quants has these files: a.gguf, b.gguf: name one of them, as in" in said
        assert "some/quants/a.gguf" in said
    assert hub.downloaded() == []


def test_a_pickle_is_refused_by_name_and_does_not_come(hub, home, bert):
    hub.add("some/bert", bert, model__safetensors=None, pytorch_model__bin=b"\x80")
    said = sentence(show(home, "some/bert"))
    assert "some/bert has its weights as a pickle (pytorch_model.bin), which could run code" in said
    assert "AutoModel.from_pretrained(name).save_pretrained(folder)" in said
    assert hub.downloaded() == []


def test_what_could_not_be_shown_does_not_come(hub, home, bert):
    hub.add("some/bert", bert, tokenizer__json=None)
    assert "some/bert has no tokenizer.json: make one" in sentence(show(home, "some/bert"))
    hub.add("some/bert", bert, config__json=None)
    assert "some/bert has no config.json" in sentence(show(home, "some/bert"))
    hub.models["some/empty"] = {"README.md": b""}
    assert "some/empty has no model.safetensors" in sentence(show(home, "some/empty"))
    assert hub.downloaded() == []
    edit_config(bert, model_type="mamba\x1b")
    hub.add("some/mamba", bert)
    said = sentence(show(home, "some/mamba"))
    assert "some/mamba/config.json: model_type 'mamba" in said
    assert hub.downloaded() == ["config.json"]


def test_an_index_that_leads_elsewhere(hub, home, tmp_path):
    folder = Path(speaking("llama-shards", tmp_path))
    index = folder / "model.safetensors.index.json"
    found = json.loads(index.read_text())
    found["weight_map"] = dict.fromkeys(found["weight_map"], "../../../evil.safetensors")
    index.write_text(json.dumps(found))
    hub.add("some/llama", folder)
    said = sentence(show(home, "some/llama"))
    assert "names a file outside itself: ../../../evil.safetensors" in said
    assert not any("evil" in path for _method, path in hub.asked)


def test_refused_by_the_hub(hub, home, bert):
    hub.add("some/gated", bert)
    hub.gated.add("some/gated")
    said = sentence(show(home, "some/gated"))
    assert "some/gated is gated" in said
    assert "accept them at https://huggingface.co/some/gated, then log in" in said
    said = sentence(show(home, "some/nothing"))
    assert "some/nothing is nothing on this machine, and the hub has no such model" in said
    hub.status = 503
    assert "the hub answers 503 for some/bert: try again later" in sentence(show(home, "some/bert"))


def test_no_hub_at_all(hub, home, bert):
    nowhere = home | {"HF_ENDPOINT": "http://127.0.0.1:9"}
    said = sentence(show(nowhere, "some/bert"))
    assert "cannot reach the hub for some/bert (" in said
    hub.add("other/bert", bert)
    assert show(home, "other/bert").returncode == 0
    said = sentence(show(nowhere, "some/bert"))
    assert "on this machine: " in said
    assert "other/bert" in said
    assert said.endswith(": name one of them, or a folder.\n")
    assert show(nowhere, "other/bert").returncode == 0  # from the cache


def test_offline_by_the_persons_own_wish(hub, home, bert):
    hub.add("some/bert", bert)
    said = sentence(show(home | {"HF_HUB_OFFLINE": "1"}, "some/bert"))
    assert (
        "some/bert is not in the cache, and HF_HUB_OFFLINE keeps it from being downloaded" in said
    )
    assert hub.asked == []


def test_offline_with_a_part_of_the_model(hub, home, bert):
    """It was said not to be in the cache, and then listed as one that is on this machine."""
    hub.add("some/bert", bert)
    assert show(home, "some/bert").returncode == 0
    next(Path(home["HF_HOME"]).rglob("snapshots/*/tokenizer.json")).unlink()
    said = sentence(show(home | {"HF_HUB_OFFLINE": "1"}, "some/bert"))
    assert "the cache has a part of some/bert, and HF_HUB_OFFLINE keeps the rest from" in said
    assert "some/bert" not in said.partition("on this machine: ")[2]


@pytest.mark.parametrize(
    "name", ["HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"]
)
def test_the_cache_is_where_the_client_has_it(name, hub, home, bert, tmp_path):
    hub.add("some/bert", bert)
    place = tmp_path / "place"
    env = {**home, name: str(place)}
    if name != "HF_HOME":
        del env["HF_HOME"]
    inside = {"HF_HOME": "hub", "XDG_CACHE_HOME": "huggingface/hub"}.get(name, "")
    assert show(env, "some/bert").returncode == 0
    assert (place / inside / "models--some--bert").is_dir()
    hub.asked.clear()
    result = show(env, "some/bert")
    assert (result.returncode, hub.asked) == (0, [])
    assert "some/bert" in attn_tui("models", env=env).stdout.decode()


def test_a_path_goes_before_a_name(hub, home, bert, tmp_path):
    hub.add("some/bert", bert)
    shutil.copytree(bert, tmp_path / "some" / "bert")
    result = attn_tui("show", "--model", "some/bert", "--head", "0", "t5", env=home, cwd=tmp_path)
    assert result.returncode == 0
    assert result.stdout.startswith(b"bert ")
    assert (result.stderr, hub.asked) == (b"", [])
    assert show(home, "some/bert").returncode == 0  # elsewhere it is the hub's
    result = attn_tui("show", "--model", "some/bert", "--head", "0", "t5", env=home, cwd=tmp_path)
    assert result.stdout.startswith(b"bert ")
    said = "note: some/bert is the name of 2 models here; the one at some/bert is opened"
    assert said in result.stderr.decode()


def test_names_that_are_none(monkeypatch):
    monkeypatch.setattr(found_models, "fetch", lambda *_: pytest.fail("the hub was asked"))
    paths = ("nothing", "./some/bert", "/some/bert", "~/some/bert", "a/b.safetensors", "a/b.gguf")
    for name in (*paths, "a/../b", "some/be--rt", "some/bert@", "some/bert@../x", "some/\x1b[2J"):
        with pytest.raises(ModelError, match=r"there is no model .*, as a path"):
            found_models.model_path(name)


def test_names_that_are_read():
    name = client.read_name
    assert name("a/b") == HubName("a/b")
    assert name("a/b.c-d_e@v1.0") == HubName("a/b.c-d_e", None, "v1.0")
    assert name("a/b@refs/pr/1") == HubName("a/b", None, "refs/pr/1")
    assert name("a/b/c.gguf") == name("a/b:c") == name("a/b:c.gguf") == HubName("a/b", "c.gguf")
    assert name("a/b/c/d.gguf@main") == HubName("a/b", "c/d.gguf")
    assert str(name("a/b:c@v1")) == "a/b/c.gguf@v1"


def test_a_line_that_breaks_leaves_nothing_that_breaks_later(hub, home, bert):
    hub.add("some/bert", bert)
    hub.cut[WEIGHTS] = 1000
    hub.on_cut = lambda: setattr(hub, "status", 404)  # and it does not come back
    said = sentence_after_notes(show(home, "some/bert"))
    assert "some/bert" in said
    assert half_files(home) == []
    hub.cut.clear()
    hub.status = None
    result = show(home, "some/bert")
    assert result.returncode == 0, result.stderr
    assert hub.downloaded().count("tokenizer.json") == 1


def test_an_interrupt_leaves_nothing_that_breaks_later(hub, home, bert):
    hub.add("some/bert", bert)
    hub.cut[WEIGHTS] = 1000
    command = [ATTN_TUI, "show", "--model", "some/bert", "--head", "0", "t5"]
    process = subprocess.Popen(command, env=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def interrupt():
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)

    hub.on_cut = interrupt
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in errors
    assert half_files(home) == []
    assert "model.safetensors" not in files(home)
    hub.cut.clear()
    assert show(home, "some/bert").returncode == 0


def test_a_bar_at_a_terminal_alone(hub, home, bert):
    hub.add("some/bert", bert)
    parent, child = pty.openpty()
    termios.tcsetwinsize(child, (24, 80))
    result = subprocess.run(
        [ATTN_TUI, "show", "--model", "some/bert", "--head", "0", "t5"],
        env=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=child,
        timeout=60,
    )
    os.close(child)
    said = os.read(parent, 2**16).decode()
    os.close(parent)
    assert result.returncode == 0, said
    assert said.startswith("attn-tui: note: downloading some/bert")
    assert "model.safetensors: 100%" in said
    assert "config.json" not in said  # comes in a moment
    shutil.rmtree(home["HF_HOME"])
    assert b"%" not in show(home, "some/bert").stderr


def test_a_disk_without_room_is_said_before_anything_comes(hub, home, bert, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: usage(9, 9, 0))
    monkeypatch.setenv("HF_HUB_CACHE", str(bert / "no" / "such" / "folder"))
    told = []
    with pytest.raises(ModelError, match=r"takes 3\.0 GiB, and .* has 0\.0 GiB left"):
        client._announce(client.HubName("some/bert"), {WEIGHTS: 3 * 2**30}, told.append)
    assert told == []


def test_a_demo_downloads_nothing():
    code = (
        "import os; from tui.serve.isolate import isolate; isolate([]);"
        "from huggingface_hub.constants import HF_HUB_OFFLINE; print(HF_HUB_OFFLINE)"
    )
    env = {"PATH": os.environ["PATH"], "HF_HUB_OFFLINE": "0"}
    result = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, env=env)
    assert result.stdout == b"True\n", result.stderr


def test_the_client_is_imported_for_a_download_alone(hub, home, bert):
    hub.add("some/bert", bert)
    assert show(home, "some/bert").returncode == 0
    code = (
        "import sys, tui.cli\n"
        "try: tui.cli.main(['show', '--model', 'some/bert', '--head', '0', 't5'])\n"
        "except SystemExit:\n"
        "    print('huggingface_hub.hf_api' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, env=home)
    assert result.stdout.endswith(b"\nFalse\n"), result.stderr
