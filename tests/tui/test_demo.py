"""The demo: what the host allowed can be reached, and nothing else."""

import json
import os
import string
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from textual.app import App
from textual.command import CommandPalette

from core.errors import AttnError, ModelError, TokenizerError
from core.language import set_language
from core.lessons import bundled_lessons, open_lesson
from core.tokenization import MAX_TOKENS, PATTERNS, set_most_tokens
from core.trained import describe
from core.types import Request
from tests.core.small_checkpoints import speaking
from tests.core.small_tokenizers import word_level_tokenizer
from tests.tui.helpers import (
    explorer_of,
    make_view,
    paste,
    press,
    says,
    screen_text,
    settle,
    shown_text,
)
from tui import keys
from tui.palette import ExplorerCommands
from tui.scene import View
from tui.serve.allowed import APP_ACTIONS, SCREEN_ACTIONS, Allowed, Limits, action_name
from tui.serve.demo import DemoApp
from tui.serve.options import MOST_TOKENS
from tui.serve.palette import DemoCommands

# Every action is weighed: it stands here or among those of a demo.
NOT_IN_A_DEMO = {"copy", "copy_command", "copy_derivation"} | {"mask_token"}  # a real model's
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
SPAWNS = (
    "os.exec", "os.fork", "os.forkpty", "os.kill", "os.posix_spawn", "os.spawn", "os.system",
    "pty.spawn", "subprocess.Popen", "webbrowser.open", "socket.connect", "os.remove", "os.rename",
    "os.mkdir", "os.symlink", "os.link",
)  # fmt: skip
SPECIAL = (  # beside those that are bound
    *(f"ctrl+{letter}" for letter in string.ascii_lowercase),
    *(f"super+{letter}" for letter in "acqsvx"),
    *(f"f{number}" for number in range(1, 13)),
    *["ctrl+backslash", "ctrl+left_square_bracket", "ctrl+right_square_bracket", "ctrl+at"],
)
_audit: list[str] | None = None


def _listen(event, arguments):
    if _audit is None:
        return
    if event in SPAWNS:
        _audit.append(f"{event} {arguments}")
    elif event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES:
        _audit.append(f"open {arguments}")


sys.addaudithook(_listen)


@pytest.fixture
def acts(monkeypatch):
    """What is written, started or connected to meanwhile, as the interpreter itself reports it."""
    global _audit
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # of a pane that is first shown
    _audit = []
    yield _audit
    _audit = None


@pytest.fixture(autouse=True)
def usual_cap():
    yield
    set_most_tokens(MAX_TOKENS)


def everything(**options):
    return Allowed(
        tuple(bundled_lessons()), tuple(PATTERNS), **{"most_tokens": MOST_TOKENS, **options}
    )


@asynccontextmanager
async def open_demo(view=None, size=(120, 36), allowed=None, **options):
    """As `open_app`, with what the driver is told to write to the terminal in `pilot.sent`."""
    app = DemoApp(view or make_view(), allowed=allowed or everything(), **options)
    async with app.run_test(size=size, notifications=True) as pilot:
        pilot.sent = []
        app._driver.write = pilot.sent.append
        await settle(pilot)
        yield pilot


def commands(pilot, provider=DemoCommands):
    return list(provider(pilot.app.screen, match_style=None)._commands())


def test_every_action_is_weighed():
    """A new key is out of a demo until somebody decides."""
    tables = [table for table in vars(keys).values() if isinstance(table, tuple)]
    found = {action_name(k.action) for table in tables for k in table if isinstance(k, keys.Key)}
    assert len(found) > 25
    assert found == (SCREEN_ACTIONS | {"command_palette", "quit"} | NOT_IN_A_DEMO) & found
    assert found >= SCREEN_ACTIONS - {"follow"}  # which has a key in a demo alone
    assert not NOT_IN_A_DEMO & (SCREEN_ACTIONS | APP_ACTIONS)


