"""Every key of the table, every hint of the key bar, every place that the mouse can choose."""

import pytest
from textual.command import CommandPalette
from textual.events import MouseScrollDown, MouseScrollUp
from textual.message import Message
from textual.widget import Widget

from core.language import set_language
from core.reading import Reading
from core.types import Mask
from tests.tui.helpers import (
    SENTENCE,
    click_on,
    explorer_of,
    find,
    make_view,
    open_app,
    press,
    says,
    screen_lines,
    settle,
    view_of,
)
from tui.keys import (
    BINDINGS,
    BROWSING,
    BROWSING_LAST,
    COMPARE,
    DERIVATION,
    EDITING,
    EDITING_LAST,
    GRID,
    GRID_KEYS,
    GROUPS,
    LEARNING,
    LEARNING_KEYS,
    MATRIX,
    NUMBERS,
)
from tui.screens.help import HelpScreen
from tui.screens.on_demand import ON_DEMAND, make_pane
from tui.widgets.bars import KeyBar
from tui.widgets.sentence import Sentence

MODEL = {"layers": 3}
PLACE = {"layer": 1, "head": 1, "query": 2, "key": 3, "vector": "k", "component": 2}
LONG = " ".join(f"word{i}" for i in range(100))


def start(text=SENTENCE, **fields):
    return make_view(text, model=MODEL, **{**PLACE, **fields})


# From a key to the fields of the view that it changes; the view starts as in `start`.
VIEW = {
    key: changed
    for keys, changed in (
        ("up k", {"query": 1}),
        ("down j", {"query": 3}),
        ("left h comma", {"head": 0}),
        ("right l full_stop", {"head": 2}),
        ("left_square_bracket", {"layer": 0}),
        ("right_square_bracket", {"layer": 2}),
        ("shift+up K", {"key": 2}),
        ("shift+down J", {"key": 4}),
        ("home g", {"query": 0}),
        ("end G", {"query": 5}),
        ("tab", {"pane": "matrix"}),
        ("shift+tab", {"pane": "tokens"}),
        ("1", {"pane": "tokens"}),
        ("2", {"pane": "weights"}),
        ("3", {"pane": "matrix"}),
        ("4", {"pane": "vectors"}),
        ("5 d", {"pane": "derivation"}),
        ("7", {"pane": "learning"}),
        ("space", {"pane": "derivation", "stage": "embedding"}),
        ("b", {"pane": "derivation", "stage": "z"}),
        ("6", {"pane": "numbers"}),
        ("9", {"pane": "grid"}),
        ("P", {"pool": "mean"}),
        ("right_curly_bracket", {"component": 3}),
        ("left_curly_bracket", {"component": 1}),
        ("v", {"vector": "v"}),
        ("V", {"vector": "q"}),
        ("z", {"zoom": 7}),
        ("Z", {"zoom": 2}),
        ("plus equals_sign", {"precision": 4}),
        ("minus", {"precision": 2}),
        ("C", {"colours": "row"}),
        ("W", {"reading": Reading(words=True)}),
        ("f", {"reading": Reading(drop="first")}),
        ("F", {"reading": Reading(keys=frozenset({3}))}),
    )
    for key in keys.split()
}
# From a key to the switches that it changes.
SWITCHES = {
    "m": {"mask": Mask(causal=True)},
    "x": {"mask": Mask(blocked=frozenset({2}))},
    "s": {"scale": False},
    "p": {"positions": False},
    "t": {"temperature": 2.0},
    "T": {"temperature": 0.5},
    "w": {"projections": "identity"},
    "n": {"normalizer": "linear"},
}
# Keys whose effect is no field: each has a test of its own below.
OTHERS = {
    *(
        "pageup",
        "pagedown",
        "e",
        "i",
        "escape",
        "y",
        "Y",
        "c",
        "r",
        "R",
        "u",
        "question_mark",
        "f1",
    ),
    *("ctrl+p", "q", "ctrl+q"),
    *("ctrl+r", "f5"),  # of what was cancelled: test_cancelling.py
    *("8", "o"),  # of another text, in test_compare.py
    *("enter", "delete", "backspace"),  # of the numbers
    *("greater_than_sign", "less_than_sign"),  # of a lesson
    *("a", "A"),  # of a target: test_target.py
    "L",  # of columns that are dropped: test_reading.py
    *("0", "M"),  # of real models: test_predictions.py
    *("S", "B"),  # of pairs: test_pairs.py
}


def fields_of(thing):
    return {name: getattr(thing, name) for name in thing.__dataclass_fields__}


def test_the_tables_here_cover_every_key():
    keys = [key for group in GROUPS.values() for each in group for key in each.keys.split(",")]
    assert len(keys) == len(set(keys))
    assert set(keys) == {*VIEW, *SWITCHES, *OTHERS}


