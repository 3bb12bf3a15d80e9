"""What a switch changes: the row before and after, and the way back."""

from core.types import Mask
from tests.tui.helpers import explorer_of, find, make_view, open_app, press, screen_lines, view_of

PANE = "#pane-weights"


def row(pilot, token):
    """Numbers of a row of the weights."""
    (line,) = (line for line in screen_lines(pilot.app) if f" {token} " in line and "0." in line)
    return [word for word in line.split() if word.replace(".", "").isdigit()]


def start():
    return make_view("The ball is blue", query=3)


async def test_a_switch_shows_the_row_before_and_after():
    async with open_app(start(), (80, 24)) as pilot:
        assert row(pilot, "ball") == ["0.707"]
        await press(pilot, "s")
        find(pilot, "before head 0", PANE)
        assert row(pilot, "ball") == ["0.707", "0.945"]


async def test_a_key_that_was_masked_before_is_a_dash():
    async with open_app(make_view("The ball is blue", mask=Mask(causal=True)), (80, 24)) as pilot:
        await press(pilot, "m")
        find(pilot, "ball      –  0.", PANE)


async def test_undo_goes_back_switch_by_switch():
    async with open_app(start()) as pilot:
        first = view_of(pilot).request
        await press(pilot, "s", "t", "n")
        for undone in ("normalizer", "temperature", "scale"):
            await press(pilot, "u")
            switches = view_of(pilot).request.switches
            assert getattr(switches, undone) == getattr(first.switches, undone)
        assert view_of(pilot).request == first
        await press(pilot, "u")
        assert view_of(pilot).request == first


async def test_an_edit_begins_anew():
    async with open_app(start()) as pilot:
        await press(pilot, "s", "e", "!", "escape", "u")
        assert not view_of(pilot).request.switches.scale
        assert explorer_of(pilot.app).scene.before is None


async def test_selecting_keeps_the_row_before():
    async with open_app(start(), (80, 24)) as pilot:
        await press(pilot, "s", "up", "right")
        find(pilot, "before head 1", PANE)
