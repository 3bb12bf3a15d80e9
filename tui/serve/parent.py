"""The parent of all sessions: it imports what a session needs, once, and forks one for each guest.

What it has made by then is shared by all of them, as long as nobody writes to it. So it has one
thread only, for a fork copies no other; and it knows no password, for it is not the server.

The server asks on standard input, a socket: a line of JSON with a session's environment, language
and part (of who presents or follows), and with it the terminal, the end of a pipe that closes when
the session is gone, and the pipe of that part. Answers are the pid, or an error's number; later pid
and exit code.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import select
import signal
import socket
import sys
import termios
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from tui.serve.start import Demo

COMMAND = (sys.executable, "-I", "-c", "from tui.serve.parent import main; main()")
PIPE = 4  # its number in a session that presents or follows
REFUSED = 2  # as the command line has it
READ_SIZE, MOST_FILES = 65_536, 64


def main() -> None:
    """Get ready, then fork until the server is gone."""
    from core.errors import AttnError
    from tui.serve.log import log
    from tui.serve.warm import prepared

    gc.disable()  # a collection would write to what is shared
    try:
        demo = prepared(tuple(sys.argv[1:]))
    except AttnError as error:  # something has changed since the server looked
        log(f"the parent of sessions cannot begin: {error}")
        sys.exit(REFUSED)
    gc.collect()
    gc.freeze()
    Parent(socket.socket(fileno=0), demo).serve()


class Parent:
    """Takes requests and tells of ends.

    Parameters
    ----------
    server : socket
    demo : Demo
        What each session begins with.
    """

    def __init__(self, server: socket.socket, demo: Demo) -> None:
        self._server = server
        self._demo = demo
        self._asked = b""
        self._files: list[int] = []
        self._ended, for_signals = os.pipe()
        for end in (self._ended, for_signals):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(for_signals, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Do what the server asks, until it is gone."""
        while True:
            ready, _, _ = select.select([self._server.fileno(), self._ended], [], [])
            if self._ended in ready:
                os.read(self._ended, READ_SIZE)
                self._reap()
            if self._server.fileno() in ready:
                data, files, _, _ = socket.recv_fds(self._server, READ_SIZE, MOST_FILES)
                if not data:
                    return
                self._files += files
                *requests, self._asked = (self._asked + data).split(b"\n")
                for request in map(json.loads, requests):
                    self._begin(request)

    def _begin(self, request: dict[str, Any]) -> None:
        files, self._files = self._files[: request["files"]], self._files[request["files"] :]
        try:
            pid = os.fork()
        except OSError as error:
            self._tell(error=error.errno)
        else:
            if pid == 0:
                _be_session(request, self._demo, files)
            self._tell(pid=pid)
        for file in files:
            os.close(file)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._tell(pid=pid, code=os.waitstatus_to_exitcode(status))

    def _tell(self, **answer: int | None) -> None:
        self._server.sendall(json.dumps(answer).encode() + b"\n")


def _be_session(request: dict[str, Any], demo: Demo, files: Sequence[int]) -> NoReturn:
    """Be a session from start to end; what is above in the stack belongs to the parent."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        _take_files(files)
        os.environ.clear()
        os.environ.update(request["environment"])
        _explore(demo, request["language"], request["part"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:  # at once: taking apart what the parent has made would copy all of it
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _explore(demo: Demo, language: str, part: str) -> NoReturn:
    from core.language import set_language
    from tui.serve.start import open_demo
    from tui.terminal.checks import check_terminal, prepare_environment

    prepare_environment()
    set_language(language)
    problem = check_terminal()
    if problem:
        print(problem, end="\r\n")  # the terminal is raw
        sys.exit(REFUSED)
    open_demo(demo, **({part: PIPE} if part else {}))


def _take_files(files: Sequence[int]) -> None:
    """Have the terminal as 0, 1 and 2, where it hangs this session up, the rest from 3 on."""
    high = [fcntl.fcntl(file, fcntl.F_DUPFD, 64) for file in (files[0], files[0], *files)]
    for number, file in enumerate(high):
        os.dup2(file, number)
    os.closerange(len(high), os.sysconf("SC_OPEN_MAX"))
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        stream = os.fdopen(number, mode, 1, "utf-8", "replace", closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
