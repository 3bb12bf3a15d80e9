"""``show --statistics``: every head with its badge and numbers, as a table, JSON and CSV."""

import csv
import io
import json

import pytest

from core.head_statistics import layer_facts, meant
from core.names import STATISTICS
from core.reading import Reading, read_layer
from core.runner import run
from core.types import ModelSpec, Request
from tests.cli.command import attn_tui, sentence
from tests.core.small_checkpoints import speaking

TEXT = "the black cat saw the dog and the black cat ran"
MODEL = ("--layers", "2", "--heads", "3", "--d-model", "12")


def printed(*words):
    result = attn_tui("show", "--statistics", *words)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode()


def expected(target=None, reading=None):
    trace = run(Request(TEXT, model=ModelSpec(2, 3, 12), target=target))
    order = [("encoder", 0), ("encoder", 1)]
    if target is not None:
        order += [("decoder", 0), ("cross", 0), ("decoder", 1), ("cross", 1)]
    found = []
    for name, layer in order:
        attention = trace.attentions[name]
        read = None if reading is None else read_layer(reading, attention, layer)
        facts = layer_facts(trace, attention, layer, meant(attention, read), read)
        found += [(name, each) for each in facts]
    return found


@pytest.mark.parametrize("target", [None, "un gato negro"])
def test_json(target):
    words = [] if target is None else ["--target", target]
    found = json.loads(printed(*MODEL, *words, "--format", "json", TEXT))
    assert found["schema"] == 1
    assert found["text"] == TEXT
    assert found["heads"] == [
        {
            "attention": name,
            "layer": each.layer,
            "head": each.head,
            "badge": each.badge,
            "number": each.number,
            **each.values,
        }
        for name, each in expected(target)
    ]


@pytest.mark.parametrize("target", [None, "un gato negro"])
def test_what_is_read_is_measured_and_said(target):
    words = [] if target is None else ["--target", target]
    words = ["--words", "--drop", "first,3", *MODEL, *words, TEXT]
    reading = Reading(words=True, drop="first", keys=frozenset({3}))
    found = json.loads(printed(*words, "--format", "json"))
    assert found["reading"]["drop"] == "first"
    facts = expected(target, reading)
    assert [each["evenness"] for each in found["heads"]] == [
        each.values["evenness"] for _name, each in facts
    ]
    assert found["heads"][0]["first"] is None
    lines = printed(*words).splitlines()
    said = "read: words · first key + key 3 saw dropped · the rest of each row made 1 again"
    assert said in lines[: lines.index("")]


@pytest.mark.parametrize("target", [None, "un gato negro"])
def test_csv(target):
    words = [] if target is None else ["--target", target]
    rows = list(csv.DictReader(io.StringIO(printed(*MODEL, *words, "--format", "csv", TEXT))))
    for row, (name, each) in zip(rows, expected(target), strict=True):
        assert (row["attention"], row["layer"], row["head"]) == (
            name,
            str(each.layer),
            str(each.head),
        )
        assert row["badge"] == (each.badge or "")
        assert row["number"] == ("" if each.number is None else repr(each.number))
        for statistic in STATISTICS:
            value = each.values[statistic]
            assert row[statistic] == ("" if value is None else repr(value))


def test_table():
    lines = printed(*MODEL, "--precision", "2", TEXT).splitlines()
    assert lines[0].startswith("seeded · seed 0")
    assert lines[4].startswith("means over the rows whose weight could have gone elsewhere")
    assert lines[5].split() == ["badge", *STATISTICS]
    for line, (_name, each) in zip(lines[6:], expected(), strict=True):
        numbers = [each.number, *each.values.values()]
        shown = ["–" if value is None else f"{value:.2f}" for value in numbers]
        place = ["layer", str(each.layer), "·", "head", str(each.head)]
        assert line.split() == [*place, each.badge, *shown]


def test_one_layer_and_one_head():
    lines = printed(*MODEL, "--layer", "1", "--head", "2", TEXT).splitlines()
    assert len(lines) == 7
    assert lines[-1].startswith("layer 1 · head 2")


def test_one_attention():
    words = (*MODEL, "--target", "un gato", "--attention", "cross", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(printed(*words, TEXT))))
    assert {row["attention"] for row in rows} == {"cross"}
    assert {row["self"] for row in rows} == {""}


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("--derive",), "derive"),
        (("--query", "1"), "query"),
        (("--compare", "a b"), "compare"),
    ],
)
def test_what_does_not_go_with_it(words, name):
    result = attn_tui("show", "--statistics", *words, TEXT)
    said = f"--statistics is about whole heads of one text: leave --{name} out."
    assert sentence(result) == f"attn-tui: {said}\n"


def test_with_predictions_or_as_arrays(tmp_path):
    model = ("--model", speaking("gpt2-head", tmp_path))
    result = attn_tui("show", "--statistics", "--predictions", *model, "t5 t6")
    assert "leave --predictions out" in sentence(result)
    result = attn_tui("show", "--statistics", "--format", "npz", "--output", "-", TEXT)
    assert "--statistics prints a table, json or csv, not npz" in sentence(result)


def test_markdown_is_refused():
    assert "markdown is for derivations" in sentence(
        attn_tui("show", "--statistics", "--format", "markdown", TEXT)
    )


def test_a_lesson():
    assert "layer 0 · head 0" in printed("--lesson", "by-hand")
