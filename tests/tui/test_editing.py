"""The sentence: typing, pasting, deleting, undoing, and what the selection does meanwhile."""

import asyncio
import threading
from unicodedata import category

import pytest
from rich.cells import cell_len

import tui.state as module
from core.runner import trace
from core.text import is_unseen
from core.tokenization import MAX_TOKENS
from tests.tui.helpers import (
    HOSTILE,
    ROUNDS,
    SENTENCE,
    explorer_of,
    find,
    make_view,
    open_app,
    paste,
    press,
    press_in_one_read,
    says,
    screen_text,
    sentence_of,
    settle,
    shown_text,
    view_of,
)
from tui.terminal.controls import conceal, draw, reveal
from tui.widgets.bars import Status

FAMILY = "👩‍👩‍👧"


async def test_every_change_is_computed_and_drawn_at_once():
    async with open_app() as pilot:
        await press(pilot, "e")
        for n, char in enumerate(" 我!", 1):
            await press(pilot, char)
            assert shown_text(pilot) == SENTENCE + " 我!"[:n]
        find(pilot, "我", "#pane-tokens")
        find(pilot, "我", "#pane-weights")
        find(pilot, "我", "#pane-matrix")
        find(pilot, "8 tokens", "Status")
        await press(pilot, "backspace", "backspace", "backspace", "enter", "x")
        assert shown_text(pilot) == SENTENCE + "\nx"


def caret_of(pilot):
    """Where the caret is drawn: the one cell of the sentence with another background."""
    region, found = sentence_of(pilot).region, []
    for y in range(region.y, region.bottom):
        x, (edge, *segments) = 0, pilot.app.screen._compositor.render_strips(pilot.app.size)[y]
        for text, style, _ in [edge, *segments]:
            if style.bgcolor != edge.style.bgcolor:
                found.append((x, y))
            x += cell_len(text)
    (caret,) = found
    return caret


@pytest.mark.parametrize("keys", ["", "我想吃", "a我", "👍x", "我\n想"])
async def test_the_terminals_cursor_stands_at_the_caret(keys):
    """U01: where an input method opens its window; wide characters count two cells."""
    async with open_app(make_view("x"), (80, 24)) as pilot:
        await press(pilot, "e", *("enter" if key == "\n" else key for key in keys))
        assert tuple(pilot.app.cursor_position) == caret_of(pilot)
        await press(pilot, "left")
        assert tuple(pilot.app.cursor_position) == caret_of(pilot)


async def test_keys_as_fast_as_they_come_end_with_the_whole_text():
    """U10: a paste that a terminal types out, line ends included."""
    async with open_app() as pilot:
        await press(pilot, "e")
        await pilot.press(*" l1", "enter", *"l2 is here")
        await settle(pilot)
        assert shown_text(pilot) == sentence_of(pilot).true_text == SENTENCE + " l1\nl2 is here"


async def test_a_burst_of_changes_is_computed_once_or_twice(monkeypatch):
    """U10: fifty characters within the burst make no fifty traces."""
    made = []
    monkeypatch.setattr(module, "trace", lambda *args: made.append(args) or trace(*args))
    async with open_app() as pilot:
        await press(pilot, "e")
        made.clear()
        explorer = explorer_of(pilot.app)
        monkeypatch.setattr("tui.screens.explorer.monotonic", lambda: 1000.0)
        for n in range(50):
            sentence_of(pilot).insert(str(n % 10))
        await settle(pilot)
        assert shown_text(pilot) == sentence_of(pilot).true_text
        assert len(made) <= 2
        assert explorer.settled


async def test_deleting_everything_says_so_and_the_text_comes_back():
    async with open_app(make_view(query=3)) as pilot:
        await press(pilot, "e", "ctrl+u")
        assert sentence_of(pilot).true_text == ""
        assert shown_text(pilot) is None
        assert says(pilot, "no text")
        assert says(pilot, "type a word or a sentence")
        assert not pilot.app.screen.query_one("#body").display
        await press(pilot, "h", "i")
        assert shown_text(pilot) == "hi"
        assert pilot.app.screen.query_one("#body").display
        find(pilot, "hi", "#pane-tokens")


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\u3000\t "])
async def test_blank_text_is_refused_on_screen_and_kept(blank):
    async with open_app(make_view(blank)) as pilot:
        find(pilot, "No text")
        assert sentence_of(pilot).true_text == blank
        await press(pilot, "down", "right", "m", "x", "t", "pagedown", "end", "3", "z", "v", "y")
        find(pilot, "No text")
        await press(pilot, "e", "a")
        assert shown_text(pilot) == blank + "a"
        assert view_of(pilot).request.switches.mask.blocked == frozenset()


