"""The driver on a real pseudo-terminal: every way to leave, and odd input."""

import re
import signal
import sys
import termios

import pytest

from tests.terminal.pty_session import PtySession
from tui.terminal.controls import reveal

SAMPLE = [sys.executable, "-m", "tests.terminal.sample_app"]
READY = "size 80x24"
CTRL_Q = "\x11"
# Mode, how it is switched on, how it is switched off.
MODES = [
    ("alternate screen", "\x1b[?1049h", "\x1b[?1049l"),
    ("mouse clicks", "\x1b[?1000h", "\x1b[?1000l"),
    ("mouse moves", "\x1b[?1003h", "\x1b[?1003l"),
    ("mouse, urxvt", "\x1b[?1015h", "\x1b[?1015l"),
    ("mouse, SGR", "\x1b[?1006h", "\x1b[?1006l"),
    ("bracketed paste", "\x1b[?2004h", "\x1b[?2004l"),
    ("focus reports", "\x1b[?1004h", "\x1b[?1004l"),
    ("hidden cursor", "\x1b[?25l", "\x1b[?25h"),
    ("no line wrap", "\x1b[?7l", "\x1b[?7h"),
    ("kitty keyboard", "\x1b[>25u", "\x1b[<u"),
    ("synchronised output", "\x1b[?2026h", "\x1b[?2026l"),
    ("window reports", "\x1b[?2048h", "\x1b[?2048l"),
    ("mouse in pixels", "\x1b[?1016h", "\x1b[?1016l"),
]
NEEDED = {"alternate screen", "mouse moves", "bracketed paste", "focus reports", "kitty keyboard"}


def assert_restored(session: PtySession) -> None:
    """Assert that the terminal is as it was before the command."""
    used = {name for name, on, _ in MODES if on in session.output}
    assert used >= NEEDED
    left = {name for name, on, off in MODES if session.output.rfind(on) > session.output.rfind(off)}
    assert not left
    styles = re.findall(r"\x1b\[([0-9;]*)m", session.output)
    assert styles[-1:] in ([], ["0"])
    assert session.attributes() == session.first_attributes


class Answering:
    """Answers mode queries as a modern terminal does, so that every mode is switched on."""

    session: PtySession

    def __call__(self, text: str) -> None:
        for mode in re.findall(r"\x1b\[\?(2026|2048)\$p", text):
            self.session.send(f"\x1b[?{mode};2$y")


SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_restores_the_terminal(number: int) -> None:
    """S01: exit code 128+n, modes off, settings back."""
    with PtySession(SAMPLE) as session:
        session.wait_for(READY)
        session.kill(number)
        assert session.wait_for_exit() == 128 + number
        assert_restored(session)


def test_all_modes_of_a_modern_terminal_are_switched_off() -> None:
    """S01: with the modes that are used only where the terminal says that it has them."""
    answering = Answering()
    with PtySession(SAMPLE, on_output=answering) as session:
        answering.session = session
        session.wait_for(lambda: "\x1b[?2048h" in session.output)
        session.wait_for(lambda: "\x1b[?1016h" in session.output)
        session.kill(signal.SIGTERM)
        assert session.wait_for_exit() == 143
        assert_restored(session)


class AnsweringLate:
    """Answers the query of a mode when the first modes are switched off again."""

    session: PtySession
    answered = False

    def __call__(self, text: str) -> None:
        if not self.answered and re.search(r"\x1b\[\?(1000|2004)l", text):
            self.answered = True
            self.session.send("\x1b[?2048;2$y")


def test_an_answer_that_comes_while_the_app_ends_leaves_no_mode_on() -> None:
    """Over a slow line somebody quits before the terminal has said which modes it has."""
    answering = AnsweringLate()
    with PtySession(SAMPLE, on_output=answering) as session:
        answering.session = session
        session.wait_for(READY)
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0
        assert answering.answered
        assert_restored(session)


def test_a_second_signal_changes_nothing() -> None:
    """S01: impatient managers send it twice, and perhaps another."""
    with PtySession(SAMPLE) as session:
        session.wait_for(READY)
        session.kill(signal.SIGTERM)
        session.wait_for(lambda: "\x1b[?2004l" in session.output)
        if session.process.poll() is None:
            session.kill(signal.SIGTERM)
            session.kill(signal.SIGHUP)
        assert session.wait_for_exit() == 143
        assert_restored(session)


