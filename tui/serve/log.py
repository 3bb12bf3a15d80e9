"""The log of a server: a line for what happens, never what was typed."""

from __future__ import annotations

import sys
from time import gmtime, strftime

from core.text import visible

MAX_NAME = 40


def log(what: str) -> None:
    """Write a line of the log; what comes from a guest stands in it as data."""
    print(strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()), visible(what), file=sys.stderr, flush=True)


def short(name: str) -> str:
    """A name from a guest, fit for the log."""
    return visible(name[:MAX_NAME]) or "-"