async def test_undo_and_redo():
    async with open_app() as pilot:
        await press(pilot, "e", *" now")
        assert shown_text(pilot) == SENTENCE + " now"
        await press(pilot, "ctrl+z")
        assert shown_text(pilot) == sentence_of(pilot).true_text != SENTENCE + " now"
        await press(pilot, "ctrl+y")
        assert shown_text(pilot) == SENTENCE + " now"


async def test_more_lines_than_fit_are_undone_and_redone():
    lines = "\n".join("abcdef")
    async with open_app() as pilot:
        await press(pilot, "e")
        await paste(pilot, lines)
        assert shown_text(pilot) == SENTENCE + lines
        await press(pilot, "ctrl+z")
        assert shown_text(pilot) == SENTENCE
        await press(pilot, "ctrl+y")
        assert shown_text(pilot) == SENTENCE + lines
        sentence_of(pilot).select_all()
        await press(pilot, "x", "ctrl+z")
        assert shown_text(pilot) == SENTENCE + lines
        sentence_of(pilot).move_cursor(sentence_of(pilot).document.end)
        await press(pilot, "ctrl+y")
        assert shown_text(pilot) == "x"


# Pasting.


@pytest.mark.parametrize(
    ("pasted", "text"),
    [
        ("line1\nline2\nline3", "line1\nline2\nline3"),
        ("line1\rline2\rline3", "line1\nline2\nline3"),
        ("line1\r\nline2\r\n", "line1\nline2\n"),
        ("\nsecond", "\nsecond"),
        ("我\u2028想\u0085吃", "我\u2028想\u0085吃"),
        ("我想吃酸菜鱼", "我想吃酸菜鱼"),
        (f"{FAMILY} 🇨🇳 👍🏽 ❤️", f"{FAMILY} 🇨🇳 👍🏽 ❤️"),
    ],
)
async def test_nothing_of_a_paste_is_lost(pasted, text):
    """U09: lines, separators, wide and joined characters; only the line ends are made alike."""
    async with open_app(make_view("x")) as pilot:
        await press(pilot, "e", "backspace")
        await paste(pilot, pasted)
        assert sentence_of(pilot).true_text == text
        assert shown_text(pilot) == text


@pytest.mark.parametrize(
    "typed", ["全\u3000角", "می\u200cخواهم", FAMILY, "a\u00a0b", "\u200eא", "🩷🫩"]
)
async def test_what_input_methods_type_is_typed(typed):
    """U09: wide and hard spaces, joiners, marks, emoji that are newer than Python's own tables."""
    async with open_app(make_view("x")) as pilot:
        await press(pilot, "e", "backspace")
        await press_in_one_read(pilot, *typed)
        assert shown_text(pilot) == typed
        await press_in_one_read(pilot, "\x00", "\x9b", "\ue05a")  # a key that has no letter
        assert shown_text(pilot) == typed


@pytest.mark.parametrize("text", [*HOSTILE, "A\x1b]0;PWN\x07B\x1b[2JC\x9b31mD\u202eE", "a\x00b"])
async def test_controls_are_analysed_as_they_are_and_shown_as_marks(text):
    """U04, U06, U08, X01, X10: the true text in the trace, nothing to obey on screen."""
    async with open_app(make_view("x")) as pilot:
        await press(pilot, "e", "backspace")
        await paste(pilot, text)
        assert sentence_of(pilot).true_text == text
        assert shown_text(pilot) == text
        assert "".join(token.text for token in explorer_of(pilot.app).scene.queries) == "".join(
            text.split()
        )
        await press(pilot, "escape")
        assert not any(is_unseen(char) for char in screen_text(pilot.app).replace("\n", ""))
        if text.isprintable():
            find(pilot, text, "#sentence")
        for key in ("1", "2", "3", "4", "question_mark", "escape", "y"):
            await press(pilot, key)
            assert pilot.app.is_running
            shown = screen_text(pilot.app).replace("\n", "").replace("\u200d", "")
            assert not any(is_unseen(char) for char in shown)


