"""The whole screen: sizes, themes, help, copying, and refusals that end nothing."""

from threading import Event
from time import time

import pytest
from rich.color import Color
from textual.events import Resize
from textual.geometry import Size
from textual.widgets._toast import Toast

import tui.state as module
from core.types import Mask
from tests.core.small_tokenizers import bert_tokenizer
from tests.tui.helpers import (
    HOSTILE,
    SENTENCE,
    explorer_of,
    find,
    make_view,
    open_app,
    paste,
    press,
    says,
    screen_lines,
    screen_text,
    sentence_of,
    settle,
    shown_text,
    view_of,
)
from tui.app import AttnApp
from tui.keys import GROUPS
from tui.screens.help import HelpScreen
from tui.theme import LIGHT

# Sizes.

SIZES = [
    *[(0, 0), (1, 1), (2, 1), (1, 50), (20, 5), (59, 18), (60, 17), (60, 18), (80, 24)],
    *[(99, 28), (100, 27), (100, 28), (120, 36), (200, 60), (400, 120)],
]


def is_large_enough(size):
    return size[0] >= 60 and size[1] >= 18


@pytest.mark.parametrize("size", SIZES[1:], ids=str)
async def test_every_size_from_the_start(size):
    """U18: below 60 × 18 it says what it needs, above every line is exactly as wide."""
    async with open_app(make_view(query=5), size) as pilot:
        lines = screen_lines(pilot.app)
        assert len(lines) == size[1]
        if is_large_enough(size):
            find(pilot, "What “milk” attends to")
            find(pilot, "? help")
        elif size[0] > 30:
            find(pilot, "attn-tui needs 60 × 18 cells.")
            find(pilot, f"This terminal has {size[0]} × {size[1]}.")


async def test_the_narrowest_wide_screen_shows_every_head_and_every_key():
    """The weights are what it is about: what stands beside them gives way first."""
    async with open_app(size=(100, 28)) as pilot:
        assert not says(pilot, "of 4")  # heads 0–0 of 4
        find(pilot, "the milk", "#pane-matrix")


@pytest.mark.parametrize("size", [(120, 36), (60, 18)], ids=str)
async def test_a_long_token_leaves_the_rest_of_a_title(size):
    text = "pneumonoultramicroscopicsilicovolcanoconiosis is long"
    async with open_app(make_view(text), size) as pilot:
        titles = {"2": "…” attends to · layer 0 ─", "4": "…” · head 0 ─", "7": "…” · head 0 ─"}
        for key, title in titles.items():
            await press(pilot, key)
            find(pilot, title)
    async with open_app(make_view(text, compare="so is this", pane="compare"), size) as pilot:
        find(pilot, "…” in this text · layer 0")


async def test_the_only_pane_is_as_wide_as_the_screen():
    async with open_app(size=(80, 24)) as pilot:
        for pane in "1234":
            await press(pilot, pane)
            assert screen_lines(pilot.app)[5].rstrip().endswith("╮")
            assert len(screen_lines(pilot.app)[5].rstrip()) == 80


async def test_every_size_one_after_the_other():
    """U18, S14: the picture after the last resize is the right one, and the selection stays."""
    async with open_app(make_view(query=5, head=2, key=1, pane="matrix")) as pilot:
        before, view = screen_lines(pilot.app), view_of(pilot)
        for size in [*SIZES, *reversed(SIZES)]:
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert pilot.app.is_running
            assert view_of(pilot) == view
        await pilot.resize_terminal(120, 36)
        await settle(pilot)
        assert screen_lines(pilot.app) == before
        assert pilot.app.focused.id == "pane-matrix"
        await press(pilot, "right")
        assert view_of(pilot).key == 2


async def test_a_storm_of_300_resizes():
    """U18: as fast as they come, through every layout and below the smallest size."""
    async with open_app(make_view(query=5, head=2)) as pilot:
        before = screen_lines(pilot.app)
        for i in range(300):
            size = Size(1 + i * 53 % 210, 1 + i * 29 % 70)
            pilot.app._driver._size = size
            pilot.app.post_message(Resize(size, size))
        await pilot.resize_terminal(120, 36)
        await settle(pilot)
        assert screen_lines(pilot.app) == before


