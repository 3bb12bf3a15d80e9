"""Learning on the screen: wishing, running, and what ends a run."""

from dataclasses import replace

import pytest

from core.learning_types import Learning, Wish
from core.lessons import open_lesson
from core.names import MAX_STEPS
from core.types import Mask
from tests.tui.helpers import (
    SENTENCE,
    explorer_of,
    find,
    make_view,
    open_app,
    paste,
    press,
    press_in_one_read,
    says,
    screen_lines,
    sentence_of,
    settle,
    view_of,
)
from tui.app import AttnApp
from tui.command import command_line
from tui.learning import RATES
from tui.lessons import view_at
from tui.screens.wish import WishPrompt
from tui.widgets.learning import WISHED, LearningPane

PANE = "#pane-learning"
MILK = Wish(5, ((1, 0.1), (2, 0.3), (3, 0.5)))


@pytest.fixture(autouse=True)
def no_clock(monkeypatch):
    """A run advances only when a test says so."""
    monkeypatch.setattr("tui.screens.learning.TICK_SECONDS", 1e6)


def start(learning=None, text=SENTENCE, **fields):
    view = make_view(text, **{"pane": "learning", "query": 5, "key": 3, **fields})
    return replace(view, request=replace(view.request, learning=learning))


def milk(steps=0, **fields):
    return start(Learning((MILK,), steps=steps), **fields)


def learning_of(pilot):
    return view_of(pilot).request.learning


def is_running(pilot):
    return pilot.app.screen.query_one(LearningPane).running


async def advance(pilot, ticks=1):
    for _ in range(ticks):
        explorer_of(pilot.app).advance()
        await settle(pilot)


async def test_the_pane_says_what_it_is():
    async with open_app(milk(60), (80, 24)) as pilot:
        assert says(pilot, "3 learned weights on one sentence, not language")
        assert "random" not in screen_lines(pilot.app)[0]
        assert says(pilot, "60 steps learned · rate 0.02")
        assert says(pilot, "loss 1.2785 · at best 1.2781")


async def test_a_row_has_its_wish_its_weight_and_a_bar_with_a_mark():
    async with open_app(milk(), (80, 24)) as pilot:
        x, y = find(pilot, "› drank 0.500  0.172  ", PANE)
        bar = screen_lines(pilot.app)[y][x + 22 : x + 22 + 17]
        assert bar.index(WISHED) == 8
        assert bar[:3].strip(" ") in ("██▉", "███")
        find(pilot, "  The   0.033  0.152  ", PANE)


async def test_arrows_choose_the_key_and_paint():
    async with open_app(start(), (80, 24)) as pilot:
        await press(pilot, "right")
        assert learning_of(pilot) == Learning((Wish(5, ((3, 0.2),)),))
        await press(pilot, "right", "right", "up", "right")
        assert learning_of(pilot).wishes == (Wish(5, ((2, 0.2), (3, 0.4))),)
        await press(pilot, "left", "down", "left")
        assert learning_of(pilot).wishes == (Wish(5, ((2, 0.1), (3, 0.3))),)
        assert (view_of(pilot).key, view_of(pilot).query) == (3, 5)


async def test_the_row_is_chosen_with_shift():
    async with open_app(milk()) as pilot:
        await press(pilot, "shift+up", "K", "J")
        assert (view_of(pilot).key, view_of(pilot).query) == (3, 4)
        await press(pilot, "right")
        assert [wish.query for wish in learning_of(pilot).wishes] == [4, 5]


async def test_painting_stays_between_0_and_1():
    async with open_app(start()) as pilot:
        await press(pilot, *["right"] * 12)
        assert learning_of(pilot).wishes == (Wish(5, ((3, 1.0),)),)
        await press(pilot, *["left"] * 12)
        assert learning_of(pilot).wishes == (Wish(5, ((3, 0.0),)),)


