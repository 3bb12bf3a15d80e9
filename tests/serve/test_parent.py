"""The process that forks sessions: what they get of it, and what happens without it."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import ATTN_TUI
from tests.core.small_checkpoints import speaking
from tests.serve.helpers import READY, Server, alive, end, leave, wait_until
from tests.terminal.pty_session import PtySession
from tests.terminal.test_driver import assert_restored

# A parent whose sessions print what they have got.
PROBE = """
import json, os, random, signal, socket, sys, termios, threading
import tui.serve.start
from core.language import spoken
from tui.serve.parent import Parent

def look(demo, **pipes):
    print(json.dumps({
        "demo": demo, "pipes": pipes, "language": spoken(), "environment": dict(os.environ),
        "files": sorted(int(n) for n in os.listdir("/proc/self/fd")),
        "terminals": [s.isatty() for s in (sys.stdin, sys.stdout, sys.__stderr__)],
        "leads": os.getsid(0) == os.getpid() == os.tcgetpgrp(0),
        "signals": [signal.getsignal(n) == signal.SIG_DFL for n in (signal.SIGCHLD, signal.SIGHUP)],
        "wakes": signal.set_wakeup_fd(-1), "random": random.random(),
    }))
    sys.exit(7)

tui.serve.start.open_demo = look
os.pipe()  # of the parent, and of no session
Parent(socket.socket(fileno=0), "a demo").serve()
"""


# For libraries, by `tui.terminal.checks`.
THREADS = {
    "TOKENIZERS_PARALLELISM": "false", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
}  # fmt: skip


class Probe:
    """A parent, and the server's end of its line."""

    def __enter__(self):
        self.line, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-c", PROBE],
                stdin=theirs, stdout=subprocess.DEVNULL, env={"SECRET": "evil"},
            )  # fmt: skip
        self.answers = self.line.makefile()
        return self

    def __exit__(self, *_):
        self.answers.close()
        self.line.close()
        assert self.process.wait(30) == 0  # without a server there is no parent

    def ask(self, pipe=None):
        """A session: what it printed, and what the parent told."""
        master, slave = pty.openpty()
        life, life_end = os.pipe()
        files = [slave, life_end, *([] if pipe is None else [pipe])]
        part = "" if pipe is None else "lead"
        request = {"environment": {"TERM": "xterm"}, "language": "zh", "part": part}
        request["files"] = len(files)
        socket.send_fds(self.line, [json.dumps(request).encode() + b"\n"], files)
        for file in (slave, life_end):
            os.close(file)
        said = b""
        while not said.endswith(b"\n"):
            said += os.read(master, 4096)
        assert os.read(life, 1) == b""  # it ends with the session
        os.close(life)
        os.close(master)
        return json.loads(said), [json.loads(next(self.answers)) for _ in range(2)]


def test_what_a_session_has_of_its_parent():
    with Probe() as probe:
        reader, pipe = os.pipe()
        found, (born, ended) = probe.ask(pipe)
        assert found.pop("random") != probe.ask()[0]["random"]
        assert found == {
            "demo": "a demo",
            "pipes": {"lead": 4},
            "language": "zh",
            "environment": {"TERM": "xterm", **THREADS},
            "files": [0, 1, 2, 3, 4, 5],  # 5 is the list of files itself
            "terminals": [True, True, True],
            "leads": True,
            "signals": [True, True],
            "wakes": -1,
        }
        assert ended == {"pid": born["pid"], "code": 7}
        os.close(reader)
        os.close(pipe)


def test_many_are_asked_for_at_once():
    with Probe() as probe:
        ends = []
        for _ in range(30):
            master, slave = pty.openpty()
            life, life_end = os.pipe()
            request = {"environment": {"TERM": "xterm"}, "language": "en", "part": "", "files": 2}
            socket.send_fds(probe.line, [json.dumps(request).encode() + b"\n"], [slave, life_end])
            os.close(slave)
            os.close(life_end)
            ends += [master, life]
        told = [json.loads(next(probe.answers)) for _ in range(60)]
        for file in ends:
            os.close(file)
    born = [each["pid"] for each in told if "code" not in each]
    assert len(set(born)) == 30
    assert sorted(born) == sorted(each["pid"] for each in told if each.get("code") == 7)


def test_there_is_nothing_to_fork_but_one_thread(tmp_path):
    """Also with models whose weights were read; and no file is left open by a session."""
    models = ["--allow-model", speaking("bert-legacy", tmp_path)]
    with Server(tmp_path, "--open", *models) as server:
        with server.client() as session:
            session.wait_for(READY)
            leave(session)
        wait_until(lambda: "disconnected" in server.said)
        (parent,) = server.parents
        pids = (parent, server.process.pid)
        before = [len(os.listdir(f"/proc/{pid}/fd")) for pid in pids]
        assert len(os.listdir(f"/proc/{parent}/task")) == 1
        found = Path(f"/proc/{parent}/environ").read_text()
        names = {entry.partition("=")[0] for entry in found.split("\0") if entry}
        assert names <= {"LC_ALL", "PATH", "TZ", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}
        for _ in range(3):
            with server.client() as session:
                leave(session)
        after = lambda: [len(os.listdir(f"/proc/{pid}/fd")) for pid in pids]  # noqa: E731
        wait_until(lambda: after() == before)