async def test_50_kilobytes_are_cut_to_the_cap_and_say_so():
    text = "word " * 10_000
    async with open_app(make_view("x", model={"heads": 1, "d_model": 4})) as pilot:
        await press(pilot, "e", "backspace")
        await paste(pilot, text)
        assert sentence_of(pilot).true_text == text
        assert len(explorer_of(pilot.app).scene.queries) == MAX_TOKENS
        find(pilot, "first 2,048 of 10,000 tokens")
        find(pilot, "2,048 tokens", "Status")
        await press(pilot, "escape", "end")
        assert view_of(pilot).query == MAX_TOKENS - 1
        await press(pilot, "e", "ctrl+z", "ctrl+z")
        assert shown_text(pilot) == "x"
        assert "of 10,000 tokens" not in screen_text(pilot.app)


async def test_a_text_beyond_what_is_cut_at_once_goes_through_the_thread():
    async with open_app(make_view("x", model={"heads": 1, "d_model": 4})) as pilot:
        await press(pilot, "e")
        await paste(pilot, "y" * 120_000)
        assert shown_text(pilot) == "x" + "y" * 120_000
        assert len(explorer_of(pilot.app).scene.queries) == 1


@pytest.mark.parametrize("key", ["backspace", "left"])
async def test_joined_emoji_are_stepped_through_without_harm(key):
    """U12: text and picture stay together at every step."""
    async with open_app(make_view(FAMILY + "x")) as pilot:
        await press(pilot, "e")
        for _ in range(7):
            await press(pilot, key)
            text = sentence_of(pilot).true_text
            assert shown_text(pilot) == (text or None)
            assert pilot.app.is_running


@pytest.mark.parametrize("text", ["the the the", "我我我", "##s ##s Ġthe Ġthe", "- _ - _"])
async def test_tokens_with_the_same_text_are_different_tokens(text):
    """U14: nothing on screen is keyed by a token's text."""
    async with open_app(make_view(text)) as pilot:
        count = len(explorer_of(pilot.app).scene.queries)
        for index in range(1, count):
            await press(pilot, "down")
            assert view_of(pilot).query == index


def test_the_editor_holds_every_character_in_one_place_and_draws_none_to_obey():
    text = "".join(map(chr, [*range(0x300), 0x061C, *range(0x2000, 0x2070), 0xFEFF, 0x1F469]))
    document = conceal(text)
    assert reveal(document) == text
    assert len(draw(document)) == len(document) == len(text)
    assert "\n".join(draw(document).splitlines()) == draw(document)
    controls = {char for char in text if category(char) in ("Cc", "Zl", "Zp")} - {"\n", "\t"}
    overrides = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert not (controls | overrides) & set(draw(document))


# The selection.


async def test_the_selection_survives_an_edit():
    async with open_app(make_view(query=5, key=2)) as pilot:
        await press(pilot, "e", "home", *"So ")
        scene = explorer_of(pilot.app).scene
        assert (view_of(pilot).query, view_of(pilot).key) == (6, 3)
        assert (scene.query_token.text, scene.queries[view_of(pilot).key].text) == ("milk", "cat")
        await press(pilot, "end", "backspace")
        assert view_of(pilot).query == 6
        assert explorer_of(pilot.app).scene.query_token.text == "mil"
        find(pilot, "What “mil” attends to")


async def test_blocked_keys_follow_their_tokens():
    async with open_app(make_view(query=2)) as pilot:
        await press(pilot, "x", "e", "home", *"So ")
        assert view_of(pilot).request.switches.mask.blocked == {3}
        find(pilot, "blocked as a key", "#pane-tokens")


# While a slow trace is on its way.


