"""A target on screen: its line, the three attentions, and what keys do in each."""

from dataclasses import replace

import pytest

from core.learning_types import Learning, Wish
from core.types import Edit, GivenModel, Mask, Request
from tests.tui.helpers import (
    click_on,
    explorer_of,
    find,
    make_view,
    open_app,
    paste,
    press,
    says,
    screen_text,
    sentence_of,
    shown_text,
    view_of,
)
from tui.command import command_line
from tui.scene import View

SOURCE, TARGET = "The ball is blue", "La bola es azul ahora"
BOTH = [(80, 24), (120, 36)]


def translating(target=TARGET, **fields):
    made = make_view(SOURCE, **fields)
    request = made.request
    return View(
        Request(SOURCE, request.tokenizer, request.model, request.switches, target=target),
        **{name: value for name, value in fields.items() if name in View.__dataclass_fields__},
    )


def target_of(pilot):
    return explorer_of(pilot.app).query_one("#target")


def place(pilot):
    view = view_of(pilot)
    return view.attention, view.query, view.key


@pytest.mark.parametrize("size", BOTH, ids=str)
async def test_a_goes_round_the_attentions(size):
    async with open_app(translating(query=3, pane="matrix"), size) as pilot:
        find(pilot, "Encoder · layer 0 · head 0 · query ↓ key →")
        await press(pilot, "a")
        find(pilot, "Decoder · layer 0 · head 0 · query ↓ key →")
        find(pilot, "mask causal", "Status")
        find(pilot, "ahora", "#pane-matrix")
        await press(pilot, "a")
        find(pilot, "Cross · layer 0 · head 0 · target ↓ source →")
        find(pilot, "mask none", "Status")
        find(pilot, "5 × 4 tokens", "Status")
        await press(pilot, "a")
        find(pilot, "Encoder · layer 0", "#pane-matrix")


async def test_a_place_is_kept_where_the_next_attention_has_it():
    async with open_app(translating(attention="cross", query=4, key=3)) as pilot:
        await press(pilot, "a")
        assert place(pilot) == ("encoder", 3, 3)
        await press(pilot, "a")
        assert place(pilot) == ("decoder", 3, 3)


async def test_keys_stay_in_a_pattern_that_is_not_square():
    async with open_app(translating(attention="cross", pane="matrix")) as pilot:
        await press(pilot, *["down"] * 7, *["right"] * 7)
        assert place(pilot) == ("cross", 4, 3)
        find(pilot, "“ahora” → “blue”", "#pane-matrix")
        await press(pilot, "home", "left", "end")
        assert place(pilot) == ("cross", 4, 2)


async def test_every_pane_of_cross_attention_names_both_words():
    async with open_app(translating(attention="cross", query=1, key=3)) as pilot:
        find(pilot, "What “bola” attends to · cross · layer 0", "#pane-weights")
        find(pilot, "blue  0.724", "#pane-weights")
        find(pilot, "k and v of “blue”", "#pane-vectors")
        find(pilot, "target: queries", "#pane-tokens")
        find(pilot, "▶ 1  bola", "#pane-tokens")
        find(pilot, "› 3  blue", "#pane-tokens")
        await press(pilot, "d")
        find(pilot, "Derivation · cross · layer 0 · head 0 · query 1 bola → key 3 blue")


async def test_k_and_v_in_cross_attention_are_the_keys():
    async with open_app(translating(attention="cross", query=4, key=1, vector="k")) as pilot:
        scene = explorer_of(pilot.app).scene
        layer = scene.trace.cross.layers[0]
        assert (scene.vector("k") == layer.k[0, 1]).all()
        assert (scene.vector("v") == layer.v[0, 1]).all()
        assert (scene.vector("q") == layer.q[0, 4]).all()
        assert (scene.vector("input") == layer.resid_pre[4]).all()


async def test_both_lists_of_tokens_can_be_clicked():
    async with open_app(translating(attention="cross")) as pilot:
        await click_on(pilot, "2  es", "#pane-tokens")
        assert place(pilot) == ("cross", 2, 0)
        await click_on(pilot, "1  ball", "#pane-tokens")
        assert place(pilot) == ("cross", 2, 1)
        await click_on(pilot, "source: keys", "#pane-tokens")
        assert place(pilot) == ("cross", 2, 1)


async def test_long_lists_share_the_pane_and_follow_both_cursors():
    words = " ".join(f"w{i}" for i in range(40))
    view = View(
        Request(words, "spaces", target=words.replace("w", "z")),
        attention="cross",
        query=39,
        key=20,
        pane="tokens",
    )
    async with open_app(view, (80, 24)) as pilot:
        find(pilot, "z39", "#pane-tokens")
        find(pilot, "w20", "#pane-tokens")
        await press(pilot, "K", "home")
        find(pilot, "z0 ", "#pane-tokens")
        find(pilot, "› 19  w19", "#pane-tokens")


