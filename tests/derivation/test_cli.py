"""`show --derive` and `worksheet`, run as a person's shell runs them."""

import pytest

from tests.cli.command import attn_tui, sentence

TEXT = "The ball is blue"


def out(*arguments):
    result = attn_tui(*arguments)
    assert result.returncode == 0, result.stderr
    assert result.stderr == b""
    return result.stdout.decode()


def test_derive():
    printed = out("show", "--derive", "--query", "3", "--key", "1", TEXT)
    assert printed.startswith("Derivation · layer 0 · head 0 · query 3 blue → key 1 ball\n")
    assert "  weight of 1 ball  1.000 ÷ 1.414 = 0.707\n" in printed
    assert "  this arithmetic equals the trace  ok\n" in printed


def test_derive_starts_at_0_and_takes_a_precision():
    printed = out("show", "--derive", "--precision", "5", TEXT)
    assert printed.startswith("Derivation · layer 0 · head 0 · query 0 The → key 0 The\n")
    assert "rounded to 5 digits" in printed


def test_derive_as_markdown():
    printed = out("show", "--derive", "--format", "markdown", "--head", "2", TEXT)
    assert printed.startswith("# Derivation · layer 0 · head 2")
    assert printed.count("\n## ") == 10


def test_derive_another_component():
    printed = out("show", "--derive", "--component", "3", TEXT)
    assert "  q[3] of 0 The: resid_pre times column 3 of W_Q, term by term\n" in printed
    assert "  attn_out[3] " in printed


def test_worksheet():
    printed = out("worksheet", "--query", "3", TEXT)
    assert printed.startswith("# Attention by hand: layer 0, head 0, query 3 blue\n")
    assert "\n---\n\n## Answers\n" in printed


def test_worksheet_into_a_file(tmp_path):
    path = tmp_path / "sheet.md"
    assert out("worksheet", "--output", str(path), TEXT) == ""
    assert path.read_text("utf-8") == out("worksheet", TEXT)


def test_worksheet_from_standard_input():
    result = attn_tui("worksheet", "-", stdin=TEXT.encode() + b"\n")
    assert result.stdout.decode() == out("worksheet", TEXT)


def test_a_text_that_is_the_word():
    """After -- it is a text, and what comes first is a command."""
    assert "query 0 worksheet" in out("worksheet", "worksheet")
    assert "needs a terminal" in attn_tui("--", "worksheet").stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "--derive", "--format", "json", "x"], "table or markdown, not json"),
        (["show", "--derive", "--format", "csv", "x"], "table or markdown, not csv"),
        (["show", "--format", "markdown", "x"], "markdown is for derivations"),
        (["show", "--key", "0", "x"], "--key is for derivations"),
        (["show", "--component", "0", "x"], "--component is for derivations"),
        (
            ["show", "--derive", "--key", "1", "x"],
            "key 1 is out of range: 0 is the only one, since counting starts there",
        ),
        (["show", "--derive", "--layer", "1", "x"], "layer 1 is out of range"),
        (["worksheet", "--head", "4", "x"], "head 4 is out of range"),
        (["worksheet", "a " * 17], "17 tokens are more than a worksheet holds (16)"),
        (["worksheet", "--heads", "1", "--d-model", "17", "x"], "d_head 17 is more than"),
        (["worksheet", "--key", "0", "x"], "No such option"),
        (["worksheet", "a", "b"], "put the text in quotes"),
    ],
)
def test_refusals(arguments, words):
    assert words in sentence(attn_tui(*arguments))