async def test_a_click_on_a_bar_paints_and_selects():
    async with open_app(start(), (80, 24)) as pilot:
        x, y = find(pilot, "  cat ", PANE)
        start_x = find(pilot, "█", PANE)[0]
        await pilot.click(offset=(start_x + 8, y))
        await settle(pilot)
        ((wish),) = learning_of(pilot).wishes
        ((key, weight),) = wish.weights
        assert (key, view_of(pilot).key) == (2, 2)
        assert 0.45 < weight < 0.55
        await pilot.click(offset=(x + 3, y + 1))  # the label
        await settle(pilot)
        assert view_of(pilot).key == 3
        assert learning_of(pilot).wishes == (wish,)


async def test_a_masked_key_cannot_be_painted():
    async with open_app(start(mask=Mask(causal=True), query=1, key=3)) as pilot:
        await press(pilot, "right")
        assert says(pilot, "query 1 may not attend to key 3: change the mask first")
        assert learning_of(pilot) is None


async def test_a_wish_is_typed():
    async with open_app(start()) as pilot:
        await press(pilot, "enter", *"3=.5, 2=.3", "enter")
        assert learning_of(pilot) == Learning((Wish(5, ((2, 0.3), (3, 0.5))),))
        await press(pilot, "enter", *",1=.1", "enter")
        assert learning_of(pilot).wishes == (MILK,)
        await press(pilot, "enter", "ctrl+a", *"5=1", "escape")
        assert learning_of(pilot).wishes == (MILK,)
        await press(pilot, "backspace")
        assert learning_of(pilot) is None


async def test_keys_that_come_in_one_read_keep_their_order():
    async with open_app(start()) as pilot:
        await press(pilot, "enter")
        await press_in_one_read(pilot, *"3=.4", "backspace", *"5,2=.3", "enter")
        assert learning_of(pilot).wishes == (Wish(5, ((2, 0.3), (3, 0.5))),)


@pytest.mark.parametrize(
    ("typed", "fault"),
    [
        ("milk=1", "“milk=1” is no wished-for weight: write KEY=WEIGHT"),
        ("6=1", "There is no token 6 to wish for: choose 0 to 5"),
        ("0=.9 1=.9", "of query 5 sum to 1.8"),
        ("[/]", "“[/]” is no wished-for weight"),
    ],
)
async def test_what_cannot_be_wished_is_said_and_stays(typed, fault):
    async with open_app(milk()) as pilot:
        await press(pilot, "enter", "ctrl+a", "ctrl+k", *typed, "enter")
        assert isinstance(pilot.app.screen, WishPrompt)
        assert says(pilot, fault)
        await press(pilot, "escape")
        assert learning_of(pilot) == Learning((MILK,))


async def test_one_step_back_and_reset():
    async with open_app(milk()) as pilot:
        await press(pilot, "b", "n", "n", "n", "b")
        assert learning_of(pilot).steps == 2
        assert len(explorer_of(pilot.app).scene.trace.history.losses) == 3
        await press(pilot, "r")
        assert learning_of(pilot) == Learning((MILK,))


async def test_rates_go_up_and_down_a_ladder():
    async with open_app(milk(10)) as pilot:
        await press(pilot, "plus")
        assert (learning_of(pilot).rate, learning_of(pilot).steps) == (0.05, 10)
        await press(pilot, *["minus"] * 9)
        assert learning_of(pilot).rate == RATES[0]


async def test_a_run_moves_the_bars_until_it_is_paused():
    async with open_app(milk()) as pilot:
        await press(pilot, "space")
        assert is_running(pilot)
        find(pilot, "running", PANE)
        before = screen_lines(pilot.app)
        await advance(pilot, 3)
        assert learning_of(pilot).steps == 3
        assert screen_lines(pilot.app) != before
        await press(pilot, "space")
        assert not is_running(pilot)
        await advance(pilot)
        assert learning_of(pilot).steps == 3


async def test_a_run_ends_when_the_row_is_as_wished():
    async with open_app(milk()) as pilot:
        await press(pilot, "space")
        for _ in range(150):
            explorer_of(pilot.app).advance()
        await settle(pilot)
        assert not is_running(pilot)
        assert learning_of(pilot).steps == 99
        assert says(pilot, "reached to within 0.001")
        await press(pilot, "space")
        assert not is_running(pilot)
        await press(pilot, "n")
        assert learning_of(pilot).steps == 100


