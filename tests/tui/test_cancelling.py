"""Long computations on screen: how far they are, and how they end before their end."""

import asyncio
import gc
import threading

import pytest

from core import transformer
from tests.tui.helpers import (
    ROUNDS,
    WORDS,
    explorer_of,
    make_view,
    open_app,
    press,
    real_view,
    says,
    screen_lines,
    sentence_of,
    settle,
    shown_text,
    view_of,
)
from tui import state
from tui.app import AttnApp
from tui.screens import tracing
from tui.widgets.sentence import Sentence


class Layers:
    """Layers of real models wait until they are let through, once `hold` is called."""

    def __init__(self):
        self.open = threading.Event()
        self.open.set()
        self.permits = threading.Semaphore(0)
        self.begun = self.let = 0
        self.first = []  # of the tokens that each layer runs

    def run_block(self, *arguments):
        self.begun += 1
        self.first.append(arguments[3].first)
        if not self.open.is_set():
            assert threading.current_thread() is not threading.main_thread()  # which draws
            self.permits.acquire(timeout=60)
        return run_block(*arguments)

    def hold(self):
        self.open.clear()
        self.permits = threading.Semaphore(0)
        self.begun = self.let = 0
        self.first = []

    def release(self):
        self.open.set()
        self.permits.release(1000)

    async def reach(self, pilot, count):
        """Let layers through until so many have begun."""
        while self.let < count - 1:
            self.permits.release()
            self.let += 1
        for _ in range(ROUNDS):
            await pilot._wait_for_screen()
            if self.begun == count:
                return
            await asyncio.sleep(0.002)
        raise AssertionError(f"{self.begun} layers have begun, not {count}")


run_block = transformer.run_block


@pytest.fixture
def layers(monkeypatch):
    made = Layers()
    monkeypatch.setattr(transformer, "run_block", made.run_block)
    monkeypatch.setattr(tracing, "TELL_SECONDS", 60)  # tests tell when they want it told
    yield made
    made.release()


@pytest.fixture
def view(tmp_path):
    """Of three layers, on an encoder, which takes nothing over from the run before; the last is
    shown, so that nothing of a run is shown before its end.
    """
    return real_view("bert-plain", tmp_path, query=1, layer=2)


@pytest.fixture
def first_view(tmp_path):
    """Of the first layer."""
    return real_view("bert-plain", tmp_path, query=1)


async def begin(pilot, layers, text="t5 t6", layer=2):
    """Edit the sentence, and stand in a layer of the run."""
    layers.hold()
    sentence_of(pilot).set_true_text(text)
    await layers.reach(pilot, layer)


def status(pilot):
    return screen_lines(pilot.app)[-2].strip()


async def cancel(pilot):
    """Press esc, and wait until it is heard."""
    await pilot.press("escape")
    for _ in range(ROUNDS):
        await pilot._wait_for_screen()
        if explorer_of(pilot.app).settled:
            return
        await asyncio.sleep(0.002)
    raise AssertionError("esc was not heard")


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


async def test_a_layer_is_shown_before_the_others_are_there(first_view, layers):
    async with open_app(first_view, (80, 24)) as pilot:
        await begin(pilot, layers, "t5 t17 t6")
        await until(pilot, lambda: shown_text(pilot) == "t5 t17 t6")
        assert layers.begun == 2
        assert not explorer_of(pilot.app).settled
        part = explorer_of(pilot.app).scene.trace
        assert len(part.layers) == 1
        layers.release()
        await settle(pilot)
        whole = explorer_of(pilot.app).scene.trace
        assert len(whole.layers) == 3
        assert whole.layers[0].resid_post is part.layers[0].resid_post


async def test_a_layer_that_is_selected_meanwhile_is_shown_when_it_is_there(first_view, layers):
    async with open_app(first_view, (80, 24)) as pilot:
        await begin(pilot, layers, "t5 t17 t6")
        await until(pilot, lambda: shown_text(pilot) == "t5 t17 t6")
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: view_of(pilot).layer == 1)
        assert explorer_of(pilot.app).scene is None  # and nothing stands in for it
        assert says(pilot, "Layer 1 is not there yet.")
        await layers.reach(pilot, 3)
        await until(pilot, lambda: explorer_of(pilot.app).scene is not None)
        assert len(explorer_of(pilot.app).scene.trace.layers) == 2
        layers.release()
        await settle(pilot)
        assert view_of(pilot).layer == 1


async def test_esc_leaves_the_layers_that_are_there(first_view, layers):
    async with open_app(first_view, (80, 24)) as pilot:
        await begin(pilot, layers, "t5 t17 t6")
        await until(pilot, lambda: shown_text(pilot) == "t5 t17 t6")
        await cancel(pilot)
        layers.release()
        await settle(pilot)
        assert layers.begun == 2
        assert shown_text(pilot) == "t5 t17 t6"
        assert status(pilot) == "cancelled: layers from 1 on are missing · ^r computes them"
        await press(pilot, "right_square_bracket")
        assert explorer_of(pilot.app).scene is None
        await press(pilot, "ctrl+r")
        assert explorer_of(pilot.app).scene.trace.whole
        assert "cancelled" not in status(pilot)