@pytest.mark.parametrize("pane", ["matrix", None])
async def test_no_key_writes_starts_or_copies(acts, pane):
    """Every key in the panes, and in the sentence with all of its text selected."""
    async with open_demo(make_view("a cat", pane=pane or "tokens")) as pilot:
        bound = {*pilot.app.screen.active_bindings, *SPECIAL}
        for key in sorted(bound if pane else SPECIAL):
            await pilot.press("escape", *([] if pane else ["e", "home", "shift+end"]), key)
            if len(pilot.app.screen_stack) > 1:  # help, palette or the question
                await pilot.press("ctrl+c", "escape")
            assert pilot.app.is_running, key
        await settle(pilot)
        assert acts == []
        assert not any("\x1b]52" in text for text in pilot.sent)


async def test_a_mouse_copies_nothing(acts):
    """A selection with the mouse can be copied elsewhere; the terminal hears nothing of it."""
    async with open_demo() as pilot:
        await press(pilot, "question_mark")
        await pilot.mouse_down(offset=(10, 5))
        await pilot.hover(offset=(60, 20))
        await pilot.mouse_up(offset=(60, 20))
        await press(pilot, "ctrl+c")
        assert not any("\x1b]52" in text for text in pilot.sent)
        assert acts == []


async def test_every_entry_of_the_palette(acts):
    """Each is run, one after the other: it neither ends the session nor leaves a trace."""
    async with open_demo() as pilot:
        found = commands(pilot)
        assert len(found) > 60
        for command in found:
            result = command.run()
            if hasattr(result, "__await__"):
                await result
            await settle(pilot)
            while len(pilot.app.screen_stack) > 1:
                await press(pilot, "escape")
            assert pilot.app.is_running, command.name
        assert acts == []
        assert not any("\x1b]52" in text for text in pilot.sent)


async def test_the_palette_has_no_other_entries():
    """X09: left out is what copies, what the host did not allow, and real models' keys."""
    allowed = Allowed((open_lesson("by-hand"),), ("chars",), MOST_TOKENS)
    async with open_demo(make_view(tokenizer="chars"), allowed=allowed) as pilot:
        usual = {each.name for each in commands(pilot, ExplorerCommands)}
        found = {each.name for each in commands(pilot)}
        assert found < usual
        gone = {name for name in usual - found if not name.startswith(("Lesson: ", "Tokenizer: "))}
        assert {name.split()[0] for name in gone} == {"Copy", "Mask"}  # a token, of a real model
        assert [name for name in found if name.startswith("Tokenizer: ")] == ["Tokenizer: chars"]
        lessons = [name for name in found if name.startswith("Lesson: ")]
        assert lessons == ["Lesson: " + open_lesson("by-hand").title.en]


async def test_nothing_of_textual_leads_out(tmp_path, acts):
    """Each way out of the program that the framework has, tried by its name."""
    async with open_demo() as pilot:
        app, target = pilot.app, str(tmp_path / "x")
        for action in (
            "screenshot", f"screenshot('x','{tmp_path}')", "suspend_process", "change_theme",
            "toggle_dark", f"push_screen('{target}')", "switch_screen('x')", "add_class('x','y')",
            "simulate_key('q')", "notify('x')", "bell", "screen.copy_text", "screen.maximize",
        ):  # fmt: skip
            assert not await app.run_action(action), action
        app.copy_to_clipboard("secret")
        app.open_url("https://localhost")
        app.deliver_screenshot(path=str(tmp_path))
        app.save_screenshot(path=str(tmp_path))
        app.deliver_text(target)
        app.deliver_binary(target)
        await settle(pilot)
        assert acts == []
        assert list(tmp_path.iterdir()) == []
        assert not any("secret" in text for text in pilot.sent)


def test_textual_has_no_way_out_that_is_not_known():
    """A new release may bring one."""
    words = ("copy", "clipboard", "deliver", "save", "export", "open_url", "suspend", "screenshot")
    found = {name for name in dir(App) if any(word in name for word in words)}
    assert {name for name in found if not name.startswith("_")} == {
        "action_screenshot", "action_suspend_process", "clipboard",
        "copy_to_clipboard", "deliver_binary", "deliver_screenshot", "deliver_text",
        "export_screenshot", "open_url", "save_screenshot", "suspend",
    }  # fmt: skip


