"""Long computations on screen: how far they are, and how they end before their end."""

import asyncio
import threading

import pytest

from tests.tui.held import begin, cancel, status
from tests.tui.helpers import (
    ROUNDS,
    WORDS,
    explorer_of,
    make_view,
    open_app,
    press,
    real_view,
    says,
    sentence_of,
    settle,
    shown_text,
    view_of,
)
from tui import state
from tui.app import AttnApp
from tui.screens import tracing
from tui.widgets.sentence import Sentence


@pytest.fixture
def view(tmp_path):
    """Of three layers, on an encoder, which takes nothing over from the run before; the last is
    shown, so that nothing of a run is shown before its end.
    """
    return real_view("bert-plain", tmp_path, query=1, layer=2)


async def test_how_far_it_is_is_said(view, layers):
    async with open_app(view, (80, 24)) as pilot:
        await begin(pilot, layers)
        assert status(pilot).startswith("layer 2 · head 0")  # what is soon done is not announced
        explorer_of(pilot.app).tell()
        await pilot._wait_for_screen()
        assert status(pilot) == "computing: layer 2 of 3 · esc cancels"
        await layers.reach(pilot, 3)
        explorer_of(pilot.app).tell()
        assert status(pilot) == "computing: layer 3 of 3 · esc cancels"
        layers.release()
        await settle(pilot)
        assert status(pilot).startswith("layer 2 · head 0")


async def test_reading_weights_is_said(view, layers):
    layers.hold()
    app = AttnApp(view)
    async with app.run_test(size=(80, 24)) as pilot:
        await layers.reach(pilot, 2)
        explorer_of(app).tell()
        assert status(pilot) == "reading weights: layer 2 of 3 · esc cancels"
        layers.release()
        await settle(pilot)
        assert shown_text(pilot) == WORDS


async def test_it_is_told_by_itself(view, layers, monkeypatch):
    monkeypatch.setattr(tracing, "TELL_SECONDS", 0.001)
    async with open_app(view, (80, 24)) as pilot:
        await begin(pilot, layers)
        for _ in range(ROUNDS):
            if "layer 2 of 3" in status(pilot):
                break
            await asyncio.sleep(0.002)
        assert "layer 2 of 3" in status(pilot)
        layers.release()
        await settle(pilot)


async def test_esc_cancels_and_keeps_what_is_shown_and_what_is_typed(view, layers):
    async with open_app(view, (80, 24)) as pilot:
        before = explorer_of(pilot.app).scene.trace
        await begin(pilot, layers)
        await cancel(pilot)
        layers.release()
        await settle(pilot)
        assert layers.begun == 2  # of three: it ended at the next layer
        assert explorer_of(pilot.app).scene.trace is before
        assert sentence_of(pilot).true_text == "t5 t6"
        assert status(pilot) == "cancelled: what is shown is from before · ^r computes it"
        await press(pilot, "down")  # what is shown can be looked at
        assert view_of(pilot).query == 2
        assert "cancelled" in status(pilot)
        await press(pilot, "ctrl+r")
        assert shown_text(pilot) == "t5 t6"
        assert "cancelled" not in status(pilot)
        assert layers.begun == 2 + 3


@pytest.mark.parametrize("key", ["ctrl+r", "f5"])
async def test_nothing_is_computed_again_where_nothing_was_cancelled(view, layers, key):
    async with open_app(view) as pilot:
        layers.begun = 0
        await press(pilot, key)
        assert layers.begun == 0


async def test_what_was_refused_is_computed_again(view, monkeypatch):
    """As when memory has become free."""
    from core.checkpoints import budget

    async with open_app(view) as pilot:
        monkeypatch.setattr(budget, "free_bytes", lambda: 1000)
        sentence_of(pilot).set_true_text("t5 t6")
        await settle(pilot)
        assert says(pilot, "GiB, 0.0 are free")
        monkeypatch.undo()
        await press(pilot, "ctrl+r")
        assert shown_text(pilot) == "t5 t6"


