"""`attn-tui show --format npz`: every array of a trace, under its name."""

import io
import json
import os
import pty
import shutil
import subprocess
import zipfile
from collections import namedtuple
from dataclasses import fields, replace

import numpy as np
import pytest

from core import Learning, Mask, ModelSpec, Request, Switches, Wish, open_model, run
from core.reading import Reading
from core.trained import describe
from core.types import LayerTrace
from tests.cli.command import ATTN_TUI, attn_tui, sentence
from tests.core.small_checkpoints import expected_of, speaking
from tests.core.test_trained import WRITING, written
from tests.reference.checkpoint_cases import CASES
from tui import output
from tui.printing import npz
from tui.printing.npz import ARRAYS, entries, write_npz
from tui.printing.show import json_lines
from tui.printing.table import Part

TRANSLATED = Request("The ball is blue", model=ModelSpec(layers=2, heads=2), target="La bola")

# OPT's positions depend on what is blocked, which is refused.
NAMES = [name for name, case in CASES.items() if "target" not in case and name != "opt-before"]


def loaded(request, part=None):
    """What NumPy reads of the file, and the trace."""
    trace, file = run(request), io.BytesIO()
    write_npz(entries(trace, part or Part()), file)
    file.seek(0)
    with np.load(file, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}, trace


def test_every_array_of_a_layer_has_a_name():
    assert set(ARRAYS) - {"mask"} == {field.name for field in fields(LayerTrace)} - {"weights"}


def test_arrays_are_those_of_the_trace():
    request = Request(
        "The ball is blue",
        model=ModelSpec(layers=2, heads=2),
        switches=Switches(Mask(causal=True, blocked=frozenset({1}))),
    )
    found, trace = loaded(request)
    assert found.pop("tokens").tolist() == ["The", "ball", "is", "blue"]
    assert found.pop("token_ids").tolist() == [token.id for token in trace.tokens]
    np.testing.assert_array_equal(found.pop("embed"), trace.embed)
    np.testing.assert_array_equal(found.pop("pos_embed"), trace.pos_embed)
    for index, layer in enumerate(trace.layers):
        np.testing.assert_array_equal(found.pop(f"layers.{index}.mask"), trace.mask)
        for name in ("w_q", "w_k", "w_v", "w_o"):
            stored = found.pop(f"layers.{index}.{name}")
            np.testing.assert_array_equal(stored, getattr(layer.weights, name))
        for name in set(ARRAYS) - {"mask", "source"}:
            stored = found.pop(f"layers.{index}.{name}")
            np.testing.assert_array_equal(stored, getattr(layer, name))
            assert stored.dtype == np.float64
    assert found == {}


def test_three_attentions_of_a_target():
    found, trace = loaded(TRANSLATED)
    assert found["target_tokens"].tolist() == ["La", "bola"]
    assert found["target_token_ids"].tolist() == [token.id for token in trace.target_tokens]
    np.testing.assert_array_equal(found["target_embed"], trace.decoder.queries.embed)
    assert not any(name.startswith("layers.") for name in found)
    for name, attention in trace.attentions.items():
        for index, layer in enumerate(attention.layers):
            for array in ("q", "k", "pattern", "attn_out", "resid_post"):
                np.testing.assert_array_equal(
                    found[f"{name}.{index}.{array}"], getattr(layer, array)
                )
            np.testing.assert_array_equal(found[f"{name}.{index}.mask"], attention.mask)
    np.testing.assert_array_equal(found["cross.1.source"], trace.cross.layers[1].source)
    assert found["cross.0.pattern"].shape == (2, 2, 4)
    assert "encoder.0.source" not in found


@pytest.mark.parametrize("request_", [Request("The ball is blue"), TRANSLATED])
def test_the_numbers_are_those_of_json(request_):
    found, trace = loaded(request_)
    document = json.loads("\n".join(json_lines(trace, Part())))
    assert found["token_ids"].tolist() == [token["id"] for token in document["tokens"]]
    for layer in document["layers"]:
        start = f"{layer.get('attention', 'layers')}.{layer['layer']}"
        np.testing.assert_array_equal(found[f"{start}.attn_out"], layer["attn_out"])
        for head in layer["heads"]:
            for name in ("q", "k", "v", "dot", "pattern", "z"):
                np.testing.assert_array_equal(found[f"{start}.{name}"][head["head"]], head[name])
            masked = [[cell is None for cell in row] for row in head["attn_scores"]]
            np.testing.assert_array_equal(~found[f"{start}.mask"], masked)


def test_what_was_learned():
    learning = Learning((Wish(1, ((0, 0.9),)),), head=1, steps=3)
    found, trace = loaded(Request("a b", learning=learning))
    np.testing.assert_array_equal(found["learning.wished"], trace.history.wished)
    np.testing.assert_array_equal(found["learning.losses"], trace.history.losses)
    assert found["learning.queries"].tolist() == [1]