async def test_a_copied_text_can_be_pasted_here():
    async with open_demo(make_view("cat")) as pilot:
        await press(pilot, "e", "home", "shift+end", "ctrl+c", "end", "space", "ctrl+v")
        assert shown_text(pilot) == "cat cat"


async def test_text_is_cut_and_the_cut_is_said():
    set_most_tokens(8)
    async with open_demo(allowed=everything(most_tokens=8)) as pilot:
        assert says(pilot, "demo, at most 8 tokens")
        await press(pilot, "e")
        await paste(pilot, " " + "word " * 100)
        assert says(pilot, "first 8 of 106 tokens")
        assert len(explorer_of(pilot.app).state.trace.tokens) == 8


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
async def test_quit_asks_first(key):
    async with open_demo() as pilot:
        await press(pilot, key)
        assert says(pilot, "Leave the demo?")
        await press(pilot, "escape")
        assert not says(pilot, "Leave the demo?")
        await press(pilot, key, "q")
        assert len(pilot.app.screen_stack) == 1
        await press(pilot, key, "n")
        assert pilot.app.is_running
        await press(pilot, key, "y")
        assert not pilot.app.is_running
        assert pilot.app.return_code == 0


async def test_quit_asks_from_the_sentence_and_from_the_palette():
    async with open_demo() as pilot:
        await press(pilot, "e", "q", "ctrl+q")
        assert says(pilot, "Leave the demo?")
        await press(pilot, "escape", "ctrl+p")
        assert isinstance(pilot.app.screen, CommandPalette)
        await press(pilot, "ctrl+q")
        assert says(pilot, "Leave the demo?")
        await press(pilot, "ctrl+p")  # one palette is enough
        assert says(pilot, "Leave the demo?")
        await press(pilot, "ctrl+q")
        assert not pilot.app.is_running


@pytest.mark.parametrize("years", [20, -20])
async def test_a_clock_that_jumps_ends_nothing(monkeypatch, years):
    """Idle and total time are counted by a clock that nobody sets."""
    now = time.time()
    async with open_demo(allowed=everything(idle=600.0, total=600.0)) as pilot:
        await press(pilot, "e", *" on")
        monkeypatch.setattr(time, "time", lambda: now + years * 365 * 86400)
        pilot.app._watch_limits()
        await press(pilot, *"ly")
        assert shown_text(pilot).endswith(" only")
        assert not pilot.app._notifications
        assert pilot.app.is_running


async def test_help_and_footer_name_no_key_that_does_nothing():
    async with open_demo(size=(200, 60)) as pilot:
        assert "copy" not in screen_text(pilot.app)
        await press(pilot, "question_mark")
        assert "copy" not in screen_text(pilot.app)
        assert "quit" in screen_text(pilot.app)


async def test_messages_show_no_path_of_the_host(tmp_path):
    path = tmp_path / "small.json"
    word_level_tokenizer().save(str(path))
    allowed = Allowed((), (str(path), "mixed"), MOST_TOKENS)
    async with open_demo(make_view("a", tokenizer=str(path)), allowed=allowed) as pilot:
        names = [each.name for each in commands(pilot) if each.name.startswith("Tokenizer: ")]
        assert names == ["Tokenizer: small.json", "Tokenizer: mixed"]
        screen, request = explorer_of(pilot.app), explorer_of(pilot.app).state.asked
        for error in (
            TokenizerError(f"tokenizer {path} cannot encode", f"look at {path}"),
            AttnError(f"unexpected OSError: {path}", "report it"),
        ):
            screen._take(request, error)
            await settle(pilot)
            assert str(tmp_path) not in screen_text(pilot.app)
            assert screen.state.error is not None


@pytest.fixture
def two_models(tmp_path):
    """A demo that begins with the seeded model and may show two others."""
    names = ("bert-legacy", "opt-after")
    models = tuple(describe(speaking(name, tmp_path)) for name in names)
    return everything(models=models)


