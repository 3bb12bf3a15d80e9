"""Ending the process: on a signal, in time, and whatever the rest of it is busy with."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any, Final

LEAVE_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)
# A process that was told to go is gone within two seconds; the rest is for the restoring.
PATIENCE: Final = 1.5
RESTORE_PATIENCE: Final = 0.3
THREAD_PATIENCE: Final = 0.3
# Every mode that Textual may have switched on, in the order of its own way out. The keyboard mode
# and the colours belong to the alternate screen, so they end before it does.
RESTORE: Final = (
    "\x1b[?2026l\x1b[0m\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"
    "\x1b[?1016l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
)


class SignalWatch:
    """Reports signals in a thread of its own.

    The interpreter runs a handler in the main thread, between two steps of it: too late while
    that thread waits for a terminal that takes no more, or computes inside a library. Its wake-up
    descriptor gets the number at once.
    """

    def __init__(self, on_signal: Callable[[int], None]) -> None:
        self._on_signal = on_signal
        self._old: dict[int, Any] = {}
        self._old_descriptor = -1
        self._ends: tuple[socket.socket, socket.socket] | None = None

    def start(self) -> None:
        """Watch all signals but those that are ignored: `nohup` means it. Main thread only."""
        if self._ends is not None:
            return
        reader, writer = self._ends = socket.socketpair()
        writer.setblocking(False)
        self._old_descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        for number in LEAVE_SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                self._old[number] = signal.signal(number, _do_nothing)
        watched = frozenset(self._old)
        threading.Thread(
            target=self._watch, args=(reader, watched), name="signals", daemon=True
        ).start()

    def stop(self) -> None:
        """Give the signals back. Main thread only."""
        if self._ends is None:
            return
        for number, handler in self._old.items():
            signal.signal(number, handler or signal.SIG_DFL)
        self._old.clear()
        signal.set_wakeup_fd(self._old_descriptor)
        self._ends[1].close()  # the thread reads the end of it and returns
        self._ends = None

    def _watch(self, reader: socket.socket, watched: frozenset[int]) -> None:
        """Report the watched numbers until the other end is closed."""
        with reader:
            while numbers := reader.recv(64):
                for number in numbers:
                    if number in watched:
                        self._on_signal(number)


class Deadline:
    """Ends the process by force when the orderly way out takes too long."""

    def __init__(self, restore: Callable[[], None]) -> None:
        self._restore = restore
        self._lock = threading.Lock()
        self.code: int | None = None

    def begin(self, code: int) -> bool:
        """Start the clock; the first call counts, and only that returns True."""
        with self._lock:
            if self.code is not None:
                return False
            self.code = code
        threading.Thread(target=self._wait, name="deadline", daemon=True).start()
        return True

    def _wait(self) -> None:
        time.sleep(PATIENCE)
        # Restoring writes to the terminal, and that may be what everybody waits for.
        helper = threading.Thread(target=self._restore, daemon=True)
        helper.start()
        helper.join(RESTORE_PATIENCE)
        os._exit(self.code or 0)


class ImpatientExecutor(ThreadPoolExecutor):
    """An executor for thread workers that is shut down without waiting for what still runs."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of the threads: the event loop would wait for them without end."""
        super().shutdown(wait=False, cancel_futures=True)


def end_if_threads_linger(code: int) -> None:
    """End the process here when a thread still computes: the interpreter would wait for it."""
    limit = time.monotonic() + THREAD_PATIENCE
    for thread in threading.enumerate():
        if thread.daemon or thread is threading.current_thread():
            continue
        thread.join(max(0.0, limit - time.monotonic()))
        if thread.is_alive():
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(code)


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Stand in as a handler, so that the signal reaches the wake-up descriptor."""
