"""The explorer's screen as a picture, drawn without a terminal."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from html import unescape
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from rich.cells import cell_len

from tui.app import AttnApp
from tui.labels import graphemes
from tui.screens.explorer import ExplorerScreen

if TYPE_CHECKING:
    from core.lessons import Lesson
    from tui.scene import View

# Fonts that a viewer would fetch from elsewhere: a reader's own monospaced font will do.
_FETCHED = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_TEXT = re.compile(r'<text ([^>]*) x="([^"]+)" ([^>]*) textLength="([^"]+)" ([^>]*)>([^<]*)</text>')
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
    return in_cells(_FETCHED.sub("", asyncio.run(drawn_in(app, size))))


def in_cells(picture: str) -> str:
    """A picture in which each text stands on the cells that it has in a terminal.

    Rich stretches a text to a cell a character; wide ones would lie over each other.
    """
    return _TEXT.sub(_placed, picture)


def _placed(found: re.Match[str]) -> str:
    """A text in parts, each of which begins at its cell; blank ones are left out."""
    kind, x, place, length, clip, escaped = found.groups()
    text = unescape(escaped)
    parts = list(_parts(text))
    if parts == [text]:
        return found[0]
    cell, at, placed = float(length) / len(text), float(x), ""
    for part in parts:
        wide = cell * cell_len(part)
        if part.strip("\u00a0 "):
            said = escape(part).replace("\u00a0", "&#160;")
            placed += f'<text {kind} x="{at:g}" {place} textLength="{wide:g}" {clip}>{said}</text>'
        at += wide
    return placed


def _parts(text: str) -> Iterator[str]:
    """Runs of characters of one cell each, and everything else a grapheme at a time."""
    run = ""
    for start, stop in graphemes(text):
        if stop - start == cell_len(text[start:stop]) == 1:
            run += text[start:stop]
            continue
        if run:
            yield run
        run = ""
        yield text[start:stop]
    if run:
        yield run


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
