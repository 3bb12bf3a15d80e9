"""The server's side of the process that forks sessions: asks for them, hears of their end."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

from tui.serve.log import log
from tui.serve.parent import COMMAND

READ_SIZE = 65_536
ONCE_IN = 1.0  # seconds at least between two starts of the parent


class Child:
    """The process of a session.

    Attributes
    ----------
    pid : int
    ended : Future
        Its exit code, or minus the signal that ended it; None where nobody was there to ask.
    """

    def __init__(self, life: int) -> None:
        self._life = life
        self._loop = asyncio.get_running_loop()
        self._gone = False
        self._orphan = False
        self.pid = 0
        self.ended: asyncio.Future[int | None] = self._loop.create_future()
        self._loop.add_reader(life, self._end_of_life)

    def send_signal(self, number: int, *, group: bool = False) -> None:
        """Send a signal while it is there."""
        if not self.ended.done() and self.pid:
            with suppress(ProcessLookupError):
                (os.killpg if group else os.kill)(self.pid, number)

    def tell(self, code: int | None) -> None:
        """It has ended."""
        if not self.ended.done():
            self.ended.set_result(code)
        self.close()

    def lose_parent(self) -> None:
        """From now on nobody tells of its end but the pipe that closes with it."""
        self._orphan = True
        if self._gone:
            self.tell(None)

    def close(self) -> None:
        """Listen no more."""
        if self._life >= 0:
            self._loop.remove_reader(self._life)
            os.close(self._life)
            self._life = -1

    def _end_of_life(self) -> None:
        if os.read(self._life, READ_SIZE):
            return
        self._gone = True
        self._loop.remove_reader(self._life)
        if self._orphan:
            self.tell(None)


class Nursery:
    """Keeps a parent of sessions running.

    Parameters
    ----------
    words : sequence of str
        What the command lines of all sessions end with.
    environment : mapping
        Of the parent.
    """

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self._words = words
        self._environment = environment
        self._line: socket.socket | None = None
        self._there = asyncio.Event()
        self._heard = b""
        self._asked: deque[tuple[Child, asyncio.Future[None]]] = deque()
        self._children: dict[int, Child] = {}
        self._keeping: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to keep one."""
        self._keeping = asyncio.create_task(self._keep())

    async def bear(
        self,
        session: Mapping[str, Any],
        pipes: Sequence[int],
        terminal: int,
    ) -> Child:
        """Begin a session on a terminal: its environment, language and part.

        Raises
        ------
        OSError
            There is no room for it.
        """
        life, end = os.pipe()
        child = Child(life)
        born: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        given = [terminal, end, *pipes]
        request = {**session, "files": len(given)}
        try:
            await self._ask(json.dumps(request).encode() + b"\n", given)
            self._asked.append((child, born))
            await born
        except BaseException:  # cancelled too: a pipe that is kept open would look like a session
            child.close()
            raise
        finally:
            os.close(end)
        return child

    async def _ask(self, request: bytes, files: Sequence[int]) -> None:
        """Send a request to the parent, or to the next one where this one has just ended."""
        while True:
            await self._there.wait()
            assert self._line is not None  # noqa: S101 - it is there
            with suppress(ConnectionError):
                socket.send_fds(self._line, [request], files)
                return
            self._there.clear()

    async def close(self) -> None:
        """End the parent; its sessions have ended."""
        if self._keeping is not None:
            self._keeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeping

    async def _keep(self) -> None:
        while True:
            start = monotonic()
            ours, theirs = socket.socketpair()
            try:
                with theirs:
                    process = await asyncio.create_subprocess_exec(
                        *COMMAND,
                        *self._words,
                        stdin=theirs.fileno(),
                        stdout=asyncio.subprocess.DEVNULL,
                        env=self._environment,
                        cwd="/",
                        start_new_session=True,
                    )
                ours.setblocking(False)
                self._line = ours
                asyncio.get_running_loop().add_reader(ours, self._hear, ours)
                self._there.set()
                code = await process.wait()
                log(f"the parent of sessions ended, code {code}; another one begins")
            except OSError as error:
                log(f"the parent of sessions did not begin: {error.strerror}")
            finally:
                self._lose(ours)
            await asyncio.sleep(max(0.0, start + ONCE_IN - monotonic()))

    def _lose(self, line: socket.socket) -> None:
        self._there.clear()
        self._hear(line)  # its last words
        asyncio.get_running_loop().remove_reader(line)
        line.close()
        self._line, self._heard = None, b""
        for _child, born in self._asked:
            if not born.done():
                born.set_exception(OSError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)))
        self._asked.clear()
        for child in self._children.values():
            child.lose_parent()
        self._children.clear()

    def _hear(self, line: socket.socket) -> None:
        try:
            data = line.recv(READ_SIZE)
        except OSError:
            return
        if not data:
            asyncio.get_running_loop().remove_reader(line)
        *whole, self._heard = (self._heard + data).split(b"\n")
        for answer in map(json.loads, whole):
            self._take(answer)

    def _take(self, answer: Mapping[str, int]) -> None:
        if "code" in answer:
            child = self._children.pop(answer["pid"], None)
            if child is not None:
                child.tell(answer["code"])
            return
        child, born = self._asked.popleft()
        if "pid" not in answer:
            if not born.done():
                born.set_exception(OSError(answer["error"], os.strerror(answer["error"])))
            return
        child.pid = answer["pid"]
        self._children[child.pid] = child
        if not born.done():
            born.set_result(None)
