"""Every refusal is one sentence on error output, and exit code 2."""

import os
import pty
import subprocess

import pytest

from tests.cli.command import ATTN_TUI, attn_tui, environment, sentence
from tui import cli

SHARED = [
    (["x", "--heads", "5"], "5 heads cannot share d_model 16 evenly: choose a divisor"),
    (["x", "--heads", "0"], "heads 0 is out of range"),
    (["x", "--layers", "97"], "layers 97 is out of range: choose 1 to 96"),
    (["x", "--d-model", "0"], "d_model 0 is out of range"),
    (["x", "--d-model", "99999999999999999999"], "d_model 99999999999999999999 is out of range"),
    (["x", "--seed", "-1"], "seed -1 is out of range"),
    (["x", "--seed", "18446744073709551616"], "seed 18446744073709551616 is out of range"),
    (["x", "--seed", "1" * 5000], "is not a whole number"),
    (["x", "--seed", "1.5"], "'1.5' is not a whole number"),
    (["x", "--drop", "last"], "'last' names no columns: choose specials, first or key numbers"),
    (["x", "--drop", "specials,first"], "names no columns"),
    (["x", "--drop", ""], "'' names no columns"),
    (
        ["x", "--drop", "1"],
        "column 1 to drop is out of range: 0 is the only one, since counting starts there",
    ),
    (["x", "--drop", "first,-1"], "column -1 to drop is out of range"),
    (["x", "--cap", "0.1"], "there is no column to cap"),
    (["x", "--drop", "0", "--cap", "1"], "cap 1 is out of range: choose a weight from 0"),
    (["x", "--drop", "0", "--cap", "nan"], "cap nan is out of range"),
    (["x", "--drop", "0", "--cap", "half"], "'half' is no number"),
    (
        ["x", "--layer", "1"],
        "layer 1 is out of range: 0 is the only one, since counting starts there",
    ),
    (["x", "--layer", "-1"], "layer -1 is out of range"),
    (["x", "--head", "4"], "head 4 is out of range: choose 0 to 3"),
    (["a b", "--query", "2"], "query 2 is out of range: choose 0 to 1"),
    (["a b", "--block", "0,2"], "blocked key 2 is out of range: choose 0 to 1"),
    (["a b", "--block=-1"], "blocked key -1 is out of range"),
    (["a b", "--block", "0;1"], "is no list of key numbers"),
    (["a b", "--block", ""], "is no list of key numbers"),
    (["x", "--precision", "0"], "precision 0 is out of range: choose 1 to 12"),
    (["x", "--precision", "13"], "precision 13 is out of range"),
    (["x", "--set", "x[0,0]=warm"], "“warm” is no number: type a number such as -0.5, 2 or 1e-3"),
    (["x", "--set", "x[0,0]=1e999"], "“1e999” is too large"),
    (["x", "--set", "scores[0]=1"], "does not say what to type over: write it as attn_scores["),
    (
        ["x", "--set", "x[1,0]=1"],
        "token 1 of x is out of range: 0 is the only one, since counting starts there",
    ),
    (["x", "--temperature", "0"], "temperature 0.0 is out of range"),
    (["x", "--temperature", "nan"], "temperature nan is out of range"),
    (["x", "--temperature", "1" * 300 + "x"], "111111…' is no number"),
    (["x", "--temperature", "warm"], "'warm' is no number such as 0.5 or 2"),
    (["x", "--mask", "window"], "'window' is no mask"),
    (["x", "--mask", "window:-1"], "'window:-1' is no mask"),
    (["x", "--mask", "window:1+causal"], "is no mask"),
    (["x", "--mask", "Causal"], "'Causal' is no mask"),
    (["x", "--tokenizer", "no/such.json"], "tokenizer no/such.json does not exist"),
    (["x", "--tokenizer", os.sep], "is a folder"),
    (["x", "--tokenizer", os.devnull], "does not exist"),
    (["x", "--tokenizer", "n" * 300], "does not exist"),
    ([""], "the text is empty"),
    ([" \n\t\u3000"], "the text is empty"),
    (["The", "ball", "is"], 'put the text in quotes, as in "The ball …"'),
    (["The", "ball"], 'put the text in quotes, as in "The ball"'),
    (["x", "--heds", "2"], "A text that starts with - goes after --."),
    (["-5"], "No such option"),
    (["x", "--heads"], "requires an argument"),
    (["x", "--scale=yes"], "does not take a value"),
    (["x", "--wish", "0=1"], "'--wish': the wish “0=1” does not begin with a query: write QUERY"),
    (["x", "--wish", "0:0"], "“0” is no wished-for weight: write KEY=WEIGHT as in 3=0.6,2=0.3"),
    (
        ["x", "--wish", "0:1=1"],
        "there is no token 1 to wish for: 0 is the only one, since counting starts there",
    ),
    (["a b", "--wish", "0:1=1", "--mask", "causal"], "query 0 may not attend to key 1"),
    (["a b", "--wish", "0:1=0.9,0=0.2"], "weights of query 0 sum to 1.1: choose weights that sum"),
    (["a b", "--wish", "0:1=1", "--wish", "0:0=1"], "one a query: name each query once"),
    (["a b", "--wish", "0:1=1", "--normalizer", "none"], "learning goes through softmax"),
    (["a b", "--wish", "0:1=1", "--projections", "identity"], "has no W_Q and W_K that could"),
    (["a b", "--wish", "0:1=1", "--steps", "9999"], "9999 steps of learning are out of range"),
    (["a b", "--wish", "0:1=1", "--rate", "-1"], "learning rate -1.0 is out of range"),
    (["a b", "--wish", "0:1=1", "--learn-head", "4"], "head 4 cannot learn, for there is none"),
    (["x", "--steps", "3"], "there is nothing to learn: add --wish QUERY:KEY=WEIGHT"),
    (["x", "--wish", "none", "--rate", "1"], "there is nothing to learn"),
    # A terminal obeys nothing that comes back.
    (["x", "--\x1b]0;x\x07"], "No such option"),
    (["x", "--mask", "\x1b[2J\r\n"], "is no mask"),
    (["x", "--temperature", "\x9b31m\u202e"], "is no number such as 0.5 or 2"),
    (["x", "--wish", "\x1b[2J:\n"], "the wish “␛[2J:␊” does not begin with a query"),
    (["x", "--seed", "\u2028\udcff"], "is not a whole number"),
    (["x", "--tokenizer", "\x1b[2J\n"], "tokenizer ␛[2J␊ does not exist"),
    (["\x1b[2J\n", "\x07"], "put the text in quotes"),
]
SHOW_ONLY = [
    (["x", "--format", "xml"], "'xml' is not one of"),
    (["x", "--format", "\x1b["], "is not one of"),
    (["x", "--set", "x[0,0]=1e308"], "is not finite"),
    (["x", "--derive", "--component", "16"], "component 16 is out of range: choose 0 to 15"),
    (["x", "--key", "0"], "--key is for derivations"),
    (
        ["x", "--derive", "--words"],
        "--derive works out weights as they are computed: leave --words",
    ),
    (["x", "--compare", "y", "--drop", "0"], "--compare compares weights as they are computed:"),
    (["x", "--predictions", "--words"], "how patterns are read changes no prediction: leave --w"),
    (["x", "--normalizer", "none", "--drop", "0"], "do not sum to 1: leave out --drop"),
]
EXPLORE_ONLY = [
    (["a b", "--key", "2"], "key 2 is out of range: choose 0 to 1"),
    (["x", "--component", "16"], "component 16 is out of range: choose 0 to 15"),
    (["x", "--dim", "16"], "dim 16 is out of range: choose 0 to 15"),
    (["x", "--pane", "heads"], "'heads' is not one of"),
    (["x", "--vector", "w"], "'w' is not one of"),
    (["x", "--zoom", "3"], "'3' is not one of"),
    (["x", "--colours", "hot"], "'hot' is not one of"),
    (["x", "--format", "json"], "No such option"),
    (["--seed", "1", "show", "x"], "show, to print, goes before its options"),
    (["--seed", "1", "lesson", "order"], "lesson, as a command, goes before its options"),
]


