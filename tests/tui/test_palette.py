"""The command palette finds and runs everything that the explorer can do."""

from inspect import isawaitable

import pytest
from textual.command import CommandList
from textual.content import Content

from tests.tui.helpers import (
    HOSTILE,
    SENTENCE,
    explorer_of,
    find,
    make_view,
    open_app,
    press,
    sentence_of,
    settle,
    shown_text,
    view_of,
)
from tui.choices import PANES
from tui.keys import CHANGE, LOOK, PROGRAM
from tui.palette import ExplorerCommands, examples
from tui.screens.help import HelpScreen

ABSENT = ("compare", "predictions")
MODEL = {"layers": 3, "heads": 12, "d_model": 24}


async def hits(pilot, query=None):
    """Name to hit, in the order of their scores."""
    provider = ExplorerCommands(explorer_of(pilot.app))
    found = [hit async for hit in (provider.search(query) if query else provider.discover())]
    if query:
        found.sort(key=lambda hit: -hit.score)
    return {hit.text: hit for hit in found}


async def run(pilot, query, name):
    result = (await hits(pilot, query))[name].command()
    if isawaitable(result):
        await result
    await settle(pilot)


async def test_everything_is_there_before_a_search():
    async with open_app(make_view(model=MODEL)) as pilot:
        names = set(await hits(pilot))
        assert {f"Head {i}" for i in range(12)} | {f"Layer {i}" for i in range(3)} <= names
        assert {f"Pane: {pane}" for pane in PANES if pane not in ABSENT} <= names
        assert not {f"Pane: {pane}" for pane in ABSENT} & names
        assert {f"Example: {title}" for title, _ in examples()} <= names
        assert {f"Tokenizer: {name}" for name in ("mixed", "chars", "spaces")} <= names
        assert {"Theme: attn-dark", "Theme: attn-light", "Theme: nord"} <= names
        assert not any("ansi" in name for name in names)
        for key in (*LOOK, *CHANGE, *PROGRAM):
            if key.action != "app.command_palette":
                assert key.help[0].upper() + key.help[1:] in names


@pytest.mark.parametrize(
    ("query", "name", "fields"),
    [
        ("head 11", "Head 11", {"head": 11}),
        ("layer 2", "Layer 2", {"layer": 2}),
        ("vectors", "Pane: vectors", {"pane": "vectors"}),
        ("milk", "Token 5: milk", {"query": 5}),
        ("token 3", "Token 3: drank", {"query": 3}),
        ("next vector", "Next vector; beside the numbers, next array", {"vector": "input"}),
        ("digits", "More digits", {"precision": 4}),
        ("narrower", "Narrower matrix cells, more of the pattern", {"zoom": 2}),
    ],
)
async def test_a_search_finds_and_runs_what_selects(query, name, fields):
    async with open_app(make_view(model=MODEL)) as pilot:
        await run(pilot, query, name)
        assert {field: getattr(view_of(pilot), field) for field in fields} == fields
        assert explorer_of(pilot.app).scene.view == view_of(pilot)


async def test_a_search_runs_what_computes():
    async with open_app() as pilot:
        title, text = examples()[5]
        await run(pilot, "fish", f"Example: {title}")
        assert shown_text(pilot) == sentence_of(pilot).true_text == text
        await run(pilot, "causal", "Mask: none, causal, window")
        assert view_of(pilot).request.switches.mask.causal
        await run(pilot, "spaces", "Tokenizer: spaces")
        assert len(explorer_of(pilot.app).scene.queries) == 1
        assert view_of(pilot).request.switches.mask.causal
        assert shown_text(pilot) == text
        await run(pilot, "light", "Theme: attn-light")
        assert pilot.app.theme == "attn-light"


async def test_an_example_can_be_undone():
    async with open_app() as pilot:
        await run(pilot, "drink", "Example: Chinese: a drink")
        await press(pilot, "e", "ctrl+z")
        assert shown_text(pilot) == SENTENCE


async def test_a_search_runs_the_keys_of_the_program(monkeypatch):
    async with open_app() as pilot:
        copied = []
        monkeypatch.setattr(pilot.app, "copy_to_clipboard", copied.append)
        for query, name in (
            ("copy", "Copy the command that reopens this view"),
            ("help", "This help"),
        ):
            await run(pilot, query, name)
        assert len(copied) == 1
        assert isinstance(pilot.app.screen, HelpScreen)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
async def test_a_token_of_hostile_text_is_found_and_literal(text):
    """U04, U05, U06, X01, X10: names are content, not markup."""
    async with open_app(make_view(f"other {text}", tokenizer="spaces")) as pilot:
        found = await hits(pilot, "token 1")
        (name,) = [name for name in found if name.startswith("Token 1")]
        display = found[name].match_display
        assert isinstance(display, Content)
        assert display.plain == name
        assert not any(char in name for char in "\x1b\x9b\u202e")
        assert not text.isprintable() or text in name
        found[name].command()
        assert view_of(pilot).query == 1


async def test_a_search_lists_no_more_tokens_than_can_be_read():
    async with open_app(make_view("same " * 300)) as pilot:
        found = await hits(pilot, "same")
        tokens = [name for name in found if name.startswith("Token")]
        assert tokens == [f"Token {i}: same" for i in range(20)]


async def test_without_a_scene_there_are_no_tokens_but_all_else():
    async with open_app(make_view(" ")) as pilot:
        assert not [name for name in await hits(pilot, "token") if name.startswith("Token ")]
        assert "Head 0" in await hits(pilot, "head")


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=str)
async def test_typed_into_the_palette_itself(size):
    async with open_app(make_view("see [CLS] and [/] too", tokenizer="spaces"), size) as pilot:
        await press(pilot, "ctrl+p", *"cls")
        find(pilot, "Token 1: [CLS]")
        await press(pilot, "enter")
        assert view_of(pilot).query == 1
        await press(pilot, "ctrl+p", *"[/]")
        find(pilot, "Token 3: [/]")
        await press(pilot, "enter")
        assert view_of(pilot).query == 3
        await press(pilot, "e", "ctrl+p", *"four words", "enter")
        assert shown_text(pilot) == "The ball is blue"


async def test_page_keys_in_a_palette_without_room_for_its_list():
    """Textual's own list fails there: the terminal shrank while the palette was open."""
    async with open_app(make_view(), (40, 3)) as pilot:
        await press(pilot, "ctrl+p")
        for key in ("pagedown", "pageup", "down", "pagedown"):
            await press(pilot, key)
        pilot.app.screen.dismiss()
        await settle(pilot)
        assert explorer_of(pilot.app) is pilot.app.screen


async def test_two_keys_in_one_read_close_it_once():
    """The command runs, once; the second key finds a palette that is on its way out."""
    async with open_app(make_view()) as pilot:
        await press(pilot, "ctrl+p", *"causal")
        await pilot.pause()
        palette = pilot.app.screen
        commands = palette.query_one(CommandList)
        await press(pilot, "down")
        for _ in range(2):
            commands.action_select()
        await settle(pilot)
        assert pilot.app.screen is explorer_of(pilot.app)
        assert view_of(pilot).request.switches.mask.causal
        assert explorer_of(pilot.app).state.undone() is not None