# Editing.


@pytest.mark.parametrize("size", BOTH, ids=str)
async def test_both_lines_are_edited_in_place(size):
    async with open_app(translating(attention="cross", query=3, key=3), size) as pilot:
        await press(pilot, "A", *" ya")
        assert target_of(pilot).true_text == view_of(pilot).request.target == f"{TARGET} ya"
        find(pilot, "6 × 4 tokens", "Status")
        await press(pilot, "escape", "e", "home", *"So ", "escape")
        assert shown_text(pilot) == f"So {SOURCE}"
        assert view_of(pilot).request.target == f"{TARGET} ya"
        assert place(pilot) == ("cross", 3, 4)  # still azul and blue


async def test_a_pasted_target_is_one_edit():
    async with open_app(translating()) as pilot:
        await press(pilot, "A")
        await paste(pilot, " y redonda")
        assert view_of(pilot).request.target == f"{TARGET} y redonda"


async def test_an_empty_target_is_said_and_nothing_is_lost():
    async with open_app(translating("La", attention="cross", key=2)) as pilot:
        await press(pilot, "A", "backspace", "backspace")
        assert says(pilot, "the target is empty: type a sentence, or leave the target out")
        assert sentence_of(pilot).true_text == SOURCE
        await press(pilot, *"Una", "escape")
        assert view_of(pilot).request.target == "Una"
        assert place(pilot) == ("cross", 0, 2)


@pytest.mark.parametrize("size", BOTH, ids=str)
async def test_a_target_is_added_and_removed(size):
    async with open_app(make_view(SOURCE, query=2), size) as pilot:
        assert "target" not in screen_text(pilot.app)
        await press(pilot, "A")
        assert view_of(pilot).request.target == "La bola es azul"
        assert view_of(pilot).attention == "cross"
        find(pilot, "target  La bola es azul")
        find(pilot, "source  The ball is blue")
        await press(pilot, "ctrl+p", *"remove the target", "enter")
        assert view_of(pilot).request.target is None
        assert place(pilot) == ("encoder", 2, 0)
        assert "La bola" not in screen_text(pilot.app)
        await press(pilot, "ctrl+p", *"add a target", "enter")
        find(pilot, "target  La bola es azul")


async def test_adding_again_shows_what_was_asked_for():
    """The line that was hidden held other words."""
    async with open_app(translating("Una bola")) as pilot:
        await press(pilot, "ctrl+p", *"remove the target", "enter", "A")
        find(pilot, "target  La bola es azul")
        assert view_of(pilot).request.target == target_of(pilot).true_text == "La bola es azul"


async def test_without_a_target_a_says_how_to_get_one():
    async with open_app(make_view(SOURCE)) as pilot:
        await press(pilot, "a")
        assert says(pilot, "there is no target: A adds one")
        assert view_of(pilot).attention == "encoder"


async def test_the_palette_selects_attentions_and_words_of_the_target():
    async with open_app(translating()) as pilot:
        await press(pilot, "ctrl+p", *"attention: decoder", "enter")
        assert view_of(pilot).attention == "decoder"
        await press(pilot, "ctrl+p", *"ahora", "enter")
        assert place(pilot) == ("decoder", 4, 0)


# Switches.


async def test_the_mask_is_the_encoders():
    async with open_app(translating()) as pilot:
        for attention, words in (
            ("decoder", "the decoder's mask is always causal"),
            ("cross", "cross-attention has no mask"),
        ):
            await press(pilot, "a", "m")
            assert view_of(pilot).attention == attention
            assert says(pilot, words)
            assert view_of(pilot).request.switches.mask == Mask()
        await press(pilot, "a", "m")
        assert view_of(pilot).request.switches.mask == Mask(causal=True)


async def test_x_blocks_a_word_of_the_source():
    async with open_app(translating(attention="cross", query=4, key=1)) as pilot:
        await press(pilot, "x")
        assert view_of(pilot).request.switches.mask.blocked == {1}
        find(pilot, "ball  0.148      –", "#pane-weights")
        find(pilot, "mask none +1 blocked", "Status")
        await press(pilot, "x", "a", "a", "x")
        assert says(pilot, "words of the source can be blocked")
        assert view_of(pilot).request.switches.mask.blocked == frozenset()


async def test_before_and_after_a_switch_in_cross_attention():
    async with open_app(translating(attention="cross", query=3, key=3), (80, 24)) as pilot:
        await press(pilot, "s")
        find(pilot, "before head 0", "#pane-weights")
        find(pilot, "blue  0.792  0.", "#pane-weights")
        await press(pilot, "u")
        find(pilot, "÷√4 on", "Status")