async def test_too_small_shows_nothing_else_and_recovers():
    async with open_app(make_view("  ")) as pilot:
        for text in ("  ", SENTENCE):
            explorer_of(pilot.app).explore(text)
            await pilot.resize_terminal(59, 17)
            await settle(pilot)
            words = " ".join(screen_text(pilot.app).split())
            assert words == "attn-tui needs 60 × 18 cells. This terminal has 59 × 17."
            await pilot.resize_terminal(80, 24)
            await settle(pilot)
            assert "needs 60" not in screen_text(pilot.app)
            find(pilot, "What “The” attends to" if text.strip() else "No text")


async def test_the_sentence_keeps_the_focus_through_a_small_size():
    async with open_app() as pilot:
        await press(pilot, "e")
        await pilot.resize_terminal(40, 10)
        await settle(pilot)
        await pilot.resize_terminal(120, 36)
        await settle(pilot)
        await press(pilot, "m")
        assert shown_text(pilot) == SENTENCE + "m"
        assert view_of(pilot).pane == "weights"


async def test_one_pane_at_a_time_where_there_is_room_for_one():
    async with open_app(size=(80, 24)) as pilot:
        for key, pane in enumerate(("tokens", "weights", "matrix", "vectors"), 1):
            await press(pilot, str(key))
            shown = [p.pane for p in pilot.app.screen.query("Pane") if p.region.height]
            assert shown == [pane]
        await pilot.resize_terminal(100, 28)
        await settle(pilot)
        assert len([p for p in pilot.app.screen.query("Pane") if p.region.height]) == 4


@pytest.mark.parametrize(
    "text", [SENTENCE, "我想吃酸菜鱼", "👩‍👩‍👧 🇨🇳 ❤️ e\u0301", " ".join(HOSTILE)]
)
@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 36)], ids=str)
async def test_frames_close_at_every_size(text, size):
    """U02: whatever stands in a pane, its right edge stands below its corner."""
    async with open_app(make_view(text, tokenizer="spaces"), size) as pilot:
        for pane in pilot.app.screen.query("Pane"):
            if not pane.region.height:
                continue
            texts = [pane.render_line(y).text for y in range(pane.size.height)]
            assert {pane.render_line(y).cell_length for y in range(pane.size.height)} == {
                pane.size.width
            }
            assert texts[0][-1] + texts[-1][-1] == "╮╯"
            assert {text[0] + text[-1] for text in texts[1:-1]} == {"││"}


# Themes.


def backgrounds(app):
    strips = app.screen._compositor.render_strips(app.size)
    return {style.bgcolor for strip in strips for _, style, _ in strip if style}


async def test_another_theme_recolours_everything():
    async with open_app() as pilot:
        dark = Color.parse(pilot.app.current_theme.background)
        assert dark in backgrounds(pilot.app)
        pilot.app.theme = LIGHT.name
        await settle(pilot)
        shown = backgrounds(pilot.app)
        assert Color.parse(LIGHT.background) in shown
        assert dark not in shown
        assert explorer_of(pilot.app).palette.base.bgcolor == Color.parse(LIGHT.background)


async def test_no_theme_of_the_terminal_is_offered():
    async with open_app(theme=LIGHT.name) as pilot:
        assert pilot.app.theme == LIGHT.name
        assert pilot.app.animation_level == "none"


# Help.


@pytest.mark.parametrize("key", ["escape", "question_mark", "f1", "q"])
async def test_help_opens_and_closes(key):
    async with open_app() as pilot:
        before = screen_lines(pilot.app)
        await press(pilot, "question_mark")
        assert isinstance(pilot.app.screen, HelpScreen)
        await press(pilot, "m", "3", "x")
        await press(pilot, key)
        assert pilot.app.is_running
        assert screen_lines(pilot.app) == before


async def test_help_lists_every_key():
    """S12: no mouse is needed."""
    async with open_app(size=(120, 120)) as pilot:
        await press(pilot, "f1")
        lines = screen_lines(pilot.app)
        for each in (each for group in GROUPS.values() for each in group):
            assert any(each.shown in line and each.help in line for line in lines), each
        for title in GROUPS:
            find(pilot, title)


