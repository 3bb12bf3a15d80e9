"""`attn-tui show --format json` and `csv`: a contract, to the last digit."""

import csv
import io
import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import Edit, Mask, ModelSpec, Request, Switches, run
from core.text import label
from tests.cli.command import attn_tui
from tests.core.small_tokenizers import bert_tokenizer
from tui.printing.show import csv_lines, json_lines
from tui.printing.table import Part

MATRICES = ["q", "k", "v", "dot", "attn_scores", "pattern", "z"]
MASKED = Mask(causal=True, blocked=frozenset({0}))


def document(text="The ball is blue", part=None, model=None, tokenizer="mixed", **switches):
    trace = run(Request(text, tokenizer, model or ModelSpec(), Switches(**switches)))
    return json.loads("\n".join(json_lines(trace, part or Part()))), trace


def records(text="The ball is blue", part=None, model=None, **switches):
    trace = run(Request(text, "mixed", model or ModelSpec(), Switches(**switches)))
    printed = "\n".join(csv_lines(trace, part or Part()))
    return list(csv.DictReader(io.StringIO(printed))), trace


def test_the_command_prints_what_the_trace_holds():
    result = attn_tui("show", "--format", "json", "--layers", "2", "我想吃酸菜鱼")
    assert (result.returncode, result.stderr) == (0, b"")
    assert json.loads(result.stdout) == document("我想吃酸菜鱼", model=ModelSpec(layers=2))[0]


def test_the_keys_and_their_order():
    found, _ = document(model=ModelSpec(layers=2, heads=2))
    assert list(found) == ["schema", "model", "switches", "text", "tokens", "layers"]
    assert list(found["model"]) == ["name", "layers", "heads", "d_model", "d_head", "seed"]
    assert list(found["switches"]) == [
        "tokenizer",
        "as_saved",
        "mask",
        "blocked",
        "positions",
        "scale",
        "temperature",
        "projections",
        "normalizer",
    ]
    assert list(found["tokens"][0]) == ["text", "piece", "id", "start", "end", "special"]
    for layer in found["layers"]:
        assert list(layer) == ["layer", "attn_out", "heads"]
        for head in layer["heads"]:
            assert list(head) == ["head", *MATRICES]


def test_the_facts():
    found, _ = document(
        "a b c",
        model=ModelSpec(layers=2, heads=3, d_model=12, seed=7),
        tokenizer="chars",
        mask=Mask(causal=True, window=2, blocked=frozenset({2, 0})),
        positions=False,
        scale=False,
        temperature=0.5,
    )
    assert found["schema"] == 1
    assert found["model"] == {
        "name": "seeded",
        "layers": 2,
        "heads": 3,
        "d_model": 12,
        "d_head": 4,
        "seed": 7,
    }
    assert found["switches"] == {
        "tokenizer": "chars",
        "as_saved": False,
        "mask": "causal+window:2",
        "blocked": [0, 2],
        "positions": False,
        "scale": False,
        "temperature": 0.5,
        "projections": "seeded",
        "normalizer": "softmax",
    }


def test_the_tokens_point_into_the_text():
    found, trace = document("我 👩‍👩‍👧 e\u0301\ufeff it's")
    assert found["text"] == trace.tokens.text
    for token, true in zip(found["tokens"], trace.tokens, strict=True):
        assert found["text"][token["start"] : token["end"]] == token["text"]
        assert token == {name: getattr(true, name) for name in token}


@pytest.mark.parametrize("mask", [Mask(), Mask(causal=True), Mask(window=0), MASKED])
def test_every_number_to_the_last_digit(mask):
    found, trace = document(model=ModelSpec(layers=2), mask=mask)
    for layer in found["layers"]:
        true = trace.layers[layer["layer"]]
        assert layer["attn_out"] == true.attn_out.tolist()
        for head in layer["heads"]:
            for name in MATRICES:
                expected = getattr(true, name)[head["head"]].tolist()
                if name == "attn_scores":
                    expected = [
                        [value if shown else None for value, shown in zip(row, keys, strict=True)]
                        for row, keys in zip(expected, trace.mask, strict=True)
                    ]
                assert head[name] == expected


def test_a_masked_cell_is_null_only_in_attn_scores():
    found, _ = document(mask=MASKED)
    head = found["layers"][0]["heads"][0]
    assert head["attn_scores"][0] == [None] * 4
    assert [value is None for value in head["attn_scores"][2]] == [True, False, False, True]
    assert head["pattern"][0] == [0.0] * 4
    assert None not in head["dot"][0]


@pytest.mark.parametrize(
    ("part", "layers", "heads"),
    [
        (Part(), [0, 1, 2], [0, 1]),
        (Part(layer=1), [1], [0, 1]),
        (Part(head=1), [0, 1, 2], [1]),
        (Part(layer=2, head=0, query=1), [2], [0]),
    ],
)
def test_narrowing_json(part, layers, heads):
    found, _ = document(part=part, model=ModelSpec(layers=3, heads=2))
    assert [layer["layer"] for layer in found["layers"]] == layers
    for layer in found["layers"]:
        assert [head["head"] for head in layer["heads"]] == heads
        assert [len(head["pattern"]) for head in layer["heads"]] == [4] * len(heads)


HOSTILE = (
    'a"\\\n\t\x1b]0;x\x07\x7f\x9b31m\u202e\u2028\u2029\u200b\ufeff\ufffe\U000e0041\ufdd0 我 '
    + "👩‍👩‍👧"
)


