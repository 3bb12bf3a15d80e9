"""``attn-tui lesson``: a lesson in the explorer."""

from __future__ import annotations

from typing import Any

import click

from core.language import N_
from tui.asked import given
from tui.commands.explore import open_explorer, refuse_terminal
from tui.options import general, number, places, switches
from tui.text_given import LESSON
from tui.usage import Command


@click.command(
    LESSON,
    cls=Command,
    help=N_(
        "Open a lesson in the explorer: NAME is one of “attn-tui lessons”, or the path of a"
        " lesson's .toml file. > and < go through its steps."
    ),
    epilog=N_("Switches and places that are given here take the place of the step's own."),
)
@click.argument("name", type=click.UNPROCESSED)
@number("--step", N_("Step to begin with, counted from 1."), 1)
@switches
@places
@general
def lesson(name: str, step: int, theme: str | None, **options: Any) -> None:
    """Check the lesson on the shell's screen, then open the explorer's."""
    refuse_terminal()

    from core.lessons import open_lesson
    from tui.lessons import changed, step_index, view_at

    found = open_lesson(name)
    index = step_index(found, step)
    open_explorer(changed(view_at(found, index), options, given()), theme, found, index)
