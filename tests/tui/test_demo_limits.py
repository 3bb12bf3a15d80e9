"""The time that a demo has, alone and behind a presenter."""

import json
import os
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.tui.demo import everything, open_demo
from tests.tui.helpers import explorer_of, press, says, settle, shown_text
from tui.serve.allowed import Limits


def test_limits():
    limits = Limits(idle=100, total=0, started=0, touched=0)
    assert (limits.left(40), limits.idles()) == (60, True)
    limits.touched = 50
    assert limits.left(60) == 90
    limits = replace(limits, total=120)
    assert (limits.left(60), limits.idles()) == (60, False)
    assert Limits(0, 0, 0, 0).left(5) is None


class Clock:
    """A clock that goes when a test says so."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr("tui.serve.demo.time", clock)


async def test_an_idle_session_is_warned_and_ends(monkeypatch):
    clock = Clock(monkeypatch)
    async with open_demo(allowed=everything(idle=600)) as pilot:
        clock.now += 545
        pilot.app._watch_limits()
        await settle(pilot)
        assert says(pilot, "ends in 55 seconds")
        assert says(pilot, "Press any key")
        await press(pilot, "down")
        assert not says(pilot, "ends in")
        clock.now += 599
        pilot.app._watch_limits()
        await settle(pilot)
        assert says(pilot, "ends in 1 second.")
        clock.now += 2
        pilot.app._watch_limits()
        await settle(pilot)
        assert not pilot.app.is_running


async def test_the_whole_time_ends_whatever_is_pressed(monkeypatch):
    clock = Clock(monkeypatch)
    async with open_demo(allowed=everything(idle=600, total=900)) as pilot:
        for _ in range(2):
            clock.now += 420
            await press(pilot, "down")
        pilot.app._watch_limits()
        await settle(pilot)
        assert says(pilot, "ends in 60 seconds")
        assert not says(pilot, "Press any key")
        await press(pilot, "down")
        assert says(pilot, "ends in 60 seconds")
        clock.now += 61
        pilot.app._watch_limits()
        await settle(pilot)
        assert not pilot.app.is_running


async def _until(pilot, holds):
    for _ in range(1000):  # what comes through a pipe settles nothing
        if holds():
            return
        await settle(pilot)
    raise AssertionError(holds)


async def test_who_watches_a_presenter_is_not_idle(monkeypatch):
    clock = Clock(monkeypatch)
    for_viewer, presenter = os.pipe()
    allowed = everything(idle=600)
    async with open_demo(allowed=allowed, size=(80, 24), follow=for_viewer) as pilot:
        for heads in ("1", "2", "8"):
            clock.now += 599
            os.write(presenter, json.dumps(["--heads", heads]).encode() + b"\n")
            await _until(pilot, lambda shown=f"× {heads} head": says(pilot, shown))
            pilot.app._watch_limits()
            assert pilot.app.is_running
        await press(pilot, "E")  # alone now, and away
        clock.now += 599
        os.write(presenter, json.dumps(["--heads", "4"]).encode() + b"\n")
        await _until(pilot, lambda: explorer_of(pilot.app)._heard == ["--heads", "4"])
        clock.now += 2
        pilot.app._watch_limits()
        await settle(pilot)
        assert not pilot.app.is_running
    os.close(presenter)


@pytest.mark.parametrize("years", [20, -20])
async def test_a_clock_that_jumps_ends_nothing(monkeypatch, years):
    """Idle and total time are counted by a clock that nobody sets."""
    now = time.time()
    async with open_demo(allowed=everything(idle=600.0, total=600.0)) as pilot:
        await press(pilot, "e", *" on")
        monkeypatch.setattr(time, "time", lambda: now + years * 365 * 86400)
        pilot.app._watch_limits()
        await press(pilot, *"ly")
        assert shown_text(pilot).endswith(" only")
        assert not pilot.app._notifications
        assert pilot.app.is_running
