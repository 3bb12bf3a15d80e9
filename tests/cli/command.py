"""The installed command, run as a person's shell runs it."""

import os
import subprocess
import sys
from pathlib import Path

ATTN_TUI = Path(sys.executable).with_name("attn-tui")


def attn_tui(*arguments, stdin=b"", **options):
    """Run the command with standard streams that are pipes; standard input ends after `stdin`."""
    return subprocess.run(
        [ATTN_TUI, *arguments], input=stdin, capture_output=True, timeout=60, **options
    )


def sentence(result):
    """The one sentence of a refusal, after checking that it is nothing else."""
    text = result.stderr.decode()
    assert result.returncode == 2, text
    assert text.startswith("attn-tui: ")
    assert text.endswith("\n")
    assert text.count("\n") == 1
    assert text[:-1].isprintable()
    assert "Traceback" not in text
    assert result.stdout == b""
    return text


def environment(**changes):
    """The environment with changes; None takes a variable out."""
    merged = {**os.environ, **changes}
    return {name: value for name, value in merged.items() if value is not None}
