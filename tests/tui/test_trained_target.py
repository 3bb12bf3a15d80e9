"""The explorer on a real encoder–decoder: its three attentions, and the target that it reads."""

import numpy as np
import pytest

from core.trained import describe
from core.types import Mask, Request, Switches
from tests.core.small_checkpoints import edit_config, expected_of, speaking
from tests.tui.helpers import (
    explorer_of,
    find,
    open_app,
    press,
    says,
    screen_lines,
    screen_text,
    view_of,
)
from tui.command import command_line
from tui.scene import View

SOURCE, TARGET = "t5 t17 t3", "t9 t30"
BOTH = [(80, 24), (120, 36)]


@pytest.fixture
def model(tmp_path):
    """Two layers of three heads read, two of four write."""
    return describe(speaking("bart-head", tmp_path))


def reading(model, target=None, **places):
    return View(Request(SOURCE, model=model, target=target), **places)


def place(pilot):
    view = view_of(pilot)
    return view.attention, view.query, view.key


async def test_attentions_are_those_of_transformers(model):
    expected, text = expected_of("bart-head")
    target = " ".join(f"t{i}" for i in expected["target"][1:])
    switches = Switches(Mask(blocked=frozenset(expected["pads"].tolist())))
    view = View(Request(text, model=model, switches=switches, target=target), pane="matrix")
    async with open_app(view) as pilot:
        for kind, rows in (("encoder", slice(0, 12)), ("decoder", slice(7)), ("cross", slice(7))):
            assert view_of(pilot).attention == kind
            for layer, theirs in enumerate(expected[f"{kind}_attentions"]):
                scene = explorer_of(pilot.app).scene
                assert view_of(pilot).layer == layer
                found = scene.layer.pattern[:, rows]
                np.testing.assert_allclose(found, theirs[:, rows], atol=1e-4)
                await press(pilot, "right_square_bracket")
            await press(pilot, "a", "left_square_bracket")


@pytest.mark.parametrize("size", BOTH, ids=str)
async def test_a_goes_round_and_each_says_its_mask(model, size):
    async with open_app(reading(model, TARGET, pane="matrix"), size) as pilot:
        find(pilot, "Encoder · layer 0 · head 0 · query ↓ key →")
        await press(pilot, "a")
        find(pilot, "Decoder · layer 0 · head 0 · query ↓ key →")
        find(pilot, "mask causal", "Status")
        find(pilot, "3 tokens", "Status")
        await press(pilot, "a")
        find(pilot, "Cross · layer 0 · head 0 · target ↓ source →")
        find(pilot, "3 × 3 tokens", "Status")
        await press(pilot, "a")
        find(pilot, "Encoder · layer 0", "#pane-matrix")


async def test_heads_are_those_of_the_stack(model):
    async with open_app(reading(model, TARGET)) as pilot:
        await press(pilot, *["full_stop"] * 5)
        assert view_of(pilot).head == 2
        await press(pilot, "a", *["full_stop"] * 5)
        assert view_of(pilot).head == 3
        find(pilot, "head 3", "#pane-weights")
        await press(pilot, "a", "a")
        assert view_of(pilot).head == 2
        assert "head 3" not in screen_text(pilot.app)


async def test_layers_are_those_of_the_stack(tmp_path):
    model = describe(speaking("t5-relu", tmp_path))  # two layers read, three write
    async with open_app(reading(model, TARGET, attention="cross", layer=2)) as pilot:
        find(pilot, "cross · layer 2", "Status")
        await press(pilot, "a")
        find(pilot, "encoder · layer 1", "Status")


@pytest.mark.parametrize("size", BOTH, ids=str)
async def test_the_start_of_a_target_is_shown_for_what_it_is(model, size):
    view = reading(model, TARGET, attention="decoder", pane="tokens")
    async with open_app(view, size) as pilot:
        find(pilot, "▶ 0  t2", "#pane-tokens")
        find(pilot, "starts every target", "#pane-tokens")
        await press(pilot, "down")
        find(pilot, "▶ 1  t9", "#pane-tokens")
        assert not says(pilot, "starts every target")
        await press(pilot, "a", "a", "home")
        assert place(pilot) == ("encoder", 0, 0)
        assert not says(pilot, "starts every target")


@pytest.mark.parametrize("size", BOTH, ids=str)
async def test_without_a_target_the_encoder_is_seen_and_a_target_offered(model, size):
    async with open_app(reading(model), size) as pilot:
        find(pilot, "A: a target for the decoder", "Status")
        find(pilot, "A target", "KeyBar")
        assert "a attention" not in screen_lines(pilot.app)[-1]
        await press(pilot, "a")
        assert says(pilot, "There is no target: A adds one, for")
        assert view_of(pilot).attention == "encoder"


