"""The derivation on screen: it follows the cursor, steps, and is copied."""

import pytest
from rich.cells import cell_len

from core.language import set_language
from core.names import STAGES
from tests.tui.helpers import (
    explorer_of,
    find,
    line_text,
    make_view,
    open_app,
    press,
    says,
    settle,
    view_of,
)
from tui.printing.derivation import as_markdown, as_text, blocks_of

PANE = "#pane-derivation"


def start(**fields):
    return make_view(query=1, key=2, pane="derivation", **fields)


async def test_the_cursor_moves_the_derivation():
    async with open_app(start()) as pilot:
        find(pilot, "query 1 black → key 2 cat", PANE)
        await press(pilot, "down", "right")
        find(pilot, "query 2 cat → key 3 drank", PANE)
        await press(pilot, "full_stop")
        find(pilot, "head 1 · query 2 cat → key 3 drank", PANE)


async def test_an_edit_moves_the_derivation():
    async with open_app(start(stage="embedding")) as pilot:
        await press(pilot, "e", *"!!", "escape", "end")
        find(pilot, "query 7 ! → key 2 cat", PANE)


async def test_stepping_shows_one_stage_more_and_then_starts_again():
    async with open_app(start()) as pilot:
        for stage in STAGES:
            await press(pilot, "space")
            assert view_of(pilot).stage == stage
            shown = [block.stage for block in explorer_of(pilot.app)._derivation.blocks]
            reached = list(STAGES[: STAGES.index(stage) + 1])
            assert shown == ["heading", *reached, *["check"] * (stage == STAGES[-1])]
            find(pilot, f"stage {len(reached)} of 9: {stage}", PANE)
        await press(pilot, "space")
        assert view_of(pilot).stage == STAGES[0]
        await press(pilot, "b")
        assert view_of(pilot).stage == STAGES[-1]


async def test_a_new_stage_is_in_sight():
    async with open_app(start(stage="embedding"), (80, 24)) as pilot:
        await press(pilot, "space", "space", "space")
        find(pilot, "4 dot: q(1 black) · k(2 cat)", PANE)


async def test_its_sentences_are_folded_to_the_width_of_the_screen():
    async with open_app(start(), (80, 24)) as pilot:

        def longest():
            lines = [
                line for each in explorer_of(pilot.app)._derivation.blocks for line in each.lines
            ]
            return max(cell_len("".join(text for text, _role in line)) for line in lines)

        assert 60 < longest() <= 76
        await pilot.resize_terminal(60, 18)
        await settle(pilot)
        assert longest() <= 57
        find(pilot, "temperature 1 ·", PANE)


@pytest.mark.parametrize(("key", "write"), [("y", as_text), ("Y", as_markdown)])
async def test_the_derivation_is_copied_whole(key, write, monkeypatch):
    async with open_app(start(stage="dot")) as pilot:
        copied = []
        monkeypatch.setattr(pilot.app, "copy_to_clipboard", copied.append)
        await press(pilot, key)
        assert copied == ["\n".join(write(blocks_of(explorer_of(pilot.app).scene)))]
        assert "self" in copied[0]


async def test_elsewhere_the_command_is_copied_and_c_copies_it_anywhere(monkeypatch):
    async with open_app(start()) as pilot:
        copied = []
        monkeypatch.setattr(pilot.app, "copy_to_clipboard", copied.append)
        await press(pilot, "c", "2", "y", "c", "Y")
        assert copied[0] == (
            "attn-tui --query 1 --key 2 --pane derivation 'The black cat drank the milk'"
        )
        assert copied[1] == copied[2] == copied[0].replace("--pane derivation ", "")
        assert copied[3].startswith("# Derivation")


async def test_another_component_is_worked_out():
    async with open_app(start(stage="projections"), (120, 100)) as pilot:
        find(pilot, "q[0] of 1 black", PANE)
        await press(pilot, "right_curly_bracket", "right_curly_bracket")
        for name in ("q[2] of 1 black", "k[2] of 2 cat", "v[2] of 2 cat"):
            find(pilot, name, PANE)
        await press(pilot, "left_curly_bracket", "space", *["space"] * 5)
        find(pilot, "attn_out[1]", PANE)


async def test_nothing_is_made_anew_that_did_not_change(monkeypatch):
    """A focus, a click or a busy line publishes the same view again."""
    async with open_app(start()) as pilot:
        screen = explorer_of(pilot.app)
        first = screen.blocks()
        assert first is screen.blocks()
        assert first
        await press(pilot, "down")
        assert screen.blocks() is not first
        await press(pilot, "up")
        assert screen.blocks() == first
        await press(pilot, "2")
        assert screen.blocks() == ()
        assert screen._derived is None


async def test_nothing_is_derived_of_nothing():
    async with open_app(start()) as pilot:
        await press(pilot, "e", "ctrl+u", "escape", "y", "Y", "space")
        assert says(pilot, "The text is empty")


async def test_results_are_hidden_and_shown_one_by_one():
    async with open_app(start(stage="dot")) as pilot:
        whole = pane_lines(pilot)
        assert any("product" in line for line in whole)
        await press(pilot, "r")
        hidden = [line for line in pane_lines(pilot) if "____" in line]
        assert len(hidden) == 5  # four products and their sum
        find(pilot, "5 to guess: r shows one, R all", PANE)
        for left in (4, 3, 2, 1):
            await press(pilot, "r")
            assert sum("____" in line for line in pane_lines(pilot)) == left
        await press(pilot, "r")
        assert pane_lines(pilot) == whole
        await press(pilot, "r", "R")
        assert pane_lines(pilot) == whole


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_how_many_are_to_guess_is_said_where_the_keys_have_no_room(language):
    set_language(language)
    async with open_app(start(stage="projections"), (60, 18)) as pilot:
        await press(pilot, "r")
        find(pilot, {"en": "to guess", "zh": "个待猜"}[language], PANE)


async def test_another_key_begins_a_new_guess():
    async with open_app(start(stage="dot")) as pilot:
        await press(pilot, "r", "right")
        assert not any("____" in line for line in pane_lines(pilot))


def pane_lines(pilot):
    return [line_text(line) for line in explorer_of(pilot.app)._derivation.lines]
