"""The numbers pane: a cursor over scores, X and matrices, and typing over them."""

import pytest

from core.names import EDITABLE
from core.types import Edit, Mask
from tests.tui.helpers import (
    click_on,
    explorer_of,
    find,
    line_text,
    make_view,
    open_app,
    press,
    press_in_one_read,
    says,
    screen_lines,
    settle,
    view_of,
)
from tui.numbers import NAMES
from tui.screens.number import NumberPrompt
from tui.widgets.lines import line_cells

PANE = "#pane-numbers"
COMPACT = (80, 24)


def start(text="The black cat drank the milk", **fields):
    return make_view(text, **{"query": 5, "key": 2, "head": 1, "pane": "numbers", **fields})


def edits_of(pilot):
    return view_of(pilot).request.switches.edits


def cursor_row(pilot):
    """What stands in the row of the cursor."""
    pane = explorer_of(pilot.app).query_one(PANE)
    return next(text for text in map(line_text, pane.lines) if "▶" in text).strip(" │")


def test_every_array_has_a_name():
    assert list(NAMES) == list(EDITABLE)


async def test_a_score_is_typed_over_and_the_row_is_shown_before_and_after():
    async with open_app(start()) as pilot:
        assert cursor_row(pilot).endswith("+0.105")
        await press(pilot, "enter")
        assert says(pilot, "score of “milk” → “cat”, now +0.105:")
        await press(pilot, *"1.5", "enter")
        assert edits_of(pilot) == (Edit("attn_scores", (0, 1, 5, 2), 1.5),)
        assert "+1.500*" in cursor_row(pilot)
        assert says(pilot, "* typed over, was +0.105")
        assert says(pilot, "1 number typed over")
        find(pilot, "before head 1", "#pane-weights")
        await press(pilot, "u")
        assert edits_of(pilot) == ()
        assert "*" not in cursor_row(pilot)


@pytest.mark.parametrize(
    ("array", "keys", "edit", "words"),
    [
        ("x", ("right", "up"), Edit("x", (4, 1), -2.0), "X of “the”, dim 1, now"),
        (
            "w_q",
            ("right", "down", "down"),
            Edit("w_q", (0, 2, 5), -2.0),
            "W_Q row 2, column 5, now",
        ),
        ("w_k", ("end", "left"), Edit("w_k", (0, 15, 4), -2.0), "W_K row 15, column 4, now"),
        ("w_v", ("right",) * 9, Edit("w_v", (0, 0, 7), -2.0), "W_V row 0, column 7, now"),
    ],
)
async def test_an_entry_is_typed_over(array, keys, edit, words):
    async with open_app(start(array=array), COMPACT) as pilot:
        await press(pilot, *keys, "enter")
        assert says(pilot, words)
        await press(pilot, *"-2", "enter")
        assert edits_of(pilot) == (edit,)
        assert "-2.000*" in cursor_row(pilot)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("1,5", "“1,5” is no number: type a number such as -0.5, 2 or 1e-3"),
        ("nan", "“nan” is no number"),
        ("1e999", "“1e999” is too large"),
        ("", "Nothing is typed: type a number such as 1.5"),
        ("[/]", "“[/]” is no number"),
    ],
)
async def test_what_is_no_number_says_so_in_place_and_stays(typed, words):
    async with open_app(start(), COMPACT) as pilot:
        await press(pilot, "enter", *typed, "enter")
        assert isinstance(pilot.app.screen, NumberPrompt)
        assert says(pilot, words)
        assert pilot.app.focused.value == typed
        assert edits_of(pilot) == ()
        await press(pilot, *["backspace"] * len(typed), *"2", "enter")
        assert [edit.value for edit in edits_of(pilot)] == [2.0]


async def test_keys_that_come_in_one_read_keep_their_order():
    async with open_app(start(), COMPACT) as pilot:
        await press(pilot, "enter")
        await press_in_one_read(pilot, "1", "2", "backspace", "3", "enter")
        assert [edit.value for edit in edits_of(pilot)] == [13.0]


async def test_escape_leaves_everything_as_it_is():
    async with open_app(start()) as pilot:
        before, view = screen_lines(pilot.app), view_of(pilot)
        await press(pilot, "enter", *"7", "up", "tab", "escape")
        assert screen_lines(pilot.app) == before
        assert view_of(pilot) == view


