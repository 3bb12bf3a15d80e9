"""Which command a line of arguments means, and what it asks for."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version

import pytest

from core import Mask, Request, run
from core.language import LANGUAGES
from core.resources import data_path
from tests.cli.command import attn_tui
from tests.cli.test_command import view_of
from tui import cli
from tui.asked import PLACES
from tui.choices import EXAMPLE, PANES
from tui.commands.explore import explore
from tui.commands.show import show
from tui.scene import View
from tui.serve.options import NAMES as ALLOWANCES


def test_without_arguments_the_view_is_the_default_one():
    assert view_of([]) == View()


def test_every_place_of_a_view_has_an_option():
    assert set(PLACES) | {"request", "reading"} == set(View.__dataclass_fields__)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["cat"], "cat"),
        (["--seed", "3", "cat"], "cat"),
        (["cat", "--seed", "3"], "cat"),
        (["--", "show"], "show"),
        (["--", "-x"], "-x"),
        (["--seed", "3", "--", "--help"], "--help"),
        (["-"], "-"),
        (["showing"], "showing"),
        (["explore"], "explore"),
        (["Show"], "Show"),
    ],
)
def test_an_unknown_first_word_is_the_text(words, text):
    assert view_of(words).request.text == text


@pytest.mark.parametrize(
    "words",
    [["show", "x"], ["show", "x", "--seed", "3"], ["show", "--seed", "3", "--", "x"], ["show"]],
)
def test_show_comes_first(words):
    assert cli.parse(words).command is show


def test_show_prints_the_word_show():
    assert "0 show" in attn_tui("show", "show").stdout.decode()


@pytest.mark.parametrize(
    ("written", "mask"),
    [
        ("none", Mask()),
        ("causal", Mask(causal=True)),
        ("window:0", Mask(window=0)),
        ("window:12", Mask(window=12)),
        ("causal+window:2", Mask(causal=True, window=2)),
    ],
)
def test_masks(written, mask):
    assert view_of(["--mask", written]).request.switches.mask == mask
    assert mask.name == written


def test_blocked_keys():
    mask = view_of(["--block", "2, 0,2"]).request.switches.mask
    assert mask == Mask(blocked=frozenset({0, 2}))


def test_show_and_the_explorer_share_their_options():
    own = {"--help", "--format", "--output", "--derive", "--predictions", "--lesson", "--size"}
    own |= {"--statistics"}
    explorer = {"--ascii", "--version", "--help"}
    explorer |= {
        "--demo",
        *(f"--{name.replace('_', '-')}" for name in ALLOWANCES),
    }

    def names(command):
        return {name for param in command.params for name in (*param.opts, *param.secondary_opts)}

    assert names(show) - names(explore) == own - {"--help"}
    assert names(explore) - names(show) == explorer - {"--help"}


@pytest.mark.parametrize("arguments", [["--help"], ["show", "--help"], ["worksheet", "--help"]])
def test_help(arguments):
    result = attn_tui(*arguments)
    printed = result.stdout.decode()
    assert (result.returncode, result.stderr) == (0, b"")
    assert printed.startswith("Usage: attn-tui")
    command = "worksheet" if arguments[0] == "worksheet" else "show"
    assert f"attn-tui {command} [OPTIONS] TEXT" in printed
    assert "count from 0" in re.sub(r"\s+", " ", printed)
    assert max(map(len, printed.splitlines())) <= 80


def test_every_pane_is_named_in_the_help():
    (option,) = (each for each in explore.params if each.name == "pane")
    assert all(re.search(rf"\b{pane}\b", option.help) for pane in PANES)


def test_every_option_has_a_help_text():
    for command in (explore, show):
        for param in command.params:
            assert param.name == "words" or param.help


def test_version():
    result = attn_tui("--version")
    assert result.stdout.decode() == f"attn-tui {version('attn-tui')}\n"


IMPORTED = """
import sys
from tui.cli import main
try:
    main(sys.argv[1:])
except SystemExit as done:
    assert not done.code, done.code
print(*(name for name in ("numpy", "textual", "tokenizers", "rich") if name in sys.modules))
"""


@pytest.mark.parametrize(
    ("arguments", "imported"),
    [
        (["--help"], []),
        (["--version"], []),
        (["show", "--help"], []),
        (["show", "x"], ["numpy", "tokenizers", "rich"]),
        (["show", "x", "--format", "json"], ["numpy", "tokenizers", "rich"]),
        (["show", "x", "--format", "csv"], ["numpy", "tokenizers", "rich"]),
    ],
)
def test_what_is_imported(arguments, imported):
    result = subprocess.run(
        [sys.executable, "-c", IMPORTED, *arguments], capture_output=True, timeout=60
    )
    assert result.stdout.decode().splitlines()[-1].split() == imported


def test_the_explorer_opens_what_was_asked_for(monkeypatch):
    import types

    opened = []
    app = types.SimpleNamespace(AttnApp=lambda view, theme, **lesson: (view, theme, lesson))
    driver = types.SimpleNamespace(run_app=lambda app: opened.append(app) or 7)
    monkeypatch.setitem(sys.modules, "tui.app", app)
    monkeypatch.setitem(sys.modules, "tui.terminal.driver", driver)
    monkeypatch.setattr("tui.commands.explore.check_terminal", lambda: None)
    with pytest.raises(SystemExit) as exited:
        cli.main(["a b", "--key", "1", "--theme", "nord", "--vector", "q"])
    assert exited.value.code == 7
    assert opened == [
        (View(Request("a b"), key=1, vector="q"), "nord", {"lesson": None, "step": 0})
    ]


def test_every_example_can_be_explored():
    with data_path("examples.toml").open("rb") as file:
        examples = tomllib.load(file)["examples"]
    texts = [entry["text"] for entry in examples]
    for language in LANGUAGES:
        titles = {entry["title"][language] for entry in examples}
        assert len(titles) == len(texts) >= 12
    assert {"我想吃酸菜鱼", "我喜欢喝可乐", EXAMPLE} <= set(texts)
    for text in texts:
        assert text == text.strip()
        assert not run(Request(text)).tokens.notices
