"""What a screen needs from its surroundings, checked before anything heavy is imported."""

import os
import sys
from typing import TextIO

from core.language import N_, _, counted

ADVICE = N_("use `attn-tui show TEXT` in a pipe, or `ssh -t` for the screen")


def check_terminal() -> str | None:
    """Say in one sentence what keeps a screen from working here, or return None.

    All three streams count: keys come from standard input, the picture goes to error output
    (Textual paints there, so that standard output stays free), and a standard output that is a
    file or a pipe means that somebody waits for text, not for a screen.
    """
    streams = (
        (_("standard input"), sys.__stdin__),
        (_("standard output"), sys.__stdout__),
        (_("error output"), sys.__stderr__),
    )
    missing = [name for name, stream in streams if not _is_terminal(stream)]
    if missing:
        return counted(
            "attn-tui needs a terminal, and {streams} is not one: {advice}.",
            "attn-tui needs a terminal, and {streams} are none: {advice}.",
            len(missing),
        ).format(streams=_listed(missing), advice=_(ADVICE))
    return _check_type(os.environ.get("TERM", ""))


def prepare_environment() -> None:
    """Set the variables that libraries read once, at import: call this before numpy and textual.

    COLUMNS and LINES go, because an exported size stays the same when the window changes. One
    thread for each numeric library is enough for text of this size, and thirty viewers on one
    machine must not start thirty times its cores.
    """
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def _is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a standard stream is a terminal; Python has None for a closed one."""
    try:
        return stream is not None and stream.isatty()
    except (OSError, ValueError):  # closed after the start
        return False


def _listed(names: list[str]) -> str:
    """Join names as in a sentence: a, b and c."""
    return _(" and ").join(filter(None, (_(", ").join(names[:-1]), names[-1])))


def _check_type(kind: str) -> str | None:
    """Refuse the terminal types that cannot move a cursor."""
    if not kind.strip():
        return _(
            "attn-tui needs to know the terminal, and TERM is not set: set it, or {advice}."
        ).format(advice=_(ADVICE))
    if kind.strip() == "dumb":
        return _("attn-tui cannot draw on a terminal with TERM=dumb: {advice}.").format(
            advice=_(ADVICE)
        )
    return None
