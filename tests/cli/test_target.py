"""A target on the command line: every format with three attentions, and what is refused."""

import csv
import io
import json

import pytest

from core import Edit, Mask, ModelSpec, Request, Switches, run
from core.text import label
from tests.cli.command import attn_tui, sentence
from tui.printing.show import csv_lines, json_lines
from tui.printing.table import Part, table_lines

SOURCE, TARGET = "The ball is blue", "La bola"
TABLE = """\
seeded · seed 0 · encoder–decoder · 1 layer × 4 heads · d_model 16 · random weights: the mechanism,\
 not meaning
encoder mask none +1 blocked, decoder mask causal, cross mask none +1 blocked · ÷√4 on\
 · temperature 1 · positions on
4 tokens, 2 of the target · tokenizer mixed

encoder · layer 0 · head 0 · pattern (query ↓, key →)
         0 The  1 ball    2 is  3 blue
0 The        –   0.481   0.266   0.253
1 ball       –   0.162   0.407   0.430
2 is         –   0.338   0.194   0.468
3 blue       –   0.782   0.123   0.095

decoder · layer 0 · head 0 · pattern (query ↓, key →)
          0 La  1 bola
0 La     1.000       –
1 bola   0.744   0.256

cross · layer 0 · head 0 · pattern (target ↓, source →)
         0 The  1 ball    2 is  3 blue
0 La         –   0.384   0.070   0.546
1 bola       –   0.084   0.149   0.768
"""


def traced(part=None, layers=2, target=TARGET, **switches):
    return run(
        Request(SOURCE, model=ModelSpec(layers), switches=Switches(**switches), target=target)
    )


def test_a_table_has_a_caption_for_each_attention():
    printed = attn_tui("show", "--target", TARGET, "--head", "0", "--block", "0", SOURCE)
    assert printed.stdout.decode() == TABLE


def test_a_table_of_one_query_of_the_target():
    printed = attn_tui(
        "show", "--target", TARGET, "--attention", "cross", "--query", "1", SOURCE
    ).stdout.decode()
    assert "cross · layer 0 · query 1 bola · pattern (key ↓, head →)\n" in printed
    assert "3 blue   0.724" in printed
    assert "encoder ·" not in printed.split("\n\n", 1)[1]


def order(part):
    found = json.loads("\n".join(json_lines(traced(), part)))
    return [(layer["attention"], layer["layer"]) for layer in found["layers"]]


def test_json():
    trace = traced(mask=Mask(blocked=frozenset({2})))
    found = json.loads("\n".join(json_lines(trace, Part())))
    assert list(found) == [
        "schema",
        "model",
        "switches",
        "text",
        "target",
        "tokens",
        "target_tokens",
        "layers",
    ]
    assert (found["text"], found["target"]) == (SOURCE, TARGET)
    assert [token["text"] for token in found["target_tokens"]] == ["La", "bola"]
    for layer in found["layers"]:
        assert list(layer) == ["layer", "attention", "attn_out", "heads"]
        attention = trace.attentions[layer["attention"]]
        true = attention.layers[layer["layer"]]
        assert layer["attn_out"] == true.attn_out.tolist()
        for head in layer["heads"]:
            for name in ("q", "k", "v", "dot", "pattern", "z"):
                assert head[name] == getattr(true, name)[head["head"]].tolist()
            nulls = [[value is None for value in row] for row in head["attn_scores"]]
            assert nulls == (~attention.mask).tolist()


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            Part(),
            [
                ("encoder", 0),
                ("encoder", 1),
                ("decoder", 0),
                ("cross", 0),
                ("decoder", 1),
                ("cross", 1),
            ],
        ),
        (Part(layer=1), [("encoder", 1), ("decoder", 1), ("cross", 1)]),
        (Part(attention="cross"), [("cross", 0), ("cross", 1)]),
        (Part(attention="encoder", layer=0), [("encoder", 0)]),
    ],
)
def test_the_layers_come_in_the_order_of_computation(part, expected):
    assert order(part) == expected


def test_csv_has_a_column_more():
    trace = traced()
    found = list(csv.DictReader(io.StringIO("\n".join(csv_lines(trace, Part())))))
    assert list(found[0])[:3] == ["attention", "layer", "head"]
    assert len(found) == 2 * 4 * (4 * 4 + 2 * 2 + 2 * 4)
    for record in found:
        attention = trace.attentions[record["attention"]]
        layer, head, query, key = (int(record[n]) for n in ("layer", "head", "query", "key"))
        assert record["query_token"] == label(attention.queries.tokens[query])
        assert record["key_token"] == label(attention.keys.tokens[key])
        assert float(record["pattern"]) == attention.layers[layer].pattern[head, query, key]


def test_a_derivation_and_a_worksheet_of_cross_attention():
    options = ["--target", TARGET, "--attention", "cross", "--query", "1", SOURCE]
    derived = attn_tui("show", "--derive", "--key", "3", *options).stdout.decode()
    assert derived.startswith("Derivation · cross · layer 0 · head 0 · query 1 bola → key 3 blue\n")
    assert "weight of 3 blue" in derived
    assert "FAILED" not in derived
    assert "the key's is what leaves the encoder" in " ".join(derived.split())
    exercise = attn_tui("worksheet", *options).stdout.decode()
    assert exercise.startswith("# Attention by hand: cross, layer 0, head 0, query 1 bola\n")
    assert "| 3 blue |" in exercise
    assert "| 0.724 |" in exercise


def test_the_mask_of_the_decoder_is_said_in_its_derivation():
    options = ["--target", TARGET, "--attention", "decoder"]
    derived = attn_tui("show", "--derive", *options, SOURCE).stdout.decode()
    assert "mask causal" in derived
    assert "it never sees what follows" in derived


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x", "--target", ""], "the target is empty: type a sentence, or leave the target out"),
        (["x", "--target", " \n"], "the target is empty"),
        (["x", "--attention", "cross"], "there is no cross without a target: give a target"),
        (["x", "--attention", "both"], "'both' is not one of"),
        (["x", "--target", "y", "--query", "0"], "--query needs --attention encoder, decoder or"),
        (["x", "--target", "y", "--attention", "cross", "--query", "1"], "query 1 is out of range"),
        (
            ["x", "--target", "y z", "--block", "1"],
            "blocked key 1 is out of range: 0 is the only one, since counting starts there",
        ),
        (["x", "--target", "y", "--derive", "--key", "0"], "--key needs --attention"),
        (["--lesson", "by-hand", "--target", "y"], "--target does not go with --lesson"),
    ],
)
def test_refusals(arguments, words):
    assert words in sentence(attn_tui("show", *arguments))


def test_notes_about_a_target():
    result = attn_tui("show", "--target", "\udcff", "x")
    assert result.stderr.decode().startswith("attn-tui: note: target: ")


def test_another_text_is_refused_beside_a_target():
    result = attn_tui("show", SOURCE, "--target", TARGET, "--compare", "The ball is red")
    assert "with a target no other text is compared: leave the target or" in sentence(result)


def test_numbers_typed_over_stand_beside_the_masks():
    switches = Switches(edits=(Edit("x", (0, 0), 2.0),))
    lines = list(
        table_lines(run(Request(SOURCE, switches=switches, target=TARGET)), Part(), 3, None)
    )
    assert lines[1].startswith("1 number typed over · encoder mask none, decoder mask causal, cros")
