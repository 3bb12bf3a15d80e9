"""Nothing that a person reads stays English where Chinese is spoken.

Two nets: sentences in the code that no marker holds, and English words on what is shown.
"""

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from core.language import set_language
from core.learning_types import Learning, Wish
from core.lessons import bundled_lessons
from core.names import ATTENTIONS, NORMALIZERS, PANES
from core.reading import Reading
from core.trained import describe
from core.types import Edit, Mask, Request
from tests.cli.test_refusals import EXPLORE_ONLY, SHARED, SHOW_ONLY
from tests.core.small_checkpoints import speaking
from tests.tui.helpers import (
    explorer_of,
    make_view,
    open_app,
    press,
    screen_text,
    settle,
)
from tui import cli
from tui.app import AttnApp
from tui.choices import EXAMPLE_TARGET
from tui.commands.explore import explore
from tui.lessons import view_at
from tui.palette import ExplorerCommands, examples
from tui.scene import View

ROOT = Path(__file__).parents[2]
MARKERS = {"_", "N_", "counted", "log"}  # a log is read by programs too, and stays English
SENTENCE = re.compile(r"[A-Za-z]{2,}[,:;]? [A-Za-z]{2,}")
# Sentences that nobody reads on a screen, or reads as they are in every language.
UNMARKED = {
    ("core/__init__.py", " has no attribute "),  # Python's own words, for who writes Python
    ("core/lesson_numbers.py", "the lesson compares with no text"),  # a mistake of ours
    ("tui/choices.py", "The ball is blue"),  # an example, and its translation
    ("tui/choices.py", "La bola es azul"),
    ("tui/palette.py", "next page"),  # bindings that no footer shows
    ("tui/palette.py", "page before"),
    ("tui/serve/web.py", 'Basic realm="attn-tui",charset="UTF-8"'),  # a header
}


def unmarked(tree):
    """Strings that are no docstring and in no marker's arguments; of f-strings each piece."""
    left = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in MARKERS:
                left |= {id(inner) for inner in ast.walk(node)}
        elif isinstance(node, ast.Expr):
            left.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left:
            yield node.value


def is_style(text):
    return "{\n" in text and ";" in text


def is_program(text):
    """Python to be run, or a script and a configuration to be printed."""
    return text.startswith(("from tui.", "#!/bin/sh", "# {configuration}"))


def test_every_sentence_in_the_code_is_marked():
    found = set()
    for package in ("core", "tui"):
        for path in (ROOT / package).rglob("*.py"):
            for text in unmarked(ast.parse(path.read_text())):
                if SENTENCE.search(text) and not (is_style(text) or is_program(text)):
                    found.add((path.relative_to(ROOT).as_posix(), text))
    assert found - UNMARKED == set()  # mark them with _ or N_
    assert UNMARKED - found == set()  # gone: take them out of the list


# What is the same in every language: names of arrays and keys, the program's own, a few terms.
KNOWN = {
    *("attn-tui", "pattern", "dot", "attn_scores", "attn_out", "resid_pre", "resid_post"),
    *("d_model", "d_head", "softmax", "LayerNorm", "MLP", "log", "ln", "W_Q", "W_K", "W_V", "W_O"),
    *("esc", "tab", "enter", "space", "del", "home", "end", "pgup", "pgdn"),
    *("mixed", "chars", "cos", "elu", "max", "Markdown", "BERT"),
}
WORD = re.compile(r"(?<![\dA-Za-z_])[A-Za-z][A-Za-z_'-]*[A-Za-z]")


def of_shell():
    """The words of the command line: of commands, options, choices and metavars."""
    words = {"Textual", "locale", "UTF-8", "iconv", "toml", "nord", "MiB", "GiB", "gguf"}
    words |= {"SSH", "OpenSSH", "ATTN_TUI_PASSWORD", "docs", "md"}
    words |= {"Hugging", "Face", "Ollama", "LM", "Studio"}
    for command in (explore, *map(cli.load, cli.MODULES)):
        for param in command.params:
            said = [command.name, param.name, param.metavar, param.default, *param.opts]
            said += [*param.secondary_opts, *getattr(param.type, "choices", ())]
            words.update(WORD.findall(" ".join(map(str, said))))
    return KNOWN | words


def english(text, *given, known=KNOWN):
    """The English words of a text, but for known ones and those of what was given, whole or cut."""
    text = re.sub(r"\\[ux][0-9a-f]+", " ", text)  # as repr writes what it cannot
    words = WORD.findall(" ".join(given))
    found = {word for word in WORD.findall(text) if word not in known}
    return {word for word in found if not any(each.startswith(word) for each in words)}


def test_english_is_found():
    assert english("头 0 · head 0 · d_model 1e-05 the") == {"head", "the"}
    assert english("文本 The ba… all", "The ball") == {"all"}


