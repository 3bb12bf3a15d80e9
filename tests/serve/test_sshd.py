"""The printed configuration in a real ``sshd``, on a free port of the loopback."""

import getpass
import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import attn_tui
from tests.serve.helpers import HOST, READY, Server, alive, children, leave, make_key, wait_until

SSHD = "/usr/sbin/sshd"
VARIABLES = ("LANG", "LC_ALL", "PYTHONPATH", "PYTHONINSPECT", "TEXTUAL_PRESS", "PAGER", "BASH_ENV")


class Sshd(Server):
    """As `Server`, but the server is OpenSSH's, for the account that runs the tests."""

    account = getpass.getuser()
    entry = "PasswordAuthentication no\nPermitRootLogin prohibit-password\n"

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        key = make_key(folder)
        host_key = make_key(folder, "host")
        printed = attn_tui("serve", "--print-sshd", "--most-tokens", "9", "The cat sat")
        assert (printed.returncode, printed.stderr) == (0, b"")
        wrapper, mark, block = printed.stdout.decode().partition("# /etc/ssh/sshd_config.d/")
        assert wrapper.startswith("#!/bin/sh\n")
        script = folder / "attn-tui-demo"
        script.write_text(wrapper)
        script.chmod(0o755)
        block = (mark + block).replace("/usr/local/bin/attn-tui-demo", str(script))
        block = block.replace("Match User demo", f"Match User {self.account}")
        (folder / "authorized").write_text((folder / "key.pub").read_text())
        with socket.create_server((HOST, 0)) as free:
            self.port = free.getsockname()[1]
        configuration = folder / "sshd_config"
        configuration.write_text(
            f"Port {self.port}\nListenAddress {HOST}\nHostKey {host_key}\nPidFile none\n"
            f"AuthorizedKeysFile {folder / 'authorized'}\nStrictModes no\nUsePAM no\n"
            f"{self.entry}Subsystem sftp internal-sftp\nAcceptEnv {' '.join(VARIABLES)}\n{block}"
        )
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)  # Debian's service makes it
        subprocess.run([SSHD, "-t", "-f", configuration], check=True)
        self.process = subprocess.Popen(
            self.launched([SSHD, "-D", "-e", "-f", str(configuration)]),
            stdin=subprocess.DEVNULL,
            stdout=self.log.open("wb"),
            stderr=subprocess.STDOUT,
        )
        wait_until(lambda: "listening" in self.said)
        self.key = ["-i", str(key), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"]

    def launched(self, command):
        """What starts the server."""
        return command

    def command(self, *options, user=None, words=()):
        return super().command(*options, user=user or self.account, words=words)

    def client(self, *options, user=None, **settings):
        return super().client(*options, user=user or self.account, **settings)

    @property
    def explorers(self) -> list[int]:
        """The processes of attn-tui below it."""
        found, below = [], [self.process.pid]
        while below:
            for pid in children(below.pop()):
                below.append(pid)
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                found += [pid] * (b"tui.cli" in command and not command.startswith(b"sshd"))
        return found


@pytest.fixture(scope="module")
def sshd(tmp_path_factory):
    with Sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


def test_a_demo_and_nothing_of_the_client(sshd):
    """X03: no variable that a client sends starts, imports or writes anything."""
    sent = {
        "LANG": "zh_CN.UTF-8", "LC_ALL": "", "PYTHONPATH": "/evil", "PYTHONINSPECT": "1",
        "TEXTUAL_PRESS": "q,y", "PAGER": "sh",
    }  # fmt: skip
    options = [f"-oSendEnv={name}" for name in sent]
    with sshd.client(*sshd.key, *options, env=sent) as session:
        session.wait_for("演示，至多 9 个词元")
        (pid,) = sshd.explorers
        found = Path(f"/proc/{pid}/environ").read_text()
        assert "evil" not in found
        assert not re.search(r"(^|\0)(PYTHON|TEXTUAL|PAGER|HOME|SSH)", found)
        session.send("q")
        session.wait_for("esc")
        session.send("y")
        assert session.wait_for_exit() == 0


def test_typing_and_resizing(sshd):
    with sshd.client(*sshd.key) as session:
        session.wait_for(READY)
        session.send("e")
        session.wait_for("esc done")
        session.send(" 我想")
        session.wait_for("5 tokens")
        session.resize(120, 36)
        session.wait_for("Vectors of")
        session.send("\x1b")
        leave(session)


@pytest.mark.parametrize("words", [["id"], ["; id"], ["attn-tui; sh"], ["scp", "-t", "/tmp"]])
def test_a_command_is_the_demo_all_the_same(sshd, words):
    """With a terminal the explorer, without one a sentence that says what is missing."""
    result = sshd.run(*sshd.key, words=words)
    assert result.returncode == 2
    assert b"needs a terminal" in result.stderr
    assert b"ssh -t" in result.stderr
    assert b"uid=" not in result.stdout
    with sshd.client(*sshd.key, "-o", f"RemoteCommand={' '.join(words)}", "-t") as session:
        leave(session)
        assert "uid=" not in session.output


def test_no_subsystem_and_no_forwarding(sshd, tmp_path):
    result = sshd.run(*sshd.key, "-s", words=["sftp"])
    assert (result.returncode, result.stdout) == (2, b"")
    with socket.create_server((HOST, 0)) as target:
        result = sshd.run(*sshd.key, "-W", f"{HOST}:{target.getsockname()[1]}")
        assert result.returncode == 255
        target.setblocking(False)
        with pytest.raises(BlockingIOError):
            target.accept()
    options = ["-N", "-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:9"]
    assert sshd.run(*sshd.key, *options).returncode == 255


def test_a_client_that_vanishes_leaves_nothing(sshd):
    with sshd.client(*sshd.key) as session:
        session.wait_for(READY)
        (pid,) = sshd.explorers
        session.kill(9)
        wait_until(lambda: not alive(pid), deadline=2)