async def test_esc_in_the_sentence_does_what_was_announced(view, layers):
    """It leaves the sentence, as always, unless it is said to cancel a long computation."""
    async with open_app(view, (80, 24)) as pilot:
        await press(pilot, "e")
        await begin(pilot, layers)
        for key, editing in (("escape", False), ("e", True)):
            await pilot.press(key)
            for _ in range(ROUNDS):
                if isinstance(explorer_of(pilot.app).focused, Sentence) is editing:
                    break
                await asyncio.sleep(0.002)
            assert isinstance(explorer_of(pilot.app).focused, Sentence) is editing
        assert not explorer_of(pilot.app).settled
        explorer_of(pilot.app).tell()
        assert "esc cancels" in status(pilot)
        await cancel(pilot)
        assert "cancelled" in status(pilot)
        assert isinstance(explorer_of(pilot.app).focused, Sentence)
        layers.release()
        await press(pilot, "escape")
        assert not isinstance(explorer_of(pilot.app).focused, Sentence)
        assert shown_text(pilot) == WORDS


async def test_a_newer_text_makes_the_run_before_stale(view, layers):
    """It ends at its next layer, and the newest text is run and no other."""
    async with open_app(view) as pilot:
        await begin(pilot, layers)
        explorer = explorer_of(pilot.app)
        for text in ("t5 t6 t7", "t5 t6 t8", "t5 t6 t9"):
            explorer.submit(explorer.state.with_text(text))
            await pilot._wait_for_screen()
            assert layers.begun == 2  # one at a time
        layers.release()
        await settle(pilot)
        assert shown_text(pilot) == "t5 t6 t9"
        assert layers.begun == 2 + 3


async def test_a_keystroke_ends_the_run_before(view, layers):
    async with open_app(view) as pilot:
        await press(pilot, "e", "end")
        await begin(pilot, layers)
        await pilot.press("space", "t", "7")
        layers.release()
        await settle(pilot)
        assert shown_text(pilot) == "t5 t6 t7"


async def test_a_switch_after_cancelling_goes_with_the_text_that_was_typed(view, layers):
    async with open_app(view) as pilot:
        await begin(pilot, layers, "t5 t17 t6")
        await cancel(pilot)
        layers.release()
        await press(pilot, "x")
        assert shown_text(pilot) == "t5 t17 t6"
        assert view_of(pilot).request.switches.mask.blocked == {1}


async def test_the_first_run_can_be_cancelled_too(view, layers):
    layers.hold()
    app = AttnApp(view)
    async with app.run_test(size=(80, 24)) as pilot:
        await layers.reach(pilot, 1)
        await cancel(pilot)
        layers.release()
        await settle(pilot)
        assert explorer_of(app).scene is None
        assert status(pilot) == "cancelled · ^r computes it"
        await press(pilot, "ctrl+r")
        assert shown_text(pilot) == WORDS


async def test_quitting_does_not_wait_for_the_layers_to_come(view, layers):
    app = AttnApp(view)
    async with app.run_test() as pilot:
        await settle(pilot)
        await begin(pilot, layers)
        await pilot.press("q")
        for _ in range(ROUNDS):
            if not app.is_running:
                break
            await asyncio.sleep(0.002)
        layers.release()
    for _ in range(ROUNDS):
        if not [each for each in threading.enumerate() if "asyncio" in each.name]:
            break
        await asyncio.sleep(0.002)
    assert layers.begun == 2


async def test_seeded_layers_are_told_and_cancelled_alike(monkeypatch, layers):
    from core import stacks

    gate, begun = threading.Event(), []

    def attend(*arguments):
        begun.append(arguments)
        if len(begun) == 3:
            gate.wait(60)
        return attended(*arguments)

    attended = stacks.attend
    async with open_app(make_view(model={"layers": 4})) as pilot:
        monkeypatch.setattr(state, "is_quick", lambda *_: False)
        monkeypatch.setattr(stacks, "attend", attend)
        sentence_of(pilot).set_true_text("another text")
        for _ in range(ROUNDS):
            await pilot._wait_for_screen()
            if len(begun) == 3:
                break
            await asyncio.sleep(0.002)
        explorer_of(pilot.app).tell()
        assert status(pilot) == "computing: layer 3 of 4 · esc cancels"
        await cancel(pilot)
        gate.set()
        await settle(pilot)
        assert len(begun) == 3
        assert "cancelled" in status(pilot)
