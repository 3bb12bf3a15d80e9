"""A server of the installed command, and real ``ssh`` clients to it."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from tests.cli.command import ATTN_TUI, environment
from tests.terminal.pty_session import DEADLINE, PtySession

HOST = "127.0.0.1"
PASSWORD = "open sesame 芝麻"
READY = "help  q quit"  # the footer of the panes; that of the sentence has ^q


def wait_until(holds, deadline=DEADLINE):
    end = time.monotonic() + deadline
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"waited for {holds}")
        time.sleep(0.02)
    return found


def alive(pid) -> bool:
    """Whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def children(pid) -> list[int]:
    """The processes that a process has started, by what the kernel says."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(stat[1]) == pid and stat[0] != "Z":
                    found.append(int(entry.name))
    return found


class Server:
    """``attn-tui serve`` on a free port of the loopback; its log is in a file."""

    def __init__(self, folder: Path, *arguments, env=None, ignored=(), how="--ssh") -> None:
        self.folder = folder
        self.log = folder / "log"
        home = folder / "home"
        home.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [ATTN_TUI, "serve", how, "--port", "0", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=self.log.open("wb"),
            stderr=subprocess.STDOUT,
            env=environment(HOME=str(home), XDG_DATA_HOME=None, **(env or {})),
            preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN) for number in ignored],
        )
        self.port = int(wait_until(lambda: self._found(r"ssh -p (\d+)")))

    def _found(self, pattern):
        if self.process.poll() is not None:
            raise AssertionError(self.said)
        found = re.search(pattern, self.said)
        return found and found[1]

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def parents(self) -> list[int]:
        """The process that forks sessions."""
        return children(self.process.pid)

    @property
    def sessions(self) -> list[int]:
        return [session for parent in self.parents for session in children(parent)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    # Clients.

    def command(self, *options, user="demo", words=()):
        """A real client that knows nothing of the person who runs the tests."""
        return [
            shutil.which("ssh"), "-F", "none", "-p", str(self.port), "-o", "LogLevel=ERROR",
            "-o", "StrictHostKeyChecking=accept-new",
            "-o", f"UserKnownHostsFile={self.folder / 'known_hosts'}",
            "-o", "GlobalKnownHostsFile=/dev/null", "-o", "IdentityAgent=none",
            "-o", "ConnectTimeout=20", *options, f"{user}@{HOST}", *words,
        ]  # fmt: skip

    def run(self, *options, words=(), user=None, **settings):
        """A client without a terminal, to its end."""
        return subprocess.run(
            self.command(*options, words=words, **({"user": user} if user else {})),
            stdin=settings.pop("stdin", subprocess.DEVNULL),
            capture_output=True,
            timeout=60,
            check=False,
            **settings,
        )

    def client(self, *options, size=(80, 24), env=None, user="demo"):
        """A client on a terminal."""
        env = {"SSH_AUTH_SOCK": None, "DISPLAY": None, **(env or {})}
        return PtySession(self.command(*options, user=user), size=size, env=env)


def leave(session):
    session.wait_for(READY)
    session.send("q")
    session.wait_for("Leave the demo?")
    session.send("y")
    assert session.wait_for_exit() == 0


def make_key(folder: Path, name="key") -> Path:
    """A new key pair of OpenSSH; the path of its private half."""
    path = folder / name
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "guest", "-f", path], check=True
    )
    return path


def answers(folder: Path, password=PASSWORD) -> dict[str, str]:
    """The environment of a client whose password a program gives, as a desktop does."""
    program = folder / "askpass"
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' '{password}'\n")
    program.chmod(0o700)
    return {"SSH_ASKPASS": str(program), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}


def end(pid, number=signal.SIGKILL):
    os.kill(pid, number)
