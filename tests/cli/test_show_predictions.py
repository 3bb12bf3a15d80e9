"""``show --predictions``: what a real model expects as table, CSV and JSON, and what is refused."""

import csv
import io
import json

import numpy as np
import pytest

from tests.cli.command import attn_tui, sentence
from tests.core.small_checkpoints import expected_of, speaking


def printed(*words):
    result = attn_tui("show", "--predictions", *words)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode()


def chances_of(name):
    """Probabilities [pos, vocabulary] by transformers' logits, the ids, and the text."""
    expected, text = expected_of(name)
    logits = expected["logits"].astype(float)
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True), expected["ids"].tolist(), text


def shown(chance, digits=3):
    return f"{chance:.{digits}f}" if chance >= 0.5 * 10**-digits else f"<{10**-digits:.{digits}f}"


def named(index):
    return f"t{index}" if index else "[UNK]"


def test_json_has_the_probabilities_of_transformers(tmp_path):
    chances, ids, text = chances_of("gpt2-head")
    words = ("--model", speaking("gpt2-head", tmp_path), "--format", "json", text)
    found = json.loads(printed(*words))
    assert found["schema"] == 1
    assert len(found["layers"]) == 3  # beside the trace
    made = found["predictions"]
    assert [each["query"] for each in made] == list(range(len(ids)))
    for row, each in zip(chances, made, strict=True):
        assert (each["predicts"], each["vocabulary"]) == ("next", 37)
        assert [one["id"] for one in each["top"]] == np.argsort(-row)[:10].tolist()
        for rank, one in enumerate(each["top"], 1):
            assert one["rank"] == rank
            assert one["token"] == one["piece"] == named(one["id"])
            assert one["probability"] == pytest.approx(row[one["id"]], abs=1e-4)
    assert [each["actual"] and each["actual"]["id"] for each in made] == [*ids[1:], None]
    for row, each, there in zip(chances, made, ids[1:], strict=False):
        assert each["actual"]["rank"] == 1 + (row > row[there]).sum()
    one = json.loads(printed(*words[:2], "--query", "4", *words[2:]))["predictions"]
    assert [each["query"] for each in one] == [4]


def test_csv_has_ten_lines_a_place_and_what_stands_there(tmp_path):
    chances, ids, text = chances_of("gpt2-head")
    model = speaking("gpt2-head", tmp_path)
    rows = list(csv.DictReader(io.StringIO(printed("--model", model, "--format", "csv", text))))
    assert {row["query"] for row in rows} == {str(i) for i in range(len(ids))}
    for query, there in enumerate([*ids[1:], None]):
        here = [row for row in rows if row["query"] == str(query)]
        assert all(row["query_token"] == named(ids[query]) for row in here)
        marked = [row for row in here if row["actual"] == "1"]
        assert [int(row["id"]) for row in marked] == ([] if there is None else [there])
        listed = there is None or there in np.argsort(-chances[query])[:10]
        assert len(here) == 10 + (not listed)
        for row in here:
            value = chances[query][int(row["id"])]
            assert float(row["probability"]) == pytest.approx(value, abs=1e-4)


def test_tables(tmp_path):
    chances, ids, text = chances_of("gpt2-head")
    model = speaking("gpt2-head", tmp_path)
    lines = printed("--model", model, text).splitlines()
    assert lines[4] == "predictions: the token after each"
    row = lines[6].split()
    rank = 1 + (chances[0] > chances[0][ids[1]]).sum()
    assert row[:5] == ["0", "t5", f"t{ids[1]}", shown(chances[0][ids[1]]), str(rank)]
    best = np.argsort(-chances[0])[:3]
    assert row[5:] == [word for i in best for word in (named(i), shown(chances[0][i]))]
    assert len(lines) == 6 + len(ids)
    lines = printed("--model", model, "--query", "4", "--precision", "5", text).splitlines()
    assert lines[4] == "prediction: what follows 4 t11 · after “t5 t17 t3 t29 t11”"
    best = np.argsort(-chances[4])[:10]
    for rank, (line, index) in enumerate(zip(lines[6:16], best, strict=True), 1):
        assert line.split()[:2] == [str(rank), named(index)]
        assert line.split()[2:] == [f"{chances[4][index]:.5f}", str(index)]
    assert lines[16].startswith("the other 27 tokens together 0.")
    rank = 1 + (chances[4] > chances[4][ids[5]]).sum()
    there = shown(chances[4][ids[5]], 5)
    assert lines[17] == f"“t{ids[5]}” follows: {there}, rank {rank} of 37"


