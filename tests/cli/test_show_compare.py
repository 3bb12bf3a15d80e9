"""`attn-tui show --compare`: two texts side by side, and everything else as it was."""

import csv
import io
import json

import pytest

from core.compare import compare
from core.runner import run
from core.types import Mask, ModelSpec, Request, Switches
from tests.cli.command import attn_tui, sentence
from tui.printing.show import formatted
from tui.printing.table import Part

ONE, OTHER = "The black cat drank the milk", "The cat drank sour milk"
RANKED = """\
seeded · seed 0 · 1 layer × 4 heads · d_model 16 · random weights: the mechanism, not meaning
mask none · ÷√4 on · temperature 1 · positions on
6 tokens · tokenizer mixed
compared with: The cat drank sour milk
4 tokens in both · 2 only in this (-) · 1 only in the other (+)

heads by change: the mean of ½ Σ |other − this| over the tokens in both
                  change
layer 0 · head 1   0.491
layer 0 · head 3   0.388
layer 0 · head 0   0.343
layer 0 · head 2   0.260

layer 0 · change of each row (query ↓, head →)
         head 0  head 1  head 2  head 3
0 The     0.301   0.619   0.396   0.440
2 cat     0.582   0.269   0.206   0.413
3 drank   0.144   0.472   0.309   0.486
5 milk    0.346   0.602   0.131   0.214
"""
ROW = """\
layer 0 · head 1 · query 2 cat · ½ Σ |change| = 0.269
          this  other  change
  The    0.252  0.305  +0.053
- black  0.128         -0.128
  cat    0.273  0.350  +0.077
  drank  0.136  0.156  +0.020
- the    0.141         -0.141
+ sour          0.106  +0.106
  milk   0.070  0.083  +0.014
"""


def printed(form="table", part=None, one=ONE, other=OTHER, model=None, **switches):
    trace = run(Request(one, "mixed", model or ModelSpec(), Switches(**switches)))
    compared = compare(trace, other)
    lines = formatted(trace, form, part or Part(), 3, None, compared)
    return "\n".join(lines) + "\n", compared


def records(**options):
    text, compared = printed("csv", **options)
    return list(csv.DictReader(io.StringIO(text))), compared


def test_heads_and_rows_by_their_change():
    result = attn_tui("show", "--compare", OTHER, ONE)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.decode() == RANKED


def test_a_query_side_by_side():
    result = attn_tui("show", "--compare", OTHER, "--query", "2", "--head", "1", ONE)
    assert result.stdout.decode().endswith(f"\n\n{ROW}")


def test_layers_and_heads_that_are_not_asked_for_are_left_out():
    text, _ = printed(part=Part(layer=1, head=2), model=ModelSpec(layers=2))
    ranking = text.split("\n\n")[1].splitlines()
    assert [line.split("  ")[0] for line in ranking[2:]] == ["layer 1 · head 2"]
    assert "layer 0" not in text


def test_a_query_that_only_this_text_has():
    text, _ = printed(part=Part(query=1))
    assert text.endswith("\n\n1 black is in this text only: there is no other row\n")


def test_texts_without_a_common_token_have_no_ranking():
    text, _ = printed(one="a", other="b")
    assert text.endswith("0 tokens in both · 1 only in this (-) · 1 only in the other (+)\n")


def test_masked_cells_are_dashes_and_absent_ones_are_empty():
    text, _ = printed(part=Part(head=0, query=2), mask=Mask(causal=True))
    rows = [line.split() for line in text.split("\n\n")[1].splitlines()[2:]]
    assert rows[1][:2] == ["-", "black"]
    assert rows[3] == ["drank", "–", "–", "0.000"]
    assert rows[5] == ["+", "sour", "–", "0.000"]


def test_scores_without_a_normalizer_have_signs():
    text, _ = printed(part=Part(head=0, query=2), normalizer="none")
    cat = next(line for line in text.splitlines() if line.startswith("  cat"))
    assert [number[0] for number in cat.split()[1:]] == ["-", "-", "+"]


def test_hostile_text_is_made_visible():
    text, _ = printed(other="a\x1b[2J \u202eb\nc", part=Part(query=0))
    assert all(line.isprintable() for line in text.splitlines())
    assert "compared with: a␛[2J ‹U+202E›b␊c" in text


def test_json_gains_the_comparison_and_nothing_else():
    result = attn_tui("show", "--format", "json", "--compare", OTHER, ONE)
    found, compared = json.loads(result.stdout), printed()[1]
    gained = found.pop("compare")
    assert found == json.loads(attn_tui("show", "--format", "json", ONE).stdout)
    assert gained["text"] == OTHER
    assert [token["text"] for token in gained["tokens"]] == OTHER.split()
    assert gained["alignment"] == [[0, 0], [1, None], [2, 1], [3, 2], [4, None], [None, 3], [5, 4]]
    assert gained["heads"] == [each._asdict() for each in compared.ranking]


def test_csv_gains_columns_from_which_the_change_can_be_added_up():
    found, compared = records()
    usual = list(
        csv.DictReader(io.StringIO("\n".join(formatted(compared.one, "csv", Part(), 3, None))))
    )
    assert list(found[0])[: len(usual[0])] == list(usual[0])
    mine = [{name: row[name] for name in usual[0]} for row in found if row["key"]]
    assert mine == usual
    for head in range(4):
        for i, j in compared.shared:
            rows = [row for row in found if (row["head"], row["query"]) == (str(head), str(i))]
            assert {row["other_query"] for row in rows} == {str(j)}
            half = sum(abs(float(row["change"])) for row in rows) / 2
            assert half == pytest.approx(compared.change(0, head, i))


def test_csv_of_what_one_text_does_not_have():
    found, compared = records()
    (lone,) = [row for row in found if (row["head"], row["query"], row["key"]) == ("0", "2", "")]
    assert (lone["key_token"], lone["pattern"], lone["other_key"]) == ("sour", "", "3")
    assert float(lone["change"]) == float(lone["other_pattern"])
    black = [row for row in found if (row["head"], row["query"]) == ("0", "1")]
    assert len(black) == len(compared.one.tokens)
    assert {row["other_query"] + row["change"] for row in black} == {""}


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_a_lesson_and_another_text(form):
    given = ("--lesson", "order", "--compare", "the dog saw a cat", "--format", form)
    assert "saw" in attn_tui("show", *given).stdout.decode()


def test_notes_about_the_other_text_are_said():
    result = attn_tui("show", "--compare", "a " * 2049, "a")
    assert result.stderr.decode() == "attn-tui: note: first 2,048 of 2,049 tokens\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "--compare", "", "a"), "the text to compare with is empty: type a word or a sen"),
        (("show", "--compare", " ", "--format", "json", "a"), "the text to compare with is empty"),
        (("show", "--compare", "b", "--derive", "a"), "--derive works out one text: leave out --c"),
        (
            ("show", "--lesson", "by-hand", "--compare", "b"),
            "given matrices belong to the words of",
        ),
    ],
)
def test_refusals(arguments, words):
    assert words in sentence(attn_tui(*arguments))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--compare", "", "a"), "the text to compare with is empty: type a word or a sentence."),
        (("--pane", "compare", "a"), "pane compare has nothing to show: give another text with"),
    ],
)
def test_the_explorer_refuses_on_the_shells_screen(arguments, words, monkeypatch, capsys):
    from tui import cli

    monkeypatch.setattr("tui.commands.explore.check_terminal", lambda: None)
    with pytest.raises(SystemExit) as exited:
        cli.main(arguments)
    assert exited.value.code == 2
    assert words in capsys.readouterr().err
