"""Another text beside the sentence: its line, its pane, and that the two stay in step."""

import threading

import pytest

import tui.state as module
from core.compare import compare
from core.comparison import Comparison
from core.errors import TextError
from core.lessons import open_lesson
from core.runner import run
from core.types import Mask
from tests.tui.helpers import (
    HOSTILE,
    AttnApp,
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
    settle,
    view_of,
)
from tui.lessons import view_at
from tui.palette import examples
from tui.scene import panes

OTHER = "The cat drank sour milk"
PANE = "#pane-compare"


def comparing(**fields):
    return make_view(**{"query": 2, "head": 1, "key": 3, "compare": OTHER, **fields})


def other_of(pilot):
    return explorer_of(pilot.app).query_one("#other")


def state_of(pilot):
    return explorer_of(pilot.app).state


def in_step(pilot):
    """Whether both texts were run under the request that is shown."""
    state = state_of(pilot)
    compared, trace = state.compared, state.trace
    fresh = compare(run(trace.request), state.view.compare)
    assert compared.one is trace
    assert compared.text == state.view.compare == other_of(pilot).true_text
    assert compared.other.request == fresh.other.request
    assert compared.ranking == fresh.ranking
    return True


def row(pilot, word):
    """What stands behind a token of the pane, without bars."""
    column, line = find(pilot, f" {word} ", PANE)
    text = screen_text(pilot.app).splitlines()[line]
    words = text[column:].replace("│", " ").split()[1:]
    numbers = [
        each for each in words if "." in each and each.strip("+-").replace(".", "").isdigit()
    ]
    return numbers[:-1] if "head" in words else numbers


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_both_rows_and_their_difference(size):
    async with open_app(comparing(pane="compare"), size) as pilot:
        compared = state_of(pilot).compared
        mine, theirs = compared.weights(0, 1, 2, 1)
        for place, word in ((0, "The"), (3, "drank"), (6, "milk")):
            a, b = mine[place], theirs[place]
            assert row(pilot, word) == [f"{a:.3f}", f"{b:.3f}", f"{b - a:+.3f}"]
        assert row(pilot, "black") == [f"{mine[1]:.3f}", f"{-mine[1]:+.3f}"]
        find(pilot, "- black", PANE)
        find(pilot, "+ sour", PANE)
        column, line = find(pilot, "½ Σ |change|", PANE)
        assert (
            f"{compared.change(0, 1, 2):.3f}" in screen_text(pilot.app).splitlines()[line][column:]
        )


async def test_the_other_sentence_is_seen_and_edited():
    async with open_app(comparing()) as pilot:
        find(pilot, f"other   {OTHER}", "#sentence-box")
        await press(pilot, "o")
        assert explorer_of(pilot.app).focused is other_of(pilot)
        await press(pilot, *" now", "escape")
        assert view_of(pilot).compare == f"{OTHER} now"
        assert in_step(pilot)
        find(pilot, "+ now", PANE)
        assert sentence_of(pilot).true_text == "The black cat drank the milk"


async def test_comparing_begins_with_a_copy_that_differs_in_nothing():
    async with open_app(make_view(query=2)) as pilot:
        await press(pilot, "o")
        assert view_of(pilot).compare == other_of(pilot).true_text == "The black cat drank the milk"
        assert not state_of(pilot).compared.rows.any()
        assert explorer_of(pilot.app).focused is other_of(pilot)
        await press(pilot, *" !", "escape")
        assert state_of(pilot).compared.rows.any()
        assert view_of(pilot).pane == "compare"


async def test_its_key_begins_too():
    async with open_app(make_view()) as pilot:
        assert "compare" not in panes(view_of(pilot))
        await press(pilot, "8")
        assert explorer_of(pilot.app).focused is other_of(pilot)
        await press(pilot, "escape", "1", "8")
        assert explorer_of(pilot.app).focused.id == "pane-compare"


