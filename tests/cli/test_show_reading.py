"""`attn-tui show` with columns dropped or capped and words merged."""

import csv
import io
import json

import numpy as np
import pytest

from core import Mask, Request, Switches, run
from core.reading import Reading, average_queries, cut_columns, sum_keys, words_of
from core.reading import Rows as Read
from tests.cli.command import attn_tui
from tests.core.small_tokenizers import bert_tokenizer
from tui.printing.show import csv_lines, json_lines
from tui.printing.table import Part, table_lines

TEXT = "hello milking a world"  # [CLS] hello mil ##king a world [SEP]


@pytest.fixture
def traced(tmp_path):
    tokenizer = str(tmp_path / "tokenizer.json")
    bert_tokenizer(("mil", "##king")).save(tokenizer)
    return run(Request(TEXT, tokenizer, switches=Switches(Mask(causal=True))))


def by_hand(trace, columns, cap, head, merge):
    rows = cut_columns(trace.layers[0].pattern[head], columns, cap)
    if not merge:
        return rows
    words = words_of(trace.tokens)
    return average_queries(Read(sum_keys(rows.weights, words), rows.removed), words)


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("cap", [0.0, 0.1])
def test_json_says_what_was_read(traced, merge, cap):
    reading = Reading(merge, "specials", frozenset({4}), cap)
    plain = json.loads("\n".join(json_lines(traced, Part())))
    found = json.loads("\n".join(json_lines(traced, Part(reading=reading))))
    assert found.pop("reading") == {"words": merge, "drop": "specials", "keys": [4], "cap": cap}
    if merge:
        words = found.pop("words")
        assert words[2] == {"text": "milking", "start": 6, "end": 13, "tokens": [2, 3]}
        assert [token for word in words for token in word["tokens"]] == list(range(7))
    assert found["layers"][0].pop("columns") == [0, 4, 6]
    for head, each in enumerate(found["layers"][0]["heads"]):
        rows = by_hand(traced, [0, 4, 6], cap, head, merge)
        np.testing.assert_allclose(each.pop("read"), rows.weights, atol=1e-12)
        np.testing.assert_allclose(each.pop("removed"), rows.removed, atol=1e-12)
    assert found == plain  # what was there before is there as it was


def test_json_of_a_target_has_its_words_too():
    trace = run(Request("ab c", "chars", target="de f"))
    found = json.loads("\n".join(json_lines(trace, Part(reading=Reading(True, "first")))))
    assert [word["tokens"] for word in found["words"]] == [[0, 1], [2], [3]]
    assert [word["text"] for word in found["target_words"]] == ["de", " ", "f"]
    assert [layer["columns"] for layer in found["layers"]] == [[0]] * 3


@pytest.mark.parametrize("merge", [False, True])
def test_csv_has_a_line_for_each_cell(traced, merge):
    part = Part(head=1, reading=Reading(merge, "first"))
    lines = list(csv.DictReader(io.StringIO("\n".join(csv_lines(traced, part)))))
    rows = by_hand(traced, [0], 0.0, 1, merge)
    count = len(rows.weights)
    assert len(lines) == count * count
    for line, (query, key) in zip(lines, np.ndindex(count, count), strict=True):
        assert (int(line["query"]), int(line["key"])) == (query, key)
        assert float(line["read"]) == pytest.approx(rows.weights[query, key])
        assert float(line["removed"]) == pytest.approx(rows.removed[query])
        if not merge:
            assert float(line["pattern"]) == traced.layers[0].pattern[1, query, key]
    assert lines[2]["key_word" if merge else "key_token"] == ("milking" if merge else "mil")


def test_csv_of_the_row_of_a_word(traced):
    part = Part(head=1, query=3, reading=Reading(words=True))
    lines = list(csv.DictReader(io.StringIO("\n".join(csv_lines(traced, part)))))
    assert {(line["query"], line["query_word"]) for line in lines} == {("2", "milking")}


def test_a_table_says_first_what_was_read(traced):
    part = Part(head=1, reading=Reading(True, "first"))
    lines = list(table_lines(traced, part, 3, None))
    facts = lines[: lines.index("")]
    assert facts[-1] == "read: words · first key dropped · the rest of each row made 1 again"
    rows = by_hand(traced, [0], 0.0, 1, True)
    header, first, second, third = lines[lines.index("") + 2 :][:4]
    assert header.split()[-1] == "removed"
    assert first.split()[2:] == ["×", *"–––––", "1.000"]  # all dropped
    cells = [f"{rows.weights[1, 1]:.3f}", *"––––", f"{rows.removed[1]:.3f}"]
    assert second.split()[2:] == ["×", *cells]
    assert third.split()[:3] == ["2", "milking", "2–3"]  # its tokens, which --query counts
    assert header.split()[4:9] == ["2", "milking", "2–3", "3", "a"]
    assert third.split()[4] == f"{rows.weights[2, 1]:.3f}"
    assert third.split()[-1] == f"{rows.removed[2]:.3f}"


def test_a_table_of_one_query_says_what_each_head_lost(traced):
    part = Part(query=3, reading=Reading(True, "first"))
    lines = list(table_lines(traced, part, 3, None))
    removed = [by_hand(traced, [0], 0.0, head, True).removed[2] for head in range(4)]
    assert "layer 0 · query 2 milking 2–3 · pattern (key ↓, head →)" in lines
    assert any(line.startswith("2 milking 2–3  ") for line in lines)
    said = next(line for line in lines if line.startswith("removed"))
    assert said.split()[1:] == [f"{each:.3f}" for each in removed]
    out = traced.layers[0].attn_out[2:4].mean(axis=0)
    assert lines[-1].startswith("attn_out, average of 2 tokens")
    assert lines[-1].split()[5:] == [f"{each:+.3f}" for each in out]


def test_a_table_of_words_alone_removes_nothing(traced):
    text = "\n".join(table_lines(traced, Part(reading=Reading(words=True)), 3, None))
    assert "read: words\n" in text
    assert "removed" not in text


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (Reading(True, keys=frozenset({3})), "words · key 3 king dropped"),
        (Reading(keys=frozenset({3, 1})), "key 1 hello + key 3 king dropped"),
        (Reading(True, "first", frozenset({4}), 0.1), "words · first key + key 4 a capped at 0.1"),
        (Reading(keys=frozenset({1, 2, 3, 4})), "4 keys dropped"),
    ],
)
def test_keys_that_are_cut_are_named_unless_they_are_many(traced, reading, said):
    lines = list(table_lines(traced, Part(reading=reading), 3, None))
    assert lines[3] == f"read: {said} · the rest of each row made 1 again"


def test_tokens_are_named_without_their_numbers_again(traced):
    lines = list(table_lines(traced, Part(query=2, reading=Reading(drop="first")), 3, None))
    assert "layer 0 · query 2 mil · pattern (key ↓, head →)" in lines


def test_the_command_reads_too():
    result = attn_tui(
        "show", "--words", "--drop", "first,2", "--cap", "0.1", "--head", "0", "a b c"
    )
    assert result.returncode == 0
    assert b"read: words \xc2\xb7 first key + key 2 c capped at 0.1" in result.stdout
