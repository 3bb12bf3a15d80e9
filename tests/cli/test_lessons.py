"""Lessons on the command line: listed, printed, and refused."""

import json
import shlex
import sys
import types
from dataclasses import replace

import pytest

from core.learning_types import Learning, Wish
from core.lessons import bundled_paths, open_lesson
from core.types import Edit, Mask
from tests.cli.command import attn_tui, environment, sentence
from tui import cli
from tui.command import command_line
from tui.lessons import Guide, view_at

TABLE = """\
by-hand · 1 layer × 1 head · d_model 2 · given matrices
mask none · ÷√2 on · temperature 1 · positions off
3 tokens · tokenizer spaces

layer 0 · head 0 · pattern (query ↓, key →)
         0 我     1 爱     2 你
0 我   0.4011   0.1978   0.4011
1 爱   0.3057   0.0743   0.6200
2 你   0.3177   0.0381   0.6443
"""


def test_the_list():
    lines = attn_tui("lessons").stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == list(bundled_paths())
    assert lines[0] == "by-hand         Three words, two dimensions, by hand"


def test_the_list_in_chinese():
    printed = attn_tui("lessons", env=environment(LC_ALL="zh_CN.UTF-8")).stdout.decode()
    assert printed.startswith("by-hand         三个词，两个维度，动手算一遍\n")


def test_a_table():
    printed = attn_tui("show", "--lesson", "by-hand", "--precision", "4").stdout.decode()
    assert printed == TABLE


def test_json():
    found = json.loads(attn_tui("show", "--lesson", "by-hand", "--format", "json").stdout)
    assert found["model"] == {
        "name": "by-hand",
        "layers": 1,
        "heads": 1,
        "d_model": 2,
        "d_head": 2,
        "seed": None,
    }
    assert found["switches"]["projections"] == "given"
    assert found["layers"][0]["heads"][0]["dot"] == [[1, 0, 1], [3, 1, 4], [4, 1, 5]]


def test_csv_and_derivation():
    printed = attn_tui("show", "--lesson", "by-hand", "--format", "csv").stdout.decode()
    assert printed.splitlines()[1].startswith("0,0,0,我,0,我,1.0,0.7071067811865")
    for options in ((), ("--format", "markdown")):
        result = attn_tui("show", "--lesson", "by-hand", "--derive", "--key", "2", *options)
        assert "this arithmetic equals the trace  ok" in result.stdout.decode()


def test_a_worksheet():
    printed = attn_tui("worksheet", "--lesson", "by-hand", "--query", "1").stdout.decode()
    assert printed.startswith("# Attention by hand: layer 0, head 0, query 1 爱\n")
    assert "sum of the row" in printed
    again = attn_tui("worksheet", "--lesson", "by-hand", "--query", "1", "--no-scale")
    assert "- scaling by √2: off" in again.stdout.decode()


def test_switches_that_are_given_count():
    command = ("show", "--lesson", "order", "--positions", "--mask", "causal", "--block", "1")
    found = json.loads(attn_tui(*command, "--format", "json").stdout)["switches"]
    assert (found["positions"], found["mask"], found["blocked"]) == (True, "causal", [1])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "--lesson", "nothing"), "there is no lesson nothing: choose one of by-hand, "),
        (("show", "--lesson", ""), "the name of the lesson is empty: choose one of by-hand"),
        (("show", "--lesson", "by-hand", "a b c"), "a lesson has its own text"),
        (("show", "--lesson", "by-hand", "--seed", "0"), "--seed does not go with --lesson"),
        (("show", "--lesson", "by-hand", "--d-model", "2"), "--d-model does not go with"),
        (("show", "--lesson", "by-hand", "--query", "3"), "query 3 is out of range"),
        (("show", "--lesson", "/"), "lesson / is a folder"),
        (("worksheet", "--lesson", "nothing"), "there is no lesson nothing: choose one of"),
        (("worksheet", "--lesson", "order", "a"), "a lesson has its own text"),
        (("worksheet", "--lesson", "order", "--layers", "1"), "--layers does not go with --lesson"),
        (("worksheet", "--lesson", "by-hand", "--query", "3"), "query 3 is out of range"),
        (("show", "--lesson", "mine.toml"), "lesson mine.toml does not exist"),
    ],
)
def test_refusals(arguments, words):
    assert words in sentence(attn_tui(*arguments))


