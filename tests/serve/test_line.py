"""A demo over lines and through programs that stand between: delays, tmux, screen, full disks."""

import asyncio
import os
import shutil
import subprocess
import threading
from collections import deque

import pytest

from tests.cli.command import ATTN_TUI
from tests.serve.helpers import HOST, PASSWORD, READY, Server, answers, leave, wait_until
from tests.serve.test_sshd import Sshd
from tests.terminal.pty_session import PtySession

ROUND_TRIP = 0.3
AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]


class Line:
    """A way to a port on which every byte takes half a round trip, in both directions."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        serving = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._carry, HOST, 0), self._loop
        )
        self._server = serving.result()
        self.port = self._server.sockets[0].getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _carry(self, reader, writer):
        there = await asyncio.open_connection(HOST, self._to)
        await asyncio.gather(self._late(reader, there[1]), self._late(there[0], writer))

    async def _late(self, reader, writer):
        """Hand on what comes, in its order, half a round trip later."""
        waiting: deque[bytes] = deque()

        def arrive():
            data = waiting.popleft()
            writer.write(data) if data else writer.close()

        data = b"-"
        while data:
            data = await reader.read(65536)
            waiting.append(data)
            self._loop.call_later(ROUND_TRIP / 2, arrive)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("line"), "--open", "The cat sat") as running:
        yield running


def test_round_trips_of_300_ms(server):
    """Keys typed ahead are all there, in their order; only what they lead to is drawn."""
    typed = "".join(f" word{n}" for n in range(16))
    with Line(server.port) as line, server.client("-p", str(line.port)) as session:
        session.wait_for(READY)
        session.send("e")
        session.wait_for("esc done")
        one = len(session.output)
        session.send(" a")
        session.wait_for("4 tokens")
        one = (len(session.output) - one) / 2  # bytes of a letter that is waited for
        many = len(session.output)
        for letter in typed:
            session.send(letter)
        session.wait_for("20 tokens")
        session.wait_for("word14 word15")
        assert len(session.output) - many < one * len(typed) / 2
        session.send("\x1b")
        leave(session)


def multiplexers(folder):
    (folder / "screenrc").write_text("altscreen on\n")
    return {
        "tmux": ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null", "new-session"],
        "screen": ["screen", "-U", "-c", str(folder / "screenrc")],
    }


@pytest.mark.parametrize("name", ["tmux", "screen"])
def test_inside_a_multiplexer(name, tmp_path):
    """Drawn whole, typed in Chinese, resized, and the shell goes on afterwards."""
    assert shutil.which(name), f"install {name}"
    rooms = tmp_path / "rooms"
    rooms.mkdir(mode=0o700)
    words = f"'{ATTN_TUI}' --demo 'The cat sat'; echo back again; read -r end"
    command = [*multiplexers(tmp_path)[name], "sh", "-c", words]
    if name == "tmux":
        command[-3:] = [words]
    with PtySession(command, env={"SCREENDIR": str(rooms), "TMUX": None, "STY": None}) as session:
        session.wait_for(READY)
        session.wait_for("full bar")
        session.send("e")
        session.wait_for("esc done")
        session.send(" 我想")
        session.wait_for("5 tokens")
        session.resize(120, 36)
        session.wait_for("Vectors of")
        session.send("\x11")  # ^q: what parts a lone escape from a key is the multiplexer's affair
        session.wait_for("Leave the demo?")
        session.send("y")
        session.wait_for("back again")
        session.send("\r")
        session.wait_for_exit()


def in_a_full_folder(folder, command):
    """A command in a namespace of its own, where a disk without room is mounted on a folder."""
    mount = f"mount -t tmpfs -o size=8k,mode=777 none '{folder}'"
    fill = f"{{ head -c 1000000 /dev/zero > '{folder}/full'; }} 2>/dev/null"
    back = ["setpriv", f"--reuid={os.getuid()}", f"--regid={os.getgid()}", "--clear-groups"]
    return [
        *AS_ROOT, "unshare", "--mount", "sh", "-c", f'{mount}; {fill}; exec "$@"', "-",
        *back, *command,
    ]  # fmt: skip


def test_a_demo_on_a_full_disk(tmp_path):
    """It writes nothing, so it misses nothing."""
    full = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    command = in_a_full_folder(tmp_path, [str(ATTN_TUI), "--demo", "The cat sat"])
    with PtySession(command, env=full) as session:
        session.wait_for(READY)
        session.send("e")
        session.wait_for("esc done")
        session.send(" down")
        session.wait_for("4 tokens")
        session.send("\x1b")
        leave(session)


@pytest.mark.parametrize(
    "words",
    [
        ["show", "--format", "json", "--output", "{full}/trace.json", "The cat sat"],
        ["serve", "--ssh", "--open", "--port", "0", "--host-key", "{full}/key"],
    ],
    ids=["show", "serve"],
)
def test_what_cannot_be_written_on_a_full_disk_is_said(tmp_path, words):
    """One sentence; and no half of a file stays behind."""
    words = [word.format(full=tmp_path) for word in words]
    list_after = f"\"$@\"; code=$?; ls -A '{tmp_path}' >&2; exit $code"
    command = in_a_full_folder(tmp_path, ["sh", "-c", list_after, "-", str(ATTN_TUI), *words])
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    said, *rest = result.stderr.decode().splitlines()
    assert result.returncode == 2, result.stderr
    assert said.startswith("attn-tui: ")
    assert "No space left on device" in said
    assert rest == ["full"]


class PasswordSshd(Sshd):
    """An ``sshd`` in a namespace of its own, where there is an account with a password."""

    account = "guest"
    entry = "PasswordAuthentication yes\nPermitRootLogin yes\n"  # the account is the tester's

    def launched(self, command):
        hashed = subprocess.run(
            ["perl", "-e", r'chomp($p = <STDIN>); print crypt($p, "\$6\$salt\$")'],
            input=PASSWORD.encode(), capture_output=True, check=True,
        ).stdout.decode()  # fmt: skip
        entries = {
            "passwd": f"{self.account}:x:{os.getuid()}:{os.getgid()}::/:/bin/sh\n",
            "shadow": f"{self.account}:{hashed}:19000:0:99999:7:::\n",
        }
        script = ['exec "$@"']
        for name, entry in entries.items():
            (self.folder / name).write_text(entry)
            # Ours first: sshd asks for the name of the account by its number, too.
            script.insert(0, f"cat /etc/{name} >> '{self.folder / name}'")
            script.insert(1, f"mount --bind '{self.folder / name}' /etc/{name}")
        return [*AS_ROOT, "unshare", "--mount", "sh", "-c", " && ".join(script), "-", *command]


def test_a_password_of_opensshs(tmp_path):
    by_password = ["-o", "PreferredAuthentications=password", "-o", "NumberOfPasswordPrompts=1"]
    with PasswordSshd(tmp_path) as sshd:
        with sshd.client(*by_password, env=answers(tmp_path)) as session:
            session.wait_for(READY)
            session.send("e")
            session.wait_for("esc done")
            session.send(" 我")
            session.wait_for("4 tokens")
            session.send("\x1b")
            leave(session)
        with sshd.client(*by_password, env=answers(tmp_path, "guessed")) as session:
            assert session.wait_for_exit() == 255
            assert "Permission denied" in session.text
        wait_until(lambda: not sshd.explorers)
