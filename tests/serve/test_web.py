"""Headless Chromium against ``attn-tui serve --web``."""

import base64
import os
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pyte
import pytest

from tests.cli.command import ATTN_TUI, attn_tui, environment, sentence
from tests.serve.browser import Browser
from tests.serve.helpers import HOST, PASSWORD, alive, children, wait_until

# Looked at by people: the gate names a folder to keep them.
PICTURES = os.environ.get("ATTN_TUI_PICTURES")


@contextmanager
def serving(folder, *arguments, **variables):
    """A server of pages: its process, its address and its log."""
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    log = folder / "log"
    words = ["--web", "--port", str(port), "--most-tokens", "9", *arguments, "The cat sat"]
    process = subprocess.Popen(
        [ATTN_TUI, "serve", *words],
        stdin=subprocess.DEVNULL,
        stdout=log.open("wb"),
        stderr=subprocess.STDOUT,
        env=environment(HOME=str(folder), TEXTUAL_PRESS="q,y", PYTHONPATH="/evil", **variables),
    )
    try:
        address = wait_until(lambda: re.search(r"http://\S+", log.read_text()))[0]
        wait_until(lambda: answers(port))
        yield process, address, log
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path) as running:
        yield running
        assert running[0].poll() is None, running[2].read_text()


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """One with a password."""
    with serving(tmp_path_factory.mktemp("locked"), ATTN_TUI_PASSWORD=PASSWORD) as running:
        yield running


def ask(address, **headers):
    """A request: status, headers and body."""
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def basic(password):
    return "Basic " + base64.b64encode(f"guest:{password}".encode()).decode()


WS = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


def upgraded(address, **headers):
    """The first line that a request for a web socket is answered with."""
    host = address.removeprefix("http://")
    lines = [f"{name}: {value}" for name, value in {"Host": host, **WS, **headers}.items()]
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port)), 30) as line:
        line.sendall("\r\n".join(["GET /ws HTTP/1.1", *lines, "", ""]).encode())
        return line.recv(100).split(b"\r\n")[0].decode()


def answers(port) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def shown(browser) -> str:
    """The screen as a terminal shows what the page has got."""
    browser.pump()
    screen = pyte.Screen(200, 80)
    pyte.Stream(screen).feed(
        re.sub(r"\x1b\[[<>=][0-9;]*[a-z]", "", browser.received.decode(errors="ignore"))
    )
    return "\n".join(screen.display)


def test_typing_in_a_page(server, tmp_path):
    process, address, log = server
    with Browser(tmp_path / "profile", address) as browser:
        wait_until(lambda: "3 tokens" in shown(browser))
        assert "demo, at most 9 tokens" in shown(browser)
        (pid,) = children(process.pid)
        found = Path(f"/proc/{pid}/environ").read_text()
        assert "evil" not in found
        assert "TEXTUAL_PRESS" not in found
        before = browser.screenshot()
        browser.focus()
        browser.type("e")
        wait_until(lambda: "esc done" in shown(browser))
        browser.type(" mat")
        wait_until(lambda: "4 tokens" in shown(browser))
        after = browser.screenshot()
        assert after != before
        if PICTURES:
            Path(PICTURES, "web.png").write_bytes(after)
        asked = [url for url in browser.requested if not url.startswith(("about:", "data:"))]
        assert f"{address}/static/fonts/RobotoMono-VariableFont_wght.ttf" in asked
        assert not [url for url in asked if not url.startswith(f"{address}/")]
    wait_until(lambda: not alive(pid))
    wait_until(lambda: "session ended" in log.read_text())
    assert "mat" not in log.read_text()


def test_a_page_behind_a_password(locked, tmp_path):
    _process, address, log = locked
    with Browser(
        tmp_path / "profile", address.replace("//", f"//guest:{quote(PASSWORD)}@")
    ) as page:
        wait_until(lambda: "3 tokens" in shown(page))
        page.focus()
        page.type("e")
        wait_until(lambda: "esc done" in shown(page))
    assert PASSWORD not in log.read_text()


@pytest.mark.parametrize("path", ["/", "/static/js/textual.js", "/ws", "/nowhere"])
def test_nothing_without_the_password(locked, path):
    _process, address, log = locked
    status, headers, _body = ask(address + path)
    assert (status, headers["WWW-Authenticate"][:5]) == (401, "Basic")
    assert ask(address + path, Authorization=basic("wrong"))[0] == 401
    assert ask(address + path, Authorization="Basic ?")[0] == 401
    assert ask(address + path, Cookie="attn-tui=wrong")[0] == 401
    assert "wrong password" in log.read_text()
    assert upgraded(address).split()[1] == "401"


def test_a_ticket_opens_the_web_socket(locked):
    """Not every browser repeats the password there."""
    _process, address, _log = locked
    status, headers, _body = ask(address, Authorization=basic(PASSWORD))
    assert status == 200
    ticket, *settings = headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict"} <= set(settings)
    assert upgraded(address, Cookie=ticket).split()[1] == "101"
    assert upgraded(address, Cookie=ticket, Origin="http://elsewhere").split()[1] == "403"
    assert upgraded(address, Cookie=ticket, Origin=address).split()[1] == "101"


def test_a_page_has_nothing_else(server):
    _process, address, _log = server
    status, headers, body = ask(address)
    assert status == 200
    assert b"http://" not in body.replace(address.encode(), b"")
    assert b"https://" not in body
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    for path in ("/download/x", "/static/", "/static/../server.py", "/static/..%2fserver.py"):
        assert ask(address + path)[0] in (403, 404)
    assert upgraded(address, Origin="http://elsewhere").split()[1] == "403"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "others can reach a page at 0.0.0.0, and it has no password"),
        (["--open", "--password-file", "{password}"], "--open lets everybody in"),
        (["--authorized-keys", "{password}"], "--authorized-keys goes with --ssh"),
        (["--host-key", "{password}"], "--host-key goes with --ssh"),
        (["--host", "203.0.113.1", "--open"], "cannot listen on 203.0.113.1"),
    ],
)
def test_refusals(tmp_path, words, said):
    (tmp_path / "password").write_text("x")
    words = [word.format(password=tmp_path / "password") for word in words]
    result = attn_tui("serve", "--web", *words, env=environment(HOME=str(tmp_path)))
    assert said in sentence(result)


def test_without_textual_serve_the_extra_is_named(tmp_path):
    code = (
        "import sys; sys.modules['textual_serve.server'] = None\n"
        "from tui.cli import main; main(['serve', '--web'])\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        timeout=60,
        env=environment(HOME=str(tmp_path)),
        check=False,
    )
    assert "pip install 'attn-tui[web]'" in sentence(result)
