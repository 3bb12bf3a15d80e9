"""Demos in a browser, by textual-serve."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shlex
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from string import Template
from typing import ClassVar
from urllib.parse import urlsplit

from aiohttp import BasicAuth, web
from textual_serve import server
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from core.language import _, spoken
from tui.serve.access import WRONG, Access
from tui.serve.errors import cannot_listen
from tui.serve.isolate import KEPT_OF_HOST
from tui.serve.log import log
from tui.serve.session import STOP_PATIENCE
from tui.serve.web_child import COMMAND

PAGE = Path(__file__).with_name("page.html")
TICKET = "attn-tui"  # the cookie of a browser that has given the password
# Whatever textual-serve's script may come to hold, a browser fetches from nowhere else.
POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline';"
    " font-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebSession(AppService):
    """textual-serve's session, which ends in time whatever its process and its page do."""

    running: ClassVar[set[WebSession]] = set()

    async def start(self, width: int, height: int) -> None:
        self.running.add(self)
        await super().start(width, height)

    async def stop(self) -> None:
        self.running.discard(self)
        ending = asyncio.create_task(self._end())
        await asyncio.wait({ending}, timeout=STOP_PATIENCE)
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
        await asyncio.wait({ending}, timeout=STOP_PATIENCE)  # a page may take nothing any more
        ending.cancel()

    async def _end(self) -> None:
        await super().stop()
        if self._process is not None:
            await self._process.wait()


server.AppService = WebSession  # type: ignore[attr-defined]


class WebServer(Server):
    """textual-serve's server with a door, a page of its own, a limit, and nothing to download."""

    def __init__(
        self, words: Sequence[str], most: int, host: str, port: int, access: Access
    ) -> None:
        command = "exec " + shlex.join([*COMMAND, *words])
        super().__init__(command, host=host, port=port, title="attn-tui")
        self._most = most
        self._access = access
        self._ticket = secrets.token_urlsafe()
        self._running = 0

    def serve(self, debug: bool = False) -> None:
        """Serve until a signal says otherwise."""
        for name in ("textual-serve", "aiohttp"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        web.run_app(
            self._make_app(),
            host=self.host,
            port=self.port,
            print=self._announce,
            shutdown_timeout=STOP_PATIENCE,
        )

    def _announce(self, *_of_aiohttp: object) -> None:
        """Tell the host what to tell the guests, now that they will be heard."""
        name = socket.gethostname() if self.host in ("0.0.0.0", "::", "") else self.host  # noqa: S104
        address = f"http://{f'[{name}]' if ':' in name else name}:{self.port}"
        print(_("Guests open:  {address}").format(address=address), flush=True)

    async def _make_app(self) -> web.Application:
        app = web.Application(middlewares=[self._admit])
        app.add_routes(
            [
                web.get("/", self._page),
                web.get("/ws", self.handle_websocket),
                web.static("/static", self.statics_path),
            ]
        )
        app.on_shutdown.append(self._end_all)
        return app

    async def _end_all(self, _app: web.Application) -> None:
        await asyncio.gather(*(session.stop() for session in list(WebSession.running)))

    @web.middleware
    async def _admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let in who knows the password; a page of another site has no business here."""
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            raise web.HTTPForbidden
        if self._access.open or self._knows(request):
            return await handler(request)
        given = None
        with suppress(KeyError, ValueError):
            given = BasicAuth.decode(request.headers["Authorization"], encoding="utf-8").password
        if given is None or not self._access.admits(given):
            if given is not None:
                log(f"{request.remote or '-'} wrong password")
                await asyncio.sleep(WRONG)
            raise web.HTTPUnauthorized(
                headers={"WWW-Authenticate": 'Basic realm="attn-tui",charset="UTF-8"'}
            )
        response = await handler(request)
        if not response.prepared:
            response.set_cookie(TICKET, self._ticket, httponly=True, samesite="Strict")
        return response

    def _knows(self, request: web.Request) -> bool:
        """Whether a browser has shown its ticket: not all repeat a password for a web socket."""
        shown = request.cookies.get(TICKET, "")
        return secrets.compare_digest(shown.encode(), self._ticket.encode())

    async def _page(self, request: web.Request) -> web.StreamResponse:
        nonce = secrets.token_urlsafe()
        ended = _("This session has ended, or all {n} places are taken.").format(n=self._most)
        text = Template(PAGE.read_text(encoding="utf-8")).substitute(
            language=spoken(),
            nonce=nonce,
            ended=ended,
            again=_("Begin again"),
            font_size=max(6, min(to_int(request.query.get("fontsize", "16"), 16), 60)),
        )
        headers = {
            "Content-Security-Policy": POLICY.format(nonce=nonce),
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        return web.Response(text=text, content_type="text/html", headers=headers)

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


def run(words: Sequence[str], most: int, host: str, port: int, access: Access) -> None:
    """Serve in a browser from this process until a signal says otherwise.

    Sessions inherit the environment of this process, so all that they must not see leaves it.

    Raises
    ------
    ServeError
        The port is taken.
    """
    for name in set(os.environ) - {*KEPT_OF_HOST, "PATH"}:
        del os.environ[name]
    os.environ["LC_ALL"] = "C.UTF-8"
    try:
        WebServer(words, most, host, port, access).serve()
    except OSError as error:
        raise cannot_listen(host, port, error) from error
