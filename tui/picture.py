"""The explorer's screen as a picture, drawn without a terminal."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING

from tui.app import AttnApp
from tui.screens.explorer import ExplorerScreen

if TYPE_CHECKING:
    from core.lessons import Lesson
    from tui.scene import View

# Fonts that a viewer would fetch from elsewhere: a reader's own monospaced font will do.
_FETCHED = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_COLOURS = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


def picture(
    view: View, theme: str | None, size: tuple[int, int], lesson: Lesson | None = None
) -> str:
    """What the explorer shows once its trace is there, as SVG.

    Parameters
    ----------
    view : View
        Already checked.
    theme : str or None
    size : tuple of int
        Columns and lines.
    lesson : Lesson, optional
        Shown at its first step, beside the view.

    Raises
    ------
    AttnError
        There is no such theme, or the view has no trace.
    """
    os.environ.update(_COLOURS)  # those of this picture, whatever terminal there is, or none
    app = AttnApp(view, theme, lesson=lesson)
    return _FETCHED.sub("", asyncio.run(drawn_in(app, size)))


async def drawn_in(app: AttnApp, size: tuple[int, int]) -> str:
    """What an app shows once its trace is there and nothing changes any more, as SVG."""
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, ExplorerScreen)  # noqa: S101 - nothing lies over it
        before, made = None, ""
        while made != before or not screen.settled:
            await app.workers.wait_for_complete()
            await pilot.pause()
            before, made = made, app.export_screenshot()
        if screen.state.error is not None:
            raise screen.state.error
    return made
