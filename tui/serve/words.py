"""Words of a command line as `tui.command` quotes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from core.types import CheckpointModel
from tui.command import command_line
from tui.lessons import Guide
from tui.scene import View

_PART = re.compile(
    r"""(?P<space>\s+) | '(?P<single>[^']*)' | "(?P<double>[^"\\$`]*)"
    | \$'(?P<escaped>(?:[^'\\]|\\.)*)' | (?P<bare>[^\s'"\\$`]+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:([0-7]{3})|(.))", re.DOTALL)
_NAMED = {"n": b"\n", "t": b"\t", "r": b"\r"}


def arguments(view: View, theme: str | None = None, guide: Guide | None = None) -> list[str]:
    """The words of `command_line` behind the program's name, for a process of this machine.

    Its environment is empty, so it would not find the folders that names are looked up in: a model
    is its path.
    """
    model = view.request.model
    if isinstance(model, CheckpointModel):
        view = replace(view, request=replace(view.request, model=replace(model, asked=None)))
    return words_of(command_line(view, theme, guide))[1:]


def words_of(command: str) -> list[str]:
    """What a POSIX shell with ``$'…'`` makes of a command that `tui.command` wrote.

    Raises
    ------
    ValueError
        It holds what is never written there.
    """
    words: list[str] = []
    at, open_word = 0, False
    while at < len(command):
        found = _PART.match(command, at)
        if found is None:
            raise ValueError(command[at : at + 20])
        at = found.end()
        if found["space"] is not None:
            open_word = False
            continue
        if not open_word:
            words.append("")
            open_word = True
        words[-1] += _text(found)
    return words


def _text(found: re.Match[str]) -> str:
    if found["escaped"] is not None:
        return b"".join(_bytes(found["escaped"])).decode("utf-8", "surrogateescape")
    return found["single"] or found["double"] or found["bare"] or ""


def _bytes(escaped: str) -> Iterator[bytes]:
    at = 0
    for found in _ESCAPE.finditer(escaped):
        yield escaped[at : found.start()].encode("utf-8", "surrogateescape")
        at = found.end()
        if found[1]:
            yield bytes([int(found[1], 8)])
        else:
            yield _NAMED.get(found[2], found[2].encode("utf-8", "surrogateescape"))
    yield escaped[at:].encode("utf-8", "surrogateescape")