def test_a_terminal_obeys_nothing_in_json_and_a_parser_gets_the_true_text():
    result = attn_tui("show", "--format", "json", HOSTILE)
    printed = result.stdout.decode()
    assert json.loads(printed)["text"] == HOSTILE
    assert "我" in printed  # readable
    unsafe = {
        char for char in printed if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    }
    assert unsafe == {"\n"}
    assert "\ufffe" not in printed


@settings(derandomize=True, deadline=None)
@given(st.text(min_size=1).filter(lambda text: text.strip()))
def test_any_text_survives_json(text):
    found, trace = document(text, model=ModelSpec(heads=1, d_model=2))
    assert found["text"] == trace.tokens.text
    assert [token["text"] for token in found["tokens"]] == [token.text for token in trace.tokens]


def test_csv_has_a_line_a_cell():
    found, trace = records(model=ModelSpec(layers=2, heads=2), mask=MASKED)
    assert list(found[0]) == [
        "layer",
        "head",
        "query",
        "query_token",
        "key",
        "key_token",
        "dot",
        "attn_scores",
        "pattern",
    ]
    assert len(found) == 2 * 2 * 4 * 4
    for record in found:
        layer, head, query, key = (int(record[n]) for n in ("layer", "head", "query", "key"))
        arrays = trace.layers[layer]
        assert record["query_token"] == label(trace.tokens[query])
        assert record["key_token"] == label(trace.tokens[key])
        assert float(record["dot"]) == arrays.dot[head, query, key]
        assert float(record["pattern"]) == arrays.pattern[head, query, key]
        if trace.mask[query, key]:
            assert float(record["attn_scores"]) == arrays.attn_scores[head, query, key]
        else:
            assert record["attn_scores"] == ""


@pytest.mark.parametrize(
    ("part", "count"),
    [
        (Part(layer=1), 2 * 16),
        (Part(head=0), 2 * 16),
        (Part(query=3), 4 * 4),
        (Part(layer=0, head=1, query=2), 4),
    ],
)
def test_narrowing_csv(part, count):
    found, _ = records(part=part, model=ModelSpec(layers=2, heads=2))
    assert len(found) == count
    for name in ("layer", "head", "query"):
        wanted = getattr(part, name)
        assert wanted is None or {record[name] for record in found} == {str(wanted)}


def test_csv_labels_are_quoted_and_safe():
    text = 'say " , \x1b \u202e'
    result = attn_tui("show", "--format", "csv", "--head", "0", text)
    printed = result.stdout.decode()
    assert printed.replace("\n", "").isprintable()
    found = list(csv.DictReader(io.StringIO(printed)))
    assert [record["key_token"] for record in found[:5]] == ["say", '"', ",", "␛", "U+202E"]


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_output_comes_in_pieces(form):
    """A trace of many tokens never becomes one string."""
    from tui.printing.show import formatted

    trace = run(Request("a " * 200, model=ModelSpec(heads=2, d_model=4)))
    pieces = list(formatted(trace, form, Part(), 3, None))
    whole = sum(map(len, pieces))
    assert max(map(len, pieces)) < whole / 100


def test_as_saved_keeps_padding_and_blocks_it(tmp_path):
    """T15: padding is off unless it is asked for, and then no query attends to it."""
    made = bert_tokenizer()
    made.enable_padding(length=8, pad_id=0, pad_token="[PAD]")
    path = tmp_path / "tokenizer.json"
    made.save(str(path))
    options = ["show", "--format", "json", "--tokenizer", path, "a a"]
    plain, saved = (json.loads(attn_tui(*options, *more).stdout) for more in ([], ["--as-saved"]))
    assert [len(answer["tokens"]) for answer in (plain, saved)] == [4, 8]
    row = saved["layers"][0]["heads"][0]["pattern"][1]
    assert row[4:] == [0, 0, 0, 0]
    assert sum(row) == pytest.approx(1)
    assert saved["switches"]["as_saved"]


def test_what_was_learned():
    """Only where something is: the keys of every other document stay what they were."""
    wishes = ("--wish", "1:0=0.75", "--wish", "0:1=1", "--steps", "2", "--head", "3")
    result = attn_tui("show", "--format", "json", *wishes, "a b")
    found = json.loads(result.stdout)["switches"]
    assert list(found)[:-1] == list(document("a b")[0]["switches"])
    learning = found["learning"]
    losses = learning.pop("losses")
    assert len(losses) == 3
    assert losses == sorted(losses, reverse=True)
    assert learning == {
        "layer": 0,
        "head": 3,
        "wishes": [{"query": 0, "weights": [0, 1]}, {"query": 1, "weights": [0.75, 0.25]}],
        "steps": 2,
        "rate": 0.02,
        "least_loss": pytest.approx(0.5623351),
    }


def test_numbers_typed_over_are_among_the_switches_only_where_there_are_any():
    edits = (Edit("attn_scores", (0, 1, 3, 2), 1.5), Edit("x", (0, 7), -2.0))
    found = document(edits=edits)[0]["switches"]
    assert found.pop("edits") == [
        {"array": "attn_scores", "place": [0, 1, 3, 2], "value": 1.5},
        {"array": "x", "place": [0, 7], "value": -2.0},
    ]
    assert found == document()[0]["switches"]
