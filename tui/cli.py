"""The command line: ``attn-tui`` opens the explorer, ``show`` and ``worksheet`` print.

One rule chooses between them: the first word is the name of a command or it is not. A click group
would read options before the first word as its own, and here they belong to the explorer.
Whatever is heavy (NumPy, tokenizers, textual) is imported where it is needed, so that ``--help``
and ``--version`` answer at once.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import click

from core.errors import AttnError
from core.language import N_, _, of_locale, set_language, spoken
from tui.checking import (
    check,
    check_attention,
    check_format,
    check_predictions,
    check_reading,
    check_statistics,
    to_predict,
)
from tui.models import models
from tui.options import (
    FORMATS,
    OF_A_PICTURE,
    OF_A_TEXT,
    attention,
    build_view,
    choice,
    compare,
    general,
    given,
    number,
    of_a_lesson,
    output,
    pictured,
    places,
    precision,
    reading,
    shared,
    switches,
)
from tui.output import check_output, width, write_arrays, write_lines, write_picture
from tui.serve.options import DEMO, demo, refuse_allowances
from tui.terminal.checks import check_terminal, prepare_environment
from tui.text_given import (
    LESSON,
    LESSONS,
    MODELS,
    SERVE,
    SHOW,
    WORKSHEET,
    one_text,
    text_to_show,
)
from tui.traced import compared_with, traced
from tui.usage import Command, option, print_version, refusal, take_language

if TYPE_CHECKING:
    from core.lessons import Lesson
    from tui.scene import View

NAME = "attn-tui"
REFUSED = 2
INTERRUPTED = 128 + 2  # as a shell reports SIGINT
PIPE_CLOSED = 128 + 13  # and SIGPIPE
MAX_SENTENCE = 600


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
    _check_terminal()
    if demo:
        from tui.serve.start import demo_of, open_demo

        open_demo(demo_of(click.get_current_context().params))
    refuse_allowances(given())
    _open(build_view(one_text(words), options), theme)


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
        view = _view_to_show(words, lesson, options, step=0)
        write_picture(view, theme, size, lesson, output)
        return
    view = _view_to_show(words, lesson, options)
    if predictions:
        view = to_predict(view)
    else:
        check_attention(options, view.request)
    view, result = traced(view)

    from tui.printing.show import derivation_lines, formatted, predicted_lines
    from tui.printing.table import Part

    if derive:
        write_lines(derivation_lines(result, view, format), output)
        return
    place = (options["layer"], options["head"], options["query"], options["attention"])
    part = Part(*place, view.reading)
    if predictions:
        lines = predicted_lines(result, format, part, view.precision, width(output))
        write_lines(lines, output)
        return
    if statistics:
        from tui.printing.statistics import statistics_lines

        lines = statistics_lines(result, format, part, view.precision, width(output))
        write_lines(lines, output)
        return
    if format == "npz":
        write_arrays(result, part, output)
        return
    compared = None if view.compare is None else compared_with(result, view.compare)
    lines = formatted(result, format, part, view.precision, width(output), compared)
    write_lines(lines, output)


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
    view, result = traced(_view_to_show(words, lesson, options))

    from tui.printing.worksheet import worksheet as lines

    place = (view.layer, view.head, view.query)
    write_lines(lines(result, *place, view.precision, view.attention), output)


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
    _check_terminal()

    from core.lessons import open_lesson
    from tui.lessons import changed, step_index, view_at

    found = open_lesson(name)
    index = step_index(found, step)
    _open(changed(view_at(found, index), options, given()), theme, found, index)


@click.command(LESSONS, cls=Command, help=N_("List the lessons: their names and titles."))
@general
def lessons() -> None:
    """Print a line a lesson."""
    from core.lessons import bundled_lessons
    from tui.labels import pad

    listed = list(bundled_lessons())
    cells = max(len(each.name) for each in listed)
    write_lines((f"{pad(each.name, cells)}  {each.title.of(spoken())}" for each in listed), None)


def load_serve() -> click.Command:
    """The command that serves, imported when it is asked for."""
    from tui.serve.command import serve

    return serve


COMMANDS: dict[str, Callable[[], click.Command]] = {
    SHOW: lambda: show,
    WORKSHEET: lambda: worksheet,
    LESSON: lambda: lesson,
    LESSONS: lambda: lessons,
    MODELS: lambda: models,
    SERVE: load_serve,
}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 done, 2 refused, 130 interrupted, 141 nobody reads on."""
    gc.disable()  # until the first frame: imports make many objects and hardly any garbage
    prepare_environment()  # before NumPy, whichever command imports it
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # whatever the locale says: JSON has no other
    words = list(sys.argv[1:] if arguments is None else arguments)
    if DEMO in words:
        from tui.serve.isolate import isolate

        isolate(words)
    set_language(of_locale())
    sys.exit(_run(words))