@pytest.mark.parametrize("pane", ["grid", "predictions"])
async def test_where_all_layers_are_shown_all_are_awaited(layers, tmp_path, pane):
    view = real_view("llama-shards", tmp_path, pane=pane)
    async with open_app(view, (80, 24)) as pilot:
        await begin(pilot, layers, "t5 t17 t6")
        await layers.reach(pilot, len(view.request.model.reads.windows))
        assert shown_text(pilot) == WORDS
        layers.release()
        await settle(pilot)
        assert shown_text(pilot) == "t5 t17 t6"


@pytest.mark.parametrize("key", ["9", "0"])
async def test_panes_of_all_layers_wait_for_them(layers, tmp_path, key):
    """Pressed while a part is shown."""
    view = real_view("llama-shards", tmp_path)
    async with open_app(view, (80, 24)) as pilot:
        await begin(pilot, layers, "t5 t17 t6")
        await until(pilot, lambda: shown_text(pilot) == "t5 t17 t6")
        await pilot.press(key)
        await until(pilot, lambda: view_of(pilot).pane in ("grid", "predictions"))
        if key == "0":
            await until(pilot, lambda: says(pilot, "The last layer is not there yet."))
        layers.release()
        await settle(pilot)
        assert explorer_of(pilot.app).scene.trace.whole


async def test_a_run_that_was_shown_in_part_leaves_the_one_before_to_begin_with(layers, tmp_path):
    """While people type, each letter runs one token and not the whole text."""
    async with open_app(real_view("llama-shards", tmp_path), (80, 24)) as pilot:
        sentence_of(pilot).set_true_text("t5 t17 t3 t29 t11")
        await settle(pilot)
        await begin(pilot, layers, "t5 t17 t3 t29 t7")
        await until(pilot, lambda: shown_text(pilot) == "t5 t17 t3 t29 t7")
        gc.collect()  # nothing but the part holds the run before
        explorer_of(pilot.app).submit(explorer_of(pilot.app).state.with_text("t5 t17 t3 t29 t8"))
        layers.release()
        await settle(pilot)
        assert shown_text(pilot) == "t5 t17 t3 t29 t8"
    assert layers.first == [4, 4, 4, 4]  # of both runs, both layers: the last token alone


async def test_another_text_offers_none_of_its_layers(layers, tmp_path):
    """Comparing is stopped while the other text runs: its layers are not the sentence's."""
    async with open_app(real_view("bert-plain", tmp_path), (80, 24)) as pilot:
        explorer = explorer_of(pilot.app)
        before = explorer.scene.trace
        layers.hold()
        explorer.compare_with("t5 t17 t6")
        await layers.reach(pilot, 1)
        explorer.stop_comparing()
        await layers.reach(pilot, 3)
        assert explorer.scene.trace is before
        assert explorer.state.asked.text == WORDS
        layers.release()
        await settle(pilot)
        assert shown_text(pilot) == WORDS


async def test_what_is_refused_at_a_later_layer_is_not_left_half(first_view, layers, monkeypatch):
    from core.checkpoints.weights import Weights
    from core.errors import ModelError

    def check(self, x, index):
        if index == 1:
            raise ModelError("layer 1 is broken", "open another")

    async with open_app(first_view, (80, 24)) as pilot:
        await begin(pilot, layers, "t5 t17 t6")
        await until(pilot, lambda: shown_text(pilot) == "t5 t17 t6")
        monkeypatch.setattr(Weights, "check", check)
        layers.release()
        await settle(pilot)
        assert explorer_of(pilot.app).scene is None
        assert says(pilot, "layer 1 is broken")
        monkeypatch.undo()
        await press(pilot, "ctrl+r")
        assert shown_text(pilot) == "t5 t17 t6"


async def test_esc_says_what_is_left_of_the_run_that_it_ends(first_view, layers):
    """Not of the one before, whose first layers are shown."""
    async with open_app(first_view, (80, 24)) as pilot:
        await begin(pilot, layers, "t5 t17 t6")
        await until(pilot, lambda: shown_text(pilot) == "t5 t17 t6")
        explorer = explorer_of(pilot.app)
        explorer.submit(explorer.state.with_text("t5 t17 t7"))
        await cancel(pilot)
        assert status(pilot) == "cancelled: what is shown is from before · ^r computes it"
        layers.release()
        await settle(pilot)
        assert shown_text(pilot) == "t5 t17 t6"


async def test_a_layer_that_comes_is_sent_at_once(first_view, layers):
    """Not with the next frame: the thread that goes on computing would slow it down."""
    async with open_app(first_view, (80, 24)) as pilot:
        weights = pilot.app.screen.query_one("#pane-weights")
        frames = explorer_of(pilot.app)._update_timer
        await begin(pilot, layers, "t5 t17 t6", layer=1)
        frames.resume, resume = (lambda: None), frames.resume
        await layers.reach(pilot, 2)
        await until(pilot, lambda: shown_text(pilot) == "t5 t17 t6")
        assert weights._sent[0] is weights.lines
        frames.resume = resume
        layers.release()
        await settle(pilot)


async def until(pilot, done):
    for _ in range(ROUNDS):
        await pilot._wait_for_screen()
        if done():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("it did not come")


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