def test_a_teachers_file(tmp_path):
    file = tmp_path / "mine.toml"
    text = bundled_paths()["by-hand"].read_text()
    file.write_text(text.replace("w_q = [[1, 0], [1, 1]]", "w_q = [[1, 0]]"))
    said = sentence(attn_tui("show", "--lesson", str(file)))
    assert f"lesson {file}: model does not fit: w_q has 1 row but x has 2 columns" in said
    wrong = text.replace("0.0743", "0.075")
    assert wrong != text
    file.write_text(wrong)
    for command in (("show", "--lesson"), ("worksheet", "--lesson")):
        said = sentence(attn_tui(*command, str(file)))
        assert f"lesson {file}: expected" in said
        assert "row 1, column 1 is 0.0750 but pattern is 0.074320 there: correct the number" in said
    file.write_text(text.replace('"by-hand"', '"mine"'))
    assert attn_tui("show", "--lesson", str(file)).stdout.decode().startswith("mine · 1 layer")


@pytest.fixture
def opened(monkeypatch):
    """What the explorer is opened with."""
    found = []
    app = types.SimpleNamespace(AttnApp=lambda view, **rest: (view, rest))
    driver = types.SimpleNamespace(run_app=lambda app: found.append(app) or 0)
    monkeypatch.setitem(sys.modules, "tui.app", app)
    monkeypatch.setitem(sys.modules, "tui.terminal.driver", driver)
    monkeypatch.setattr("tui.commands.explore.check_terminal", lambda: None)
    return found


def test_the_explorer_opens_a_step(opened):
    lesson = open_lesson("order")
    for arguments, view, step in (
        (["order"], view_at(lesson, 0), 0),
        (["--step", "4", "order"], view_at(lesson, 3), 3),
    ):
        with pytest.raises(SystemExit):
            cli.main(["lesson", *arguments])
        assert opened.pop() == (view, {"theme": None, "lesson": lesson, "step": step})


def test_what_is_given_takes_the_place_of_the_steps_own(opened):
    with pytest.raises(SystemExit):
        cli.main(["lesson", "order", "--step", "6", "--mask", "none", "--pane", "tokens"])
    view, _ = opened.pop()
    assert (view.request.switches.mask, view.pane) == (Mask(), "tokens")
    assert not view.request.switches.positions


def test_wishes_that_are_given_count(opened):
    with pytest.raises(SystemExit):
        cli.main(["lesson", "order", "--head", "2", "--wish", "1:0=1", "--steps", "7"])
    view, _ = opened.pop()
    assert view.request.learning == Learning((Wish(1, ((0, 1.0),)),), 2, 7)


def test_the_wishes_of_a_step_stay_with_their_steps_and_can_be_taken_back(opened):
    for words, expected in (
        (["--steps", "7"], replace(open_lesson("learning").request_at(2).learning, steps=7)),
        (["--wish", "none"], None),
    ):
        with pytest.raises(SystemExit):
            cli.main(["lesson", "--step", "3", *words, "learning"])
        view, _ = opened.pop()
        assert view.request.learning == expected


def test_numbers_typed_over_take_the_place_of_the_steps_own(opened, tmp_path):
    file = tmp_path / "mine.toml"
    text = bundled_paths()["by-hand"].read_text().partition("[[expected]]")[0]
    switches = 'positions = false\nedits = ["x[0,0]=3", "w_q[0,1,0]=2"]'
    file.write_text(text.replace("positions = false", switches))
    lesson = open_lesson(str(file))
    own = lesson.request.switches.edits
    assert own == (Edit("x", (0, 0), 3.0), Edit("w_q", (0, 1, 0), 2.0))
    for arguments, edits in (
        ([], own),
        (["--set", "x[0,1]=4"], (Edit("x", (0, 1), 4.0),)),
        (["--set", "none"], ()),
    ):
        with pytest.raises(SystemExit):
            cli.main(["lesson", *arguments, str(file)])
        view, _ = opened.pop()
        assert view.request.switches.edits == edits
        assert shlex.split(command_line(view, guide=Guide(lesson)))[2:-1] == arguments


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ('"x[0,0]=1"', "switches.edits is no list of texts"),
        ("[1]", "switches.edits is no list of texts: write it as"),
        ('["x[0,0]=one"]', "switches.edits is refused: “one” is no number: type a number"),
        ('["x[3,0]=1"]', "steps 1 is refused: token 3 of x is out of range: choose 0 to 2"),
    ],
)
def test_edits_of_a_lesson_that_cannot_be(tmp_path, edits, words):
    file = tmp_path / "mine.toml"
    text = bundled_paths()["by-hand"].read_text()
    file.write_text(text.replace("positions = false", f"positions = false\nedits = {edits}"))
    assert words in sentence(attn_tui("show", "--lesson", str(file)))


@pytest.mark.parametrize("step", ["0", "8"])
def test_a_step_that_is_not_there(opened, step, capsys):
    with pytest.raises(SystemExit) as exited:
        cli.main(["lesson", "by-hand", "--step", step])
    assert exited.value.code == 2
    said = capsys.readouterr().err
    assert said == f"attn-tui: step {step} is out of range: lesson by-hand has 1 to 7.\n"
