"""What a demo survives, with the sentence still there; and how it ends when it does not."""

import contextlib
import itertools
import os
import random
import select
import time
from pathlib import Path

import pytest

from tests.cli.command import ATTN_TUI
from tests.serve.helpers import READY, leave
from tests.serve.noise import noise
from tests.terminal.pty_session import PtySession
from tests.terminal.test_driver import assert_restored

# Looks at a busy program before it gets the next piece all the same.
PATIENCE = 40


def demo(*arguments, **options):
    return PtySession([str(ATTN_TUI), "--demo", *arguments, "The cat sat"], **options)


def test_three_hundred_resizes_from_1x1_to_400x120():
    """Only the last one has to be drawn, and the sentence is still there."""
    draw = random.Random(1)
    with demo() as session:
        session.wait_for(READY)
        for _ in range(300):
            session.resize(draw.randint(1, 400), draw.randint(1, 120))
            session.pump(0)
        for size in ((1, 1), (400, 120), (80, 24)):
            session.resize(*size)
            session.pump(0)
        session.wait_for("│ The cat sat  ")
        leave(session)
        assert_restored(session)


def test_a_megabyte_pasted():
    """The cut is said; typing goes on."""
    with demo() as session:
        session.wait_for(READY)
        session.send("e")
        session.wait_for("esc done")
        piece = " 我 cat" * 50
        session.send("\x1b[200~")
        for _ in range(1_000_000 // len(piece.encode())):
            session.send(piece)
            session.pump(0)
        session.send(" end\x1b[201~")
        session.wait_for("first 512 of ")
        session.send("\x1b")
        session.wait_for(READY)
        leave(session)


class Noisy(PtySession):
    """A demo that gets noise as fast as it takes it; what it draws is kept and not drawn.

    It has taken a piece when it waits for the next one, or goes on with something for a while, as
    learning does. Who types must not wait for a program that is busy, but nor does a person type a
    thousand keys ahead.
    """

    def __init__(self, seed, pieces):
        super().__init__([str(ATTN_TUI), "--demo", "The cat sat"])
        self.seed = seed
        self.pieces = pieces
        self.sent = 0
        self._busy = 0

    def fileno(self):
        return self._master

    def _take(self, data):
        self.output += data.decode(errors="replace")

    def draws(self):
        return "\x1b[?1049h" in self.output

    def step(self):
        """Give it a piece if it waits for one; whether it still runs."""
        self.pump(0)
        pid = self.process.pid
        try:
            state = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        self._busy = 0 if state == "S" and self.draws() else self._busy + 1
        if self._busy in (0, PATIENCE) and self.process.poll() is None:
            self._busy = 0
            piece = next(self.pieces)
            self.send(piece)
            self.sent += len(piece)
        return self.process.poll() is None

    def settle(self):
        """To its end, whatever is on its screen; it may have been reached before."""
        self.send("\x1b[201~" * (self.process.poll() is None))
        keys = itertools.cycle(("\x1b", "\x1b", "\x11", "y"))

        def gone():
            if self.process.poll() is None:
                self.send(next(keys))
            self.pump(0.2)
            return self.process.poll() is not None

        self.wait_for(gone)
        told = f"seed {self.seed}: {self.output[-2000:]}"
        assert self.wait_for_exit() == 0, told
        assert "fault" not in self.output.replace("default", ""), told
        assert_restored(self)


def test_noise_for_thirty_seconds():
    """Ten demos at once, ten seeds, 30 s by the clock, each fed as fast as it takes it.

    By the seed they get any bytes (but ^C, ^Z and ^\\, which are signals to a demo that has just
    ended), keys that mean something, or what terminals report. Some of it says yes to the question
    before the end; then the seed goes on with another demo. Nothing else ends one, no fault does,
    and all of them can be left, with the terminal as it was.
    """
    feeds = {seed: noise(seed) for seed in range(10)}
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(Noisy(*feed)) for feed in feeds.items()]
        for session in running:
            session.wait_for(session.draws)
        ended, end = [], time.monotonic() + 30
        while time.monotonic() < end:
            for at, session in enumerate(running):
                if not session.step():
                    session.settle()
                    ended.append(session)
                    running[at] = stack.enter_context(Noisy(session.seed, feeds[session.seed]))
            select.select(running, [], [], 0.005)
        for session in running:
            session.settle()
            ended.append(session)
    for seed in feeds:
        assert sum(session.sent for session in ended if session.seed == seed) > 0


def test_a_limit_of_memory():
    """What does not fit is refused in a sentence; the session and its text go on."""
    command = f"ulimit -v 900000; exec '{ATTN_TUI}' --demo --most-tokens 2048 --layers 12 'The cat'"
    with PtySession(["bash", "-c", command]) as session:
        session.wait_for(READY)
        session.send("e")
        session.wait_for("esc done")
        session.send("\x1b[200~" + " cat" * 900 + "\x1b[201~")
        session.wait_for("memory")
        session.send("\x1a")
        session.wait_for("2 tokens")
        session.send("\x1b")
        leave(session)


@pytest.mark.parametrize("home", [None, "/proc/nowhere"])
def test_a_home_that_is_not_there_or_cannot_be_written(home):
    with demo(env={"HOME": home}) as session:
        leave(session)


def test_no_file_can_be_written():
    """Not even where the code of a library tries to."""
    with demo() as session:
        session.wait_for(READY)
        limits = open(f"/proc/{session.process.pid}/limits").read()  # noqa: SIM115
        (line,) = [line for line in limits.splitlines() if line.startswith("Max file size")]
        assert line.split()[3:5] == ["0", "0"]
        leave(session)


def test_variables_of_a_client_do_nothing(tmp_path):
    """X03."""
    log = tmp_path / "log"
    env = {
        "TEXTUAL_LOG": str(log), "TEXTUAL_PRESS": "q,y", "TEXTUAL_SCREENSHOT": "1",
        "TEXTUAL_DEBUG": "1", "TEXTUAL_THEME": "no", "TEXTUAL_COLOR_SYSTEM": "no",
        "PYTHONINSPECT": "1", "PYTHONVERBOSE": "1", "PYTHONSTARTUP": str(log), "PAGER": "sh",
        "COLUMNS": "200",
    }  # fmt: skip
    with demo(env=env) as session:
        session.wait_for(READY)
        pid = session.process.pid
        found = open(f"/proc/{pid}/cmdline").read()  # noqa: SIM115
        assert "-I" in found.split("\0")
        assert not os.path.exists(log)
        leave(session)
        assert_restored(session)
        assert ">>>" not in session.output