@pytest.mark.parametrize("mode", ["thread", "busy"])
def test_a_signal_ends_a_computing_app(mode: str) -> None:
    """S01: neither a worker thread nor a blocked event loop keeps the process alive."""
    with PtySession([*SAMPLE, mode]) as session:
        session.wait_for(lambda: "computing" in session.output)
        session.kill(signal.SIGTERM)
        assert session.wait_for_exit() == 143
        assert_restored(session)


def test_quitting_does_not_wait_for_a_thread() -> None:
    with PtySession([*SAMPLE, "thread"]) as session:
        session.wait_for(lambda: "computing" in session.output)
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0
        assert_restored(session)


def test_a_signal_ends_an_app_whose_terminal_takes_no_more() -> None:
    """S01: a stalled connection blocks the writer, not the way out."""
    with PtySession([*SAMPLE, "flood"]) as session:
        session.wait_for(lambda: "xxxx" in session.output)
        # Nobody reads from here on. The process sleeps in a write when its queue is full, which
        # cannot be seen from outside; the signal must do wherever it finds it.
        session.kill(signal.SIGTERM)
        assert session.process.wait(timeout=30) == 143
        assert session.attributes() == session.first_attributes


def test_ctrl_q_leaves_with_zero() -> None:
    with PtySession(SAMPLE) as session:
        session.wait_for(READY)
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0
        assert_restored(session)


def test_a_crash_leaves_with_one() -> None:
    """S02: and says what happened, after the terminal is restored."""
    with PtySession([*SAMPLE, "crash"]) as session:
        assert session.wait_for_exit() == 1
        assert_restored(session)
        assert "ZeroDivisionError" in session.output.rpartition("\x1b[?1049l")[2]


def test_an_exit_past_textual_restores_the_terminal() -> None:
    """S02: SystemExit in a handler goes past Textual's own shutdown."""
    with PtySession([*SAMPLE, "system-exit"]) as session:
        assert session.wait_for_exit() == 7
        assert_restored(session)


@pytest.mark.parametrize("noise", [b"\xff", b"\xc3\x28\xa0", "我".encode("gbk"), b"\xf0\x9f"])
def test_noise_does_not_end_the_app(noise: bytes) -> None:
    """S04: what follows the noise is still typed."""
    with PtySession(SAMPLE) as session:
        session.wait_for(READY)
        session.send(noise)
        session.send("ok")
        session.wait_for("ok|")
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0


def test_a_character_in_two_reads_is_one() -> None:
    """S04: networks cut where they like."""
    with PtySession(SAMPLE) as session:
        session.wait_for(READY)
        session.send("a")
        session.wait_for("1=a|")
        session.send("我".encode()[:2])
        # The app has taken the first half when it has answered to a resize sent after it.
        session.resize(81, 24)
        session.wait_for("size 81x24")
        session.send("我".encode()[2:])
        session.wait_for("2=a我")


def test_a_paste_with_an_escape_is_one_change() -> None:
    """U08: the text stays in order, and one paste is one change."""
    with PtySession(SAMPLE) as session:
        session.wait_for(READY)
        session.send("\x1b[200~A\x1b[31mB\x1b[201~")
        session.wait_for("[31mB|")
        assert reveal(session.text).count("1=A\x1b[31mB|") == 1


def test_the_size_is_that_of_the_terminal() -> None:
    """S06: exported variables are not the window."""
    with PtySession(SAMPLE, env={"COLUMNS": "200", "LINES": "60"}) as session:
        session.wait_for(READY)
        session.resize(40, 10)
        session.wait_for("size 40x10")
        rows = [int(row) for row in re.findall(r"\x1b\[(\d+);\d+H", session.output)]
        assert max(rows) <= 24


class MovingMouse:
    """Reports mouse moves while it is told to, and once more: those were under way already."""

    session: PtySession
    is_done = False

    def __call__(self, _text: str) -> None:
        if not self.is_done:
            self.session.send("".join(f"\x1b[<35;{x};2M" for x in range(1, 80)))
            self.is_done = "\x1b[?1004l" in self.session.output


