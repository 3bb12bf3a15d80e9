"""Drawing without signs that some terminals make two cells wide; and the terminals' kinds."""

import unicodedata
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.command import ATTN_TUI
from tests.terminal.pty_session import PtySession
from tests.terminal.test_driver import assert_restored
from tui.terminal.plain import TABLE

ROOT = Path(__file__).parents[2]
TERMS = ["linux", "xterm", "xterm-256color", "screen-256color", "tmux-256color", "vt100"]
READY = "help  q quit"


def ambiguous(text) -> set[str]:
    return {char for char in text if unicodedata.east_asian_width(char) == "A"}


def test_every_sign_of_the_program_has_a_stand_in_of_one_cell():
    """U17: of two cells elsewhere is every sign that Unicode calls ambiguous."""
    written = "".join(path.read_text() for path in (ROOT / "tui").rglob("*.py"))
    written += (ROOT / "data/locale/zh/LC_MESSAGES/attn-tui.po").read_text()
    assert ambiguous(written) - set(map(chr, TABLE)) == set()
    for sign, stand_in in TABLE.items():
        assert (cell_len(chr(sign)), len(stand_in)) == (1, 1)
        assert stand_in.isascii()


@pytest.mark.parametrize("pane", ["weights", "matrix", "vectors", "derivation", "numbers"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_nothing_ambiguous_is_drawn(pane, lang):
    arguments = ["--ascii", "--lang", lang, "--pane", pane, "The cat 我想"]
    with PtySession([str(ATTN_TUI), *arguments], size=(120, 36)) as session:
        session.wait_for(READY if lang == "en" else "q 退")
        session.send("?")
        session.wait_for("esc ")
        session.send("\x1b")
        session.wait_for(lambda: "esc " not in session.text)
        session.send("\x11")
        assert session.wait_for_exit() == 0
        assert "我" in session.output
        assert ambiguous(session.output) == set()


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("plain", [False, True])
def test_kinds_of_terminals(term, plain):
    """With COLORTERM absent, as SSH leaves it: type, see it, leave, and all is as it was."""
    options = ["--ascii"] if plain else []
    env = {"TERM": term, "COLORTERM": None}
    with PtySession([str(ATTN_TUI), *options, "cat"], env=env) as session:
        session.wait_for(READY)
        session.send("e")
        session.wait_for("esc done")
        session.send(" 我")
        session.wait_for("2 tokens")
        session.send("\x11")
        assert session.wait_for_exit() == 0
        assert_restored(session)
        assert "\x1b[38;2;" not in session.output
