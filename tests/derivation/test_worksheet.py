"""A row as an exercise: what is given, what is blank, and the answers."""

import re

import pytest
from hypothesis import given

from core import Edit, Mask, ModelSpec, Request, Switches, run
from core.errors import SettingError
from tests.derivation.requests import DERIVATION, places
from tui.printing.worksheet import ANSWERS, worksheet


def sheet(text="The ball is blue", query=3, precision=3, model=None, **switches):
    request = Request(text, "spaces", model or ModelSpec(), Switches(**switches))
    lines = list(worksheet(run(request), 0, 0, query, precision))
    middle = lines.index("---")
    return lines[:middle], lines[middle + 1 :]


def test_blue():
    exercise, answers = sheet()
    assert exercise[0] == "# Attention by hand: layer 0, head 0, query 3 blue"
    assert "- d\\_head = 4" in exercise
    assert "|  | -2.582 | +0.994 | +0.168 | -0.224 |" in exercise
    assert "| 1 ball | -1.610 | -0.835 | +0.483 | -0.871 | yes |" in exercise
    assert "| 1 ball | +3.182 | +0.384 | +2.590 | -0.567 |" in exercise
    assert "| 1 ball | ____ | ____ | ____ | ____ |" in exercise
    assert answers[1] == f"## {ANSWERS}"
    assert "| 1 ball | +3.603 | +1.802 | 1.000 | 0.707 |" in answers
    assert "sum of the row: 1.414" in answers
    assert "|  | +2.138 | +0.343 | +1.888 | +0.037 |" in answers
    assert (
        "e^(score − largest): printed terms add up to 1.415; the difference is rounding." in answers
    )


@DERIVATION
@given(places())
def test_every_blank_has_an_answer(drawn):
    """The answer sheet is the exercise with its blanks filled in, line by line."""
    request, (layer, head, query, _, attention) = drawn
    trace = run(request)
    if len(trace.tokens) > 16:
        with pytest.raises(SettingError):
            worksheet(trace, layer, head, query, 3, attention)
        return
    lines = list(worksheet(trace, layer, head, query, 3, attention))
    middle = lines.index("---")
    asked = lines[lines.index("## Work out") + 4 : middle - 1]
    given_back = lines[middle + 6 :]
    assert any("____" in line for line in asked)
    assert not any("____" in line for line in given_back)
    for blank, answer in zip(asked, given_back, strict=False):
        assert re.fullmatch(re.escape(blank).replace("____", ".+"), answer)


def test_masked_keys():
    exercise, answers = sheet(query=0, mask=Mask(causal=True))
    assert sum(line.endswith("| no |") for line in exercise) == 3
    assert sum(line.endswith("| – | 0 |") for line in answers) == 3


def test_a_typed_score_is_given_and_answered():
    edits = (Edit("attn_scores", (0, 0, 3, 1), -1.0), Edit("attn_scores", (0, 0, 2, 1), 5.0))
    exercise, answers = sheet(edits=edits)
    assert [line for line in exercise if "typed over" in line] == [
        "- typed over: the score of 1 ball is -1.000, in place of q·k ÷ divisor"
    ]
    assert "| 1 ball | +3.603 | -1.000 | 0.387 | 0.128 |" in answers


def test_tokens_cannot_break_a_table():
    exercise, _ = sheet("a|b `c` *d*", 0)
    assert any(line.startswith(r"| 0 a\|b | ") for line in exercise)
    assert any(line.startswith(r"| 2 \*d\* | ") for line in exercise)


@pytest.mark.parametrize(
    ("text", "model", "words"),
    [
        ("a " * 17, ModelSpec(), "17 tokens are more than a worksheet holds (16): use a shorter"),
        ("a", ModelSpec(1, 1, 17), "d_head 17 is more than a worksheet holds (16): use more heads"),
    ],
)
def test_what_is_too_much_is_refused(text, model, words):
    with pytest.raises(SettingError) as caught:
        sheet(text, 0, model=model)
    assert words in str(caught.value)