def test_no_report_of_the_mouse_is_left_for_the_shell() -> None:
    """S11: what was under way when the mouse was switched off is read and dropped."""
    mouse = MovingMouse()
    with PtySession([*SAMPLE, "slow-line"], on_output=mouse) as session:
        mouse.session = session
        session.wait_for(READY)
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0
        assert mouse.is_done
        after = session.output.rpartition("\x1b[?1004l")[2]
        assert after == ""  # nothing was echoed either
        assert session.unread_input() == 0


def test_an_ignored_hangup_signal_stays_ignored() -> None:
    """S13: `nohup` asks to outlive the signal; only the loss of the terminal counts then."""
    with PtySession(SAMPLE, ignored_signals=[signal.SIGHUP]) as session:
        session.wait_for(READY)
        session.kill(signal.SIGHUP)
        session.send("ok")
        session.wait_for("ok|")
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0


@pytest.mark.parametrize("ignored", [(), (signal.SIGHUP,)])
def test_a_lost_terminal_ends_the_process(ignored: tuple[int, ...]) -> None:
    """S13: also under `nohup`, and without being asked again."""
    with PtySession(SAMPLE, ignored_signals=ignored) as session:
        session.wait_for(READY)
        session.hang_up()
        assert session.process.wait(timeout=10) == 129


@pytest.mark.parametrize("mode", ["flood", "busy", "thread"])
def test_a_lost_terminal_ends_a_busy_process(mode: str) -> None:
    """S13: with a writer that has much to say or an app that computes, and SIGHUP ignored."""
    with PtySession([*SAMPLE, mode], ignored_signals=[signal.SIGHUP]) as session:
        session.wait_for(lambda: "xxxx" in session.output or "computing" in session.output)
        session.hang_up()
        assert session.process.wait(timeout=10) == 129


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
def test_a_stopped_app_draws_again(number: int) -> None:
    """S16: the terminal is given back while the app is stopped, and drawn anew after it."""
    with PtySession(SAMPLE) as session:
        session.wait_for(READY)
        session.send("word")
        session.wait_for("4=word|")
        session.kill(number)
        session.wait_for_stop()
        session.pump(0)
        if number == signal.SIGTSTP:
            assert_restored(session)
        session.screen.reset()
        session.kill(signal.SIGCONT)
        session.wait_for("4=word|")
        session.wait_for(READY)
        session.send("s")
        session.wait_for("5=words|")
        session.kill(signal.SIGTERM)
        assert session.wait_for_exit() == 143
        assert_restored(session)


def test_the_suspend_key_does_nothing() -> None:
    """S16: there may be no shell behind the app to continue it."""
    with PtySession(SAMPLE) as session:
        session.wait_for(READY)
        session.send("a\x1ab")
        session.wait_for("ab|")


NO_KEYS = [
    "\x1b[99999999u",  # beyond Unicode
    "\x1b[97;1;99999999u",
    "\x1b[99999999999999999999u",
    "\x1b[55296u",  # half of a surrogate pair
    "\x1b[97;1;56320u",
    "\x1b[?2048;2$y\x1b[48;24;80;0;0t\x1b[<35;5;5M",  # a window of no pixels
    "\x1b[48;0;0;0;0t\x1b[<35;5;5M\x1b[48;24;80;480;800t",
]


@pytest.mark.parametrize("sequence", NO_KEYS)
def test_numbers_that_mean_nothing_do_not_end_the_app(sequence: str) -> None:
    """What follows them is still typed, and the terminal as it was."""
    with PtySession(SAMPLE) as session:
        session.wait_for(READY)
        session.send(sequence)
        session.send("ok")
        session.wait_for("ok|")
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0
        assert_restored(session)


@pytest.mark.parametrize("report", [False, True])
def test_a_screen_has_bounds(report: bool) -> None:
    """Whatever size a terminal says that it has, nothing is made for four milliards of cells."""
    with PtySession(SAMPLE) as session:
        session.wait_for(READY)
        if report:
            session.send("\x1b[?2048;2$y\x1b[48;65535;65535;0;0t")
        else:
            termios.tcsetwinsize(session.slave, (65_535, 65_535))
        session.wait_for("size 500x200")
        session.send(CTRL_Q)
        assert session.wait_for_exit() == 0
