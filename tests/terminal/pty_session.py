"""A command on a pseudo-terminal, with a screen to look at and every byte it wrote."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

import pyte

# Hard end of every wait; nothing is measured with it. A loaded machine is slow.
DEADLINE = 30.0
# A terminal that speaks no kitty protocol skips its sequences; pyte would print their last letter.
_NOT_FOR_PYTE = re.compile(r"\x1b\[[<>=][0-9;]*[a-z]")
_BROKEN_OFF = re.compile(r"\x1b(?:\[(?:[<>=][0-9;]*)?)?\Z")


class PtySession:
    """Runs a command on a terminal of its own and shows its output on a pyte screen.

    ``on_output`` sees each piece as it arrives and may answer as a terminal does. The session is
    a context manager: whatever still runs at its end is killed.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        size: tuple[int, int] = (80, 24),
        env: Mapping[str, str | None] | None = None,
        ignored_signals: Sequence[int] = (),
        on_output: Callable[[str], None] | None = None,
    ) -> None:
        self.output = ""
        self.screen = pyte.Screen(*size)
        self._stream = pyte.Stream(self.screen)
        self._on_output = on_output
        self._undecoded = b""
        self._unshown = ""
        self._master, self.slave = pty.openpty()
        self.resize(*size)
        self.first_attributes = self.attributes()
        self.process = subprocess.Popen(
            command,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=_environment(env or {}),
            start_new_session=True,
            preexec_fn=lambda: _take_terminal(ignored_signals),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.hang_up()
        os.close(self.slave)

    @property
    def text(self) -> str:
        """The lines of the screen, without blanks at their ends.

        The second cell of a wide character is empty. pyte's own `display` fails where only that one
        is left, as it may be in the middle of a frame.
        """
        screen = self.screen
        rows = (screen.buffer[y] for y in range(screen.lines))
        lines = ("".join(row[x].data for x in range(screen.columns)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)

    def attributes(self) -> list:
        """Return the settings of the terminal (termios)."""
        return termios.tcgetattr(self.slave)

    def unread_input(self) -> int:
        """Return how many typed bytes wait for whoever reads next, as a shell would."""
        # In line mode an unfinished line does not count, so look without it.
        raw = self.attributes()
        raw[3] &= ~termios.ICANON
        termios.tcsetattr(self.slave, termios.TCSANOW, raw)
        return struct.unpack("i", fcntl.ioctl(self.slave, termios.FIONREAD, b"\0" * 4))[0]

    def send(self, data: str | bytes) -> None:
        """Type text or bytes."""
        os.write(self._master, data.encode() if isinstance(data, str) else data)

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the window."""
        self.screen.resize(lines, columns)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def kill(self, number: int) -> None:
        """Send a signal to the command."""
        self.process.send_signal(number)

    def hang_up(self) -> None:
        """Close the other side, as a broken connection does."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def pump(self, seconds: float = 0.05) -> None:
        """Take what the command has written, waiting a little for it."""
        if self._master < 0:
            time.sleep(seconds)  # nothing can arrive: this only paces the loop of a wait
            return
        ready, _, _ = select.select([self._master], [], [], seconds)
        if ready:
            with contextlib.suppress(OSError):  # EIO: nobody holds the other side
                self._take(os.read(self._master, 65536))

    def wait_for(self, wanted: str | Callable[[], object], *, deadline: float = DEADLINE) -> None:
        """Wait until a text is on the screen or a condition holds."""
        holds = (lambda: wanted in self.text) if isinstance(wanted, str) else wanted
        end = time.monotonic() + deadline
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"waited for {wanted!r}; the screen shows:\n{self.text}")
            self.pump()

    def wait_for_exit(self, *, deadline: float = DEADLINE) -> int:
        """Wait for the end of the command, with all its output; return its exit status."""
        self.wait_for(lambda: self.process.poll() is not None, deadline=deadline)
        size = -1
        while size != len(self.output):
            size = len(self.output)
            self.pump(0)
        return self.process.returncode

    def wait_for_stop(self) -> None:
        """Wait until the command is stopped, as by SIGSTOP."""
        flags = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        self.wait_for(lambda: os.waitid(os.P_PID, self.process.pid, flags))

    def _take(self, data: bytes) -> None:
        """Decode, keep and show a piece of output; both may be cut anywhere."""
        self._undecoded += data
        text = self._undecoded.decode("utf-8", "ignore")
        self._undecoded = self._undecoded[len(text.encode()) :]
        self.output += text
        text_to_show = self._unshown + text
        broken_off = _BROKEN_OFF.search(text_to_show)
        self._unshown = broken_off[0] if broken_off else ""
        complete = text_to_show.removesuffix(self._unshown)
        self._stream.feed(_NOT_FOR_PYTE.sub("", complete))
        if self._on_output is not None:
            self._on_output(text)


def _environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return an environment that does not depend on the one of whoever runs the tests."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TEXTUAL")}
    for name in ("COLUMNS", "LINES", "NO_COLOR", "LC_TERMINAL", "TERM_PROGRAM"):
        env.pop(name, None)
    env.update(TERM="xterm-256color", COLORTERM="truecolor", LC_ALL="C.UTF-8")
    env.update({name: value for name, value in changes.items() if value is not None})
    for name in (name for name, value in changes.items() if value is None):
        env.pop(name, None)
    return env


def _take_terminal(ignored_signals: Sequence[int]) -> None:
    """In the child: own the terminal, with signals as a shell leaves them."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    for number in ignored_signals:
        signal.signal(number, signal.SIG_IGN)