def refuse(arguments, capsys):
    """Run in this process and return the one sentence."""
    with pytest.raises(SystemExit) as exited:
        cli.main(arguments)
    captured = capsys.readouterr()
    result = subprocess.CompletedProcess(
        arguments, exited.value.code, captured.out.encode(), captured.err.encode()
    )
    return sentence(result)


@pytest.mark.parametrize(("arguments", "expected"), SHARED + SHOW_ONLY)
def test_show_refuses(arguments, expected, capsys):
    assert expected in refuse(["show", *arguments], capsys)


@pytest.mark.parametrize(("arguments", "expected"), SHARED + EXPLORE_ONLY)
def test_the_explorer_refuses_before_its_screen_starts(arguments, expected, capsys, monkeypatch):
    monkeypatch.setattr("tui.commands.explore.check_terminal", lambda: None)
    assert expected in refuse(arguments, capsys)


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "x", "--mask", "\x1b[2J"],
        ["show", "x", "--\x1b[2J"],
        ["show", "x", "--tokenizer", "\udcff\x1b"],
        ["show", ""],
        ["show", "two", "words"],
        ["x", "--heds", "2"],
    ],
)
def test_the_installed_command_refuses(arguments):
    sentence(attn_tui(*arguments))


def test_the_explorer_needs_a_terminal():
    assert sentence(attn_tui("x")).startswith("attn-tui: needs a terminal, and standard input")


