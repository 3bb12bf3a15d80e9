"""The bytes between the program and the terminal: decoded on the way in, written on the way out."""

import os
import re
import select
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from typing import Final

from tui.terminal.controls import carrier
from tui.terminal.output import SgrCompressor

PASTE_START: Final = "\x1b[200~"
PASTE_END: Final = "\x1b[201~"
# What a paste must not hold as it is: an escape in it would end the paste early and scatter the
# rest as keys. Tabs and line ends stay.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_WRITE_AT: Final = 32_768


class InputDecoder:
    """Turns the bytes of the keyboard side into text that Textual's parser can take.

    Bytes that are no UTF-8 (a terminal in another encoding, noise on a line) become U+FFFD, and
    a character may come in two reads. Control characters inside a bracketed paste are concealed.
    """

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8")(errors="replace")
        self._in_paste = False
        self._held = ""

    def feed(self, data: bytes) -> str:
        """Return the text that is complete after `data`."""
        text = self._held + self._decoder.decode(data)
        self._held = ""
        out: list[str] = []
        while text:
            if self._in_paste:
                text = self._take_paste(text, out)
            else:
                before, start, text = text.partition(PASTE_START)
                out.append(before + start)
                self._in_paste = bool(start)
        return "".join(out)

    def _take_paste(self, text: str, out: list[str]) -> str:
        """Move pasted text to `out`; return what follows the paste."""
        pasted, end, after = text.partition(PASTE_END)
        if end:
            self._in_paste = False
        else:
            pasted, self._held = _without_partial_end(pasted)
        out.append(_CONTROLS.sub(_carry, pasted) + end)
        return after


class TerminalFile:
    """The terminal as a file to write to: it compresses, and it outlives the terminal.

    When the terminal is gone (the connection broke, its window was closed) every later write is
    dropped, for a program that is on its way out must not stumble over its own goodbye.
    """

    def __init__(
        self, fileno: int, on_gone: Callable[[], None], stand_ins: Mapping[int, str] | None = None
    ) -> None:
        self._fileno = fileno
        self._on_gone = on_gone
        self._stand_ins = stand_ins
        self._compress = SgrCompressor().feed
        self._waiting: list[str] = []
        self._size = 0
        self._gone = False

    def fileno(self) -> int:
        """Return the number of the file descriptor."""
        return self._fileno

    def isatty(self) -> bool:
        """Tell that this is a terminal."""
        return True

    def write(self, text: str) -> int:
        """Take text; it reaches the terminal with the next flush, or when there is much of it."""
        self._waiting.append(text)
        self._size += len(text)
        if self._size >= _WRITE_AT:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Send what waits."""
        text = "".join(self._waiting)
        self._waiting.clear()
        self._size = 0
        if self._gone or not text:
            return
        if self._stand_ins is not None:
            text = text.translate(self._stand_ins)
        try:
            write_all(self._fileno, self._compress(text).encode("utf-8", "replace"))
        except OSError:
            self._gone = True
            self._on_gone()


def write_all(fileno: int, data: bytes) -> None:
    """Write all of `data`, also where another program has made the terminal non-blocking."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fileno, view) :]
        except BlockingIOError:
            select.select([], [fileno], [])


def _carry(found: re.Match[str]) -> str:
    return carrier(found[0])


def _without_partial_end(text: str) -> tuple[str, str]:
    """Split off the beginning of an end-of-paste mark at the end of a read."""
    for length in range(len(PASTE_END) - 1, 0, -1):
        if text.endswith(PASTE_END[:length]):
            return text[:-length], text[-length:]
    return text, ""
