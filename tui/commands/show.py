"""``attn-tui show``: attention on a text as a table, data or a picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from core.language import N_
from tui.asked import given, view_to_show
from tui.checking import (
    check_attention,
    check_format,
    check_predictions,
    check_reading,
    check_statistics,
    to_predict,
)
from tui.options import (
    PLACE_OPTIONS,
    attention,
    choice,
    compare,
    general,
    number,
    of_a_lesson,
    output,
    precision,
    shared,
)
from tui.output import check_output, width, write_arrays, write_lines, write_picture
from tui.reading_option import reading
from tui.text_given import SHOW
from tui.traced import compared_with, traced
from tui.usage import Command, Decorated, option, with_options
from tui.values import size

FORMATS = ("table", "json", "csv", "npz", "svg", "markdown")
# Options of the view that ``show`` has too, for its tables.
_SHOWN = (
    *("layer", "head", "query", "key", "component", "compare", "attention", "precision"),
    *("merge", "drop", "cap"),
)
_SIZE = option(
    "--size",
    type=size,
    metavar="COLUMNSxLINES",
    default="120x36",
    show_default=True,
    help=N_("Cells of the picture that --format svg draws."),
)


def _names(add: Callable[[Any], Any]) -> set[str]:
    """The names of the options that a decorator adds."""

    def command() -> None:
        """Nothing is done: this only carries the options."""

    add(command)
    return {param.name for param in vars(command)["__click_params__"]}


# What only a picture has a use for; --ascii exchanges what a terminal is sent.
_LOOKS = (*(add for add in PLACE_OPTIONS if not _names(add) & {*_SHOWN, "ascii"}), _SIZE)
OF_A_PICTURE = tuple(sorted(set().union(*map(_names, _LOOKS))))


def pictured(command: Decorated) -> Decorated:
    """Add the options of the explorer's view that only a picture has a use for."""
    return with_options(_LOOKS, command)


@click.command(
    SHOW,
    cls=Command,
    help=N_(
        "Print attention on TEXT, also into a pipe; - reads TEXT from standard input, without its"
        " last line break. Every layer and every head is printed unless --layer or --head names"
        " one. Layers, heads and tokens count from 0."
    ),
    epilog=N_(
        "--derive prints every step from the embedding to attn_out, of one layer, head, query and"
        " key (0 where none is named), as a table or as markdown. Tables show weights (pattern);"
        " csv and json give every digit, npz every array for NumPy. svg is a picture of the"
        " explorer, with its --pane, --theme and other options and --size. Notes about the text go"
        " to error output."
    ),
)
@click.argument("words", nargs=-1, metavar="TEXT", type=click.UNPROCESSED)
@choice("--format", N_("What to print."), FORMATS, "table")
@option("--derive", is_flag=True, help=N_("How the weight of one query and key comes about."))
@option(
    "--predictions",
    is_flag=True,
    help=N_("What a real model expects: after each token or --query, or at the masked ones."),
)
@option("--statistics", is_flag=True, help=N_("What each head does: its badge, and the numbers."))
@output
@attention(N_("Only this attention, with --target; of --derive the first unless named."))
@number("--layer", N_("Only this layer."))
@number("--head", N_("Only this head."))
@number(
    "--query",
    N_(
        "Only this query: in a table its weights with the heads side by side, and its attn_out;"
        " in csv its rows; json and npz always have all."
    ),
)
@number("--key", N_("The key of --derive, or of a picture."))
@number("--component", N_("The component that --derive works out term by term."))
@of_a_lesson
@compare
@reading
@precision
@pictured
@shared
@general
def show(
    words: tuple[str, ...],
    format: str,
    derive: bool,
    predictions: bool,
    statistics: bool,
    output: str | None,
    lesson: str | None,
    size: tuple[int, int],
    theme: str | None,
    **options: Any,
) -> None:
    """Trace the text and write it down."""
    check_format(format, derive, options, given().intersection(OF_A_PICTURE))
    check_output(format, output)
    if statistics:
        check_statistics(format, derive, predictions, options)
    if predictions:
        check_predictions(format, derive, options)
    named = {"derive": derive, "predictions": predictions}
    check_reading(format, next((name for name, there in named.items() if there), None), options)
    if format == "svg":
        view = view_to_show(words, lesson, options, step=0)
        write_picture(view, theme, size, lesson, output)
        return
    view = view_to_show(words, lesson, options)
    if predictions:
        view = to_predict(view)
    else:
        check_attention(options, view.request)
    view, result = traced(view)

    from tui.printing.show import derivation_lines, formatted, predicted_lines
    from tui.printing.table import Part

    place = (options["layer"], options["head"], options["query"], options["attention"])
    part = Part(*place, view.reading)
    if format == "npz":
        write_arrays(result, part, output)
        return
    how = (format, part, view.precision, width(output))
    if derive:
        lines = derivation_lines(result, view, format)
    elif predictions:
        lines = predicted_lines(result, *how)
    elif statistics:
        from tui.printing.statistics import statistics_lines

        lines = statistics_lines(result, *how)
    else:
        compared = None if view.compare is None else compared_with(result, view.compare)
        lines = formatted(result, *how, compared)
    write_lines(lines, output)