async def test_a_run_ends_at_the_last_step():
    hard = Learning((Wish(5, ((3, 1.0),)),), steps=MAX_STEPS - 1, rate=0.001)
    async with open_app(start(hard)) as pilot:
        await press(pilot, "space")
        await advance(pilot, 3)
        assert not is_running(pilot)
        assert learning_of(pilot).steps == MAX_STEPS
        assert says(pilot, "2,000 steps are the limit")


@pytest.mark.parametrize("way", ["4", "m", "e", "u", "right", "question_mark"])
async def test_whatever_else_is_done_ends_the_run(way):
    async with open_app(milk()) as pilot:
        await press(pilot, "right", "space")
        await advance(pilot, 2)
        await press(pilot, way)
        if way == "e":
            await press(pilot, *" x")
        learned = learning_of(pilot).steps
        await advance(pilot, 2)
        assert not explorer_of(pilot.app).query_one(LearningPane).running
        assert learning_of(pilot).steps == learned


async def test_the_rate_may_change_while_it_runs():
    async with open_app(milk()) as pilot:
        await press(pilot, "space")
        await advance(pilot, 2)
        await press(pilot, "plus")
        await advance(pilot, 2)
        assert is_running(pilot)
        assert (learning_of(pilot).steps, learning_of(pilot).rate) == (4, 0.05)


async def test_a_rate_that_runs_away_is_said_and_leaves_all_as_it_was():
    async with open_app(milk(20)) as pilot:
        await press(pilot, "plus", "plus", "plus", "space")
        before = view_of(pilot)
        await press(pilot, "plus")
        assert says(pilot, "learning with rate 0.5 runs away: the loss was 1.65")
        assert not is_running(pilot)
        assert view_of(pilot) == before
        assert explorer_of(pilot.app).state.asked == before.request
        await press(pilot, "n", "u", "u")
        assert learning_of(pilot).rate == 0.1


async def test_undo_takes_a_whole_run_back_and_the_row_before_stays():
    async with open_app(milk(), (120, 36)) as pilot:
        await press(pilot, "space")
        await advance(pilot, 5)
        await press(pilot, "space", "n")
        before = explorer_of(pilot.app).scene.before
        assert before.request.learning.steps == 0
        await press(pilot, "u")
        assert learning_of(pilot).steps == 0
        await press(pilot, "u")
        assert learning_of(pilot).steps == 0


async def test_wishes_follow_their_tokens_through_an_edit():
    async with open_app(milk(9)) as pilot:
        sentence_of(pilot).move_cursor((0, 0))
        explorer_of(pilot.app).set_focus(sentence_of(pilot))
        await settle(pilot)
        await paste(pilot, "Look: ")
        assert learning_of(pilot) == Learning((Wish(7, ((3, 0.1), (4, 0.3), (5, 0.5))),))


async def test_a_wish_goes_with_its_query():
    async with open_app(milk(9)) as pilot:
        await press(pilot, "e", *["backspace"] * 5)
        assert learning_of(pilot) is None
        assert explorer_of(pilot.app).scene is not None


async def test_wishes_follow_their_tokens_into_another_tokenizer():
    learning = Learning((Wish(1, ((0, 0.25), (1, 0.75))),), steps=3)
    async with open_app(start(learning, text="我们 x", tokenizer="mixed", query=0, key=0)) as pilot:
        assert len(explorer_of(pilot.app).scene.keys) == 3
        await press(pilot, "ctrl+p", *"tokenizer: spaces", "enter")
        assert len(explorer_of(pilot.app).scene.keys) == 2
        assert learning_of(pilot) is None


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("n", "learning goes through softmax, and the normalizer is linear"),
        ("w", "Q = K = V = X has no W_Q and W_K that could learn"),
        ("m", "query 2 may not attend to key 3, which has a wish of 0.5"),
        ("x", "query 2 may not attend to key 3"),
    ],
)
async def test_a_switch_under_which_nothing_can_be_learned_stays(key, why):
    learning = Learning((Wish(2, ((3, 0.5),)),), steps=5)
    async with open_app(start(learning, pane="matrix", query=3)) as pilot:
        before = view_of(pilot)
        await press(pilot, key)
        assert any(why in each.message for each in pilot.app._notifications)
        assert view_of(pilot) == before
        await press(pilot, "s", "u")
        assert view_of(pilot).request == before.request