def test_a_number_that_overflows_is_refused():
    assert "is not finite" in sentence(attn_tui("show", "x", "--temperature", "1e-310"))


def test_a_model_that_is_too_large_for_the_text():
    text = "a " * 2000
    assert "GiB, and the budget is 1 GiB" in sentence(attn_tui("show", text, "--heads", "16"))


def test_show_without_a_text_at_a_terminal():
    parent, child = pty.openpty()
    result = subprocess.run([ATTN_TUI, "show"], stdin=child, capture_output=True, timeout=60)
    os.close(parent)
    os.close(child)
    assert "there is no text: give one in quotes, or give - to read" in sentence(result)


@pytest.mark.parametrize(
    ("stdin", "expected"),
    [
        ("我想吃酸菜鱼".encode("gb18030"), "standard input is not UTF-8 (byte 0 is 0xce)"),
        (b"ok \xff", "(byte 3 is 0xff): convert it first, for example with iconv"),
        ("我".encode("utf-16"), "standard input is not UTF-8"),
        (b"", "the text is empty"),
        (b"\xef\xbb\xbf\n", "the text is empty"),
        (b"a" * (2**24 + 1), "standard input holds more than 16 MiB"),
    ],
    ids=["gb18030", "one byte", "utf-16", "nothing", "only a mark", "too much"],
)
def test_standard_input_that_is_no_text(stdin, expected):
    assert expected in sentence(attn_tui("show", "-", stdin=stdin))


def test_standard_input_that_is_closed():
    command = f'"{ATTN_TUI}" show - <&-'
    result = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
    assert "standard input is closed" in sentence(result)


def test_no_memory_is_one_sentence(capsys, monkeypatch):
    import core.runner

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(core.runner, "trace", fail)
    assert "not enough memory" in refuse(["show", "x"], capsys)


def test_a_mistake_of_ours_keeps_its_traceback(monkeypatch):
    import core.runner

    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(core.runner, "trace", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main(["show", "x"])


def test_nothing_heavy_is_imported_for_a_refusal_of_an_option():
    code = (
        "import sys, tui.cli\n"
        "try: tui.cli.main(['show', '--nonsense'])\n"
        "except SystemExit: print('textual' in sys.modules)"
    )
    import sys

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment())
    assert result.stdout == b"False\n"
