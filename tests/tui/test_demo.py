"""The demo: what the host allowed can be reached, and nothing else."""

import os
import string
import sys
from itertools import chain

import pytest
from textual.app import App
from textual.command import CommandPalette

from core.errors import AttnError, TokenizerError
from core.language import set_language
from core.lessons import open_lesson
from core.tokenization import set_most_tokens
from tests.core.small_tokenizers import word_level_tokenizer
from tests.tui.demo import commands, everything, open_demo
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
from tui.serve.allowed import APP_ACTIONS, SCREEN_ACTIONS, Allowed, action_name
from tui.serve.demo import DemoApp
from tui.serve.options import MOST_TOKENS

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
    """X09: each way out of the program that the framework has, tried by its name."""
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


async def test_help_and_footer_name_no_key_that_does_nothing():
    async with open_demo(size=(200, 60)) as pilot:
        assert "copy" not in screen_text(pilot.app)
        await press(pilot, "question_mark")
        assert "copy" not in screen_text(pilot.app)
        assert "quit" in screen_text(pilot.app)


async def test_a_demo_takes_no_key_of_the_explorer():
    """Nor does following a presenter, for which every demo is ready."""
    table = {
        name: key.action for key in chain(*keys.GROUPS.values()) for name in key.keys.split(",")
    }
    async with open_demo() as pilot:
        bound = explorer_of(pilot.app)._bindings.key_to_bindings
        found = {name: [each.action for each in bound[name]] for name in table}
        assert found == {name: [action] for name, action in table.items()}
        await press(pilot, "f")
        assert explorer_of(pilot.app).state.view.reading is not None


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


async def test_a_panic_tells_nothing_of_the_host(capsys):
    """Textual's way out when the keyboard fails."""
    app = DemoApp(make_view(), allowed=everything())
    async with app.run_test() as pilot:
        pilot.app.panic(__file__)
    said = "".join(capsys.readouterr())
    assert "because of a fault" in said
    assert __file__ not in said.replace("\n", "")


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
