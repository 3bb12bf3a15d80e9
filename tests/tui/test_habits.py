"""What lets the tests of a screen be believed: nothing of the clock, the load or the person."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from threading import Event

import tui.state as module
from tests.tui.helpers import explorer_of, open_app, press, screen_text, sentence_of, settle

ROOT = Path(__file__).parents[2]


async def test_the_caret_does_not_blink():
    """Q01: whether it is seen would depend on the clock."""
    async with open_app() as pilot:
        await press(pilot, "e")
        assert not sentence_of(pilot).cursor_blink


async def test_the_same_view_is_the_same_text_again():
    """Q02: no clock, no time that something took, no spinner."""
    screens = set()
    for _ in range(2):
        async with open_app() as pilot:
            await press(pilot, *"em", "escape", "y")
            screens.add(screen_text(pilot.app))
    assert len(screens) == 1


async def test_settling_waits_for_what_a_thread_computes(monkeypatch):
    """Q03: however long it takes, and without a guess."""
    work, gate = module.trace, Event()
    monkeypatch.setattr(module, "is_quick", lambda request, *texts: False)
    async with open_app() as pilot:
        monkeypatch.setattr(module, "trace", lambda *args: gate.wait(30) and work(*args))
        await pilot.press("m")
        await pilot._wait_for_screen()
        assert not explorer_of(pilot.app).settled
        pilot.app.call_later(gate.set)
        await settle(pilot)
        assert gate.is_set()
        assert "mask causal" in screen_text(pilot.app)


def test_a_picture_is_the_same_whatever_the_person_has_set():
    """Q05: variables of Textual and of the terminal do not reach the app that is tested."""
    own = {"TEXTUAL_THEME": "dracula", "NO_COLOR": "1", "COLUMNS": "9"}
    test = "tests/tui/test_snapshots.py::test_sixteen_colours"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        env={**os.environ, **own},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "1 passed" in result.stdout, result.stdout


def test_what_draws_pictures_is_pinned():
    """Q06: another release may move a cell."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    pinned = dict(each.split("==") for each in extras["test"] if "==" in each)
    for name in ("textual", "syrupy", "pytest", "pytest-textual-snapshot", "pytest-asyncio"):
        assert pinned[name] == version(name)


def test_asynchronous_tests_run(pytestconfig):
    """Q08: without a mark on each of them, and none is passed over."""
    assert pytestconfig.getini("asyncio_mode") == "auto"