async def test_help_scrolls_to_its_end_with_keys():
    async with open_app(size=(60, 18)) as pilot:
        await press(pilot, "f1", "end")
        find(pilot, "There is no MLP.")
        await press(pilot, "home")
        find(pilot, "Select")


# Copying.


async def test_copy_gives_the_command_that_reopens_the_view(monkeypatch):
    async with open_app(make_view(query=5, head=2, pane="matrix")) as pilot:
        copied = []
        monkeypatch.setattr(pilot.app, "copy_to_clipboard", copied.append)
        await press(pilot, "m", "y")
        assert copied == [
            "attn-tui --mask causal --head 2 --query 5 --pane matrix 'The black cat drank the milk'"
        ]
        find(pilot, "Copied")


@pytest.mark.parametrize("text", ["a [/] b", "[@click=app.quit]x[/]", "a [b] \x1b[2J"])
async def test_the_message_about_copying_is_literal(text, monkeypatch):
    """U04, X10: what is copied is shown as it is, markup and all."""
    async with open_app(make_view(text)) as pilot:
        copied = []
        monkeypatch.setattr(pilot.app, "copy_to_clipboard", copied.append)
        await press(pilot, "y")
        assert text.split()[0] in copied[0]
        assert "\x1b" not in screen_text(pilot.app)
        assert text.split()[0] in screen_text(pilot.app).split("Copied")[1]


async def test_a_long_command_is_copied_whole_and_shown_from_its_beginning(monkeypatch):
    text = "word " * 500
    async with open_app(make_view(text, mask=Mask(causal=True)), size=(60, 18)) as pilot:
        copied = []
        monkeypatch.setattr(pilot.app, "copy_to_clipboard", copied.append)
        await press(pilot, "y")
        assert copied == [f"attn-tui --mask causal '{text}'"]
        find(pilot, "Copied")
        find(pilot, "--mask causal")
        find(pilot, "Sentence")


async def test_a_text_that_no_command_line_can_carry_is_refused(monkeypatch):
    async with open_app(make_view("x")) as pilot:
        copied = []
        monkeypatch.setattr(pilot.app, "copy_to_clipboard", copied.append)
        await press(pilot, "e")
        await paste(pilot, "a\0b")
        await press(pilot, "escape", "y")
        assert not copied
        assert says(pilot, "no command line can carry a NUL")


# Refusals.


async def test_a_model_too_large_for_a_long_text_is_refused_and_the_text_kept():
    async with open_app(make_view("a b", model={"layers": 8})) as pilot:
        await press(pilot, "e")
        await paste(pilot, " word" * 3000)
        assert says(pilot, "Too large")
        assert says(pilot, "use a shorter text or a smaller model")
        assert sentence_of(pilot).true_text == "a b" + " word" * 3000
        assert shown_text(pilot) is None
        await press(pilot, "ctrl+z")
        assert shown_text(pilot) == "a b"
        assert not says(pilot, "too large")


async def test_a_tokenizer_file_that_vanished_is_refused_and_another_helps(tmp_path):
    path = tmp_path / "gone [b] \x1b.json"
    async with open_app(make_view(tokenizer=str(path))) as pilot:
        find(pilot, "Tokenizer")
        shown = "".join(screen_text(pilot.app).split())
        assert "gone[b]␛.jsondoesnotexist" in shown
        assert sentence_of(pilot).true_text == SENTENCE
        await press(pilot, "ctrl+p", *"tokenizer mixed", "enter")
        assert shown_text(pilot) == SENTENCE