async def test_edits_switches_and_undo_keep_the_two_in_step():
    async with open_app(comparing()) as pilot:
        for keys in (
            ("e", *" too", "escape"),
            ("s",),
            ("m",),
            ("n",),
            ("x",),
            ("u",),
            ("u", "u"),
            ("o", "home", *"so ", "escape"),
            ("p", "w", "t"),
        ):
            await press(pilot, *keys)
            assert in_step(pilot), keys


async def test_switches_of_both_sides_are_the_same_but_for_blocked_places():
    async with open_app(comparing(mask=Mask(blocked=frozenset({1, 2})))) as pilot:
        other = state_of(pilot).compared.other.request.switches
        assert other.mask.blocked == {1}
        await press(pilot, "s")
        assert not state_of(pilot).compared.other.request.switches.scale


async def test_a_token_that_the_other_does_not_have():
    async with open_app(comparing(query=1, pane="compare")) as pilot:
        assert says(pilot, "“black” is in this text only")
        find(pilot, "heads by change, 4 rows", PANE)


async def test_texts_without_a_common_token():
    async with open_app(comparing(compare="dogs bark")) as pilot:
        assert says(pilot, "The two texts have no token in common")
        await press(pilot, "8", "left", "right")
        assert view_of(pilot).head == 1


async def test_left_and_right_go_through_the_ranking():
    async with open_app(comparing(pane="compare", head=3)) as pilot:
        ranking = [each.head for each in state_of(pilot).compared.ranking]
        assert ranking == [1, 3, 0, 2]
        await press(pilot, "right", "right", "right")
        assert view_of(pilot).head == 2
        await press(pilot, *["left"] * 5)
        assert view_of(pilot).head == 1
        await press(pilot, "full_stop")
        assert view_of(pilot).head == 2


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_click_selects_a_head_or_a_key(size):
    async with open_app(comparing(pane="compare"), size) as pilot:
        await click_on(pilot, "head 0 ", PANE)
        assert view_of(pilot).head == 0
        find(pilot, "▶ head 0", PANE)
        await click_on(pilot, "black", PANE)
        assert view_of(pilot).key == 1
        await click_on(pilot, "sour", PANE)
        await click_on(pilot, "heads by", PANE)
        await click_on(pilot, "½", PANE)
        assert (view_of(pilot).key, view_of(pilot).head) == (1, 0)


async def test_a_head_of_another_layer_is_chosen_with_its_layer():
    view = comparing(pane="compare", model={"layers": 3, "heads": 2, "d_model": 8}, head=0)
    async with open_app(view) as pilot:
        last = state_of(pilot).compared.ranking[-1]
        await click_on(pilot, f"layer {last.layer} · head {last.head}", PANE, dx=2)
        assert (view_of(pilot).layer, view_of(pilot).head) == (last.layer, last.head)
        await press(pilot, *["left"] * 9)
        first = state_of(pilot).compared.ranking[0]
        assert (view_of(pilot).layer, view_of(pilot).head) == (first.layer, first.head)


async def test_an_empty_text_is_one_sentence_and_ends_the_comparison_when_it_is_left():
    async with open_app(comparing(pane="compare"), (80, 24)) as pilot:
        await press(pilot, "o")
        other_of(pilot).set_true_text("")
        await settle(pilot)
        assert says(pilot, "The text to compare with is empty: type a word or a sentence.")
        assert isinstance(state_of(pilot).compared, TextError)
        assert state_of(pilot).trace is not None
        await press(pilot, *"cat")
        assert isinstance(state_of(pilot).compared, Comparison)
        other_of(pilot).set_true_text(" ")
        await settle(pilot)
        await press(pilot, "escape")
        assert (view_of(pilot).compare, view_of(pilot).pane) == (None, "weights")
        assert state_of(pilot).compared is None
        assert explorer_of(pilot.app).focused.id == "pane-weights"
        assert not other_of(pilot).parent.display


async def test_leaving_an_empty_text_for_the_sentence_stays_in_the_sentence():
    async with open_app(comparing()) as pilot:
        await press(pilot, "o")
        other_of(pilot).set_true_text("")
        await settle(pilot)
        await click_on(pilot, "black", "#sentence")
        assert view_of(pilot).compare is None
        assert explorer_of(pilot.app).focused is sentence_of(pilot)


