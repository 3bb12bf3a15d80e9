"""``attn-tui``: the explorer, and the help that names the other commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from core.language import N_
from tui.asked import build_view, given
from tui.checking import check
from tui.options import general, places, shared
from tui.serve.options import demo, refuse_allowances
from tui.terminal.checks import check_terminal
from tui.text_given import LESSON, LESSONS, MODELS, NAME, SERVE, SHOW, WORKSHEET, one_text
from tui.usage import Command, option, print_version

if TYPE_CHECKING:
    from core.lessons import Lesson
    from tui.scene import View


class ExploreCommand(Command):
    """The explorer's command, whose help also names the other ones."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_usage(ctx, formatter)
        for command, words in (
            (SHOW, "[OPTIONS] TEXT"),
            (WORKSHEET, "[OPTIONS] TEXT"),
            (LESSON, "[OPTIONS] NAME"),
            (LESSONS, ""),
            (MODELS, ""),
            (SERVE, "[OPTIONS] [TEXT]"),
        ):
            self.write_usage(formatter, f"{NAME} {command}", words, first=False)


@click.command(
    NAME,
    cls=ExploreCommand,
    help=N_("Explore attention on TEXT in the terminal. Layers, heads and tokens count from 0."),
    epilog=N_(
        "“attn-tui show --help” explains how to print instead, “attn-tui worksheet --help” how to"
        " make an exercise, “attn-tui serve --help” how to serve others, “attn-tui lessons” lists"
        " worked examples, “attn-tui models” the real models on this machine. Put -- before a text"
        " that starts with - or is the word show, worksheet, lesson, lessons, models or serve."
    ),
)
@click.argument("words", nargs=-1, metavar="[TEXT]", type=click.UNPROCESSED)
@shared
@places
@demo
@general
@option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help=N_("Show the version and exit."),
)
def explore(words: tuple[str, ...], theme: str | None, demo: bool, **options: Any) -> None:
    """Check all that can be checked on the shell's screen, then open the explorer's."""
    refuse_terminal()
    if demo:
        from tui.serve.start import demo_of, open_demo

        open_demo(demo_of(click.get_current_context().params))
    refuse_allowances(given())
    open_explorer(build_view(one_text(words), options), theme)


def refuse_terminal() -> None:
    """Raise ClickException where there is no terminal that could show the explorer."""
    problem = check_terminal()
    if problem:
        raise click.ClickException(problem)


def open_explorer(
    view: View, theme: str | None, lesson: Lesson | None = None, step: int = 0
) -> NoReturn:
    """Check a view on the shell's screen, then explore it."""
    check(view)

    from tui.app import AttnApp
    from tui.terminal.driver import run_app

    sys.exit(run_app(AttnApp(view, theme=theme, lesson=lesson, step=step)))