@pytest.mark.parametrize("key", ["delete", "backspace"])
async def test_the_original_is_put_back(key):
    async with open_app(start()) as pilot:
        await press(pilot, key)
        assert edits_of(pilot) == ()
        await press(pilot, "enter", *"7", "enter", "left", "enter", *"8", "enter", key)
        assert edits_of(pilot) == (Edit("attn_scores", (0, 1, 5, 2), 7.0),)
        await press(pilot, "right", key)
        assert edits_of(pilot) == ()


async def test_the_original_typed_again_is_no_edit():
    async with open_app(make_view("a b", switches={"positions": False}, pane="numbers")) as pilot:
        await press(pilot, "v", "enter", *"7", "enter")
        found = explorer_of(pilot.app).state
        plain = float(found.before.layers[0].resid_pre[0, 0])
        await press(pilot, "enter", *repr(plain), "enter")
        assert edits_of(pilot) == ()


async def test_edits_follow_their_tokens():
    async with open_app(start(text="a b c", query=2, key=0)) as pilot:
        explorer = explorer_of(pilot.app)
        edits = (
            Edit("attn_scores", (0, 1, 2, 0), 1.0),
            Edit("attn_scores", (0, 1, 2, 1), 2.0),
            Edit("x", (1, 3), 3.0),
            Edit("x", (2, 3), 4.0),
            Edit("w_q", (0, 1, 1), 5.0),
        )
        explorer.submit(explorer.state.with_switch(edits=edits))
        await settle(pilot)
        await click_on(pilot, "b", "#sentence")
        await press(pilot, "delete", *"x y")
        assert view_of(pilot).request.text == "a x y c"
        assert edits_of(pilot) == (
            Edit("attn_scores", (0, 1, 3, 0), 1.0),
            Edit("x", (3, 3), 4.0),
            Edit("w_q", (0, 1, 1), 5.0),
        )


async def test_what_a_typed_number_does_not_go_with_is_passed_over():
    async with open_app(start()) as pilot:
        await press(pilot, "enter", *"7", "enter", "n")
        assert view_of(pilot).request.switches.normalizer == "none"
        assert says(pilot, "linear attention takes no scores")
        assert says(pilot, "put the score back")


async def test_projections_stay_while_a_matrix_is_typed_over():
    async with open_app(start(array="w_k")) as pilot:
        await press(pilot, "enter", *"7", "enter", "w")
        assert view_of(pilot).request.switches.projections == "seeded"
        assert says(pilot, "q = k = v = x has no matrices, and")


@pytest.mark.parametrize(
    ("switches", "array", "words"),
    [
        ({"normalizer": "linear"}, "attn_scores", "linear attention: not used"),
        ({"projections": "identity"}, "w_v", "Q = K = V = X: not used"),
    ],
)
async def test_what_is_not_used_cannot_be_typed_over(switches, array, words):
    async with open_app(start(array=array, switches=switches)) as pilot:
        assert says(pilot, words)
        await press(pilot, "enter")
        assert not isinstance(pilot.app.screen, NumberPrompt)
        assert says(pilot, "put the")


async def test_a_number_too_large_for_the_arithmetic_changes_nothing_and_says_why():
    async with open_app(start(array="x")) as pilot:
        await press(pilot, "enter", *"3", "enter", "right")
        before = view_of(pilot)
        await press(pilot, "enter", *"1e308", "enter")
        assert says(pilot, "is not finite")
        assert view_of(pilot) == before
        assert explorer_of(pilot.app).scene is not None
        await press(pilot, "u")
        assert edits_of(pilot) == ()


async def test_what_learns_cannot_be_typed_over_nor_the_other_way_round():
    async with open_app(start(text="a b", query=0, key=1)) as pilot:
        await press(pilot, "enter", *"3", "enter", "7", "right")
        assert says(pilot, "layer 0 learns, and attn_scores is typed over there")
        assert view_of(pilot).request.learning is None
        await press(pilot, "6", "delete", "7", "right")
        assert view_of(pilot).request.learning is not None
        await press(pilot, "6", "enter")
        assert not isinstance(pilot.app.screen, NumberPrompt)


async def test_a_masked_score_says_that_it_takes_no_part():
    async with open_app(start(mask=Mask(causal=True), query=1, key=3)) as pilot:
        assert says(pilot, "masked: it takes no part")