async def test_the_palette_compares_with_an_example_and_stops():
    async with open_app(make_view()) as pilot:
        title, text = examples()[1]
        await press(pilot, "ctrl+p", *f"compare with: {title}".lower(), "enter")
        assert view_of(pilot).compare == text
        assert in_step(pilot)
        await press(pilot, "ctrl+p", *"stop comparing", "enter")
        assert view_of(pilot).compare is None
        assert "compare" not in panes(view_of(pilot))
        await press(pilot, "o", "escape")
        assert view_of(pilot).compare == "The black cat drank the milk"
        assert in_step(pilot)


async def test_the_copied_command_has_the_other_text():
    async with open_app(comparing()) as pilot:
        copied = []
        pilot.app.copy_to_clipboard = copied.append
        await press(pilot, "y")
        (command,) = copied
        assert f"--compare '{OTHER}' " in command


async def test_hostile_text_is_drawn_as_it_is():
    text = " ".join(HOSTILE)
    async with open_app(
        comparing(text=f"a {text}", query=0, compare="a b", pane="compare")
    ) as pilot:
        await press(pilot, "o")
        await paste(pilot, text)
        assert in_step(pilot)
        assert "\x1b" not in screen_text(pilot.app)
        assert pilot.app.is_running


async def test_a_refused_sentence_leaves_no_stale_comparison():
    async with open_app(comparing()) as pilot:
        sentence_of(pilot).set_true_text("")
        await settle(pilot)
        assert state_of(pilot).compared is None
        sentence_of(pilot).set_true_text("The cat")
        await settle(pilot)
        assert in_step(pilot)


async def test_both_are_made_in_a_thread_when_one_of_them_is_slow(monkeypatch):
    quick = module.is_quick
    monkeypatch.setattr(
        module, "is_quick", lambda r, tokens, *t: len(tokens) < 9 and quick(r, tokens, *t)
    )
    made = []
    trace = module.trace
    monkeypatch.setattr(
        module, "trace", lambda *a: made.append(threading.current_thread()) or trace(*a)
    )
    async with open_app(comparing()) as pilot:
        assert made == [threading.main_thread()]
        await press(pilot, "o")
        await paste(pilot, " and much more than that")
        assert in_step(pilot)
        assert len(made) == 1  # the sentence's own trace is still right
        await press(pilot, "escape", "s")
        assert made[1:] == [thread for thread in made[1:] if thread is not threading.main_thread()]
        assert len(made) == 2
        assert in_step(pilot)


async def test_a_comparison_that_is_stopped_while_it_is_computed_does_not_come_back(monkeypatch):
    monkeypatch.setattr(module, "is_quick", lambda *_: False)
    async with open_app(comparing()) as pilot:
        explorer = explorer_of(pilot.app)
        explorer.submit(explorer.state.toggled("scale"))
        explorer.stop_comparing()
        await settle(pilot)
        assert state_of(pilot).compared is None
        assert not view_of(pilot).request.switches.scale


async def test_given_matrices_have_no_other_text():
    lesson = open_lesson("by-hand")
    app = AttnApp(view_at(lesson, 0), lesson=lesson)
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await settle(pilot)
        await press(pilot, "o")
        assert view_of(pilot).compare is None
        assert says(pilot, "given matrices belong to the words of one text")


async def test_a_lesson_without_another_text_ends_the_comparison():
    async with open_app(comparing()) as pilot:
        explorer_of(pilot.app).open_lesson(open_lesson("order"))
        await settle(pilot)
        assert view_of(pilot).compare is None
        assert view_of(pilot) == view_at(open_lesson("order"), 0)


async def test_many_tokens_scroll_with_the_selected_key():
    words = " ".join(f"w{i}" for i in range(60))
    view = make_view(words, compare=f"{words} x", pane="compare", key=50)
    async with open_app(view, (80, 24)) as pilot:
        find(pilot, "›   w50", PANE)
        await press(pilot, "pageup")
        assert "› " not in screen_text(pilot.app)
        await press(pilot, "K")
        find(pilot, "›   w49", PANE)