@pytest.mark.parametrize("target", [None, "La bola es azul"])
@pytest.mark.parametrize("cap", [0.0, 0.1])
@pytest.mark.parametrize("merge", [False, True])
def test_patterns_as_they_are_read_are_those_of_json(merge, cap, target, monkeypatch):
    monkeypatch.setattr(npz, "BAND", 3)
    reading = Reading(merge, "first", frozenset({2}), cap)
    request = Request("a bc de", "chars", ModelSpec(heads=2), target=target)
    found, trace = loaded(request, Part(reading=reading))
    document = json.loads("\n".join(json_lines(trace, Part(reading=reading))))
    for layer in document["layers"]:
        start = f"{layer.get('attention', 'layers')}.{layer['layer']}"
        for name in ("read", "removed"):
            expected = [head[name] for head in layer["heads"]]
            np.testing.assert_array_equal(found[f"{start}.{name}"], expected)
    for name in ("words", "target_words") if merge else ():
        there = document.get(name, [])
        numbers = [n for n, word in enumerate(there) for _token in word["tokens"]]
        assert found.get(name, np.array([])).tolist() == numbers
    plain, _trace = loaded(request)
    for name, array in plain.items():  # what was there before is there as it was
        np.testing.assert_array_equal(found[name], array)


def test_words_alone_remove_nothing():
    found, _trace = loaded(Request("ab c", "chars"), Part(head=1, reading=Reading(words=True)))
    assert found["layers.0.read"].shape == (1, 3, 3)
    np.testing.assert_allclose(found["layers.0.read"].sum(axis=-1), 1)
    assert found["words"].tolist() == [0, 0, 1, 2]
    assert "layers.0.removed" not in found


@pytest.mark.parametrize("name", NAMES)
def test_a_real_model_is_what_transformers_says(name, tmp_path):
    expected, text = expected_of(name)
    pads = frozenset(expected["pads"].tolist())
    model = describe(speaking(name, tmp_path))
    found, trace = loaded(Request(text, model=model, switches=Switches(Mask(blocked=pads))))
    kept = [i for i in range(len(expected["ids"])) if i not in pads]
    assert found["token_ids"].tolist() == expected["ids"].tolist()
    for index, pattern in enumerate(expected["attentions"]):
        stored = found[f"layers.{index}.pattern"]
        assert stored.dtype == np.float32
        np.testing.assert_allclose(stored[:, kept], pattern[:, kept], atol=1e-4)
        np.testing.assert_array_equal(found[f"layers.{index}.mask"], trace.encoder.masks[index])
    assert "layers.0.w_q" not in found
    assert ("logits" in found) == open_model(model.path).has_head
    if "logits" in expected:
        np.testing.assert_allclose(found["logits"][kept], expected["logits"][kept], atol=1e-4)


@pytest.mark.parametrize("name", WRITING)
def test_an_encoder_decoder_is_what_transformers_says(name, tmp_path):
    trace, expected, kept = written(name, tmp_path)
    file = io.BytesIO()
    write_npz(entries(trace, Part()), file)
    file.seek(0)
    with np.load(file, allow_pickle=False) as found:
        assert found["target_token_ids"].tolist() == expected["target"].tolist()
        for which, attentions in (
            ("encoder", expected["encoder_attentions"]),
            ("decoder", expected["decoder_attentions"]),
            ("cross", expected["cross_attentions"]),
        ):
            rows = kept if which == "encoder" else slice(None)
            for index, pattern in enumerate(attentions):
                stored = found[f"{which}.{index}.pattern"]
                np.testing.assert_allclose(stored[:, rows], pattern[:, rows], atol=1e-4)
            assert f"{which}.{len(attentions)}.pattern" not in found
        if "logits" in expected:
            np.testing.assert_allclose(found["logits"], expected["logits"], atol=1e-4)


def test_an_encoder_without_its_decoder_says_no_words(tmp_path):
    """What its decoder's head would make of it means nothing."""
    trace, _expected, _kept = written("t5-relu", tmp_path)
    assert open_model(trace.request.model.path).has_head
    found, _trace = loaded(replace(trace.request, target=None))
    assert "layers.0.pattern" in found
    assert "logits" not in found


def test_logits_are_made_a_few_rows_at_a_time(tmp_path, monkeypatch):
    expected, text = expected_of("bert-legacy")
    monkeypatch.setattr(npz, "BLOCK_BYTES", 4 * 37 * 5)
    trace = run(Request(text, model=describe(speaking("bert-legacy", tmp_path))))
    (logits,) = (each for each in entries(trace, Part()) if each.name == "logits")
    blocks = list(logits.rows())
    assert [len(block) for block in blocks] == [5, 5, 3]
    np.testing.assert_allclose(np.concatenate(blocks), expected["logits"], atol=1e-4)


