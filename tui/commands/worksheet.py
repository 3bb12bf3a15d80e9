"""``attn-tui worksheet``: a row of attention as an exercise."""

from __future__ import annotations

from typing import Any

import click

from core.language import N_, _
from tui.asked import view_to_show
from tui.options import attention, general, number, of_a_lesson, output, precision, shared
from tui.output import write_lines
from tui.text_given import WORKSHEET
from tui.traced import traced
from tui.usage import Command


@click.command(
    WORKSHEET,
    cls=Command,
    help=N_(
        "Write a row of TEXT's attention as an exercise with blanks, and its answers, in Markdown;"
        " - reads TEXT from standard input. Layers, heads and tokens count from 0."
    ),
)
@click.argument("words", nargs=-1, metavar="TEXT", type=click.UNPROCESSED)
@output
@attention(N_("Attention of the row; decoder and cross with --target only."))
@number("--layer", N_("Layer of the row."), 0)
@number("--head", N_("Head of the row."), 0)
@number("--query", N_("Token whose row it is."), 0)
@of_a_lesson
@precision
@shared
@general
def worksheet(
    words: tuple[str, ...], output: str | None, lesson: str | None, **options: Any
) -> None:
    """Trace the text and make an exercise of one row."""
    if options["model"] is not None:
        raise click.UsageError(
            _("a worksheet is worked out by hand: leave --model out for the seeded model")
        )
    view, result = traced(view_to_show(words, lesson, options))

    from tui.printing.worksheet import worksheet as lines

    place = (view.layer, view.head, view.query)
    write_lines(lines(result, *place, view.precision, view.attention), output)
