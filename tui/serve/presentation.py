"""The server's part of presenting: what one session tells is handed to all others, one way."""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import suppress

READ_SIZE = 65_536
MOST_BYTES = 1_000_000  # of a message
GONE = b"[]"  # the message that nobody presents any more
_GONE_LINE = GONE + b"\n"
USER = "presenter"


class Presentation:
    """The last view of the presenter, whether there still is one, and who follows.

    Attributes
    ----------
    code : str
        The password of `USER`, new with every start of the server.
    """

    def __init__(self) -> None:
        self.code = secrets.token_hex(5)
        self._last = b""
        self._feeds: set[Feed] = set()
        self._buffer = b""
        self._pipe = -1

    @property
    def busy(self) -> bool:
        """Whether somebody presents now."""
        return self._pipe >= 0

    def lead(self) -> int:
        """Begin to listen to a presenter; the end that is for its process."""
        self._pipe, for_child = os.pipe()
        os.set_blocking(self._pipe, False)
        self._buffer = b""
        asyncio.get_running_loop().add_reader(self._pipe, self._read)
        return for_child

    def leave(self) -> None:
        """The presenter is gone, which viewers are told; what was shown last stays."""
        if self.busy:
            asyncio.get_running_loop().remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = -1
            self._last = self._last.removesuffix(_GONE_LINE) + _GONE_LINE
            for feed in self._feeds:
                feed.offer(self._last)

    def follow(self) -> tuple[int, Feed]:
        """A pipe for a viewer's process, and what feeds it."""
        for_child, end = os.pipe()
        feed = Feed(end)
        self._feeds.add(feed)
        if self._last:
            feed.offer(self._last)
        return for_child, feed

    def drop(self, feed: Feed) -> None:
        """A viewer is gone."""
        self._feeds.discard(feed)
        feed.close()

    def _read(self) -> None:
        with suppress(BlockingIOError):
            data = os.read(self._pipe, READ_SIZE)
            self._buffer += data
            *whole, self._buffer = self._buffer.split(b"\n")
            if whole:
                self._last = whole[-1] + b"\n"
                for feed in self._feeds:
                    feed.offer(self._last)
            if not data or len(self._buffer) > MOST_BYTES:
                self.leave()


class Feed:
    """The way to one viewer: the last message goes, those between that had no room do not."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._under_way = b""
        self._next = b""
        os.set_blocking(pipe, False)

    def offer(self, message: bytes) -> None:
        """Send a message as soon as the one under way is through."""
        self._next = message
        self._send()

    def close(self) -> None:
        """End the way."""
        if self._pipe >= 0:
            asyncio.get_running_loop().remove_writer(self._pipe)
            os.close(self._pipe)
            self._pipe = -1

    def _send(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._pipe >= 0 and (self._under_way or self._next):
                if not self._under_way:
                    self._under_way, self._next = self._next, b""
                self._under_way = self._under_way[os.write(self._pipe, self._under_way) :]
        except BlockingIOError:
            loop.add_writer(self._pipe, self._send)
        except OSError:  # the viewer's process has ended
            self.close()
        else:
            if self._pipe >= 0:
                loop.remove_writer(self._pipe)