class Slow:
    """Traces of a text with "slow" in it wait until they are let go; counts what runs."""

    def __init__(self):
        self.gate = threading.Event()
        self.begun = self.ended = 0

    def trace(self, request, *texts):
        self.begun += 1
        try:
            if "slow" in request.text:
                self.gate.wait(60)
            return trace(request, *texts)
        finally:
            self.ended += 1

    async def begin(self, pilot, count):
        """Wait until so many traces have begun since the start."""
        for _ in range(ROUNDS):
            await pilot._wait_for_screen()
            if self.begun == count:
                return
            await asyncio.sleep(0.002)
        raise AssertionError(f"{self.begun} traces have begun, not {count}")

    async def release(self, pilot):
        """Let all go, and wait for the last of them and for what it does to the screen."""
        self.gate.set()
        for _ in range(ROUNDS):
            await settle(pilot)
            if self.begun == self.ended:
                await settle(pilot)
                return
            await asyncio.sleep(0.002)
        raise AssertionError("a trace did not end")


@pytest.fixture
def slow(monkeypatch):
    """Every trace in a thread, slow ones under control."""
    made = Slow()
    monkeypatch.setattr(module, "trace", made.trace)
    monkeypatch.setattr(module, "is_quick", lambda request, *texts: False)
    yield made
    made.gate.set()


async def test_a_slow_trace_never_replaces_a_newer_one(slow):
    """U15: threads are not stopped; what is stale is dropped, and only one runs at a time."""
    async with open_app(make_view("old")) as pilot:
        explorer = explorer_of(pilot.app)
        explorer.submit(explorer.state.with_text("slow one"))
        await slow.begin(pilot, 2)
        explorer.tell()
        find(pilot, "computing…", "Status")
        assert not explorer.settled
        for count in range(5):
            explorer.submit(explorer.state.with_text(f"fast {count}"))
            await pilot._wait_for_screen()
        assert slow.begun == 2
        await slow.release(pilot)
        assert shown_text(pilot) == "fast 4"
        assert slow.begun == 3


async def test_a_slow_trace_never_replaces_one_that_was_made_at_once(slow, monkeypatch):
    """U15: also where no other thread was started that would have cancelled the slow one."""
    monkeypatch.setattr(module, "is_quick", lambda request, *texts: "slow" not in request.text)
    async with open_app(make_view("old")) as pilot:
        explorer = explorer_of(pilot.app)
        explorer.submit(explorer.state.with_text("slow one"))
        await slow.begin(pilot, 2)
        explorer.submit(explorer.state.with_text("fast one"))
        await slow.release(pilot)
        assert shown_text(pilot) == "fast one"


async def test_an_edit_while_computing_keeps_the_switch_that_is_on_its_way(slow):
    async with open_app(make_view("old")) as pilot:
        sentence_of(pilot).set_true_text("slow")
        await slow.begin(pilot, 2)
        await pilot.press("m")
        sentence_of(pilot).set_true_text("new")
        await slow.release(pilot)
        assert shown_text(pilot) == "new"
        assert view_of(pilot).request.switches.mask.causal


async def test_selecting_while_computing_leaves_it_computing(slow):
    async with open_app(make_view("old text")) as pilot:
        explorer = explorer_of(pilot.app)
        explorer.submit(explorer.state.with_text("slow text"))
        await slow.begin(pilot, 2)
        for key in ("down", "3", "z"):
            await pilot.press(key)
            await pilot._wait_for_screen()
        assert (view_of(pilot).query, view_of(pilot).pane, view_of(pilot).zoom) == (1, "matrix", 7)
        explorer.tell()
        assert pilot.app.screen.query_one(Status).work
        await slow.release(pilot)
        assert shown_text(pilot) == "slow text"
        assert view_of(pilot).query == 1


async def test_a_switch_while_computing_keeps_the_text_that_is_on_its_way(slow):
    async with open_app(make_view("old")) as pilot:
        sentence_of(pilot).set_true_text("slow text")
        await slow.begin(pilot, 2)
        await pilot.press("m")
        await pilot.press("t")
        await slow.release(pilot)
        assert shown_text(pilot) == sentence_of(pilot).true_text == "slow text"
        assert view_of(pilot).request.switches.mask.causal
        assert view_of(pilot).request.switches.temperature == 2


async def test_going_back_to_the_old_text_while_computing_shows_the_old_text(slow):
    async with open_app(make_view("old")) as pilot:
        sentence_of(pilot).set_true_text("slow text")
        await slow.begin(pilot, 2)
        sentence_of(pilot).set_true_text("old")
        await slow.release(pilot)
        assert shown_text(pilot) == sentence_of(pilot).true_text == "old"
