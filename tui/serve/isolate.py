"""Before a demo: nothing of the environment, and no right to write a file."""

from __future__ import annotations

import os
import sys
from typing import Any

# Which kernels of OpenBLAS the processor can run.
KEPT_OF_HOST = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "TZ")
# What a demo may see of its environment.
KEPT = (
    *("COLORTERM", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "NO_COLOR", "PATH", "TERM"),
    "HF_HUB_OFFLINE",
    *KEPT_OF_HOST,
)


def isolate(words: list[str]) -> None:
    """Drop all variables that a demo has no use for, and begin anew where Python has read some.

    Parameters
    ----------
    words : list of str
        The command line, without the program's name.
    """
    before = dict(os.environ)
    for name in before.keys() - set(KEPT):
        del os.environ[name]
    os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded for a guest
    if not sys.flags.isolated and any(name.startswith("PYTHON") for name in before):
        code = "from tui.cli import main; main()"
        os.execv(sys.executable, [sys.executable, "-I", "-c", code, *words])  # noqa: S606


def lock() -> None:
    """Give up writing files, and say nothing of a fault but that there was one."""
    import logging
    import resource
    import threading
    import warnings

    for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        resource.setrlimit(limit, (0, 0))
    sys.dont_write_bytecode = True
    sys.excepthook = threading.excepthook = sys.unraisablehook = _say_nothing
    logging.lastResort = None
    warnings.simplefilter("ignore")


def _say_nothing(*_: Any) -> None:
    """A traceback names files of the host; the exit code tells of the fault."""