@pytest.mark.parametrize("size", BOTH, ids=str)
async def test_a_target_begins_empty_and_is_typed(model, size):
    async with open_app(reading(model, query=1), size) as pilot:
        await press(pilot, "A")
        assert view_of(pilot).request.target == ""
        find(pilot, "1 × 3 tokens", "Status")
        find(pilot, "What “t2” attends to · cross · layer 0", "#pane-weights")
        await press(pilot, *"t9 t30")
        assert view_of(pilot).request.target == "t9 t30"
        find(pilot, "3 × 3 tokens", "Status")
        await press(pilot, "escape", "down", "down")
        find(pilot, "What “t30” attends to", "#pane-weights")
        await press(pilot, "A", *["backspace"] * 6)
        assert view_of(pilot).request.target == ""
        assert place(pilot) == ("cross", 0, 0)
        await press(pilot, "escape", "ctrl+p", *"remove the target", "enter")
        assert view_of(pilot).request.target is None
        assert place(pilot)[0] == "encoder"
        find(pilot, "What “t5” attends to · layer 0", "#pane-weights")


async def test_x_blocks_a_word_of_the_source_in_both_places(model):
    async with open_app(reading(model, TARGET, attention="cross", key=1)) as pilot:
        await press(pilot, "x")
        assert view_of(pilot).request.switches.mask.blocked == {1}
        trace = explorer_of(pilot.app).scene.trace
        for attention in (trace.encoder, trace.cross):
            for layer in attention.layers:
                assert (layer.pattern[:, :, 1] == 0).all()
        assert (trace.decoder.layers[0].pattern[:, 2, 1] > 0).any()
        find(pilot, "mask none +1 blocked", "Status")
        await press(pilot, "x", "a", "a", "x")
        assert says(pilot, "Words of the source can be blocked")


async def test_switches_of_the_seeded_model_stay_away(model):
    async with open_app(reading(model, TARGET, attention="cross")) as pilot:
        for key in ("m", "s", "d", "7"):
            await press(pilot, key)
            assert says(pilot, "trained weights stay as they are")
        last = screen_lines(pilot.app)[-1]
        assert "a attention" in last
        assert "mask" not in last


async def test_no_other_text_beside_a_target(model):
    async with open_app(reading(model, TARGET)) as pilot:
        await press(pilot, "o")
        assert says(pilot, "With a target no other text is compared")
        assert view_of(pilot).compare is None


async def test_help_says_what_a_real_decoder_reads(model, tmp_path):
    for shown, there in ((model, True), (describe(speaking("bert-plain", tmp_path)), False)):
        async with open_app(reading(shown), (120, 100)) as pilot:
            await press(pilot, "question_mark")
            assert says(pilot, "which begins empty") == there
            assert not says(pilot, "The mask that is switched")


async def test_palette_offers_a_target_and_its_attentions(model):
    async with open_app(reading(model)) as pilot:
        await press(pilot, "ctrl+p", *"translate", "enter")
        assert view_of(pilot).request.target == ""
        await press(pilot, "escape", "ctrl+p", *"attention: decoder", "enter")
        assert view_of(pilot).attention == "decoder"


async def test_typed_target_that_is_refused_is_said_and_stays(model, monkeypatch):
    from core import trained
    from core.errors import TextError

    def cut(model, text):
        if "!" in text:
            raise TextError("target: no such sign", "take it out")
        return tokens(model, text)

    tokens = trained.target_tokens
    monkeypatch.setattr(trained, "target_tokens", cut)
    async with open_app(reading(model, TARGET)) as pilot:
        await press(pilot, "A", *" !")
        assert says(pilot, "Target: no such sign: take it out")
        assert explorer_of(pilot.app).scene is None  # nothing stale is drawn
        assert view_of(pilot).request.target == f"{TARGET} !"
        await press(pilot, "backspace", *"t3", "escape")
        assert view_of(pilot).request.target == f"{TARGET} t3"
        find(pilot, "What “t5” attends to", "#pane-weights")


async def test_what_starts_no_target_is_refused_and_nothing_lost(tmp_path):
    folder = speaking("bart-head", tmp_path)
    edit_config(tmp_path / "bart-head", decoder_start_token_id=99)
    view = reading(describe(folder))
    async with open_app(view) as pilot:
        await press(pilot, "A")
        assert says(pilot, "decoder_start_token_id is 99")
        assert view_of(pilot) == view
        find(pilot, "What “t5” attends to · layer 0", "#pane-weights")


@pytest.mark.parametrize("size", [(60, 18), *BOTH], ids=str)
async def test_header_says_which_stack_is_seen(model, size):
    async with open_app(reading(model, TARGET), size) as pilot:
        first = screen_lines(pilot.app)[0]
        assert "2 layers × 3 heads" in first
        await press(pilot, "a")
        assert "2 layers × 4 heads" in screen_lines(pilot.app)[0]


@pytest.mark.parametrize(("target", "option"), [(TARGET, f"'{TARGET}'"), ("", "''")])
def test_command_opens_the_same_view(model, target, option):
    view = reading(model, target, attention="cross", key=2)
    assert command_line(view) == (
        f"attn-tui --model {model.path} --target {option} --key 2 --attention cross '{SOURCE}'"
    )
