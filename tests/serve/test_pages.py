"""What a page may do, and the host, so that no process is left and no place is taken for ever."""

import json
import os
import signal
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tests.serve.helpers import alive, children, wait_until
from tests.serve.test_web import serving


@asynccontextmanager
async def page(address):
    """The web socket of a page, when its explorer is there."""
    async with (
        aiohttp.ClientSession() as client,
        client.ws_connect(f"{address}/ws?width=80&height=24", max_msg_size=0) as line,
    ):
        await heard(line, b"3 tokens")
        yield line


@asynccontextmanager
async def visit(server):
    """A page and its session's process; afterwards both are gone and their place is free."""
    process, address, log = server
    before = log.read_text().count("ended")
    async with page(address) as line:
        (session,) = children(process.pid)
        yield line, session
    wait_until(lambda: not alive(session))
    wait_until(lambda: log.read_text().count("ended") > before)


async def heard(line, wanted):
    """Read until some bytes have come, or to the end; whether they came."""
    said = b""
    while wanted not in said:
        message = await line.receive(timeout=30)
        if message.type not in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT):
            return False
        said += message.data if isinstance(message.data, bytes) else message.data.encode()
    return True


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("pages"), "--max-sessions", "1") as running:
        yield running


@pytest.mark.parametrize(
    "said",
    [
        ["stdin", ""],
        ["stdin", "\x1b[99999999u"],
        ["resize", {"width": "x", "height": None}],
        ["resize", {"width": 1e308, "height": 80.5}],
        ["stdin", "\x1b[?2048;2$y\x1b[48;65535;65535;0;0t\x1b[<35;5;5M"],
    ],
)
async def test_a_page_may_say_anything(server, said):
    """Its session still takes keys, and goes with the page."""
    async with visit(server) as (line, _session):
        await line.send_str(json.dumps(said))
        await line.send_str(json.dumps(["stdin", "q"]))
        assert await heard(line, b"Leave the demo?")


@pytest.mark.parametrize("said", ["{", "{}", '["stdin"]', '["stdin", "\\ud800"]'])
async def test_what_is_no_message_ends_the_page(server, said):
    async with visit(server) as (line, _session):
        await line.send_str(said)
        assert not await heard(line, b"nothing")


async def test_a_session_that_does_not_listen_goes_with_its_page(server):
    async with visit(server) as (_line, session):
        os.kill(session, signal.SIGSTOP)
    async with visit(server):
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_the_host_ends_all(tmp_path, number):
    with serving(tmp_path) as (process, address, _log):
        async with page(address) as line:
            sessions = children(process.pid)
            assert sessions
            process.send_signal(number)
            assert not await heard(line, b"nothing")
            wait_until(lambda: process.poll() is not None)
        wait_until(lambda: not any(map(alive, sessions)))
        assert process.poll() == (-number if number == signal.SIGKILL else 0)
