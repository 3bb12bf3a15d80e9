"""A command on a pseudo-terminal: bytes are collected with their times and looked at afterwards.

Nothing is interpreted while a clock runs. The terminal answers no query, so Textual takes it for
one without synchronized output and without in-band resize reports.
"""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self, TypeAlias

import pyte

PATIENCE = 1.0  # for the first byte of a response
QUIET = 0.2  # ends a response
DEADLINE = 120.0
# The environments of three kinds of terminal.
COLOURS: dict[str, dict[str, str]] = {
    "truecolor": {"TERM": "xterm-256color", "COLORTERM": "truecolor"},
    "256 colours": {"TERM": "xterm-256color"},
    "16 colours": {"TERM": "xterm"},
}
_UNWANTED = ("COLUMNS", "LINES", "NO_COLOR", "COLORTERM", "TERM_PROGRAM", "LC_TERMINAL")
_UNWANTED_SORTS = re.compile("TEXTUAL|PYTHON(?!PATH$|HOME$)")
# A terminal that speaks no kitty protocol skips its sequences; pyte would print their last letter.
_NOT_FOR_PYTE = re.compile(r"\x1b\[[<>=][0-9;]*[a-z]")
_BROKEN_OFF = re.compile(r"\x1b(?:\[(?:[<>=][0-9;]*)?)?\Z")

Ready: TypeAlias = Callable[[str], bool]  # of a screen


class Chunk(NamedTuple):
    """What one read returned, and when."""

    at: float
    data: bytes


class Response(NamedTuple):
    """What followed a key or the start.

    Attributes
    ----------
    seconds : float
        Until the piece of output with which the screen had its last change of text.
    until_ready : float
        Until the one with which it was ready first.
    size : int
        Bytes of output until the terminal was quiet.
    before, after : str
        The screen.
    """

    seconds: float
    until_ready: float
    size: int
    before: str
    after: str


class Terminal:
    """A running command with its screen; a context manager that kills what still runs."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        size: tuple[int, int] = (120, 36),
        colours: str = "truecolor",
    ) -> None:
        self._screen = pyte.Screen(*size)
        self._stream = pyte.Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unshown = ""
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment(COLOURS[colours]),
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def text(self) -> str:
        """The lines of the screen, without blanks at their ends."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def wait_until(self, ready: Ready) -> Response:
        """Gather what follows the start until the screen is ready and quiet."""
        return self._until(ready, self._started, self._started, [], "")

    def type(self, keys: str, ready: Ready = lambda _screen: True) -> Response:
        """Send keys and gather what follows until the terminal is ready and quiet."""
        self._replay(self._gather(0.0, 0.0))  # what came meanwhile belongs to no key
        before = self.text
        sent = time.perf_counter()
        os.write(self._master, keys.encode())
        return self._until(ready, sent, sent, [], before)

    def _until(
        self, ready: Ready, start: float, moment: float, chunks: list[Chunk], before: str
    ) -> Response:
        first = None
        while first is None or not ready(self.text):
            if time.perf_counter() > start + DEADLINE:
                raise TimeoutError(f"not ready; the screen shows:\n{self.text}")
            latest = self._gather()
            chunks += latest
            for chunk in latest:
                moment = self._replay([chunk]) or moment
                if first is None and ready(self.text):
                    first = chunk.at
            first = first or (start if ready(self.text) else None)  # nothing came
        size = sum(len(chunk.data) for chunk in chunks)
        return Response(moment - start, first - start, size, before, self.text)

    def _gather(self, patience: float = PATIENCE, quiet: float = QUIET) -> list[Chunk]:
        """Read until nothing has come for some time."""
        chunks: list[Chunk] = []
        while select.select([self._master], [], [], quiet if chunks else patience)[0]:
            data = b""
            with contextlib.suppress(OSError):  # EIO: the command has ended
                data = os.read(self._master, 65536)
            if not data:
                self._replay(chunks)
                raise RuntimeError(f"the command ended; the screen shows:\n{self.text}")
            chunks.append(Chunk(time.perf_counter(), data))
        return chunks

    def _replay(self, chunks: list[Chunk]) -> float | None:
        """Show chunks on the screen; the time of the last that changed its text."""
        moment = None
        for chunk in chunks:
            before = self.text
            self._show(self._decoder.decode(chunk.data))
            if self.text != before:
                moment = chunk.at
        return moment

    def _show(self, text: str) -> None:
        text = self._unshown + text
        broken_off = _BROKEN_OFF.search(text)
        self._unshown = broken_off[0] if broken_off else ""
        self._stream.feed(_NOT_FOR_PYTE.sub("", text.removesuffix(self._unshown)))


def environment(changes: Mapping[str, str]) -> dict[str, str]:
    """The environment of this process without what would change the picture or slow Python down.

    Python must be free to keep its compiled files: an installed package has them.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _UNWANTED and not _UNWANTED_SORTS.match(name)
    }
    return {**kept, "LC_ALL": "C.UTF-8", **changes}
