"""``--model``: what is printed of a real model, and what is refused beside it."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.command import attn_tui, environment, sentence
from tests.core.small_checkpoints import edit_config, expected_of, speaking
from tui.printing.models import json_models


@pytest.fixture
def model(tmp_path):
    return speaking("bert-legacy", tmp_path)


def printed(*words):
    result = attn_tui("show", *words)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode()


def test_json_has_the_numbers_of_transformers(model):
    expected, text = expected_of("bert-legacy")
    found = json.loads(printed("--model", model, "--format", "json", text))
    assert found["model"] == {
        "name": "bert-legacy",
        "family": "BERT",
        "layers": 2,
        "heads": 3,
        "d_model": 24,
        "d_head": 8,
        "seed": None,
    }
    assert found["switches"] == {"mask": "none", "blocked": []}
    assert [token["id"] for token in found["tokens"]] == expected["ids"].tolist()
    patterns = [[head["pattern"] for head in layer["heads"]] for layer in found["layers"]]
    np.testing.assert_allclose(patterns, expected["attentions"], atol=1e-4)


def test_csv_has_the_numbers_of_transformers(model):
    expected, text = expected_of("bert-legacy")
    rows = list(csv.DictReader(io.StringIO(printed("--model", model, "--format", "csv", text))))
    patterns = np.array([float(row["pattern"]) for row in rows])
    np.testing.assert_allclose(patterns, expected["attentions"].ravel(), atol=1e-4)


def test_json_of_layers_with_their_own_masks(tmp_path):
    expected, text = expected_of("gemma3-kinds")
    found = json.loads(
        printed("--model", speaking("gemma3-kinds", tmp_path), "--format", "json", text)
    )
    assert found["switches"]["mask"] is None
    assert {layer["mask"] for layer in found["layers"]} == {"causal", "causal+window:3"}
    for layer, attentions in zip(found["layers"], expected["attentions"], strict=True):
        masked = [[cell is None for cell in row] for row in layer["heads"][0]["attn_scores"]]
        np.testing.assert_array_equal(masked, attentions[0] == 0)


def test_table_says_what_the_model_is(model):
    lines = printed("--model", model, "--layer", "1", "--head", "2", "t5 t17").splitlines()
    assert lines[:3] == [
        "bert-legacy · BERT · 2 layers × 3 heads · d_model 24"
        " · trained weights: attention is not explanation",
        "mask none",
        "2 tokens · the model's own tokenizer",
    ]


def test_table_names_the_mask_where_layers_differ(tmp_path):
    path = speaking("gemma3-kinds", tmp_path)
    lines = printed("--model", path, "--head", "0", "t5 t17 t3 t9 t8 t7 t6 t5").splitlines()
    assert "mask causal+window:3" in lines[1]
    assert "mask causal," in lines[1] or lines[1].endswith("mask causal")
    titles = [line for line in lines if line.startswith("layer")]
    assert all(" · mask causal" in title for title in titles)
    assert len({title.rsplit(" · ", 1)[1] for title in titles}) == 2


def test_blocked_key_has_no_weight(model):
    found = json.loads(printed("--model", model, "--block", "1", "--format", "json", "t5 t17 t3"))
    for layer in found["layers"]:
        for head in layer["heads"]:
            assert all(row[1] == 0 for row in head["pattern"])
            assert sum(head["pattern"][0]) == pytest.approx(1, abs=1e-6)


def test_long_text_is_cut_with_a_note(model):
    result = attn_tui("show", "--model", model, "--head", "0", "t5 " * 40)
    assert result.stderr.decode() == "attn-tui: note: first 19 of 40 tokens\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tokenizer", "mixed"], "--tokenizer does not go with --model: a real model brings"),
        (["--as-saved"], "--as-saved does not go with --model"),
        (["--d-model", "16"], "--d-model does not go with --model"),
        (["--heads", "4"], "--heads does not go with --model"),
        (["--layers", "1"], "--layers does not go with --model"),
        (["--seed", "0"], "--seed does not go with --model: a real model brings its own"),
        (["--mask", "causal"], "--mask does not go with --model: trained weights go with"),
        (["--no-positions"], "--positions does not go with --model"),
        (["--no-scale"], "--scale does not go with --model"),
        (["--temperature", "2"], "--temperature does not go with --model"),
        (["--projections", "identity"], "--projections does not go with --model"),
        (["--normalizer", "none"], "--normalizer does not go with --model"),
        (["--set", "x[0,0]=1"], "--set does not go with --model: numbers are typed over"),
        (["--wish", "0:0=1"], "--wish does not go with --model: wishes are learned"),
        (["--steps", "3"], "--steps does not go with --model"),
        (["--target", "t5"], "--target does not go with bert-legacy (BERT), which is no encoder"),
        (["--attention", "cross"], "--attention does not go with bert-legacy (BERT), which is no"),
        (["--block", "7"], "blocked key 7 is out of range"),
        (["--layer", "2"], "layer 2 is out of range: choose 0 to 1"),
    ],
)
def test_refused_beside_a_model(words, said, model):
    assert said in sentence(attn_tui("show", "--model", model, *words, "t5 t17"))


def test_model_that_is_nowhere():
    missing = sentence(attn_tui("show", "--model", "./no/such", "t5"))
    assert "there is no model ./no/such, as a path or as a name: name a folder" in missing


@pytest.fixture
def writer(tmp_path):
    """An encoder–decoder whose stacks differ in layers and in heads."""
    return speaking("bart-head", tmp_path)


def written(name="bart-head"):
    expected, text = expected_of(name)
    return expected, text, " ".join(f"t{i}" for i in expected["target"][1:])


BLOCKED = ("--block", "12")  # as the reference has it


def test_json_of_an_encoder_decoder_has_the_numbers_of_transformers(writer):
    expected, text, target = written()
    words = ("--model", writer, *BLOCKED, "--target", target, "--format", "json", text)
    found = json.loads(printed(*words))
    assert found["model"]["family"] == "BART"
    assert (found["model"]["layers"], found["model"]["heads"]) == (2, 3)
    assert found["model"]["decoder"] == {"layers": 2, "heads": 4, "d_head": 6}
    assert [token["id"] for token in found["target_tokens"]] == expected["target"].tolist()
    start = {"text": "", "piece": "t2", "id": 2, "start": 0, "end": 0, "special": True}
    assert found["target_tokens"][0] == start
    order = [(layer["attention"], layer["layer"]) for layer in found["layers"]]
    assert order == [
        *(("encoder", 0), ("encoder", 1)),
        *(("decoder", 0), ("cross", 0), ("decoder", 1), ("cross", 1)),
    ]
    for layer in found["layers"]:
        rows = slice(0, 12) if layer["attention"] == "encoder" else slice(None)
        patterns = np.array([head["pattern"] for head in layer["heads"]])[:, rows]
        theirs = expected[f"{layer['attention']}_attentions"][layer["layer"]][:, rows]
        np.testing.assert_allclose(patterns, theirs, atol=1e-4)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_csv_of_one_attention(writer, kind):
    expected, text, target = written()
    words = ("--model", writer, *BLOCKED, "--target", target, "--attention", kind)
    rows = list(csv.DictReader(io.StringIO(printed(*words, "--format", "csv", text))))
    assert {row["attention"] for row in rows} == {kind}
    theirs = expected[f"{kind}_attentions"]
    patterns = np.array([float(row["pattern"]) for row in rows]).reshape(theirs.shape)
    kept = slice(0, 12) if kind == "encoder" else slice(None)
    np.testing.assert_allclose(patterns[:, :, kept], theirs[:, :, kept], atol=1e-4)


def test_table_of_cross_attention_is_not_square(writer):
    words = ("--model", writer, "--target", "t9 t30 t4", "--attention", "cross", "--layer", "1")
    lines = printed(*words, "--head", "3", "t5 t17").splitlines()
    assert lines[0] == (
        "bart-head · BART · encoder 2 layers × 3 heads, decoder 2 layers × 4 heads · d_model 24"
        " · trained weights: attention is not explanation"
    )
    assert lines[1] == "encoder mask none, decoder mask causal, cross mask none"
    assert lines[2] == "2 tokens, 4 of the target · the model's own tokenizer"
    assert lines[4] == "cross · layer 1 · head 3 · pattern (target ↓, source →)"
    assert [line.split()[:2] for line in lines[6:]] == [
        *(["0", "t2"], ["1", "t9"], ["2", "t30"], ["3", "t4"])
    ]


def test_without_a_target_the_encoder_is_printed_and_a_note(writer):
    result = attn_tui("show", "--model", writer, "--format", "csv", "t5 t17")
    assert result.stdout.decode().startswith("layer,head,query")
    assert result.stderr.decode() == (
        "attn-tui: note: the encoder alone: --target TEXT adds the decoder and cross-attention\n"
    )


def test_empty_target_is_the_decoder_before_its_first_word(writer):
    words = ("--model", writer, "--target", "", "--attention", "decoder", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(printed(*words, "t5 t17"))))
    assert {(row["query_token"], row["key_token"], row["pattern"]) for row in rows} == {
        ("t2", "t2", "1.0")
    }
    assert len(rows) == 2 * 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--attention", "cross"], "there is no cross without a target: give a target"),
        (["--target", "t9", "--query", "1"], "with a target, --query needs --attention"),
        (["--target", "t9", "--head", "3"], "encoder and decoder differ: --head needs --attention"),
        (["--target", "t9", "--attention", "encoder", "--head", "3"], "head 3 is out of range"),
        (["--target", "t9", "--attention", "cross", "--head", "4"], "choose 0 to 3"),
        (["--target", "t9", "--attention", "cross", "--query", "2"], "choose 0 to 1"),
        (["--target", "t9", "--compare", "t5"], "with a target no other text is compared"),
        (["--target", "t9", "--block", "2"], "blocked key 2 is out of range: choose 0 to 1"),
    ],
)
def test_refused_beside_an_encoder_decoder(words, said, writer):
    assert said in sentence(attn_tui("show", "--model", writer, *words, "t5 t17"))


def test_no_worksheet_and_no_lesson(model):
    assert "a worksheet is worked out by hand" in sentence(
        attn_tui("worksheet", "--model", model, "t5")
    )
    assert "--model does not go with --lesson" in sentence(
        attn_tui("show", "--model", model, "--lesson", "by-hand")
    )


def test_models_are_listed_and_opened_by_name(tmp_path):
    hub = tmp_path / "hub"
    folder = hub / "models--some--bert\x1b[2J" / "snapshots" / "0123abcd"
    folder.parent.mkdir(parents=True)
    Path(speaking("bert-legacy", tmp_path)).rename(folder)
    surroundings = environment(HOME=str(tmp_path), HF_HUB_CACHE=str(hub), OLLAMA_MODELS=None)
    result = attn_tui("models", env=surroundings)
    assert result.returncode == 0
    listed = result.stdout.decode()
    assert "\x1b" not in listed
    (line,) = (line for line in listed.splitlines() if line.startswith("some/bert"))
    assert line.split(maxsplit=1)[1].startswith("BERT · 2 layers × 3 heads")
    shown = attn_tui("show", "--model", "some/bert\x1b[2J", "t5 t17", env=surroundings)
    assert shown.returncode == 0, shown.stderr
    assert "\x1b" not in shown.stdout.decode()
    assert " · BERT · 2 layers × 3 heads" in shown.stdout.decode()


def test_models_say_why_one_cannot_be_shown(tmp_path):
    hub = tmp_path / "hub"
    for owner in ("good", "bad"):
        folder = hub / f"models--{owner}--bert" / "snapshots" / "0123abcd"
        folder.parent.mkdir(parents=True)
        Path(speaking("bert-legacy", tmp_path)).rename(folder)
    edit_config(folder, model_type="mamba\x1b[2J")
    surroundings = environment(HOME=str(tmp_path), HF_HUB_CACHE=str(hub), OLLAMA_MODELS=None)
    lines = attn_tui("models", env=surroundings).stdout.decode().splitlines()
    (good,) = (line for line in lines if line.startswith("good/bert"))
    (bad,) = (line for line in lines if line.startswith("bad/bert"))
    assert good.split(maxsplit=1)[1].startswith("BERT · 2 layers × 3 heads")
    reason = "config.json: model_type 'mamba\\x1b[2J' is not supported"
    assert bad.split(maxsplit=1)[1].startswith("cannot be shown")
    assert bad.endswith(f"{reason} ({folder})")
    assert good.index(" MiB") == bad.index(" MiB")

    result = attn_tui("models", "--format", "json", env=surroundings)
    found = {each["name"]: each for each in json.loads(result.stdout)}
    assert found["bad/bert"] == {
        "name": "bad/bert",
        "path": str(folder),
        "size": (folder / "model.safetensors").stat().st_size,
        "family": "",
        "layers": 0,
        "heads": 0,
        "fault": reason,
        "writes": None,
    }
    assert (found["good/bert"]["family"], found["good/bert"]["layers"]) == ("BERT", 2)
    assert found["good/bert"]["fault"] == ""


def test_json_without_a_model_is_an_empty_list():
    assert json.loads("\n".join(json_models([]))) == []


def test_guests_may_be_shown_the_models_that_are_named(model):
    """Whatever they are called here, a session gets whole paths; each once."""
    words = ["--model", model, "--allow-model", model, "t5"]
    printed = attn_tui("serve", "--print-sshd", *words).stdout.decode()
    (command,) = (line for line in printed.splitlines() if line.endswith(" t5"))
    assert f" --allow-model {model} " in command
    assert f" --model {model} " in command
    assert command.count(model) == 2
    said = sentence(attn_tui("serve", "--print-sshd", "--allow-model", "/nowhere", "t5"))
    assert "there is no model /nowhere, as a path or as a name" in said