async def choose(pilot, name):
    (command,) = [each for each in commands(pilot) if each.name == name]
    command.run()
    await settle(pilot)


async def test_the_palette_switches_among_the_models_that_are_allowed(two_models):
    async with open_demo(make_view("t5 t17 t3"), allowed=two_models) as pilot:
        await press(pilot, "down", "m")
        await choose(pilot, "Model: bert-legacy")
        assert says(pilot, "bert-legacy · BERT · 2 layers × 3 heads")
        assert shown_text(pilot) == "t5 t17 t3"
        assert explorer_of(pilot.app).state.trace.request.model is two_models.models[0]
        assert {each.name for each in commands(pilot) if each.name.startswith("Model: ")} == {
            "Model: opt-after",
            "Model: seeded",
        }
        await press(pilot, "s")
        assert says(pilot, "trained weights stay as they are")
        assert "s scale" not in screen_text(pilot.app)
        await choose(pilot, "Model: opt-after")
        assert says(pilot, "opt-after · OPT")
        await choose(pilot, "Model: seeded")
        assert says(pilot, "seed 0 · 1 layer × 4 heads")
        assert says(pilot, "mask none")
        assert shown_text(pilot) == "t5 t17 t3"


async def test_a_model_takes_the_place_of_a_lesson(two_models):
    async with open_demo(allowed=two_models) as pilot:
        await choose(pilot, "Lesson: " + open_lesson("by-hand").title.en)
        assert says(pilot, "given matrices")
        await choose(pilot, "Model: bert-legacy")
        assert says(pilot, "bert-legacy")
        assert not says(pilot, "step 1 of")
        await press(pilot, "e")
        assert says(pilot, "esc done")


async def test_another_text_stays_beside_another_model(two_models):
    async with open_demo(make_view("t5 t17", compare="t5 t3"), allowed=two_models) as pilot:
        await choose(pilot, "Model: bert-legacy")
        state = explorer_of(pilot.app).state
        assert state.compared.other.request.text == "t5 t3"
        assert state.compared.other.request.model is two_models.models[0]


async def test_no_model_but_those_that_are_allowed():
    async with open_demo() as pilot:
        assert not [each for each in commands(pilot) if each.name.startswith("Model: ")]


@pytest.mark.parametrize(("key", "runs"), [("x", "tui.state"), ("o", "core.compare")])
async def test_what_a_model_refuses_names_no_path(two_models, key, runs, monkeypatch):
    """Neither in a notice, where all stays as it was, nor in the pane of the other text."""
    model = two_models.models[0]
    asked = []

    def refuse(*_):
        asked.append(key)
        raise ModelError(f"{model.path}/x is damaged", f"see {model.path}")

    view = View(Request("t5 t17", model=model))
    async with open_demo(view, size=(200, 40), allowed=two_models) as pilot:
        monkeypatch.setattr(f"{runs}.trace", refuse)
        await press(pilot, key)
        assert asked
        assert os.path.dirname(model.path) not in screen_text(pilot.app)
        assert says(pilot, "bert-legacy/x is damaged")


async def test_a_fault_ends_it_without_a_traceback(capsys):
    app = DemoApp(make_view(), allowed=everything())

    class FaultError(Exception):
        pass

    def fail():
        raise FaultError(__file__)

    async def run():
        async with app.run_test() as pilot:
            pilot.app.call_next(fail)
            await settle(pilot)

    with pytest.raises(FaultError):
        await run()
    said = "".join(capsys.readouterr())
    assert "because of a fault" in said
    assert os.sep not in said.replace("attn-tui", "")


def test_limits():
    limits = Limits(idle=100, total=0, started=0, touched=0)
    assert (limits.left(40), limits.idles()) == (60, True)
    limits.touched = 50
    assert limits.left(60) == 90
    limits = replace(limits, total=120)
    assert (limits.left(60), limits.idles()) == (60, False)
    assert Limits(0, 0, 0, 0).left(5) is None