def parse(words: Sequence[str]) -> click.Context:
    """Choose the command and read its options."""
    if words and words[0] in COMMANDS:
        return COMMANDS[words[0]]().make_context(f"{NAME} {words[0]}", list(words[1:]))
    return explore.make_context(NAME, list(words))  # click empties the list


def _run(words: list[str]) -> int:
    try:
        words, language = take_language(words)
        if language is not None:
            set_language(language)
        with parse(words) as ctx:
            ctx.command.invoke(ctx)
    except click.exceptions.Exit as done:
        return done.exit_code
    except (KeyboardInterrupt, click.Abort):
        _silence_stdout()
        return INTERRUPTED
    except MemoryError:
        return _refuse(_("there is not enough memory: use a shorter text or a smaller model"))
    except click.NoSuchOption as error:
        hint = _("A text that starts with - goes after --.")
        return _refuse(_("{refusal} {hint}").format(refusal=refusal(error), hint=hint))
    except click.ClickException as error:
        return _refuse(refusal(error))
    except OSError as error:
        return _stop(error)
    except AttnError as error:
        return _refuse(str(error))
    return 0


def _stop(error: OSError) -> int:
    """End after a failed read or write."""
    _silence_stdout()
    if error.errno == errno.EPIPE:
        return PIPE_CLOSED
    reason = error.strerror or str(error)
    if error.filename:
        reason = _("{reason} ({file})").format(reason=reason, file=os.fsdecode(error.filename))
    return _refuse(_("cannot read or write: {reason}").format(reason=reason))


def _silence_stdout() -> None:
    """Drop what is still buffered: Python would write it at exit and complain when it cannot."""
    if sys.__stdout__ is not None and sys.stdout is sys.__stdout__:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.__stdout__.fileno())
        os.close(nowhere)


def _refuse(sentence: str) -> int:
    """Say in one line why nothing was done, with nothing in it that a terminal would obey."""
    from core.text import visible
    from tui.labels import clip

    # The check of the terminal names the program itself.
    line = clip(visible(sentence.removeprefix(f"{NAME} ")), MAX_SENTENCE)
    end = "" if line.endswith((*".?!)。？！）",)) else _("{sentence}.").format(sentence="")
    with suppress(OSError):  # nobody can be told; the exit code still does
        click.echo(f"{NAME}: {line}{end}", err=True)
    return REFUSED


def _check_terminal() -> None:
    problem = check_terminal()
    if problem:
        raise click.ClickException(problem)


def _open(view: View, theme: str | None, lesson: Lesson | None = None, step: int = 0) -> NoReturn:
    """Check a view on the shell's screen, then explore it."""
    check(view)

    from tui.app import AttnApp
    from tui.terminal.driver import run_app

    sys.exit(run_app(AttnApp(view, theme=theme, lesson=lesson, step=step)))


def _view_to_show(
    words: tuple[str, ...], lesson: str | None, options: dict[str, Any], step: int = -1
) -> View:
    """A text, or a step of a lesson under the switches that are given; -1 is before its first."""
    if lesson is None:
        return build_view(text_to_show(words), options)
    typed = given()
    if words:
        raise click.UsageError(_("a lesson has its own text: leave out the text, or --lesson"))
    for name_ in OF_A_TEXT:
        if name_ in typed:
            raise click.UsageError(
                _(
                    "--{option} does not go with --lesson: a lesson has its own tokens and model"
                ).format(option=name_.replace("_", "-"))
            )

    from core.lessons import open_lesson
    from tui.lessons import changed, view_at

    return changed(view_at(open_lesson(lesson), step), options, typed)
