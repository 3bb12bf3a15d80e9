"""The command line: which command is asked for, and how it ends.

One rule chooses: the first word is the name of a command, or the explorer is meant. A click group
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
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import click

from core.errors import AttnError
from core.language import _, of_locale, set_language
from tui.serve.options import DEMO
from tui.terminal.checks import prepare_environment
from tui.text_given import LESSON, LESSONS, MODELS, NAME, SERVE, SHOW, WORKSHEET
from tui.usage import refusal, take_language

REFUSED = 2
INTERRUPTED = 128 + 2  # as a shell reports SIGINT
PIPE_CLOSED = 128 + 13  # and SIGPIPE
MAX_SENTENCE = 600
# Where each command is, under its own name.
MODULES = {
    SHOW: "tui.commands.show",
    WORKSHEET: "tui.commands.worksheet",
    LESSON: "tui.commands.lesson",
    LESSONS: "tui.commands.lists",
    MODELS: "tui.commands.lists",
    SERVE: "tui.serve.command",
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


def load(name: str) -> click.Command:
    """The command of a name, imported when it is asked for."""
    command: click.Command = getattr(import_module(MODULES[name]), name)
    return command


def parse(words: Sequence[str]) -> click.Context:
    """Choose the command and read its options."""
    if words and words[0] in MODULES:
        return load(words[0]).make_context(f"{NAME} {words[0]}", list(words[1:]))

    from tui.commands.explore import explore

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