async def test_the_cursor_of_the_scores_is_that_of_the_others():
    async with open_app(start()) as pilot:
        await press(pilot, "left", "up")
        assert (view_of(pilot).query, view_of(pilot).key) == (4, 1)
        find(pilot, "“the” → “black”", "#pane-matrix")


async def test_enter_elsewhere_goes_to_the_numbers():
    async with open_app(start(pane="matrix")) as pilot:
        await press(pilot, "enter")
        assert view_of(pilot).pane == "numbers"
        assert not isinstance(pilot.app.screen, NumberPrompt)


async def test_arrays_go_round_and_vectors_too_when_they_are_beside():
    async with open_app(start()) as pilot:
        for array in (*list(EDITABLE)[1:], "attn_scores"):
            await press(pilot, "v")
            assert view_of(pilot).array == array
        await press(pilot, "V")
        assert view_of(pilot).array == "w_v"
        await press(pilot, "2", "v")  # the numbers are still beside
        assert (view_of(pilot).array, view_of(pilot).vector) == ("attn_scores", "attn_out")
        await press(pilot, "4", "v")
        assert (view_of(pilot).array, view_of(pilot).vector) == ("attn_scores", "input")


async def test_clicks_select_an_array_and_a_cell():
    async with open_app(start(), COMPACT) as pilot:
        x, _ = find(pilot, "drank", PANE)
        _, y = find(pilot, "  cat ", PANE)
        y = next(i for i, line in enumerate(screen_lines(pilot.app)) if line.startswith("│  cat"))
        await pilot.click(offset=(x + 1, y))
        await settle(pilot)
        assert (view_of(pilot).query, view_of(pilot).key) == (2, 3)
        await click_on(pilot, "W_K", PANE)
        assert view_of(pilot).array == "w_k"
        x, _ = find(pilot, " 6 ", PANE)
        y = next(i for i, line in enumerate(screen_lines(pilot.app)) if line.startswith("│   3 "))
        await pilot.click(offset=(x, y))
        await settle(pilot)
        assert (view_of(pilot).dim, view_of(pilot).component) == (3, 2)
        await click_on(pilot, "row 3", PANE)
        assert (view_of(pilot).dim, view_of(pilot).component) == (3, 2)


async def test_a_click_from_another_pane_selects_in_the_array():
    async with open_app(start(array="w_q")) as pilot:
        await press(pilot, "3")
        assert view_of(pilot).pane == "matrix"
        x, y = find(pilot, "+0.296", PANE)  # row 3, column 4, the head's first
        await pilot.click(offset=(x, y))
        await settle(pilot)
        view = view_of(pilot)
        assert (view.pane, view.dim, view.component, view.query, view.key) == (
            "numbers",
            3,
            0,
            5,
            2,
        )


@pytest.mark.parametrize("size", [(60, 18), COMPACT, (120, 36), (200, 60)])
@pytest.mark.parametrize("array", EDITABLE)
async def test_the_cursor_is_always_in_sight(size, array):
    model = {"heads": 2, "d_model": 48}
    words = " ".join(f"w{i}" for i in range(50))
    async with open_app(start(words, array=array, model=model), size) as pilot:
        for keys in (("end", *["right"] * 60), ("home", *["left"] * 60)):
            for key in keys:
                await pilot.press(key)
            await settle(pilot)
            assert cursor_row(pilot)
            pane = explorer_of(pilot.app).query_one(PANE)
            assert any(style == pane.palette.cursor for line in pane.lines for _, style in line)
            assert " of " in line_text(pane.lines[-1])  # what is left out


async def test_any_text_and_any_number_keep_the_widths():
    text = "[/] 👩‍👩‍👧 我想吃 \x1b[2J end"
    async with open_app(start(text, array="x", query=0, precision=12), COMPACT) as pilot:
        await press(pilot, "enter", *"-123456789012.5", "enter", "v", "V", "right")
        pane = explorer_of(pilot.app).query_one(PANE)
        assert all(line_cells(line) == 80 for line in pane.lines)
        assert "-1.23456789e+11" not in cursor_row(pilot)
        assert "\x1b" not in "".join(screen_lines(pilot.app))


async def test_the_prompt_is_whole_at_any_width():
    for size in ((60, 18), COMPACT):
        async with open_app(start("supercalifragilistic " * 2, query=0, key=1), size) as pilot:
            await press(pilot, "enter", *"12345")
            last = screen_lines(pilot.app)[-1]
            assert "12345" in last
            assert "…" in last or "now" in last
