"""The installed command on a real pseudo-terminal, from start to every kind of end."""

import base64
import re
import shlex
import signal
import subprocess

import pytest

from tests.cli.command import ATTN_TUI, attn_tui, environment
from tests.terminal.pty_session import PtySession
from tests.terminal.test_driver import SIGNALS, assert_restored

READY = "q quit"
CTRL_Q = "\x11"


def explorer(*arguments, **options):
    return PtySession([str(ATTN_TUI), *arguments], **options)


def test_start_type_switch_head_resize_quit():
    with explorer(size=(120, 36)) as session:
        session.wait_for(READY)
        session.wait_for("What “The” attends to")
        assert "random weights: the mechanism, not meaning" in session.text
        session.send("e")
        session.wait_for("esc done")
        session.send(" today")
        session.wait_for("5 tokens")
        session.wait_for("4  today")
        session.send("\x1b")
        session.wait_for(READY)
        session.send("\x1b[C")
        session.wait_for("head 1 · mask")
        session.resize(80, 24)
        session.wait_for("2 weights 3 matrix")
        session.resize(50, 10)
        session.wait_for("attn-tui needs 60 × 18 cells")
        session.resize(120, 36)
        session.wait_for("head 1 · mask")
        session.send("q")
        assert session.wait_for_exit() == 0
        assert_restored(session)


@pytest.mark.parametrize("more", ["o", "?", "e more"])
def test_keys_behind_the_one_that_ends_it(more):
    """In one read: they would be done on a screen that is half taken apart."""
    with explorer() as session:
        session.wait_for(READY)
        session.send("q" + more)
        assert session.wait_for_exit() == 0
        assert "Traceback" not in session.output
        assert_restored(session)


def test_a_lesson_from_start_to_end():
    with explorer("lesson", "by-hand", size=(120, 36)) as session:
        session.wait_for("step 1 of 7")
        assert "given matrices" in session.text
        for step in range(2, 8):
            session.send(">")
            session.wait_for(f"step {step} of 7")
        session.wait_for("+1.9238")
        session.send("<")
        session.wait_for("step 6 of 7")
        session.send("q")
        assert session.wait_for_exit() == 0
        assert_restored(session)


def test_a_lesson_from_start_to_end_in_chinese():
    with explorer("lesson", "by-hand", "--lang", "zh", size=(120, 36)) as session:
        session.wait_for("第 1 步，共 7 步")
        session.wait_for("给定的矩阵")
        for step in range(2, 8):
            session.send(">")
            session.wait_for(f"第 {step} 步，共 7 步")
        session.wait_for("“你” 的向量")
        session.wait_for("+1.9238")
        session.send("e")
        session.wait_for("句子不变")
        session.send("c")
        session.wait_for("已复制")
        session.send("<")
        session.wait_for("第 6 步，共 7 步")
        session.send("q")
        assert session.wait_for_exit() == 0
        assert_restored(session)


def test_numbers_on_screen_are_those_of_show():
    printed = attn_tui("show", "我想吃酸菜鱼", "--query", "1", "--head", "2").stdout.decode()
    weights = re.findall(r"^\d \S+ +(\d\.\d{3})$", printed, flags=re.MULTILINE)
    assert len(weights) == 6
    with explorer("我想吃酸菜鱼", "--query", "1", "--head", "2") as session:
        session.wait_for("What “想” attends to")
        session.wait_for(READY)
        assert re.findall(r"^│. \S .*?(\d\.\d{3}) ", session.text, flags=re.MULTILINE) == weights


def test_chinese_typed_a_letter_at_a_time_in_pieces():
    with explorer("好") as session:
        session.wait_for(READY)
        session.send("e")
        session.wait_for("esc done")
        for byte in "我想吃".encode():
            session.send(bytes([byte]))
        session.wait_for("│ 好我想吃")
        session.wait_for("4 tokens")
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0


def test_bytes_that_are_no_utf8_are_survived():
    """S04: a terminal in another encoding, or noise on the line."""
    with explorer() as session:
        session.wait_for(READY)
        session.send("e")
        session.wait_for("esc done")
        session.send("我".encode("gb18030") + b"\xff!")
        session.wait_for("blue")
        session.wait_for(lambda: "!" in session.text)
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0


def test_a_paste_of_50_kilobytes():
    """U09: every line is kept; the cap is said."""
    text = "The ball is blue\n我想吃酸菜鱼\n" * 1500
    with explorer("x", size=(120, 36)) as session:
        session.wait_for(READY)
        session.send("e")
        session.wait_for("esc done")
        paste(session, text)
        session.wait_for("first 2,048 of 15,000 tokens")
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0


def test_a_typed_paste_loses_nothing():
    """U10: without bracketed paste each character is a key, and returns are line ends."""
    with explorer("x", size=(120, 36)) as session:
        session.wait_for(READY)
        session.send("e")
        session.wait_for("esc done")
        for _ in range(10):
            session.send(" the quick brown fox\r" * 10)
            session.pump()
        session.wait_for("401 tokens")
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0


