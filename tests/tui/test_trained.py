"""The explorer on a real model: what it shows, and what the seeded model's keys say."""

import shlex
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core import found_models
from core.runner import run
from core.trained import describe
from core.types import Request
from tests.core.small_checkpoints import copied, expected_of
from tests.core.small_tokenizers import bert_tokenizer
from tests.tui.helpers import (
    WORDS,
    explorer_of,
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
from tui.checking import check
from tui.command import command_line
from tui.model_option import named_model
from tui.quick import is_quick
from tui.scene import View, panes
from tui.serve.words import arguments

PANES = ("tokens", "weights", "matrix", "vectors", "derivation", "grid", "predictions")


@pytest.fixture
def view(tmp_path):
    return real_view("bert-legacy", tmp_path, query=1)


async def test_weights_are_those_of_transformers(tmp_path):
    expected, text = expected_of("bert-legacy")
    async with open_app(real_view("bert-legacy", tmp_path, text)) as pilot:
        for index, layer in enumerate(explorer_of(pilot.app).scene.trace.layers):
            np.testing.assert_allclose(layer.pattern, expected["attentions"][index], atol=1e-4)
        value = expected["attentions"][0][0, 0, 0]
        assert says(pilot, f"“t5” → “t5” {value:.3f}")


@pytest.mark.parametrize(
    ("size", "name"), [((60, 18), "bert-legacy"), ((80, 24), "bert-legacy"), ((120, 36), "BERT")]
)
async def test_header_says_what_it_is(view, size, name):
    async with open_app(view, size) as pilot:
        first = screen_lines(pilot.app)[0]
        assert name in first
        assert "trained" in first
        assert "random" not in first


async def test_every_pane_but_those_of_the_seeded_model(view):
    assert panes(view) == PANES
    async with open_app(view, (80, 24)) as pilot:
        seen = []
        for _ in PANES:
            await press(pilot, "tab")
            seen.append(view_of(pilot).pane)
        assert sorted(seen) == sorted(PANES)


SEEDED = "m s p t T w n A a 6 7 enter delete"


@pytest.mark.parametrize("key", SEEDED.split())
async def test_keys_of_the_seeded_model_say_so_once(view, key):
    async with open_app(view) as pilot:
        before = view_of(pilot)
        await press(pilot, key)
        assert view_of(pilot) == before
        assert len(pilot.app._notifications) == 1
        assert says(pilot, "trained weights stay as they are")


@pytest.mark.parametrize("key", ["ctrl+c", "down", "right_square_bracket", "v", "escape"])
async def test_other_keys_say_nothing_of_it(view, key):
    async with open_app(view) as pilot:
        await press(pilot, key)
        assert not says(pilot, "trained weights stay as they are")


async def test_keys_of_the_sentence_say_nothing_of_it(view):
    async with open_app(view) as pilot:
        await press(pilot, "e", "backspace", "enter", "delete", "m")
        assert shown_text(pilot) == "t5 t17 t3 t2\nm"
        assert not pilot.app._notifications


async def test_footer_has_no_keys_of_the_seeded_model(view):
    async with open_app(view, (200, 60)) as pilot:
        last = screen_lines(pilot.app)[-1]
        for word in ("mask", "scale", "positions", "temperature", "learn", "target"):
            assert word not in last
        for word in ("token", "head", "layer", "block", "copy", "compare"):
            assert word in last


async def test_palette_has_nothing_of_the_seeded_model(view):
    async with open_app(view) as pilot:
        from tui.palette import ExplorerCommands

        names = [each.name for each in ExplorerCommands(pilot.app.screen)._commands()]
    starts = ("Mask:", "Tokenizer:", "Wish:", "Translate:", "Pane: numbers", "Temperature")
    assert not [name for name in names if name.startswith(starts)]
    assert "Head 2" in names
    assert "Layer 1" in names
    assert "Pane: matrix" in names


async def test_block_edit_and_undo(view):
    async with open_app(view) as pilot:
        await press(pilot, "x")
        assert view_of(pilot).request.switches.mask.blocked == {1}
        assert (explorer_of(pilot.app).scene.layer.pattern[:, :, 1] == 0).all()
        await press(pilot, "u")
        assert not view_of(pilot).request.switches.mask.blocked
        await press(pilot, "e")
        sentence_of(pilot).set_true_text("t5 t6")
        await settle(pilot)
        assert shown_text(pilot) == "t5 t6"
        assert len(explorer_of(pilot.app).scene.trace.tokens) == 2


async def test_block_that_would_move_positions_is_refused_and_nothing_lost(tmp_path):
    view = real_view("opt-after", tmp_path)
    async with open_app(view) as pilot:
        await press(pilot, "x")
        assert says(pilot, "would move the positions of the others")
        assert view_of(pilot) == view
        await press(pilot, "right_square_bracket")  # goes on as before
        assert view_of(pilot).layer == 1


async def test_first_frame_comes_before_the_weights(view, monkeypatch):
    go_on = threading.Event()

    def waits(*arguments):
        assert threading.current_thread() is not threading.main_thread()  # which draws
        go_on.wait()
        return trace(*arguments)

    trace = state.trace
    monkeypatch.setattr(state, "trace", waits)
    from tui.app import AttnApp

    app = AttnApp(view)
    async with app.run_test(size=(80, 24)) as pilot:
        try:
            await pilot._wait_for_screen()
            assert says(pilot, "computing…")
            assert says(pilot, "bert-legacy")
            assert explorer_of(app).scene is None
        finally:
            go_on.set()
        await settle(pilot)
        assert says(pilot, "“t17”")
    assert not is_quick(view.request, run(view.request).tokens)


async def test_windows_of_a_layer_are_drawn_masked(tmp_path):
    _expected, text = expected_of("gemma3-kinds")
    async with open_app(real_view("gemma3-kinds", tmp_path, text, query=12)) as pilot:
        assert says(pilot, "mask causal+window:3")
        assert says(pilot, "“t6” → “t5” masked")
        await press(pilot, "right_square_bracket")
        assert says(pilot, "mask causal ·")
        assert not says(pilot, "“t6” → “t5” masked")


async def test_help_says_that_weights_are_trained(view):
    async with open_app(view, (120, 90)) as pilot:
        await press(pilot, "question_mark")
        assert says(pilot, "attention is not explanation (Jain")
        assert not says(pilot, "random numbers from a seed")
        assert not says(pilot, "There is no MLP")


def test_command_names_the_model_by_its_whole_path(view):
    path = view.request.model.path
    assert path.startswith("/")
    assert command_line(view) == f"attn-tui --model {path} --query 1 '{WORDS}'"


@pytest.mark.parametrize("name", ["some/bert", "some/bert@main", "a package"])
def test_command_names_the_model_as_it_was_asked_for(view, name, monkeypatch):
    path = Path(view.request.model.path)
    monkeypatch.setattr(found_models, "cached", lambda hub: path)
    monkeypatch.setattr(found_models, "found_models", lambda: [("a package", path)])
    model = named_model(name)
    assert model == view.request.model  # one model, whatever it is called
    named = replace(view, request=replace(view.request, model=model))
    assert shlex.split(command_line(named))[:3] == ["attn-tui", "--model", name]
    # A process of the same machine has no environment to look names up with.
    assert arguments(named)[:2] == ["--model", str(path)]


def test_command_has_the_path_where_there_is_one(view, monkeypatch):
    path = Path(view.request.model.path)
    monkeypatch.chdir(path.parent)
    named = replace(view, request=replace(view.request, model=named_model(path.name)))
    assert shlex.split(command_line(named))[:3] == ["attn-tui", "--model", str(path)]


@pytest.mark.parametrize("pane", ["numbers", "learning"])
def test_panes_without_anything_to_show_are_refused(view, pane):
    from core.errors import SettingError

    with pytest.raises(SettingError, match=f"pane {pane} has nothing to show: leave the model out"):
        check(replace(view, pane=pane))


async def test_derivation_follows_the_cursor_and_steps_through_its_stages(view):
    async with open_app(view, (80, 24)) as pilot:
        await press(pilot, "d", "home")
        assert says(pilot, "layer 0 · head 0 · query 0 t5 → key 0 t5")
        assert says(pilot, "stage 6 of 6: output")
        await press(pilot, "space")
        assert says(pilot, "1 dot: q(0 t5) · k(0 t5)")
        assert says(pilot, "stage 1 of 6: dot")
        await press(pilot, "space")
        assert says(pilot, "2 scale: from q·k to the score")
        await press(pilot, "b", "b")
        assert view_of(pilot).stage == "output"
        await press(pilot, "space", "space", "r")
        assert says(pilot, "to guess")
        assert says(pilot, "= ______")
        await press(pilot, "R", "right", "down", "right_square_bracket", "right_curly_bracket")
        assert says(pilot, "layer 1 · head 0 · query 1 t17 → key 1 t17")
        assert view_of(pilot).component == 1
        await press(pilot, "y")
        assert "this arithmetic equals the trace  ok" in pilot.app.clipboard
        assert "z[1]" in pilot.app.clipboard


def test_stage_that_a_real_model_has_not_is_refused(view):
    from core.errors import SettingError

    with pytest.raises(SettingError, match="stage embedding is not worked out of a real model"):
        check(replace(view, pane="derivation", stage="embedding"))


async def test_lesson_takes_the_place_of_the_model(view):
    from core.lessons import bundled_paths, open_lesson

    async with open_app(view) as pilot:
        explorer_of(pilot.app).open_lesson(open_lesson(str(bundled_paths()["by-hand"])))
        await settle(pilot)
        assert not says(pilot, "bert-legacy")
        assert explorer_of(pilot.app).scene.trace.request.model == view_of(pilot).request.model


@pytest.fixture
def pieces(tmp_path):
    """A view on a model that hides tokens, at the first piece of a word of two."""
    folder = copied("bert-legacy", tmp_path)
    made = bert_tokenizer(("mil", "##king"))
    made.add_special_tokens(["[MASK]"])
    made.add_tokens([f"t{i}" for i in range(23)])
    made.save(str(folder / "tokenizer.json"))
    request = Request("hello milking a", model=describe(str(folder)))
    return View(request, query=2)  # [CLS] hello mil ##king a [SEP]


def masked(pilot):
    return view_of(pilot).request.switches.masked


@pytest.mark.parametrize("pane", ["weights", "tokens", "predictions"])
async def test_a_word_is_masked_whole_and_shown_whole(pieces, pane):
    async with open_app(replace(pieces, pane=pane)) as pilot:
        await press(pilot, "W", "M")
        assert masked(pilot) == {2, 3}
        assert view_of(pilot).query == 2
        await press(pilot, "0")
        assert says(pilot, "in “hello [MASK][MASK] a”")
        assert says(pilot, "“mil” is hidden")
        await press(pilot, "u")
        assert not masked(pilot)
        await press(pilot, "M", "1", "down", "M")  # also from its other piece
        assert not masked(pilot)


async def test_of_a_word_masked_in_part_the_rest_is_masked_too(pieces):
    async with open_app(pieces) as pilot:
        await press(pilot, "M", "W", "M")
        assert masked(pilot) == {2, 3}


async def test_a_token_is_masked_alone(pieces):
    async with open_app(pieces) as pilot:
        await press(pilot, "M")
        assert masked(pilot) == {2}
        await press(pilot, "down", "M", "M")
        assert masked(pilot) == {2}
