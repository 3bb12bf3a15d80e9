"""Headless Chromium against ``attn-tui serve --web``."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pyte
import pytest

from tests.cli.command import ATTN_TUI, environment, sentence
from tests.serve.browser import Browser
from tests.serve.helpers import HOST, alive, children, wait_until

# Looked at by people: the gate names a folder to keep them.
PICTURES = os.environ.get("ATTN_TUI_PICTURES")


@pytest.fixture
def server(tmp_path):
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    log = tmp_path / "log"
    process = subprocess.Popen(
        [ATTN_TUI, "serve", "--web", "--port", str(port), "--most-tokens", "9", "The cat sat"],
        stdin=subprocess.DEVNULL,
        stdout=log.open("wb"),
        stderr=subprocess.STDOUT,
        env=environment(HOME=str(tmp_path), TEXTUAL_PRESS="q,y", PYTHONPATH="/evil"),
    )
    try:
        address = wait_until(lambda: re.search(r"http://\S+", log.read_text()))[0]
        wait_until(lambda: answers(port))
        yield process, address, log
        assert process.poll() is None, log.read_text()
    finally:
        process.kill()
        process.wait()


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
    wait_until(lambda: not alive(pid))
    assert "mat" not in log.read_text()
    assert "session ended" in log.read_text()


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