async def test_special_tokens_are_shown_literally(tmp_path):
    """U06: a vocabulary's [CLS], [SEP] and [UNK] are no markup."""
    path = tmp_path / "bert.json"
    bert_tokenizer().save(str(path))
    async with open_app(make_view("hello there", tokenizer=str(path), query=0)) as pilot:
        for pane in ("tokens", "weights"):
            for text in ("[CLS]", "[SEP]", "there [UNK]"):
                find(pilot, text, f"#pane-{pane}")
        find(pilot, "What “[CLS]” attends to")
        find(pilot, "special token [CLS]", "#pane-tokens")


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("bad [/] \x1b token"), "unexpected ValueError: bad [/] ␛ token"),
        (ZeroDivisionError(), "unexpected ZeroDivisionError"),
        (MemoryError(), "this machine has no memory left"),
    ],
    ids=["value", "bare", "memory"],
)
async def test_an_unexpected_exception_ends_nothing(error, words, quick, monkeypatch):
    """U16: at once or in a thread, the fault is named on screen and the text is kept."""
    work = module.trace

    def failing(request, *texts):
        if "bad" in request.text:
            raise error
        return work(request, *texts)

    monkeypatch.setattr(module, "trace", failing)
    monkeypatch.setattr(module, "is_quick", lambda request, *texts: quick)
    async with open_app(make_view("good")) as pilot:
        await press(pilot, "e")
        await paste(pilot, " bad")
        assert says(pilot, words)
        assert sentence_of(pilot).true_text == "good bad"
        await press(pilot, "backspace")
        assert shown_text(pilot) == "good ba"
        assert not says(pilot, words)


async def test_a_view_that_does_not_exist_is_refused_on_screen():
    async with open_app(make_view("a b", query=7)) as pilot:
        assert says(pilot, "query 7 is out of range")
        assert sentence_of(pilot).true_text == "a b"


async def test_a_first_trace_in_the_thread_is_waited_for(monkeypatch):
    monkeypatch.setattr(module, "is_quick", lambda request, *texts: False)
    async with open_app() as pilot:
        assert shown_text(pilot) == SENTENCE


async def test_quitting_while_computing_is_quiet(monkeypatch):
    """Q04: a result that comes after the end is dropped."""
    work, gate = module.trace, Event()
    monkeypatch.setattr(module, "trace", lambda *args: gate.wait(30) and work(*args))
    monkeypatch.setattr(module, "is_quick", lambda request, *texts: False)
    app = AttnApp(make_view())
    async with app.run_test() as pilot:
        await pilot._wait_for_screen()
        assert not explorer_of(app).settled
        await pilot.press("q")
        gate.set()
    assert app.return_code == 0


async def test_undo_with_no_switch_says_so():
    async with open_app() as pilot:
        await press(pilot, "u")
        assert says(pilot, "There is no switch to undo")
        await press(pilot, "x", "u")
        assert view_of(pilot).request == make_view().request


async def test_the_foot_says_what_is_hidden_before_its_scale():
    view = make_view(" ".join(map(str, range(14))), model={"heads": 9, "d_model": 18})
    async with open_app(view) as pilot:
        assert says(pilot, "keys 0–10 of 14 · heads 0–7 of 9 ─╯")
    async with open_app(view, (200, 60)) as pilot:
        assert says(pilot, "full bar 0.2 ─╯")


async def test_long_labels_leave_room_for_what_is_hidden():
    view = make_view("a unbelievable internationalisation of " + "words " * 9, query=1, key=2)
    async with open_app(view) as pilot:
        assert says(pilot, "of 13")
        await press(pilot, "S")
        assert says(pilot, "pair 1 by weight")


async def test_no_vector_is_offered_where_none_is_seen():
    async with open_app(make_view(compare="The red cat"), (200, 60)) as pilot:
        assert not says(pilot, "v vector")
        await press(pilot, "4", "2")
        assert says(pilot, "v vector")


async def test_a_notice_that_is_over_as_it_is_drawn_holds_nothing_up(monkeypatch):
    """A timer of Textual with less than no time left loops for ever, and the whole app with it."""
    async with open_app() as pilot:
        pilot.app.notify("late", timeout=60, markup=False)
        await settle(pilot)
        notice = next(iter(pilot.app._notifications))
        now = time()
        monkeypatch.setattr("textual.notifications.time", lambda: now + 61)
        assert notice.has_expired
        assert Toast(notice)._timeout > 0
        monkeypatch.setattr("textual.notifications.time", lambda: now)
        assert not notice.has_expired
        assert notice.time_left == pytest.approx(60, abs=30)