def test_masked_tokens(tmp_path):
    model = speaking("bert-legacy", tmp_path, mask=17)
    words = ("--model", model, "--mask-token", "1,3")
    found = json.loads(printed(*words, "--format", "json", "t5 t6 t3 t29"))
    assert found["switches"] == {"mask": "none", "blocked": [], "masked": [1, 3]}
    assert found["tokens"][1] == {
        "text": "t6",
        "piece": "[MASK]",
        "id": 17,
        "start": 3,
        "end": 5,
        "special": False,
        "hides": {"piece": "t6", "id": 6},
    }
    assert [each["query"] for each in found["predictions"]] == [1, 3]
    assert [each["predicts"] for each in found["predictions"]] == ["masked"] * 2
    assert [each["actual"]["id"] for each in found["predictions"]] == [6, 29]
    lines = printed(*words, "t5 t6 t3 t29").splitlines()
    assert lines[1] == "2 tokens masked · mask none"
    assert lines[4] == "predictions: the masked tokens"
    assert [line.split()[:3] for line in lines[6:]] == [
        ["1", "[MASK]", "t6"],
        ["3", "[MASK]", "t29"],
    ]
    lines = printed(*words, "--query", "3", "t5 t6 t3 t29").splitlines()
    assert lines[4] == "prediction: what 3 [MASK] could be · in “t5 [MASK] t3 [MASK]”"
    assert lines[-1].startswith("“t29” is hidden: 0.")


def test_whole_file_or_none(tmp_path):
    model, file = speaking("gpt2-head", tmp_path), tmp_path / "out.json"
    printed("--model", model, "--format", "json", "--output", str(file), "t5 t6")
    assert len(json.loads(file.read_text())["predictions"]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--derive"], "--predictions and --derive print two things"),
        (["--compare", "t5"], "--predictions and --compare print two things"),
        (
            ["--format", "npz", "--output", "-"],
            "--predictions prints a table, json or csv, not npz",
        ),
        (["--head", "0"], "a prediction comes from all layers and heads: leave --head out"),
        (["--layer", "0", "--format", "csv"], "leave --layer out"),
        (["--format", "markdown"], "markdown is for derivations"),
        (["--query", "9"], "query 9 is out of range: choose 0 to 1"),
        (["--mask-token", "0"], "gpt2-head has no mask token"),
        (["--mask-token", "a"], "'a' is no list of key numbers"),
    ],
)
def test_refused_beside_predictions(words, said, tmp_path):
    model = speaking("gpt2-head", tmp_path)
    refused = attn_tui("show", "--model", model, "--predictions", *words, "t5 t17")
    assert said in sentence(refused)


def test_nothing_to_predict(tmp_path):
    assert "the seeded model predicts nothing" in sentence(attn_tui("show", "--predictions", "a b"))
    plain = speaking("bert-plain", tmp_path)
    refused = attn_tui("show", "--model", plain, "--predictions", "t5")
    assert "bert-plain has no language head" in sentence(refused)
    model = speaking("bert-legacy", tmp_path, mask=17)
    shown = ("show", "--model", model, "--predictions", "--format", "json")
    assert "no token is masked" in sentence(attn_tui(*shown, "t5 t6"))
    refused = attn_tui(*shown, "--mask-token", "0", "--query", "1", "t5 t6")
    assert "token 1 is not masked, so there is nothing to predict" in sentence(refused)
    refused = attn_tui("show", "--mask-token", "0", "a b")
    assert "the seeded model has no mask token" in sentence(refused)
    refused = attn_tui("show", "--lesson", "by-hand", "--mask-token", "0")
    assert "--mask-token does not go with --lesson" in sentence(refused)


def test_decoder(tmp_path):
    expected, text = expected_of("t5-relu")
    logits = expected["logits"].astype(float)
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    chances = powers / powers.sum(axis=-1, keepdims=True)
    ids = expected["target"].tolist()
    words = ("--model", speaking("t5-relu", tmp_path), "--block", "11,12", text)
    target = ("--target", " ".join(f"t{i}" for i in ids[1:]))
    found = json.loads(printed(*words, *target, "--format", "json"))["predictions"]
    assert [each["query"] for each in found] == list(range(len(ids)))
    for row, each in zip(chances, found, strict=True):
        assert each["top"][0]["id"] == row.argmax()
        assert each["top"][0]["probability"] == pytest.approx(row.max(), abs=1e-4)
    (last,) = json.loads(printed(*words, *target, "--format", "json", "--query", "5"))[
        "predictions"
    ]
    assert (last["query"], last["actual"]) == (5, None)
    (first,) = json.loads(printed(*words, "--target", "", "--format", "json"))["predictions"]
    assert first["top"][0]["probability"] == pytest.approx(chances[0].max(), abs=1e-4)
    refused = attn_tui("show", "--predictions", *words)
    assert "next token of a target, and there is none: give one with --target" in sentence(refused)
    refused = attn_tui("show", "--predictions", *words, *target, "--attention", "cross")
    assert "leave --attention out" in sentence(refused)