@pytest.fixture
def chinese(monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    set_language("zh")


TEXT, OTHER = "我想吃酸菜鱼", "我想喝可乐"
CONTROL = "👩‍👩‍👧\u200b\t\x1b🇨🇳"
FIRST = Reading(drop="first")
WORDS = Reading(True, "first", frozenset({1, 2}), 0.1)
DIGITS = {"text": "123 我想", "tokenizer": "chars", "query": 0}
LEARNED = Learning((Wish(1, ((0, 0.5),)),), 0, 3)
WINDOW = Mask(causal=True, window=1, blocked=frozenset({2}))
TYPED = (Edit("attn_scores", (0, 0, 0, 0), 1.5), Edit("x", (0, 0), 0.5))
VIEWS = {
    **{pane: {"pane": pane} for pane in PANES if pane != "compare"},
    "comparing": {"pane": "compare", "compare": OTHER, "query": 2},
    "learned": {"pane": "learning", "learning": LEARNED},
    "typed over": {"pane": "numbers", "switches": {"edits": TYPED, "normalizer": "linear"}},
    "a matrix": {"pane": "numbers", "array": "w_q", "model": {"layers": 2}},
    "masked": {"pane": "tokens", "query": 2, "mask": WINDOW, "model": {"layers": 2}},
    "identity": {"pane": "weights", "switches": {"projections": "identity", "normalizer": "none"}},
    "read": {"pane": "matrix", "mask": WINDOW, "query": 1, "colours": "row", "reading": FIRST},
    **{
        f"words {pane}": {**DIGITS, "pane": pane, "colours": "log", "reading": WORDS}
        for pane in ("tokens", "weights", "matrix", "vectors", "derivation")
    },
    "scores read": {"reading": WORDS, "switches": {"normalizer": "none"}},
    "unseen": {"text": CONTROL, "tokenizer": "chars", "pane": "tokens", "query": 2},
    "refused": {"text": " "},
    "no target": {"target": "", "attention": "cross"},
    **{
        f"{name} {pane}": {"target": OTHER, "attention": name, "pane": pane}
        for name in ATTENTIONS
        for pane in ("weights", "derivation", "numbers")
    },
    "long": {"text": TEXT * 400, "pane": "matrix", "model": {"heads": 2}},
}


def view_of(name):
    fields = dict(VIEWS[name])
    extra = {name: fields.pop(name) for name in ("learning", "target") if name in fields}
    view = make_view(fields.pop("text", TEXT), **fields)
    return replace(view, request=replace(view.request, **extra))


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=str)
@pytest.mark.parametrize("name", VIEWS)
async def test_every_view(name, size, chinese):
    async with open_app(view_of(name), size) as pilot:
        assert english(screen_text(pilot.app)) == set()


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("weights", ["e", "!"]),
        ("weights", ["o"]),
        ("weights", ["s"]),  # before and after
        ("weights", ["question_mark"]),
        ("weights", ["question_mark", "end"]),
        ("weights", ["ctrl+p"]),
        ("weights", ["ctrl+p", *"zzz"]),
        ("derivation", ["r"]),
        ("derivation", ["y"]),
        ("numbers", ["enter"]),
        ("numbers", ["enter", *"1,5", "enter"]),
        ("learning", ["space"]),
        ("learning", ["enter"]),
        ("learning", ["enter", *"9=1", "enter"]),
        ("identity", ["7", "right"]),
        ("long", ["6", "enter"]),
        ("weights", ["L"]),
        ("identity", ["W"]),
        ("decoder weights", ["F"]),
    ],
    ids=str,
)
async def test_what_keys_bring_up(name, keys, chinese):
    async with open_app(view_of(name)) as pilot:
        await press(pilot, *keys)
        given = ["zzz", *(text for _title, text in examples())]
        assert english(screen_text(pilot.app), *given) == set()


REAL = "t5 t17 t3 t29"  # of a small checkpoint, whose name and words are no English


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=str)
@pytest.mark.parametrize("keys", [[], ["M"], ["M", "down"], ["d", "r"], ["question_mark", "end"]])
@pytest.mark.parametrize("name", ["gpt2-head", "bert-legacy", "bert-plain"])
async def test_real_models(name, keys, size, chinese, tmp_path):
    model = describe(speaking(name, tmp_path, mask=9))
    view = View(Request(REAL, model=model))
    if model.predicts:
        view = replace(view, pane="predictions")
    async with open_app(view, size) as pilot:
        await press(pilot, *keys)
        given = (name, name.capitalize(), "UNK", "MASK", "GPT-2", "float", "Jain", "Wallace")
        found = english(screen_text(pilot.app), REAL, " ".join(given), known=of_shell())
        assert found == set()


async def test_a_screen_that_is_too_small(chinese):
    async with open_app(size=(50, 10)) as pilot:
        assert english(screen_text(pilot.app)) == set()


