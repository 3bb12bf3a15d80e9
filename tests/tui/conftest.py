"""Fixtures of the tests of the screen."""

import asyncio

import pytest
from textual.widgets import Input

from core import transformer
from core.tokenization import MAX_TOKENS, set_most_tokens
from tests.tui.held import Layers
from tests.tui.helpers import make_view, settle
from tui.app import AttnApp
from tui.screens import tracing


@pytest.fixture(autouse=True)
def no_frozen_garbage(monkeypatch):
    """A process that runs one app may keep all it has made for good; this one runs hundreds."""
    monkeypatch.setattr("gc.freeze", lambda: None)


@pytest.fixture(autouse=True)
def no_guessing(monkeypatch):
    """Pilot sleeps until the processor seems idle; `settle` waits for what it needs instead."""

    async def give_way(*_):
        await asyncio.sleep(0)

    for module in ("app", "pilot"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", give_way)


@pytest.fixture(autouse=True)
def usual_cap():
    """A demo cuts texts shorter, for its whole process."""
    yield
    set_most_tokens(MAX_TOKENS)


@pytest.fixture
def looks(snap_compare):
    """Whether a view looks as it did: size, keys to press first, theme."""

    def compare(view=None, size=(120, 36), keys=(), theme=None, **lesson):
        async def prepare(pilot):
            await settle(pilot)
            for key in keys:
                await pilot.press(key)
                await settle(pilot)
            for line in pilot.app.screen.query(Input):
                line.cursor_blink = False

        app = AttnApp(view or make_view(query=5), theme, **lesson)
        return snap_compare(app, terminal_size=size, run_before=prepare)

    return compare


@pytest.fixture
def layers(monkeypatch):
    made = Layers()
    monkeypatch.setattr(transformer, "run_block", made.run_block)
    monkeypatch.setattr(tracing, "TELL_SECONDS", 60)  # tests tell when they want it told
    yield made
    made.release()
