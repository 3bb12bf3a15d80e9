"""One guest's process on a pseudo-terminal of its own."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import struct
import termios
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from tui.terminal.size import bounded

if TYPE_CHECKING:
    from tui.serve.nursery import Child

READ_SIZE = 65_536
# Typed bytes that wait for the program; above the first no more are taken until below the second.
INPUT_HIGH, INPUT_LOW = 65_536, 16_384
# Seconds that a process has to leave: its own limit is 1.8 after a signal.
HANG_UP_PATIENCE, STOP_PATIENCE = 1.0, 2.5


class Session:
    """A process, its terminal, and the bytes between it and a guest.

    Parameters
    ----------
    write : callable
        Takes what the process draws.
    hold : callable
        Told True when the guest types faster than the process reads, False when it has caught up.
    """

    def __init__(self, write: Callable[[bytes], None], hold: Callable[[bool], None]) -> None:
        self.show = write
        self._hold = hold
        self._master = -1
        self._typed = bytearray()
        self._held = False
        self._reading = False
        self._drained = asyncio.Event()
        self._child: Child | None = None
        self._asked_to_end = 0  # the signal that came before the process
        self._loop = asyncio.get_running_loop()

    async def run(
        self, begin: Callable[[int], Awaitable[Child]], size: tuple[int, int]
    ) -> int | None:
        """Run a process on a terminal from start to end; how it ended, as `Child` has it."""
        self._master, slave = pty.openpty()
        os.set_blocking(self._master, False)
        _make_raw(slave)
        self.resize(*size)
        try:
            self._child = await begin(slave)
        except OSError:
            self._close()
            raise
        finally:
            os.close(slave)
        if self._asked_to_end:
            self._child.send_signal(self._asked_to_end)
        self.read(True)
        try:
            code = await asyncio.shield(self._child.ended)
            self.read(True)  # a guest that is slow still gets the last words
            with suppress(TimeoutError):
                await asyncio.wait_for(self._drained.wait(), STOP_PATIENCE)
        finally:
            self._close()
        return code

    def type(self, data: bytes) -> None:
        """Hand on what the guest typed."""
        if self._master >= 0:
            self._typed += data
            self._pass_on()

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal the size of the guest's window."""
        if self._master < 0:
            return
        columns, lines = bounded(columns, lines)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, wanted: bool) -> None:
        """Take what is drawn, or leave it until the guest's line has room: then the app waits."""
        if self._master < 0 or wanted == self._reading:
            return
        self._reading = wanted
        if wanted:
            self._loop.add_reader(self._master, self._take)
        else:
            self._loop.remove_reader(self._master)

    async def stop(self) -> None:
        """Ask the process to leave its terminal as it found it, and see that it does."""
        await self._end(signal.SIGTERM, STOP_PATIENCE)

    async def hang_up(self) -> None:
        """End the process of a guest who is gone."""
        self._close()
        await self._end(signal.SIGHUP, HANG_UP_PATIENCE)

    async def _end(self, number: int, patience: float) -> None:
        if self._child is None:
            self._asked_to_end = number
            return
        self._child.send_signal(number)
        ended = asyncio.shield(self._child.ended)
        try:
            await asyncio.wait_for(ended, patience)
        except TimeoutError:
            self._child.send_signal(signal.SIGKILL, group=True)  # it leads a group of its own
            await self._child.ended

    def _take(self) -> None:
        try:
            data = os.read(self._master, READ_SIZE)
        except BlockingIOError:
            return
        except OSError:  # EIO: nobody holds the other side
            data = b""
        if data:
            self.show(data)
        else:
            self.read(False)
            self._drained.set()

    def _pass_on(self) -> None:
        try:
            del self._typed[: os.write(self._master, self._typed)]
        except BlockingIOError:
            pass
        except OSError:
            self._typed.clear()
        if self._typed:
            self._loop.add_writer(self._master, self._pass_on)
        else:
            self._loop.remove_writer(self._master)
        held = len(self._typed) > (INPUT_LOW if self._held else INPUT_HIGH)
        if held != self._held:
            self._held = held
            self._hold(held)

    def _close(self) -> None:
        if self._master >= 0:
            self.read(False)
            self._loop.remove_writer(self._master)
            os.close(self._master)
            self._master = -1
        self._drained.set()


def _make_raw(terminal: int) -> None:
    """What is typed before the app has begun is neither echoed, nor a signal, nor lost."""
    settings = termios.tcgetattr(terminal)
    settings[0] &= ~(termios.IXON | termios.ICRNL | termios.INLCR | termios.IGNCR)
    settings[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
    termios.tcsetattr(terminal, termios.TCSANOW, settings)