@pytest.mark.parametrize("lesson", bundled_lessons(), ids=lambda lesson: lesson.name)
async def test_every_step_of_a_lesson(lesson, chinese):
    """But for the words of its sentence, and those that the lesson itself says."""
    last = len(lesson.steps) - 1
    app = AttnApp(view_at(lesson, 0), lesson=lesson)
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await settle(pilot)
        for step in range(last + 1):
            request = lesson.request
            words = f"{request.text} {request.target} {lesson.compare} {lesson.steps[step].say.zh}"
            assert english(screen_text(app), words, lesson.name) == set()
            await press(pilot, "greater_than_sign")


async def test_every_command_of_the_palette(chinese):
    async with open_app(view_of("comparing")) as pilot:
        commands = list(ExplorerCommands(explorer_of(pilot.app))._commands())
        assert len(commands) > 100
        given = [
            *pilot.app.available_themes,
            EXAMPLE_TARGET,
            *(text for _title, text in examples()),
        ]
        given += [lesson.about.zh for lesson in bundled_lessons()]
        for command in commands:
            assert english(f"{command.name} {command.help}", *given, known=of_shell()) == set()


def printed(capsys, *words):
    """What a command prints, without the words that it was given."""
    with pytest.raises(SystemExit):
        cli.main(list(words))
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.mark.parametrize(
    "words",
    [
        ["show", TEXT],
        ["show", TEXT, "--words", "--drop", "first,1"],
        ["show", TEXT, "--words", "--drop", "specials,1", "--cap", "0.1", "--query", "1"],
        ["show", TEXT, "--query", "1", "--mask", "causal", "--block", "2"],
        ["show", TEXT, "--compare", OTHER],
        ["show", TEXT, "--target", OTHER],
        ["show", TEXT, "--target", OTHER, "--attention", "cross", "--derive"],
        ["show", TEXT, "--compare", OTHER, "--query", "1"],
        ["show", CONTROL, "--tokenizer", "chars"],
        ["show", TEXT, "--wish", "1:0=0.5", "--steps", "3"],
        *(["show", TEXT, "--derive", "--normalizer", name] for name in NORMALIZERS),
        ["show", TEXT, "--derive", "--mask", "causal", "--key", "2"],
        ["show", TEXT, "--derive", "--projections", "identity", "--no-positions", "--no-scale"],
        ["show", TEXT, "--derive", "--set", "attn_scores[0,0,0,0]=1", "--set", "x[0,0]=0.5"],
        ["show", TEXT, "--derive", "--format", "markdown", "--temperature", "1e-300"],
        ["show", "--lesson", "by-hand", "--derive"],
        ["worksheet", TEXT],
        ["worksheet", TEXT, "--mask", "causal", "--block", "0"],
        *(["worksheet", TEXT, "--normalizer", name] for name in NORMALIZERS),
        ["show", "我" * 3000, "--layer", "0", "--head", "0", "--query", "0"],
    ],
    ids=str,
)
def test_what_is_printed(words, chinese, capsys):
    assert english(printed(capsys, *words), *words, "```text") == set()


@pytest.mark.parametrize("words", [[], ["--query", "1"], ["--format", "csv"]])
@pytest.mark.parametrize(
    ("name", "masked"), [("gpt2-head", ""), ("bert-legacy", "1,2"), ("bert-legacy", "0")]
)
def test_what_is_predicted(name, masked, words, chinese, capsys, tmp_path):
    words = ["show", "--predictions", "--model", speaking(name, tmp_path, mask=9), *words, REAL]
    words += ["--mask-token", masked] * bool(masked)
    columns = "query_token rank token id probability actual"
    given = ("UNK", "MASK", "GPT-2", *columns.split())
    assert english(printed(capsys, *words), *words, *given, known=of_shell()) == set()


@pytest.mark.parametrize("name", ["llama-shards", "gemma2-window", "gpt2-head", "qwen3-head-dim"])
def test_what_is_derived_of_a_real_model(name, chinese, capsys, tmp_path):
    words = ["show", "--derive", "--model", speaking(name, tmp_path), "--query", "2", REAL]
    given = ("Llama", "Gemma", "GPT-2", "Qwen3", "float", "tanh")
    assert english(printed(capsys, *words), *words, *given, known=of_shell()) == set()


@pytest.mark.parametrize("command", [[], *([name] for name in cli.MODULES)], ids=str)
def test_help_of_the_command_line(command, chinese, capsys):
    assert english(printed(capsys, *command, "--help"), known=of_shell()) == set()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        *(("show", words) for words, _said in SHARED + SHOW_ONLY),
        *((None, words) for words, _said in EXPLORE_ONLY),
    ],
    ids=str,
)
def test_a_refusal(command, words, chinese, capsys, monkeypatch):
    monkeypatch.setattr("tui.commands.explore.check_terminal", lambda: None)
    said = printed(capsys, *filter(None, [command]), *words)
    assert re.search("[\u4e00-\u9fff]", said)
    assert english(said, *words, known=of_shell()) == set()
