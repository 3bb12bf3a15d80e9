"""Screens over the explorer when several keys come in one read: each of them is left once."""

import asyncio

import pytest
from rich.style import Style
from textual import events
from textual.command import CommandList
from textual.geometry import Offset
from textual.screen import Screen
from textual.widgets import Static

from tests.tui.helpers import explorer_of, make_view, open_app, press, settle, view_of
from tui.palette import SteadyPalette


def in_one_read(pilot, *keys):
    """Keys that are there before the first of them has been looked at."""
    for key in keys:
        event = events.Key(key, key if len(key) == 1 else None)
        event.set_sender(pilot.app)
        pilot.app.post_message(event)


@pytest.mark.parametrize("end", [("enter", "enter"), ("enter", "x", "enter"), ("escape", "escape")])
async def test_the_wish(end):
    async with open_app(make_view(pane="learning")) as pilot:
        await press(pilot, "enter", *"3=1")
        in_one_read(pilot, *end)
        await settle(pilot)
        assert pilot.app.screen is explorer_of(pilot.app)
        assert (view_of(pilot).request.learning is None) == ("escape" in end)


@pytest.mark.parametrize("end", [("enter", "enter"), ("enter", "x", "enter"), ("escape", "escape")])
async def test_the_number(end):
    async with open_app(make_view(pane="numbers")) as pilot:
        await press(pilot, "enter", *"3")
        in_one_read(pilot, *end)
        await settle(pilot)
        assert pilot.app.screen is explorer_of(pilot.app)
        assert len(view_of(pilot).request.switches.edits) == ("enter" in end)


async def test_what_is_typed_into_a_wish_stays_in_order():
    async with open_app(make_view(pane="learning")) as pilot:
        await press(pilot, "enter")
        in_one_read(pilot, *"2=", "left", "left", "delete", "3", "end", "1", "enter", "9")
        await settle(pilot)
        assert view_of(pilot).request.learning.wishes[0].weights == ((3, 1.0),)


async def test_the_palette_over_the_number():
    """It comes to lie on top before the number is read: it stays, and the question too."""
    async with open_app(make_view(pane="numbers")) as pilot:
        await press(pilot, "enter", *"3")
        prompt = pilot.app.screen
        in_one_read(pilot, "enter", "ctrl+p")
        await settle(pilot)
        await press(pilot, "escape")
        await press(pilot, "escape")
        assert pilot.app.screen is explorer_of(pilot.app)
        assert not prompt.is_attached


@pytest.mark.parametrize("late", [0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20])
async def test_a_palette_that_is_closed_before_it_has_opened(late):
    """It begins no search, whose list is gone."""
    async with open_app(make_view()) as pilot:
        pilot.app.action_command_palette()
        for _ in range(late):
            await asyncio.sleep(0)
        pilot.app.screen.dismiss()
        await settle(pilot)
        assert pilot.app.screen is explorer_of(pilot.app)


async def test_a_palette_again_while_the_last_one_goes():
    """Textual gives all of them one name, and two of a name cannot be there."""
    async with open_app(make_view()) as pilot:
        await press(pilot, "ctrl+p")
        pilot.app.screen.dismiss()
        pilot.app.action_command_palette()
        await settle(pilot)
        assert isinstance(pilot.app.screen, SteadyPalette)


async def test_a_click_on_a_line_of_the_palette_that_is_gone():
    async with open_app(make_view()) as pilot:
        await press(pilot, "ctrl+p")
        await pilot.pause()
        commands = pilot.app.screen.query_one(CommandList)
        x, y = commands.content_region.offset
        shown = Style(meta={"option": 0})
        event = events.Click(commands, 1, 1, 0, 0, 1, False, False, False, x, y, shown)
        commands.clear_options()
        commands.post_message(event)
        await settle(pilot)
        assert isinstance(pilot.app.screen, SteadyPalette)


async def test_a_press_on_a_notice_that_is_gone(monkeypatch):
    async with open_app(make_view()) as pilot:
        gone = Static("a notice")
        at = lambda screen, x, y: (gone, Offset(0, 0))  # noqa: E731
        monkeypatch.setattr(Screen, "get_widget_and_offset_at", at)
        await pilot.mouse_down(offset=(30, 8))
        await pilot.mouse_up(offset=(30, 8))
        await press(pilot, "down")
        assert view_of(pilot).query == 1