def test_heads_are_asked_for_when_their_turn_comes():
    """So that a trace which makes them as they are read is never in memory whole."""
    asked = []

    class Lazy:
        def __init__(self, array):
            self._array, self.shape, self.dtype = array, array.shape, array.dtype

        def __getitem__(self, head):
            asked.append(head)
            return self._array[head]

    trace = run(Request("a b", model=ModelSpec(layers=3)))
    layers = tuple(
        replace(layer, **{name: Lazy(getattr(layer, name)) for name in ("dot", "pattern")})
        for layer in trace.layers
    )
    trace = replace(trace, encoder=replace(trace.encoder, layers=layers))
    made = list(entries(trace, Part()))
    assert asked == []
    stored = []

    class Stream(io.BytesIO):
        def write(self, data):
            stored.append(len(asked))
            return super().write(data)

    write_npz(made, Stream())
    assert asked == [*range(4)] * 2 * 3
    assert sorted(set(stored)) == list(range(len(asked) + 1))  # written before the next


def test_one_layer_and_one_head():
    request = Request("The ball is blue", model=ModelSpec(layers=3, heads=4))
    found, trace = loaded(request, Part(layer=1, head=2))
    assert {name.split(".")[1] for name in found if name.startswith("layers.")} == {"1"}
    assert found["heads"].tolist() == [2]
    np.testing.assert_array_equal(found["layers.1.pattern"], trace.layers[1].pattern[2:3])
    np.testing.assert_array_equal(found["layers.1.resid_post"], trace.layers[1].resid_post)


def test_a_part_of_a_real_model_has_no_logits(tmp_path):
    _expected, text = expected_of("bert-legacy")
    request = Request(text, model=describe(speaking("bert-legacy", tmp_path)))
    for part in (Part(layer=0), Part(head=0), Part(attention="encoder")):
        assert "logits" not in loaded(request, part)[0]
    assert "logits" in loaded(request, Part(query=0))[0]  # as in json, a query leaves all


def test_the_command_writes_a_file(tmp_path):
    file = tmp_path / "trace.npz"
    result = attn_tui(
        *("show", "--format", "npz", "--output", str(file), "--layers", "2", "我想吃酸菜鱼")
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    expected, _trace = loaded(Request("我想吃酸菜鱼", model=ModelSpec(layers=2)))
    with np.load(file, allow_pickle=False) as found:
        assert list(found) == list(expected)
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array)
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None


def test_a_pipe_gets_the_same_bytes(tmp_path):
    words = ("show", "--format", "npz", "The ball is blue")
    first, second = attn_tui(*words), attn_tui(*words, "--output", "-")
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    with np.load(io.BytesIO(first.stdout), allow_pickle=False) as found:
        assert found["layers.0.pattern"].shape == (4, 4, 4)


def test_a_terminal_gets_no_bytes():
    parent, child = pty.openpty()
    result = subprocess.run(
        [ATTN_TUI, "show", "--format", "npz", "x"],
        stdin=subprocess.DEVNULL,
        stdout=child,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(child)
    said = sentence(subprocess.CompletedProcess([], result.returncode, b"", result.stderr))
    assert "add --output FILE, or send it into a pipe" in said
    os.close(parent)


def test_standard_output_that_is_closed():
    command = f'"{ATTN_TUI}" show --format npz x >&-'
    result = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
    assert "standard output is closed" in sentence(result)


def test_nobody_who_reads_on():
    command = f'"{ATTN_TUI}" show --format npz --layers 40 "a b c d e" | true; echo $PIPESTATUS'
    result = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
    assert (result.stdout, result.stderr) == (b"141\n", b"")


def test_a_disk_without_room_is_said_before_anything_is_written(tmp_path, monkeypatch):
    Usage = namedtuple("Usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage(2**30, 2**30 - 9, 9))
    monkeypatch.setattr(npz, "write_npz", lambda *_: pytest.fail("written"))
    file = tmp_path / "trace.npz"
    file.write_bytes(b"old")
    with pytest.raises(Exception, match=r"would take 0\.00 GiB, and 0\.00 are free there"):
        output.write_arrays(run(Request("a b")), Part(), str(file))
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["trace.npz"]


def test_sizes_are_known_before_the_arrays():
    for request in (TRANSLATED, Request("a b c", model=ModelSpec(layers=2))):
        for part in (Part(), Part(layer=1, head=1)):
            made = entries(run(request), part)
            for each in made:
                stored = [np.asarray(rows) for rows in each.rows()]
                assert sum(rows.nbytes for rows in stored) == each.size, each.name


def test_what_does_not_go_with_npz():
    compared = sentence(attn_tui("show", "--format", "npz", "--compare", "y", "x"))
    assert "npz holds the arrays of one text: leave out --compare, or choose json" in compared
    derived = sentence(attn_tui("show", "--format", "npz", "--derive", "x"))
    assert "--derive prints a table or markdown, not npz" in derived
    keyed = sentence(attn_tui("show", "--format", "npz", "--key", "0", "x"))
    assert "--key is for derivations" in keyed
