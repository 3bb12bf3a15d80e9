"""Fixtures of the tests of the screen."""

import asyncio

import pytest


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