async def test_hints_are_those_that_do_something():
    async with open_app(make_view(SOURCE), (260, 36)) as pilot:
        assert "attention" not in screen_text(pilot.app)
        await press(pilot, "A")
        find(pilot, "a attention", "KeyBar")
        find(pilot, "A target", "KeyBar")
        find(pilot, "x block", "KeyBar")
        assert "m mask" not in screen_text(pilot.app)
        await press(pilot, "a", "a")
        assert "x block" not in screen_text(pilot.app)


async def test_given_matrices_take_no_target():
    from core.lessons import open_lesson
    from tui.app import AttnApp
    from tui.lessons import view_at

    lesson = open_lesson("by-hand")
    assert isinstance(lesson.request.model, GivenModel)
    app = AttnApp(view_at(lesson, 0), lesson=lesson)
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await press(pilot, "A")
        assert says(pilot, "the given matrices belong to the 3 tokens")
        assert view_of(pilot).request.target is None


async def test_a_target_puts_the_pane_of_learning_away():
    async with open_app(make_view(SOURCE, query=3, pane="learning")) as pilot:
        await press(pilot, "A")
        assert view_of(pilot).pane == "weights"
        assert "learning" not in screen_text(pilot.app)
        await press(pilot, "7")
        assert view_of(pilot).pane == "weights"
        assert says(pilot, "With a target nothing is learned")


async def test_what_has_learned_takes_no_target_and_stays():
    view = make_view(SOURCE, query=3)
    learning = Learning((Wish(3, ((0, 1.0),)),), steps=3)
    request = replace(view.request, learning=learning)
    async with open_app(replace(view, request=request)) as pilot:
        await press(pilot, "A")
        assert says(pilot, "with a target nothing is learned")
        assert view_of(pilot).request == request
        assert "La bola" not in screen_text(pilot.app)


async def test_a_lesson_brings_its_target_and_the_next_takes_it_away():
    async with open_app(make_view(SOURCE)) as pilot:
        await press(pilot, "ctrl+p", *"source and target", "enter")
        find(pilot, "target  La bola es azul")
        await press(pilot, *["greater_than_sign"] * 4)
        assert place(pilot) == ("cross", 3, 3)
        await press(pilot, "ctrl+p", *"lesson: order", "enter")
        assert view_of(pilot).request.target is None
        assert "La bola" not in screen_text(pilot.app)


async def test_the_copied_command_opens_the_same_attention():
    async with open_app(translating(attention="cross", query=4, key=3)) as pilot:
        assert command_line(view_of(pilot)) == (
            f"attn-tui --target '{TARGET}' --query 4 --key 3 --attention cross"
        )


async def test_beside_a_target_no_text_is_compared():
    for key in ("8", "o"):
        async with open_app(translating(query=3)) as pilot:
            await press(pilot, key)
            assert says(pilot, "With a target no other text is compared")
            assert (view_of(pilot).compare, view_of(pilot).pane) == (None, "weights")


async def test_beside_another_text_no_target_is_added():
    async with open_app(make_view(SOURCE, compare="The ball is red")) as pilot:
        find(pilot, "this    The ball is blue")
        find(pilot, "other   The ball is red")
        await press(pilot, "A")
        assert says(pilot, "Two texts are compared; stop comparing")
        assert view_of(pilot).request.target is None
        explorer_of(pilot.app).stop_comparing()
        await press(pilot, "A")
        find(pilot, "source  The ball is blue")
        assert view_of(pilot).attention == "cross"


@pytest.mark.parametrize("size", BOTH, ids=str)
async def test_numbers_are_typed_over_in_the_encoder(size):
    start = translating(query=3, pane="numbers")
    async with open_app(start, size) as pilot:
        await press(pilot, "enter", *"1.5", "enter")
        edit = Edit("attn_scores", (0, 0, 3, 0), 1.5)
        assert view_of(pilot).request.switches.edits == (edit,)
        find(pilot, "+1.500*", "#pane-numbers")
        for title in ("decoder", "cross"):
            await press(pilot, "a")
            assert view_of(pilot).attention == title
            find(pilot, "Numbers can be typed over in", "#pane-numbers")
            await press(pilot, "delete", "enter")
            assert says(pilot, "Numbers can be typed over in the encoder: a leads there")
            assert view_of(pilot).request.switches.edits == (edit,)
            assert "type over" not in screen_text(pilot.app).splitlines()[-1]
        await press(pilot, "a", "delete")
        assert view_of(pilot).request.switches.edits == ()


async def test_a_blank_target_is_said_though_a_number_is_typed_over():
    edits = (Edit("x", (0, 0), 2.0),)
    async with open_app(translating(target="x", switches={"edits": edits})) as pilot:
        await press(pilot, "A", "backspace")
        assert "The target is empty" in screen_text(pilot.app)
        await press(pilot, "y")
        assert target_of(pilot).true_text == "y" == view_of(pilot).request.target
        assert view_of(pilot).request.switches.edits == edits
