"""What a demo survives, with the sentence still there; and how it ends when it does not."""

import os
import random

import pytest

from tests.cli.command import ATTN_TUI
from tests.serve.helpers import READY, leave
from tests.terminal.pty_session import PtySession
from tests.terminal.test_driver import assert_restored


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


@pytest.mark.parametrize("seed", range(10))
def test_random_bytes(seed):
    """They may say yes to the question before the end; nothing else ends it, and no fault."""
    draw = random.Random(seed)
    with demo() as session:
        session.wait_for(READY)
        for _ in range(60):
            if session.process.poll() is None:
                session.send(draw.randbytes(64))
            session.pump(0)
        session.send("\x1b[201~" * (session.process.poll() is None))

        def settled():
            for key in ("\x1b", "\x1b", "\x11", "y"):
                if session.process.poll() is None:
                    session.send(key)
                session.pump(0.2)
            return session.process.poll() is not None

        session.wait_for(settled)
        assert session.wait_for_exit() == 0, session.output[-2000:]
        assert "fault" not in session.output.replace("default", "")
        assert_restored(session)


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