async def test_the_copied_command_of_a_lesson_that_learns():
    lesson = open_lesson("learning")
    app = AttnApp(view_at(lesson, 2), lesson=lesson, step=2)
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        copied = []
        app.copy_to_clipboard = copied.append
        await press(pilot, "y", "n", "y", "backspace", "y")
        assert copied == [
            "attn-tui lesson --step 3 learning",
            "attn-tui lesson --step 3 --steps 21 learning",
            "attn-tui lesson --step 3 --wish none learning",
        ]


async def test_every_row_can_be_wished_for():
    async with open_app(start()) as pilot:
        await press(pilot, "ctrl+p", *"the one before it", "enter")
        wishes = learning_of(pilot).wishes
        assert wishes == tuple(Wish(q, ((max(0, q - 1), 1.0),)) for q in range(6))
        await press(pilot, "n")
        assert says(pilot, "6 learned weights on one sentence, not language")


async def test_a_wish_is_for_the_selected_head():
    async with open_app(milk(5)) as pilot:
        await press(pilot, "full_stop")
        assert says(pilot, "head 0 learns, not this one")
        await press(pilot, "right")
        assert (learning_of(pilot).head, learning_of(pilot).steps) == (1, 0)


async def test_the_copied_command_has_the_wishes():
    async with open_app(milk()) as pilot:
        await press(pilot, "n", "plus")
        assert command_line(view_of(pilot)) == (
            "attn-tui --wish 5:1=0.1,2=0.3,3=0.5 --steps 1 --rate 0.05 --query 5 --key 3"
            " --pane learning 'The black cat drank the milk'"
        )


async def test_a_long_run_is_made_in_a_thread_and_goes_on_at_once(monkeypatch):
    async with open_app(milk()) as pilot:
        explorer = explorer_of(pilot.app)
        threads = []
        run = explorer._run_in_thread
        monkeypatch.setattr(explorer, "_run_in_thread", lambda *job: threads.append(1) or run(*job))
        explorer._ask(Learning((MILK,), steps=900))
        await settle(pilot)
        assert (len(threads), learning_of(pilot).steps) == (1, 900)
        await press(pilot, "n")
        assert (len(threads), learning_of(pilot).steps) == (1, 901)


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (100, 28), (120, 36), (200, 60)])
async def test_every_size_shows_the_keys_and_the_loss(size):
    async with open_app(milk(60), size) as pilot:
        find(pilot, "› drank", PANE)
        find(pilot, "loss 1.2785", PANE)


@pytest.mark.parametrize("normalizer", ["linear", "none"])
async def test_without_softmax_there_is_nothing_to_paint(normalizer):
    async with open_app(start(switches={"normalizer": normalizer}), (80, 24)) as pilot:
        assert says(pilot, f"Learning goes through softmax, and the normalizer is {normalizer}")
        assert not says(pilot, "keys 0")
        await pilot.click(PANE, offset=(40, 6))
        await press(pilot, "right")
        assert learning_of(pilot) is None
        assert any("through softmax" in each.message for each in pilot.app._notifications)


async def test_a_long_sentence_follows_the_key():
    text = " ".join(f"word{i}" for i in range(60))
    view = replace(
        make_view(text, pane="learning", query=50, key=0), request=make_view(text).request
    )
    async with open_app(view, (80, 24)) as pilot:
        find(pilot, "› word0 ", PANE)
        await press(pilot, *["down"] * 30)
        find(pilot, "› word30", PANE)
        assert "of 60" in " ".join(screen_lines(pilot.app))
