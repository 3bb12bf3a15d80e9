"""The same surroundings for every test, whatever the person who runs them has set."""

import importlib
import os
import signal

import pytest

from core.language import set_language

FIXED = {
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "HF_HUB_OFFLINE": "1",  # no test asks a hub but one of its own
}
_DROPPED = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "LANG", "LANGUAGE", "ESCDELAY")
# The snapshot plugin finds its working folder through this one.
_KEPT = "TEXTUAL_SNAPSHOT_TEMPDIR"


def _is_personal(name: str) -> bool:
    return name in _DROPPED or (name.startswith("TEXTUAL_") and name != _KEPT)


for _name in filter(_is_personal, list(os.environ)):
    del os.environ[_name]
os.environ.update(FIXED)
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A shell that runs the tests in the background ignores interrupts, as nohup does hang-ups; every
# command that a test runs would do so, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
# Textual reads its variables at import, and the snapshot plugin has imported it before this file.
importlib.reload(importlib.import_module("textual.constants"))


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """No TEXTUAL_*, NO_COLOR, size or language of the person; a true-colour terminal."""
    set_language("en")
    for name in filter(_is_personal, list(os.environ)):
        monkeypatch.delenv(name)
    for name, value in FIXED.items():
        monkeypatch.setenv(name, value)
