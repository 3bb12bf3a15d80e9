"""All sessions of a server: who may begin one, what it runs, what is logged, how all end."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import monotonic

from core.language import _, spoken
from tui.serve.isolate import KEPT_OF_HOST
from tui.serve.log import log
from tui.serve.nursery import Nursery
from tui.serve.parent import REFUSED
from tui.serve.presentation import Presentation
from tui.serve.session import Session
from tui.terminal.leaving import RESTORE

_TERM = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,39}")
_COLORS = ("truecolor", "24bit")


@dataclass(frozen=True)
class Guest:
    """What a client asked for.

    Attributes
    ----------
    name : str
        For the log: where it comes from, and as whom.
    term : str
    size : tuple of int
        Columns and lines.
    environment : mapping
        Variables that it sent.
    presents : bool
        It is the presenter.
    """

    name: str
    term: str
    size: tuple[int, int]
    environment: Mapping[str, str]
    presents: bool = False


class House:
    """The sessions that run now.

    Parameters
    ----------
    words : sequence of str
        The command line of a session.
    most : int
        Sessions at one time.
    host : mapping
        The host's own environment.
    presentation : Presentation, optional
        What one session shows the others.
    """

    def __init__(
        self,
        words: Sequence[str],
        most: int,
        host: Mapping[str, str],
        presentation: Presentation | None = None,
    ) -> None:
        self.presentation = presentation
        self.most = most
        kept = {name: host[name] for name in KEPT_OF_HOST if name in host}
        self._usual = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", **kept}
        self._nursery = Nursery(words, self._usual)
        self.closing = False
        self._running: dict[Session, str] = {}
        self._begun = 0

    def open(self) -> None:
        """Get ready for guests."""
        self._nursery.open()

    @property
    def full(self) -> bool:
        return len(self._running) >= self.most

    async def host_guest(self, session: Session, guest: Guest, tell: Callable[[str], None]) -> int:
        """Run a session from start to end, or say why there is none; its exit code."""
        if self.closing:
            return 1
        if guest.presents and self.presentation is not None:  # there is always room for one
            if self.presentation.busy:
                log(f"{guest.name} turned away: somebody presents")
                tell(_("Somebody presents already."))
                return 1
            return await self._host(session, guest, tell)
        if self.full:
            log(f"{guest.name} turned away: {self.most} sessions")
            full = _("All {n} places are taken. Please try again in a few minutes.")
            tell(full.format(n=self.most))
            return 1
        return await self._host(session, guest, tell)

    async def _host(self, session: Session, guest: Guest, tell: Callable[[str], None]) -> int:
        self._begun += 1
        number, start = self._begun, monotonic()
        self._running[session] = guest.name
        log(f"{guest.name} session {number} begins ({len(self._running)} of {self.most})")
        try:
            with self._pipe(guest) as (part, pipes):
                asked = {
                    "environment": self.environment(guest),
                    "language": _language(guest.environment),
                    "part": part,
                }
                begin = partial(self._nursery.bear, asked, pipes)
                code = await session.run(begin, guest.size)
        except OSError as error:
            log(f"{guest.name} session {number} did not begin: {error.strerror}")
            tell(_("This host cannot open a session now. Please try again later."))
            return 1
        finally:
            del self._running[session]
        log(f"{guest.name} session {number} ended, code {code}, {monotonic() - start:.0f} s")
        if code is None or code < 0:
            session.show(RESTORE.encode())  # it had no time to give the terminal back
        if self.closing:
            tell(_("The host has ended this session. Goodbye."))
        elif code not in (None, 0, REFUSED, 129):
            tell(_("This session has ended because of a fault. Connect again."))
        return code or 0

    @contextmanager
    def _pipe(self, guest: Guest) -> Iterator[tuple[str, list[int]]]:
        """What a session does of presenting, and the pipe for it."""
        if self.presentation is None:
            yield "", []
        elif guest.presents:
            pipe = self.presentation.lead()
            try:
                yield "lead", [pipe]
            finally:
                os.close(pipe)
                self.presentation.leave()
        else:
            pipe, feed = self.presentation.follow()
            try:
                yield "follow", [pipe]
            finally:
                os.close(pipe)
                self.presentation.drop(feed)

    def environment(self, guest: Guest) -> dict[str, str]:
        """What the process of a session sees: nothing but what is named here."""
        term = guest.term if _TERM.fullmatch(guest.term) else "xterm"
        found = {**self._usual, "TERM": term}
        if guest.environment.get("COLORTERM") in _COLORS:
            found["COLORTERM"] = "truecolor"
        if guest.environment.get("NO_COLOR"):
            found["NO_COLOR"] = "1"
        return found

    async def close(self) -> None:
        """End all sessions, each with its terminal as it was."""
        self.closing = True
        await asyncio.gather(*(session.stop() for session in list(self._running)))
        await self._nursery.close()


def _language(environment: Mapping[str, str]) -> str:
    """The language of a guest whose client tells, else of the host."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    sent = next(filter(None, (environment.get(name) for name in names)), "C").partition(".")[0]
    if sent in ("C", "POSIX"):
        return spoken()
    return "zh" if sent.startswith("zh") else "en"