def test_the_parent_is_killed(tmp_path):
    """Sessions live on and end well, another parent begins the next, and no process is left."""
    with Server(tmp_path, "--open", "The cat sat") as server:
        with server.client() as one, server.client() as two:
            for session in (one, two):
                session.wait_for(READY)
            before, (parent,) = server.sessions, server.parents
            end(parent)
            with server.client() as three:
                three.wait_for(READY)
                assert server.parents != [parent]
                one.send("e")
                one.wait_for("esc done")
                one.send(" mat\x1b")
                one.wait_for("4 tokens")
                leave(one)
                assert_restored(one)
                assert "because of a fault" not in one.output
                assert "the parent of sessions ended, code -9" in server.said
                wait_until(lambda: sum(map(alive, before)) == 1)
                two.kill(signal.SIGKILL)  # nobody but the server sees to it that it goes
                wait_until(lambda: not any(map(alive, before)), deadline=2)
                leave(three)
        server.process.terminate()
        server.process.wait(30)
        wait_until(lambda: not alive(parent))


def test_an_orphan_ends_with_the_host(tmp_path):
    with Server(tmp_path, "--open") as server, server.client() as session:
        session.wait_for(READY)
        (pid,), (parent,) = server.sessions, server.parents
        end(parent)
        wait_until(lambda: server.parents not in ([parent], []))
        server.process.terminate()
        session.wait_for_exit()
        assert "Goodbye" in session.output
        assert_restored(session)
        wait_until(lambda: server.process.poll() == 0)
        assert not alive(pid)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("looks"), "--open", "The cat sat") as running:
        yield running


LOOKS = [
    {"TERM": "xterm"},
    {"TERM": "xterm-256color"},
    {"TERM": "xterm-256color", "COLORTERM": "truecolor"},
    {"TERM": "xterm-256color", "NO_COLOR": "1"},
    {"TERM": "xterm-256color", "LC_ALL": "zh_CN.UTF-8"},
]
# Keys, and what is shown then in English and in Chinese.
STEPS = [
    ("", READY, "帮助  q 退出"),
    ("e", "esc done", "esc 完成"),
    (" 我想", "5 tokens", "5 个词元"),
    ("\x1b", READY, "帮助  q 退出"),
    ("4", "full bar 3", "满格 3"),
    ("?", "esc close", "esc 关闭"),
]


@pytest.mark.parametrize("env", LOOKS)
def test_it_looks_as_without_a_parent(server, env):
    """Colours, language and all else that depends on the environment, which the parent has not."""
    unset = dict.fromkeys(("COLORTERM", "NO_COLOR", "LANG", "LC_ALL", "LC_MESSAGES"))
    sent = [f"-oSendEnv={name}" for name in env if name != "TERM"]
    words = [str(ATTN_TUI), "--demo", "The cat sat"]
    with (
        server.client(*sent, size=(80, 40), env={**unset, **env}) as far,
        PtySession(words, size=(80, 40), env={**unset, **env}) as near,
    ):
        for key, *shown in STEPS:
            for session in (far, near):
                session.send(key)
                session.wait_for(shown["LC_ALL" in env])
            _wait_for_the_same(far, near)


def _wait_for_the_same(*sessions):
    def same():
        for session in sessions:
            session.pump(0.02)
        one, other = map(_cells, sessions)
        return one == other

    wait_until(same)


def _cells(session):
    """All cells; the colour of the letter that a blank has not is whatever was sent last."""
    buffer, lines, columns = session.screen.buffer, session.screen.lines, session.screen.columns
    found = [buffer[y][x] for y in range(lines) for x in range(columns)]
    return [cell if cell.data.strip() else cell._replace(fg="", bold=False) for cell in found]


def test_a_terminal_that_cannot_draw(server):
    with server.client(env={"TERM": "dumb"}) as session:
        assert session.wait_for_exit() == 2
        assert "attn-tui cannot draw on a terminal with TERM=dumb" in session.output
        assert "fault" not in session.output


IMPORTS = """
import importlib, pkgutil, sys
import core, core.language, tui
found = []
for name in ("_", "counted"):
    setattr(core.language, name, lambda *words: found.append(words) or words[0])
for package in (core, tui):
    for each in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(each.name)
print(found)
"""


def test_nothing_is_translated_when_it_is_imported():
    """The parent imports before anybody knows the language of a guest."""
    result = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
