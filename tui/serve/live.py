"""Presenting: the view of one session travels to the others as the command that opens it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from core.errors import AttnError
from tui.asked import build_view
from tui.lessons import Guide, changed, step_index, view_at
from tui.serve.presentation import GONE, MOST_BYTES
from tui.serve.words import arguments
from tui.text_given import LESSON, one_text

if TYPE_CHECKING:
    from tui.scene import View

READ_SIZE = 65_536


@dataclass(frozen=True)
class Shown:
    """What a presenter shows.

    Attributes
    ----------
    view : View
    guide : Guide, optional
        The lesson and its step.
    """

    view: View
    guide: Guide | None


class Leader:
    """Tells what is shown, through a pipe that the server reads."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._told: list[str] = []

    def tell(self, view: View, guide: Guide | None) -> None:
        """Send a view if it is not the last one.

        One that no command line can carry, or that is too long for the server, is not sent; nor is
        any when the server is gone.
        """
        try:
            words = arguments(view, guide=guide)
        except (AttnError, ValueError):
            return
        if words == self._told:
            return
        self._told = words
        message = json.dumps(words).encode() + b"\n"
        if len(message) <= MOST_BYTES:
            with suppress(BrokenPipeError):
                os.write(self._pipe, message)


class Follower:
    """Hears what is shown, through a pipe that nothing can be sent through."""

    def __init__(self, pipe: int, heard: Callable[[list[str] | None, bool], None]) -> None:
        self._pipe = pipe
        self._heard = heard
        self._buffer = b""
        os.set_blocking(pipe, False)

    def read(self) -> bool:
        """Take what has arrived: the last view, and whether its presenter is still there.

        False at the end.
        """
        try:
            data = os.read(self._pipe, READ_SIZE)
        except BlockingIOError:
            return True
        self._buffer += data
        *whole, self._buffer = self._buffer.split(b"\n")
        views = [message for message in whole if message != GONE]
        if whole:
            self._heard(json.loads(views[-1]) if views else None, whole[-1] != GONE)
        return bool(data)


def shown(words: list[str]) -> Shown:
    """The view that a command opens, and its lesson."""
    from tui.cli import parse

    with parse(words) as ctx:
        options = dict(ctx.params)
        typed = click.core.ParameterSource.COMMANDLINE
        given = {name for name in options if ctx.get_parameter_source(name) is typed}
        if words[:1] == [LESSON]:
            return _of_lesson(options, given)
        return Shown(build_view(one_text(options["words"]), options), None)


def _of_lesson(options: dict[str, Any], given: set[str]) -> Shown:
    from core.lessons import open_lesson

    lesson = open_lesson(options["name"])
    step = step_index(lesson, options["step"])
    return Shown(changed(view_at(lesson, step), options, given), Guide(lesson, step))
