"""A real ``ssh`` client against ``attn-tui serve --ssh``."""

import re
import signal
import socket
import stat
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.cli.command import attn_tui, environment, sentence
from tests.serve.helpers import (
    HOST,
    PASSWORD,
    READY,
    Server,
    alive,
    answers,
    leave,
    make_key,
    wait_until,
)
from tests.terminal.test_driver import assert_restored
from tui.serve.log import log, short


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("serve")


@pytest.fixture(scope="module")
def server(folder):
    """One that lets in by key and by password, with three places."""
    key = make_key(folder)
    secret = folder / "password"
    secret.write_text(PASSWORD + "\n")
    with Server(
        folder,
        "--authorized-keys", f"{key}.pub", "--password-file", str(secret),
        "--max-sessions", "3", "--most-tokens", "9", "The cat sat",
    ) as running:  # fmt: skip
        running.key = ["-i", str(key), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"]
        yield running
        assert running.process.poll() is None, running.said
        wait_until(lambda: not running.sessions)


def test_typing_chinese_resizing_and_leaving(server):
    with server.client(*server.key) as session:
        session.wait_for(READY)
        session.wait_for("demo, at most 9 tokens")
        session.send("e")
        session.wait_for("esc done")
        for byte in " 我想吃鱼".encode():
            session.send(bytes([byte]))
        session.wait_for("7 tokens")
        session.wait_for("The cat sat 我想吃鱼")
        session.send(" a b c d")
        session.wait_for("first 9 of 11 tokens")
        session.send("\x1b")
        session.wait_for(READY)
        session.resize(120, 36)
        session.wait_for("Vectors of")
        session.resize(59, 17)
        session.wait_for("needs 60 × 18 cells")
        session.resize(80, 24)
        session.wait_for("2 weights")
        leave(session)
        assert_restored(session)


def test_by_password_from_a_program(server, folder):
    options = ["-o", "PubkeyAuthentication=no", "-o", "NumberOfPasswordPrompts=1"]
    with server.client(*options, env=answers(folder)) as session:
        session.wait_for(READY)
        leave(session)


def test_by_password_typed(server):
    with server.client("-o", "PubkeyAuthentication=no") as session:
        session.wait_for(lambda: "Password:" in session.output)
        session.send("wrong\n")
        session.wait_for(lambda: session.output.count("Password:") == 2)
        session.send(PASSWORD + "\n")
        session.wait_for(READY)
        leave(session)
    assert "wrong password" in server.said
    assert PASSWORD not in server.said


def test_nobody_else(server, folder):
    other = make_key(folder, "other")
    options = ["-i", str(other), "-o", "IdentitiesOnly=yes", "-o", "PasswordAuthentication=no"]
    result = server.run("-tt", *options)
    assert result.returncode == 255
    assert b"Permission denied" in result.stderr
    result = server.run("-tt", "-o", "PreferredAuthentications=none,keyboard-interactive")
    assert result.returncode == 255


@pytest.mark.parametrize(
    "words",
    [["id"], ["attn-tui;id"], ["; id"], ["env", "sh"], ["sh", "-i"], ["scp", "-t", "/tmp"]],
)
def test_no_command(server, words):
    """Neither alone nor after a semicolon, with a terminal and without."""
    for options in ([], ["-tt"]):
        result = server.run(*server.key, *options, words=words)
        assert result.returncode == 255
        assert b"uid=" not in result.stdout + result.stderr
        assert b"exec request failed" in result.stderr


def test_no_subsystem(server):
    result = server.run(*server.key, "-s", words=["sftp"])
    assert result.returncode == 255
    assert b"subsystem request failed" in result.stderr


@pytest.mark.parametrize("program", ["sftp", "scp"])
def test_no_files(server, folder, program):
    options = server.command(*server.key)[1:-1]
    options[options.index("-p")] = "-P"
    target = [f"demo@{HOST}:/etc/passwd", str(folder / "stolen")]
    result = subprocess.run(
        [program, *options, *target],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert result.returncode != 0
    assert not (folder / "stolen").exists()


def test_no_shell_without_a_terminal(server):
    result = server.run(*server.key, "-T")
    assert result.returncode == 2
    assert result.stdout.startswith(b"attn-tui: ")
    assert b"ssh -t" in result.stdout


def test_no_forwarding_there(server, folder):
    """A tunnel through the server to a port of its machine."""
    with socket.create_server((HOST, 0)) as target:
        port = target.getsockname()[1]
        result = server.run(*server.key, "-W", f"{HOST}:{port}")
        assert result.returncode == 255
        assert b"forwarding failed" in result.stderr
        target.setblocking(False)
        with pytest.raises(BlockingIOError):
            target.accept()


@pytest.mark.parametrize("forward", ["0:127.0.0.1:9", "/{folder}/remote:127.0.0.1:9"])
def test_no_forwarding_back(server, folder, forward):
    forward = forward.format(folder=folder)
    result = server.run(*server.key, "-N", "-o", "ExitOnForwardFailure=yes", "-R", forward)
    assert result.returncode == 255
    assert b"remote port forwarding failed" in result.stderr
    assert not (folder / "remote").exists()


def test_no_agent_no_x11_and_no_variable(server):
    """X03: what the client asks for changes nothing: session and environment are the same."""
    sent = {
        "LC_ALL": "C.UTF-8", "PYTHONPATH": "/evil", "PYTHONINSPECT": "1", "LD_PRELOAD": "/evil.so",
        "TEXTUAL_DRIVER": "evil:Driver", "TEXTUAL_PRESS": "q,y", "PAGER": "sh", "HOME": "/evil",
        "ATTN_TUI_PASSWORD": "x", "SSH_AUTH_SOCK": "/nowhere",
    }  # fmt: skip
    with server.client(
        *server.key, "-A", "-X", *(f"-oSendEnv={name}" for name in sent), env=sent
    ) as session:
        session.wait_for(READY)
        (pid,) = server.sessions
        found = Path(f"/proc/{pid}/environ").read_text()
        names = {entry.partition("=")[0] for entry in found.split("\0") if entry}
        assert names <= {
            "TERM", "PATH", "LC_ALL", "TZ", "COLORTERM", "NO_COLOR",
            "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",
        }  # fmt: skip
        assert "evil" not in found
        leave(session)


@pytest.mark.parametrize("lang", ["zh_CN.UTF-8", "en_GB.UTF-8"])
def test_the_language_of_the_guest(server, lang):
    options = [*server.key, "-oSendEnv=LANG"]
    with server.client(*options, env={"LANG": lang, "LC_ALL": None}) as session:
        session.wait_for("q 退" if lang.startswith("zh") else READY)
        session.send("q")
        session.wait_for("esc")
        session.send("y")
        assert session.wait_for_exit() == 0


def test_keys_that_a_shell_obeys(server):
    """From the first moment on, and in a running session: Ctrl+C, Ctrl+Z, Ctrl+\\, Ctrl+D."""
    with server.client(*server.key, "-o", "EscapeChar=none") as session:
        session.wait_for(lambda: not session.attributes()[3] & termios.ICANON)  # ssh hands on
        session.send("\x03\x1a\x1c\x04\x13")
        session.wait_for(READY)
        session.send("\x03\x1a\x1c\x04\x13e")
        session.wait_for("esc done")
        session.send(" x")
        session.wait_for("4 tokens")
        session.send("\x03\x1c\x1a")  # in the sentence the last one is undo
        session.wait_for("3 tokens")
        (pid,) = server.sessions
        assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "RS"
        session.send("\x1b")
        session.wait_for(READY)
        leave(session)


def test_tricks_in_the_palette(server):
    """No word finds a file, a shell or a way to save."""
    with server.client(*server.key, size=(120, 36)) as session:
        session.wait_for(READY)
        for word in ("/etc/passwd", "screenshot", "clipboard", "!sh", "download"):
            session.send("\x10")
            session.wait_for("Search for commands")
            session.send(word)
            session.wait_for("Nothing found")
            session.send("\x1b")
            session.wait_for("Vectors of")
        leave(session)


def test_a_client_that_vanishes_leaves_nothing(server):
    with server.client(*server.key) as session:
        session.wait_for(READY)
        (pid,) = server.sessions
        session.kill(signal.SIGKILL)
        wait_until(lambda: not alive(pid), deadline=2)
    with server.client(*server.key) as again:  # and comes back
        again.wait_for(READY)
        leave(again)


def test_a_crash_touches_no_other(server):
    with server.client(*server.key) as one, server.client(*server.key) as other:
        one.wait_for(READY)
        other.wait_for(READY)
        pids = server.sessions
        assert len(pids) == 2
        subprocess.run(["kill", "-SEGV", str(max(pids))], check=True)
        ended = lambda: [s for s in (one, other) if s.process.poll() is not None]  # noqa: E731

        def pumped():
            one.pump(0.01)
            other.pump(0.01)
            return ended()

        (gone,) = wait_until(pumped)
        gone.wait_for_exit()
        assert "because of a fault" in gone.output
        assert_restored(gone)
        rest = other if gone is one else one
        rest.send("e")
        rest.wait_for("esc done")
        rest.send(" mat\x1b")
        rest.wait_for("4 tokens")
        rest.wait_for(READY)
        leave(rest)


def test_one_too_many_gets_one_line(server):
    with (
        server.client(*server.key) as one,
        server.client(*server.key) as two,
        server.client(*server.key) as three,
    ):
        for session in (one, two, three):
            session.wait_for(READY)
        with server.client(*server.key) as more:
            assert more.wait_for_exit() == 1
            assert more.output.startswith("attn-tui: All 3 places are taken")
            assert more.output.count("\n") == 1
        leave(one)
        with server.client(*server.key) as more:
            more.wait_for(READY)
            leave(more)
        leave(two)
        leave(three)


def test_the_log_has_no_keystrokes(server):
    with server.client(*server.key) as session:
        session.wait_for(READY)
        session.send("e")
        session.wait_for("esc done")
        session.send("zebra")
        session.wait_for("satzebra")
        session.send("\x1b")
        session.wait_for(READY)
        leave(session)
    wait_until(lambda: re.search(r"127\.0\.0\.1 demo session \d+ ended, code 0", server.said))
    assert "zebra" not in server.said
    assert "guest" not in server.said


def test_a_name_with_escapes_is_harmless_in_the_log(capsys):
    log(short("x\x1b[2Jy") + "\n\x9b31m" + short(""))
    written = capsys.readouterr().err
    assert written.endswith("\n")
    assert written[:-1].isprintable()
    assert len(short("x" * 1000)) == 40


def test_the_host_key_is_kept_for_the_owner_alone(server, folder):
    key = folder / "home/.local/share/attn-tui/ssh_host_key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    printed = subprocess.run(
        ["ssh-keygen", "-lf", key], capture_output=True, text=True, check=True
    ).stdout.split()[1]
    assert f"Host key:     {printed}" in server.said
    assert f"ssh -p {server.port} demo@{HOST}" in server.said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_host_says_goodbye(tmp_path, number):
    """Every terminal is as it was, nothing is left, and the same key comes back."""
    with Server(tmp_path, "--open") as server:
        assert "OPEN TO EVERYBODY" in server.said
        with server.client() as one, server.client() as two:
            for session in (one, two):
                session.wait_for(READY)
            pids = server.sessions
            assert len(pids) == 2
            parents = server.parents
            server.process.send_signal(number)
            for session in (one, two):
                session.wait_for_exit()
                assert "The host has ended this session. Goodbye." in session.output
                assert_restored(session)
            wait_until(lambda: server.process.poll() is not None)
            assert server.process.returncode == 0
            assert not any(map(alive, pids))
            wait_until(lambda: not any(map(alive, parents)))
        first = server.said
    with Server(tmp_path, "--open") as server:
        key = re.compile(r"Host key: +(\S+)")
        assert key.search(server.said)[1] == key.search(first)[1]


def test_a_host_that_is_killed_leaves_no_session(tmp_path):
    """Also where hanging up is ignored, as under nohup."""
    with Server(tmp_path, "--open", ignored=[signal.SIGHUP]) as server, server.client() as session:
        session.wait_for(READY)
        pids = [*server.sessions, *server.parents]
        assert len(pids) == 2
        server.process.kill()
        wait_until(lambda: not any(map(alive, pids)), deadline=2)
        session.wait_for_exit()


def test_a_client_vanishes_where_hanging_up_is_ignored(tmp_path):
    with Server(tmp_path, "--open", ignored=[signal.SIGHUP]) as server, server.client() as session:
        session.wait_for(READY)
        (pid,) = server.sessions
        session.kill(signal.SIGKILL)
        wait_until(lambda: not alive(pid), deadline=2)


def test_an_idle_session_is_warned_and_ends(tmp_path):
    with Server(tmp_path, "--open", "--idle", "0.05") as server, server.client() as session:
        session.wait_for("This session ends in")
        assert session.wait_for_exit() == 0
        assert "no key was pressed" in session.output
        assert_restored(session)


REFUSED = [
    ([], "say how to serve"),
    (["--ssh", "--web", "--open"], "say how to serve"),
    (["--web", "--present"], "--present goes with --ssh"),
    (["--ssh"], "nobody could come in"),
    (["--ssh", "--open", "--password-file", "{file}"], "--open lets everybody in"),
    (["--ssh", "--password-file", "/nowhere"], "/nowhere cannot be read"),
    (["--ssh", "--password-file", "{empty}"], "is empty"),
    (["--ssh", "--authorized-keys", "{file}"], "holds a line that is no key"),
    (["--ssh", "--open", "--port", "70000"], "--port 70000 is out of range"),
    (["--ssh", "--open", "--max-sessions", "0"], "--max-sessions 0 is out of range"),
    (["--ssh", "--open", "--host", "203.0.113.1"], "cannot listen on 203.0.113.1"),
    (["--ssh", "--open", "--host-key", "{file}"], "others can read"),
    (["--ssh", "--open", "--host-key", "{private}"], "holds no host key"),
    (["--ssh", "--open", "--host-key", "/proc/no/key"], "cannot be kept in /proc/no/key"),
    (["--ssh", "--open", "--allow-lesson", "nope"], "there is no lesson nope"),
    (["--ssh", "--open", "--allow-tokenizer", "nope"], "tokenizer nope does not exist"),
    (["--ssh", "--open", "--most-tokens", "0"], "--most-tokens 0 is out of range"),
    (["--ssh", "--open", "--idle", "-1"], "--idle -1 is out of range"),
    (["--ssh", "--open", "--heads", "3"], "3 heads"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED)
def test_refusals(tmp_path, arguments, said):
    (tmp_path / "file").write_text("no key at all\n")
    (tmp_path / "file").chmod(0o644)
    (tmp_path / "private").write_text("x")
    (tmp_path / "private").chmod(0o600)
    (tmp_path / "empty").write_text("\n")
    files = {name: str(tmp_path / name) for name in ("file", "private", "empty")}
    env = environment(HOME=str(tmp_path), ATTN_TUI_PASSWORD=None, XDG_DATA_HOME=None)
    result = attn_tui("serve", *(each.format(**files) for each in arguments), env=env)
    assert said in sentence(result)


@pytest.mark.parametrize("home", [None, ""])
def test_without_a_home(tmp_path, home):
    env = environment(HOME=home, XDG_DATA_HOME=None)
    assert "HOME is not set" in sentence(attn_tui("serve", "--ssh", "--open", env=env))


def test_a_taken_port(server):
    env = environment(HOME=str(server.folder / "home"), XDG_DATA_HOME=None)
    result = attn_tui("serve", "--ssh", "--open", "--port", str(server.port), env=env)
    assert f"port {server.port}" in sentence(result)
    assert "choose another" in sentence(result)


def test_without_asyncssh_the_extra_is_named(tmp_path):
    code = (
        "import sys; sys.modules['asyncssh'] = None\n"
        "from tui.cli import main; main(['serve', '--ssh', '--open'])\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60,
        env=environment(HOME=str(tmp_path)), check=False,
    )  # fmt: skip
    assert "pip install 'attn-tui[ssh]'" in sentence(result)
