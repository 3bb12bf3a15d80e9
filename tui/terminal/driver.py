"""Textual's driver for a terminal, made to leave cleanly however the end comes."""

import asyncio
import os
import select
import signal
import termios
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from textual import events
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size

from tui.terminal import plain
from tui.terminal.keyboard import KeyboardParser
from tui.terminal.leaving import (
    RESTORE,
    Deadline,
    ImpatientExecutor,
    SignalWatch,
    end_if_threads_linger,
)
from tui.terminal.size import bounded
from tui.terminal.streams import InputDecoder, TerminalFile, write_all

SCREEN: Final = 2  # Textual paints on error output
HANGUP_CODE: Final = 128 + signal.SIGHUP
# Escape alone is a key, Escape with more is not: Textual's parser asks for the time this often.
TICK: Final = 0.05
# Reports of the mouse that were under way when it was switched off arrive until it has been quiet.
QUIET: Final = 0.06
QUIET_LIMIT: Final = 0.3


class TerminalDriver(LinuxDriver):
    """LinuxDriver with its own input loop and output, and with an end for every way to end."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._file: Any = TerminalFile(SCREEN, self._hang_up, plain.table())
        self._attributes: list[Any] | None = None
        self._deadline = Deadline(self.restore)
        self._signals = SignalWatch(lambda number: self.leave(128 + number))

    @property
    def leave_code(self) -> int | None:
        """The exit code that a signal or a lost terminal has set."""
        return self._deadline.code

    def leave(self, code: int) -> None:
        """Take the app down with an exit code; from any thread, the first call counts."""
        if not self._deadline.begin(code):
            return
        try:
            self._loop.call_soon_threadsafe(partial(self._app.exit, return_code=code))
        except RuntimeError:
            # The loop is closed: the app is down already, and the deadline does the rest.
            return

    def start_application_mode(self) -> None:
        """Take the terminal; while it is ours there is a writer."""
        if self._writer_thread is None:
            self._signals.start()
            super().start_application_mode()  # type: ignore[no-untyped-call]
            self._attributes = self.attrs_before
            signal.signal(signal.SIGWINCH, self._resized)

    def _resized(self, _signum: int, _frame: object) -> None:
        """Read the size later, in the loop.

        Textual reads it here, where the next signal may come in between: then the older size is
        told last, and the screen stays as it was drawn for that one.
        """
        if not self._in_band_window_resize:
            self._loop.call_soon_threadsafe(self._tell_size)

    def _get_terminal_size(self) -> tuple[int, int]:
        return bounded(*super()._get_terminal_size())

    def _tell_size(self) -> None:
        size = Size(*self._get_terminal_size())
        self._app.post_message(events.Resize(size, size))

    def stop_application_mode(self) -> None:
        """Give the terminal back: modes first, then its old settings, with no input left over."""
        if self._writer_thread is None:
            return
        # Textual restores the settings before the terminal has heard of any mode. Reports of the
        # mouse would be echoed then, so this class does it, at the end.
        self.attrs_before = None
        # Its thread ends first: what it takes from the terminal meanwhile may switch modes on.
        self.disable_input()
        if self._mouse_pixels:
            self.write("\x1b[?1016l")
        super().stop_application_mode()
        self._writer_thread.stop()  # returns when all is written
        self._discard_input()
        self._restore_settings(termios.TCSAFLUSH)
        self._writer_thread = None

    def restore(self) -> None:
        """Give the terminal back at once, past everything that may be stuck."""
        if self._writer_thread is None:
            return
        self._restore_settings(termios.TCSANOW)
        try:
            termios.tcflush(self.fileno, termios.TCIOFLUSH)
            write_all(SCREEN, RESTORE.encode())
        except (OSError, termios.error):
            return  # there is no terminal any more

    def close(self) -> None:
        """Give the signals back, unless one of them ends the process. The writer has ended."""
        if self.leave_code is None:
            self._signals.stop()

    def write(self, data: str) -> None:
        """Send data while the terminal is ours."""
        if self._writer_thread is not None:
            self._writer_thread.write(data)

    def run_input_thread(self) -> None:
        """Read keys until the driver stops or the terminal is gone."""
        parser = KeyboardParser(self._debug)
        decoder = InputDecoder()
        while not self.exit_event.is_set():
            ready, _, _ = select.select([self.fileno], [], [], TICK)
            if ready:
                data = self._read()
                if not data:
                    self._hang_up()
                    break
                for message in parser.feed(decoder.feed(data)):
                    self.process_message(message)
            for message in parser.tick():
                self.process_message(message)

    def _read(self) -> bytes:
        """Read what has arrived; nothing means that the terminal is gone."""
        try:
            return os.read(self.fileno, 4096)
        except OSError:
            return b""

    def _hang_up(self) -> None:
        """Leave a terminal that is gone; SIGHUP says the same, where it is not ignored."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for fileno in (1, 2):  # last words would fail, and the failure would be a traceback
            os.dup2(nowhere, fileno)
        self.leave(HANGUP_CODE)

    def _discard_input(self) -> None:
        """Read and drop what arrives until the terminal is quiet."""
        limit = time.monotonic() + QUIET_LIMIT
        while time.monotonic() < limit:
            ready, _, _ = select.select([self.fileno], [], [], QUIET)
            if not ready or not self._read():
                return

    def _restore_settings(self, when: int) -> None:
        """Set the terminal as it was before the app."""
        if self._attributes is not None:
            try:
                termios.tcsetattr(self.fileno, when, self._attributes)
            except termios.error:
                return  # the terminal is gone, and its settings with it

    def _sigtstp_application(self, *_: Any) -> None:
        """Stop at the next turn of the loop: a handler may have interrupted a write to a queue."""
        if self._auto_restart:
            self._from_handler(self._stop_for_shell)
        else:
            os.kill(os.getpid(), signal.SIGSTOP)

    def _sigcont_application(self, *_: Any) -> None:
        """Take the terminal again at the next turn of the loop."""
        if self._auto_restart:
            self._from_handler(self._take_terminal_again)

    def _from_handler(self, action: Callable[[], None]) -> None:
        """Let the loop do `action`; there may be none any more."""
        try:
            self._loop.call_soon_threadsafe(action)
        except RuntimeError:
            return  # the app is down: a stop or a continuation changes nothing for it

    def _stop_for_shell(self) -> None:
        """Give the terminal back and stop; the process goes on here after SIGCONT."""
        self.suspend_application_mode()
        self._must_signal_resume = True
        os.kill(os.getpid(), signal.SIGSTOP)

    def _take_terminal_again(self) -> None:
        """Set up the terminal after a stop, also after one that could not be prepared (SIGSTOP)."""
        if self.leave_code is not None or not self._app.is_running:
            return
        self._must_signal_resume = True
        self.suspend_application_mode()
        self.resume_application_mode()
        # The alternate screen is empty, and Textual repaints nothing for an unchanged size.
        self._app.refresh(layout=True)


def run_app(app: App[Any]) -> int:
    """Run an app on the terminal and return the exit code for the process.

    0 after a normal end or what the app gave to `exit`, 1 after a crash, 128+n after signal n.
    When a thread worker still computes at the end, the process ends in here: the interpreter
    would wait for it.
    """
    app.driver_class = TerminalDriver
    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(ImpatientExecutor())
        runner.run(app.run_async())
    code = _exit_code(app)
    end_if_threads_linger(code)
    return code


def _exit_code(app: App[Any]) -> int:
    """Return the exit code of an app that has ended; without one of its own it crashed."""
    driver = app._driver
    if isinstance(driver, TerminalDriver) and driver.leave_code is not None:
        return driver.leave_code
    return 1 if app.return_code is None else app.return_code