def test_every_key_is_bound():
    assert {key for binding in BINDINGS for key in binding.key.split(",")} == {
        *VIEW,
        *SWITCHES,
        *OTHERS,
    }


@pytest.mark.parametrize("key", VIEW)
async def test_a_key_changes_one_field_of_the_view(key):
    async with open_app(start()) as pilot:
        before = fields_of(view_of(pilot))
        await press(pilot, key)
        assert fields_of(view_of(pilot)) == {**before, **VIEW[key]}
        assert explorer_of(pilot.app).focused.pane == view_of(pilot).pane


@pytest.mark.parametrize("key", SWITCHES)
async def test_a_key_changes_one_switch_and_the_trace(key):
    async with open_app(start()) as pilot:
        before, old = view_of(pilot), explorer_of(pilot.app).scene.trace
        await press(pilot, key)
        after, new = view_of(pilot), explorer_of(pilot.app).scene.trace
        changed = {**fields_of(before.request.switches), **SWITCHES[key]}
        assert fields_of(after.request.switches) == changed
        assert fields_of(after) == {**fields_of(before), "request": after.request}
        assert new.request == after.request
        assert (new.layers[1].pattern != old.layers[1].pattern).any()


@pytest.mark.parametrize(
    ("key", "other", "start_at", "end_at"), [("left", "h", 3, 2), ("right", "l", 3, 4)]
)
async def test_sideways_moves_the_key_in_the_matrix(key, other, start_at, end_at):
    for each in (key, other):
        async with open_app(start(pane="matrix", key=start_at)) as pilot:
            await press(pilot, each)
            assert (view_of(pilot).key, view_of(pilot).head) == (end_at, 1)


@pytest.mark.parametrize("pane", ["tokens", "matrix", "numbers"])
async def test_pages_move_the_query_in_lists(pane):
    async with open_app(start(LONG, pane=pane), (80, 24)) as pilot:
        await press(pilot, "pagedown")
        down = view_of(pilot).query
        assert 6 <= down - PLACE["query"] <= 18
        for _ in range(2):  # faster than any message between them
            explorer_of(pilot.app).action_page(1)
        await settle(pilot)
        assert view_of(pilot).query - down == 2 * (down - PLACE["query"])
        await press(pilot, "pageup", "pageup", "pageup")
        assert view_of(pilot).query == PLACE["query"]


@pytest.mark.parametrize(("pane", "first"), [("weights", "word0"), ("vectors", " 0")])
async def test_pages_scroll_the_others_and_keep_the_selection(pane, first):
    view = start(LONG, pane=pane, key=0)
    async with open_app(view, (80, 24)) as pilot:
        find(pilot, first, f"#pane-{pane}")
        before = screen_lines(pilot.app)
        await press(pilot, "pagedown")
        assert screen_lines(pilot.app) != before
        assert view_of(pilot) == view
        await press(pilot, "pageup")
        assert screen_lines(pilot.app) == before


@pytest.mark.parametrize("key", ["e", "i"])
async def test_edit_and_back(key):
    async with open_app(start()) as pilot:
        await press(pilot, key)
        assert isinstance(pilot.app.focused, Sentence)
        assert view_of(pilot).request.text == SENTENCE
        await press(pilot, "escape")
        assert pilot.app.focused.id == "pane-weights"


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
async def test_quit(key):
    async with open_app(start()) as pilot:
        await pilot.press(key)
        await settle(pilot)
        assert not pilot.app.is_running
    assert pilot.app.return_code == 0


async def test_ctrl_c_says_what_quits_in_the_language_spoken():
    set_language("zh")
    async with open_app(start()) as pilot:
        await press(pilot, "ctrl+c")
        find(pilot, "按 q 退出")
        await press(pilot, "e", "ctrl+c")
        find(pilot, "按 ^q 退出")


@pytest.mark.parametrize("key", ["question_mark", "f1"])
async def test_help_key(key):
    async with open_app(start()) as pilot:
        await press(pilot, key)
        assert isinstance(pilot.app.screen, HelpScreen)


async def test_palette_key():
    async with open_app(start()) as pilot:
        await press(pilot, "ctrl+p")
        assert isinstance(pilot.app.screen, CommandPalette)


async def test_letters_are_text_in_the_sentence_and_the_other_keys_still_work():
    async with open_app(start()) as pilot:
        await press(pilot, "e", "m", "q", "question_mark", "left_square_bracket", "1")
        assert view_of(pilot).request.text == SENTENCE + "mq?[1"
        assert view_of(pilot).request.switches.mask == Mask()
        await press(pilot, "f1")
        assert isinstance(pilot.app.screen, HelpScreen)
        await press(pilot, "escape")
        assert isinstance(pilot.app.focused, Sentence)
        await press(pilot, "ctrl+p")
        assert isinstance(pilot.app.screen, CommandPalette)
        await press(pilot, "escape")
        await press(pilot, "tab")
        assert pilot.app.focused.id == "pane-weights"
        await press(pilot, "e", "ctrl+q")
        assert not pilot.app.is_running


