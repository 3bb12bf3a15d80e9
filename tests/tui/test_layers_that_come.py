"""A layer of a real model is shown as soon as it is there, while the others run."""

import gc

import pytest

from tests.tui.held import begin, cancel, status, until
from tests.tui.helpers import (
    WORDS,
    explorer_of,
    open_app,
    press,
    real_view,
    says,
    sentence_of,
    settle,
    shown_text,
    view_of,
)


@pytest.fixture
def first_view(tmp_path):
    """Of the first layer."""
    return real_view("bert-plain", tmp_path, query=1)


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


async def test_the_grid_stays_while_layers_come(first_view, layers):
    """Its cursor goes as far as there are layers."""
    async with open_app(first_view, (80, 24)) as pilot:
        await begin(pilot, layers, "t5 t17 t6")
        await until(pilot, lambda: shown_text(pilot) == "t5 t17 t6")
        await pilot.press("9")
        await until(pilot, lambda: view_of(pilot).pane == "grid")
        for key in ("down", "pagedown", "right"):
            await pilot.press(key)
        await until(pilot, lambda: view_of(pilot).head == 1)
        assert explorer_of(pilot.app).scene is not None
        assert view_of(pilot).layer == 0
        layers.release()
        await settle(pilot)
        await press(pilot, "down", "down")
        assert view_of(pilot).layer == 2


async def test_a_layer_that_is_selected_meanwhile_is_shown_when_it_is_there(first_view, layers):
    async with open_app(first_view, (80, 24)) as pilot:
        await begin(pilot, layers, "t5 t17 t6")
        await until(pilot, lambda: shown_text(pilot) == "t5 t17 t6")
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: view_of(pilot).layer == 1)
        assert explorer_of(pilot.app).scene is None  # and nothing stands in for it
        assert says(pilot, "Layer 1 is not there yet.")
        assert says(pilot, "[ ] layer")
        await pilot.press("9")
        await until(pilot, lambda: view_of(pilot).pane == "grid")
        assert says(pilot, "[ ] layer")  # though ↑↓ choose it there otherwise
        await pilot.press("2")
        await until(pilot, lambda: view_of(pilot).pane == "weights")
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
        waits = {
            "9": "… until all layers are there",
            "0": "The last layer is not there yet.",
        }
        await until(pilot, lambda: says(pilot, waits[key]))
        layers.release()
        await settle(pilot)
        assert explorer_of(pilot.app).scene.trace.whole
        assert not says(pilot, waits[key])


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
