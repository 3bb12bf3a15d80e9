"""What the READMEs name is there, and what is there is named."""

import re
import runpy
from pathlib import Path

import pytest

from core.language import set_language
from tui import cli
from tui.commands.explore import explore
from tui.keys import GRID_KEYS, GROUPS, LEARNING_KEYS
from tui.picture import picture
from tui.serve.options import NAMES as ALLOWANCES

ROOT = Path(__file__).parents[2]
README, CHINESE = (ROOT / name for name in ("README.md", "README.zh.md"))
PAGES = [README, CHINESE, *(ROOT / "docs" / name for name in ("lessons.md", "api.md", "ssh.md"))]
FOREIGN = {"--create-home", "--no-cache-dir", "--shell"}  # of useradd and pip
COMMANDS = (explore, *map(cli.load, cli.MODULES))


def options(*commands):
    return {
        name
        for command in commands
        for param in command.params
        for name in (*param.opts, *param.secondary_opts)
        if name.startswith("--")
    }


def named_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_that_a_page_names_is_one(page):
    there = options(*COMMANDS)
    assert named_in(page.read_text("utf-8")) - FOREIGN <= there


def test_the_readme_names_every_option_of_the_explorer_and_of_show():
    unnamed = {"--help", "--version", "--positions", "--scale", "--demo"}
    unnamed |= {f"--{name.replace('_', '-')}" for name in ALLOWANCES}
    assert options(explore, cli.load("show")) - unnamed <= named_in(README.read_text("utf-8"))


@pytest.mark.parametrize("page", [README, CHINESE], ids=lambda page: page.name)
def test_every_key_of_the_readme_is_one_and_every_letter_is_in_it(page):
    keys = [key for group in (*GROUPS.values(), LEARNING_KEYS, GRID_KEYS) for key in group]
    shown = {word for key in keys for word in key.shown.split()}

    table = page.read_text("utf-8").partition("\n| `↑`")[2].partition("\n\n")[0]
    named = set(re.findall(r"`([^`]+)`", "`↑`" + table))
    assert named <= shown
    doubles = set("igGKJVR2345")  # of arrows, of other keys, or the other way round
    assert {key for key in shown if len(key) == 1 and key.isalnum()} - doubles <= named


@pytest.mark.parametrize("name", ["explorer", "chinese"])
def test_the_pictures_are_what_the_explorer_shows(name):
    """Its words at least; ``python docs/pictures.py`` draws them anew."""
    size, view, theme = runpy.run_path(str(ROOT / "docs/pictures.py"))["PICTURES"][name]
    set_language("zh" if name == "chinese" else "en")

    def words(svg):
        return re.findall(r">([^<]*)</text>", svg)

    kept = (ROOT / "docs" / f"{name}.svg").read_text("utf-8")
    assert words(kept) == words(picture(view, theme, size))