# The key bar.

IDLE = ("undo", "attention", "target", "predict", "mask token")
BARS = {
    "weights": ((), "weights", BROWSING, BROWSING_LAST, set(IDLE)),
    "vectors": ((), "vectors", BROWSING, BROWSING_LAST, set(IDLE)),
    "matrix": ((), "matrix", MATRIX, BROWSING_LAST, {*IDLE, "pool"}),
    "grid": ((), "grid", GRID, BROWSING_LAST, {*IDLE, "grid", "rank"}),
    "sorted grid": (
        ("O",),
        "grid",
        GRID,
        BROWSING_LAST,
        {*IDLE, "grid", "layer", "head"},
    ),
    "derivation": ((), "derivation", DERIVATION, BROWSING_LAST, set(IDLE)),
    "numbers": (
        (),
        "numbers",
        NUMBERS,
        BROWSING_LAST,
        {"original", *IDLE},
    ),
    "learning": (
        (),
        "learning",
        LEARNING,
        BROWSING_LAST,
        {"run/pause", "one step", "reset", "rate", *IDLE},
    ),
    "editing": (("e",), "weights", EDITING, EDITING_LAST, set()),
}


@pytest.mark.parametrize("bar", BARS)
async def test_a_click_on_a_hint_presses_its_key(bar, monkeypatch):
    keys, pane, hints, last, idle = BARS[bar]
    async with open_app(start(pane=pane), (320, 40)) as pilot:
        await press(pilot, *keys)
        pressed = []

        class Recorded(Message):
            def __init__(self, key):
                pressed.append(key)
                super().__init__()

        monkeypatch.setattr("tui.widgets.bars.Pressed", Recorded)
        works = [hint for hint in (*hints, *last) if hint[1] not in idle]
        for shown, name, _ in works:
            await click_on(pilot, f"{shown} {name}", "KeyBar")
            await click_on(pilot, f"{shown} {name}", "KeyBar", dx=len(shown) + len(name))
        assert pressed == [key for _, _, key in works for _ in range(2)]
        for name in idle:
            assert f" {name}" not in screen_lines(pilot.app)[-1]


def test_every_hint_of_the_panes_is_a_key_of_the_table():
    known = {*VIEW, *SWITCHES, *OTHERS}
    pools = (BROWSING, MATRIX, DERIVATION, NUMBERS, BROWSING_LAST)
    in_learning = {name for key in LEARNING_KEYS for name in key.keys.split(",")}
    assert {hint[2] for hint in LEARNING} <= known | in_learning
    in_grid = {name for key in GRID_KEYS for name in key.keys.split(",")}
    assert {hint[2] for hint in GRID} <= known | in_grid
    assert {hint[2] for pool in (*pools, COMPARE) for hint in pool} <= known


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 36)])
async def test_in_a_sorted_grid_arrows_are_hinted_at_by_rank(size):
    async with open_app(start(pane="grid"), size) as pilot:
        assert screen_lines(pilot.app)[-1].startswith(" ↑↓ layer  ←→ head  enter open")
        await press(pilot, "v", "O", "home")
        assert screen_lines(pilot.app)[-1].startswith(" ↑↓←→ rank  enter open")
        ranked = pilot.app.screen.query_one("#pane-grid")._places(explorer_of(pilot.app).scene)
        await click_on(pilot, "↑↓←→ rank", "KeyBar")
        assert (view_of(pilot).layer, view_of(pilot).head) == ranked[1]
        await press(pilot, "2")
        assert " ←→ head" in screen_lines(pilot.app)[-1]
        assert "rank" not in screen_lines(pilot.app)[-1]


@pytest.mark.parametrize("key", ["s", "t", "T"])
async def test_what_linear_attention_does_not_divide_is_not_switched_unseen(key):
    async with open_app(start(), (200, 60)) as pilot:
        find(pilot, "s scale", "KeyBar")
        find(pilot, "t temperature", "KeyBar")
        await press(pilot, "n")
        assert "scale" not in screen_lines(pilot.app)[-1]
        assert "temperature" not in screen_lines(pilot.app)[-1]
        before = view_of(pilot).request
        await press(pilot, key)
        assert view_of(pilot).request == before
        assert says(pilot, "Linear attention has no scores to divide")
        await press(pilot, "n", key)
        assert view_of(pilot).request.switches.normalizer == "none"
        assert view_of(pilot).request.switches != before.switches