def test_a_pasted_quit_does_not_quit():
    """X08: an escape in a paste is text, and so is the key after it."""
    with explorer("x") as session:
        session.wait_for(READY)
        session.send("e")
        session.wait_for("esc done")
        session.send("\x1b[200~a\x1b\x11b\x1b[201~")
        session.wait_for("│ xa␛␑b")
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_it_with_its_code(number):
    """S01: also while a large text is computed."""
    with explorer("我" * 2048) as session:
        session.wait_for("computing…")
        session.kill(number)
        assert session.wait_for_exit() == 128 + number
        assert_restored(session)


@pytest.mark.parametrize("ignored", [(), (signal.SIGHUP,)])
def test_the_terminal_closes(ignored):
    """S13: nothing is left running."""
    with explorer(ignored_signals=ignored) as session:
        session.wait_for(READY)
        session.hang_up()
        assert session.wait_for_exit() in (129, -signal.SIGHUP)


def test_exported_sizes_are_not_the_window():
    """S06: COLUMNS and LINES do not follow it."""
    with explorer(env={"COLUMNS": "200", "LINES": "60"}) as session:
        session.wait_for(READY)
        session.wait_for("2 weights 3 matrix")
        session.send("q")
        assert session.wait_for_exit() == 0


def test_copy_reopens_exactly_this_view():
    first = ["--heads", "2", "--mask", "window:1", 'it\'s 我 \\ "x"']
    with explorer(*first) as session:
        session.wait_for(READY)
        session.send("jll3zxT+y")
        session.wait_for(lambda: "\x1b]52;c;" in session.output)
        session.wait_for("Copied")
        encoded = re.search(r"\x1b\]52;c;([^\x07]*)\x07", session.output)[1]
        session.send("q")
        session.wait_for_exit()
    command = base64.b64decode(encoded).decode()
    with PtySession(
        ["bash", "-c", f"{shlex.quote(str(ATTN_TUI))} {command.split(' ', 1)[1]}"]
    ) as again:
        again.wait_for(READY)
        again.send("y")
        again.wait_for(lambda: f"\x1b]52;c;{encoded}\x07" in again.output)
        again.send("q")
        assert again.wait_for_exit() == 0


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_without_a_terminal_it_names_show(stream):
    """S03: one line and exit code 2, not a loop and not escapes in a log."""
    with PtySession(["sleep", "60"]) as session:
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), session.slave)
        result = subprocess.run(
            [ATTN_TUI], **{**streams, stream: subprocess.DEVNULL}, timeout=60, check=False
        )
        assert result.returncode == 2
        if stream != "stderr":
            session.wait_for("attn-tui show")


def test_a_dumb_terminal_is_refused():
    """S09: no escapes where nobody understands them."""
    with explorer(env={"TERM": "dumb"}) as session:
        assert session.wait_for_exit() == 2
        assert "attn-tui show" in session.output
        assert "\x1b" not in session.output


def test_no_color_sends_no_hue():
    """S07: greys, glyphs and digits carry the weights."""
    with explorer("--pane", "matrix", env={"NO_COLOR": "1"}) as session:
        session.wait_for(READY)
        colors = set(re.findall(r"[34]8;2;(\d+);(\d+);(\d+)", session.output))
        assert colors
        assert all(red == green == blue for red, green, blue in colors)
        session.send("q")
        assert session.wait_for_exit() == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--heads", "3"],
        ["--head", "4"],
        ["--query", "9"],
        ["--theme", "no"],
        ["--tokenizer", "no"],
        [" "],
    ],
)
def test_bad_options_are_refused_before_the_screen(arguments):
    with explorer(*arguments) as session:
        assert session.wait_for_exit() == 2
        assert session.output.startswith("attn-tui: ")
        assert session.output.count("\n") == 1
        assert "\x1b" not in session.output


def test_a_text_that_is_gone_comes_back():
    with explorer() as session:
        session.wait_for(READY)
        session.send("e")
        session.wait_for("esc done")
        session.send("\x15")
        session.wait_for("No text")
        session.send("我")
        session.wait_for("1 token")
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0


def paste(session, text):
    """Send a bracketed paste in pieces, taking the output in between."""
    session.send("\x1b[200~")
    for start in range(0, len(text), 500):
        session.send(text[start : start + 500].replace("\n", "\r"))
        session.pump(0.01)
    session.send("\x1b[201~")


def test_the_environment_of_the_person_is_not_needed():
    """Nothing but PATH and TERM: no HOME, no locale."""
    bare = {name: None for name in environment() if name not in ("PATH", "TERM")}
    with explorer("我想吃", env=bare) as session:
        session.wait_for("“我”")
        session.wait_for(READY)
        session.send("q")
        assert session.wait_for_exit() == 0
