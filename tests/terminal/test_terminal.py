"""What is checked and prepared before a screen is opened."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal.pty_session import PtySession
from tui.terminal.checks import prepare_environment

ROOT = Path(__file__).parents[2]
SAMPLE = [sys.executable, "-m", "tests.terminal.sample_app"]
CHECK = [
    sys.executable,
    "-c",
    "import os, sys; from tui.terminal.checks import check_terminal; t = check_terminal();"
    "os.write(int(sys.argv[1]), (t or 'fine').encode())",
]


@pytest.mark.parametrize(
    ("redirection", "name"),
    [
        ("</dev/null", "standard input is not one"),
        ("<&-", "standard input is not one"),
        (">/dev/null", "standard output is not one"),
        (">&-", "standard output is not one"),
        ("2>/dev/null", "error output is not one"),
        ("2>&-", "error output is not one"),
        ("</dev/null 2>/dev/null", "standard input and error output are none"),
    ],
)
def test_a_stream_that_is_no_terminal_is_named(redirection: str, name: str) -> None:
    """S03: the message says which stream, and what to do instead."""
    # The answer goes through a descriptor that no redirection touches.
    shell = f'exec 9<>/dev/tty; exec "$@" 9 {redirection}'
    with PtySession(["sh", "-c", shell, "sh", *CHECK]) as session:
        session.wait_for_exit()
        assert f"needs a terminal, and {name}: " in session.output
        assert "attn-tui show TEXT" in session.output
        assert "ssh -t" in session.output


def test_a_pipe_ends_the_app_with_two() -> None:
    """S03: one line on error output, exit code 2, and nothing painted."""
    done = subprocess.run(SAMPLE, input="hi", capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize(
    ("kind", "text"), [("dumb", "TERM=dumb"), ("", "TERM is not set"), (None, "TERM is not set")]
)
def test_a_terminal_that_cannot_draw_is_refused(kind: str | None, text: str) -> None:
    """S09: no escape sequence reaches a terminal that would print it."""
    with PtySession(SAMPLE, env={"TERM": kind}) as session:
        assert session.wait_for_exit() == 2
        assert text in session.output
        assert "attn-tui show TEXT" in session.output
        assert "\x1b" not in session.output


def test_a_terminal_is_accepted() -> None:
    with PtySession([*CHECK, "1"]) as session:
        session.wait_for("fine")


def test_the_environment_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """S06, S15, Q09: sizes go, threads are few, and what a person has set stays."""
    monkeypatch.setattr(os, "environ", {"COLUMNS": "200", "LINES": "60", "OMP_NUM_THREADS": "4"})
    prepare_environment()
    assert os.environ == {
        "TOKENIZERS_PARALLELISM": "false",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "4",
    }


def test_the_check_is_light() -> None:
    """The check runs before textual and numpy are imported, so it must not import them."""
    heavy = "{'textual', 'rich', 'numpy'} & set(sys.modules)"
    code = f"import sys, tui.terminal; sys.exit(bool({heavy}))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