async def test_a_click_on_a_hint_acts():
    async with open_app(start()) as pilot:
        await click_on(pilot, "m mask", "KeyBar")
        assert view_of(pilot).request.switches.mask == Mask(causal=True)
        await click_on(pilot, "e edit", "KeyBar")
        assert isinstance(pilot.app.focused, Sentence)
        await click_on(pilot, "esc done", "KeyBar")
        assert pilot.app.focused.id == "pane-weights"


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_hints_that_do_not_fit_leave_a_sign_and_help_stays(width):
    async with open_app(start(), (width, 24)) as pilot:
        line = screen_lines(pilot.app)[-1]
        assert line.rstrip().endswith("… ? help  q quit")
        assert pilot.app.screen.query_one(KeyBar).region.height == 1


# The mouse.


async def test_clicks_in_the_wide_screen_select():
    async with open_app(start()) as pilot:
        await click_on(pilot, "drank", "#pane-tokens")
        assert (view_of(pilot).query, view_of(pilot).pane) == (3, "tokens")
        await click_on(pilot, "black", "#pane-weights")
        assert (view_of(pilot).key, view_of(pilot).pane) == (1, "weights")
        await click_on(pilot, "head 3", "#pane-weights")
        assert (view_of(pilot).head, view_of(pilot).key) == (3, 1)
        await click_on(pilot, "head 0", "#pane-weights", dx=2, dy=5)
        assert (view_of(pilot).head, view_of(pilot).key) == (0, 4)
        x, _ = find(pilot, "the", "#pane-matrix")
        _, y = find(pilot, "cat ", "#pane-matrix")
        for row, query in ((y + 1, 0), (y + 3, 2)):
            await pilot.click(offset=(x, row))
            await settle(pilot)
            assert (view_of(pilot).query, view_of(pilot).key) == (query, 4)
        assert view_of(pilot).pane == "matrix"
        await click_on(pilot, "input", "#pane-vectors")
        assert (view_of(pilot).vector, view_of(pilot).pane) == ("input", "vectors")


async def test_clicks_on_frames_and_blank_places_select_nothing_but_the_pane():
    async with open_app(start()) as pilot:
        before = view_of(pilot)
        for pane in ("tokens", "weights", "matrix", "vectors"):
            region = pilot.app.screen.query_one(f"#pane-{pane}").region
            for x, y in ((region.x, region.y + 2), (region.right - 1, region.bottom - 1)):
                await pilot.click(offset=(x, y))
                await settle(pilot)
                assert fields_of(view_of(pilot)) == {**fields_of(before), "pane": pane}
        await pilot.click("#pane-tokens", offset=(5, 20))
        await settle(pilot)
        assert view_of(pilot).query == before.query


@pytest.mark.parametrize("pane", ["tokens", "weights", "matrix", "vectors", "numbers"])
async def test_clicks_on_tabs(pane):
    async with open_app(
        start(pane="tokens" if pane == "weights" else "weights"), (80, 24)
    ) as pilot:
        await click_on(pilot, pane, "Tabs", dx=1)
        assert view_of(pilot).pane == pane
        assert pilot.app.screen.query_one(f"#pane-{pane}").region.height > 0


async def test_a_click_in_the_sentence_edits_it():
    async with open_app(start()) as pilot:
        await click_on(pilot, "cat", "#sentence")
        await press(pilot, "X")
        assert view_of(pilot).request.text == "The black Xcat drank the milk"


@pytest.mark.parametrize("pane", ["tokens", "weights", "matrix", "vectors"])
async def test_the_wheel_scrolls_and_selects_nothing(pane):
    view = start(LONG, pane=pane, key=0, query=0)
    async with open_app(view, (80, 24)) as pilot:
        before = screen_lines(pilot.app)
        target = f"#pane-{pane}"
        await pilot._post_mouse_events([MouseScrollDown], target, (9, 5), button=0)
        await settle(pilot)
        assert screen_lines(pilot.app) != before
        assert view_of(pilot) == view
        for _ in range(50):
            await pilot._post_mouse_events([MouseScrollDown], target, (9, 5), button=0)
        for _ in range(51):
            await pilot._post_mouse_events([MouseScrollUp], target, (9, 5), button=0)
        await settle(pilot)
        assert screen_lines(pilot.app) == before


def test_no_method_is_taken_for_a_key():
    """Textual calls a method named `key_at` when @ is pressed, with or without a `_` before it."""
    for name in ON_DEMAND:
        make_pane(name)  # imports it
    for kind in subclasses(Widget):
        if kind.__module__.startswith("tui."):
            assert not [name for name in vars(kind) if name.startswith(("key_", "_key_"))], kind


def subclasses(kind):
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)
