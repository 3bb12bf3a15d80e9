"""Demos in a browser, by textual-serve."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Sequence

from aiohttp import web
from textual_serve.server import Server

from core.language import _
from tui.serve.isolate import KEPT_OF_HOST
from tui.serve.log import log
from tui.serve.web_child import COMMAND


class WebServer(Server):
    """textual-serve's server with a limit, a log without keystrokes, and nothing to download."""

    def __init__(self, words: Sequence[str], most: int, host: str, port: int) -> None:
        command = "exec " + shlex.join([*COMMAND, *words])
        super().__init__(command, host=host, port=port, title="attn-tui")
        self._most = most
        self._running = 0

    def initialize_logging(self) -> None:
        for name in ("textual-serve", "aiohttp"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    async def on_startup(self, app: web.Application) -> None:
        print(_("Guests open:  {address}").format(address=self.public_url), flush=True)

    async def handle_download(self, request: web.Request) -> web.StreamResponse:
        raise web.HTTPNotFound

    async def handle_websocket(self, request: web.Request) -> web.StreamResponse:  # type: ignore[override]
        name = request.remote or "-"
        if self._running >= self._most:
            log(f"{name} turned away: {self._most} sessions")
            raise web.HTTPServiceUnavailable
        self._running += 1
        log(f"{name} session begins ({self._running} of {self._most})")
        try:
            return await super().handle_websocket(request)
        finally:
            self._running -= 1
            log(f"{name} session ended")


def run(words: Sequence[str], most: int, host: str, port: int) -> None:
    """Serve in a browser from this process until a signal says otherwise.

    Sessions inherit the environment of this process, so all that they must not see leaves it.
    """
    for name in set(os.environ) - {*KEPT_OF_HOST, "PATH"}:
        del os.environ[name]
    os.environ["LC_ALL"] = "C.UTF-8"
    WebServer(words, most, host, port).serve()