class Clock:
    """A clock that goes when a test says so."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr("tui.serve.demo.time", clock)


async def test_an_idle_session_is_warned_and_ends(monkeypatch):
    clock = Clock(monkeypatch)
    async with open_demo(allowed=everything(idle=600)) as pilot:
        clock.now += 545
        pilot.app._watch_limits()
        await settle(pilot)
        assert says(pilot, "ends in 55 seconds")
        assert says(pilot, "Press any key")
        await press(pilot, "down")
        assert not says(pilot, "ends in")
        clock.now += 599
        pilot.app._watch_limits()
        await settle(pilot)
        assert says(pilot, "ends in 1 seconds")
        clock.now += 2
        pilot.app._watch_limits()
        await settle(pilot)
        assert not pilot.app.is_running


async def test_the_whole_time_ends_whatever_is_pressed(monkeypatch):
    clock = Clock(monkeypatch)
    async with open_demo(allowed=everything(idle=600, total=900)) as pilot:
        for _ in range(2):
            clock.now += 420
            await press(pilot, "down")
        pilot.app._watch_limits()
        await settle(pilot)
        assert says(pilot, "ends in 60 seconds")
        assert not says(pilot, "Press any key")
        await press(pilot, "down")
        assert says(pilot, "ends in 60 seconds")
        clock.now += 61
        pilot.app._watch_limits()
        await settle(pilot)
        assert not pilot.app.is_running


async def _until(pilot, holds):
    for _ in range(1000):  # what comes through a pipe settles nothing
        if holds():
            return
        await settle(pilot)
    raise AssertionError(holds)


async def test_who_watches_a_presenter_is_not_idle(monkeypatch):
    clock = Clock(monkeypatch)
    for_viewer, presenter = os.pipe()
    allowed = everything(idle=600)
    async with open_demo(allowed=allowed, size=(80, 24), follow=for_viewer) as pilot:
        for heads in ("1", "2", "8"):
            clock.now += 599
            os.write(presenter, json.dumps(["--heads", heads]).encode() + b"\n")
            await _until(pilot, lambda shown=f"× {heads} head": says(pilot, shown))
            pilot.app._watch_limits()
            assert pilot.app.is_running
        await press(pilot, "f")  # alone now, and away
        clock.now += 599
        os.write(presenter, json.dumps(["--heads", "4"]).encode() + b"\n")
        await _until(pilot, lambda: explorer_of(pilot.app)._heard == ["--heads", "4"])
        clock.now += 2
        pilot.app._watch_limits()
        await settle(pilot)
        assert not pilot.app.is_running
    os.close(presenter)


@pytest.fixture
def looks(snap_compare):
    def compare(size, keys=(), language="en", **allowed):
        set_language(language)

        async def prepare(pilot):
            await settle(pilot)
            await press(pilot, *keys)

        app = DemoApp(make_view(query=5, head=1, key=3), allowed=everything(**allowed))
        return snap_compare(app, terminal_size=size, run_before=prepare)

    return compare


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
def test_a_demo(looks, size):
    assert looks(size)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
def test_the_question_before_the_end(looks, size):
    assert looks(size, ["q"])


def test_the_help_of_a_demo(looks):
    assert looks((120, 36), ["question_mark"])


def test_a_demo_in_chinese(looks):
    assert looks((80, 24), ["q"], "zh")


def test_a_warning(looks):
    assert looks((80, 24), idle=59.9)


def test_no_variable_is_left(monkeypatch):
    from tui.serve import isolate

    names = ("PYTHONSTARTUP", "TEXTUAL_DEBUG", "PAGER", "LESSOPEN", "EDITOR", "BROWSER")
    monkeypatch.setattr(os, "environ", {**os.environ, **dict.fromkeys(names, "x")})
    started = []
    monkeypatch.setattr(os, "execv", lambda *arguments: started.append(arguments))
    isolate.isolate(["--demo"])
    assert set(os.environ) <= set(isolate.KEPT)
    assert started[0][1][1:3] == ["-I", "-c"]
    assert started[0][1][-1] == "--demo"
