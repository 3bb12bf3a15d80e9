"""Click's help and refusals in the language spoken; English is left to click as far as it goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from core.language import LANGUAGES, N_, _, spoken

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
# What click itself says about a wrong command line. Its own catalogues are not installed anywhere.
_REFUSALS = (
    N_("No such option {name}."),
    N_("No such option {name}. Did you mean {other}?"),
    N_("No such option {name}. (Did you mean one of: {other}?)"),
    N_("Option {name} requires an argument."),
    N_("Option {name} does not take a value."),
    N_("Missing argument {name}."),
    N_("Got unexpected extra argument ({words})"),
    N_("Got unexpected extra arguments ({words})"),
    N_("Invalid value for {name}: {reason}"),
)


def take_language(words: Sequence[str]) -> tuple[list[str], str | None]:
    """The words without ``--lang``, and the language that it names, which all messages need.

    Raises
    ------
    UsageError
        It names none of `LANGUAGES`.
    """
    rest, language = list[str](), None
    left = iter(words)
    for word in left:
        name, equals, value = word.partition("=")
        if word == "--":
            rest += [word, *left]
        elif name != "--lang":
            rest.append(word)
        else:
            language = value if equals else next(left, "")
            if language not in LANGUAGES:
                said = _("--lang {value} is no language here: choose one of {names}")
                names = ", ".join(LANGUAGES)
                raise click.UsageError(said.format(value=repr(language), names=names))
    return rest, language


def refusal(error: click.ClickException) -> str:
    """What click refuses, in the language spoken."""
    said = error.format_message()
    if spoken() == "en":
        return said
    for message in reversed(_REFUSALS):  # the longer forms first
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.*)", re.escape(message))
        found = re.fullmatch(pattern, said, re.DOTALL)
        if found:
            return _(message).format(**found.groupdict())
    return said


class Choice(click.Choice[str]):
    """One of some words, refused in the language spoken."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self.choices:
            return str(value)
        words = ", ".join(map(repr, self.choices))
        said = _("{value!r} is not one of {words}.").format(value=value, words=words)
        raise click.BadParameter(said, ctx, param)


class Option(click.Option):
    """An option whose help is translated where it is shown."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        if record is None or not self.help:
            return record
        found = re.fullmatch(r"  \[default: (.*)\]", record[1].removeprefix(self.help))
        said = _("{help}  [default: {value}]") if found else "{help}"
        return record[0], said.format(help=_(self.help), value=found[1] if found else "")


def option(*names: str, **attributes: Any) -> Callable[[Decorated], Decorated]:
    """Add an option to a command, as ``click.option`` does."""
    return click.option(*names, cls=Option, **attributes)


def with_options(options: Sequence[Callable[[Any], Any]], command: Decorated) -> Decorated:
    """Add options to a command, in their order."""
    for add in reversed(options):
        command = add(command)
    return command


class _Formatter(click.HelpFormatter):
    """Click breaks lines by characters and between words; here by cells, and within Chinese."""

    def write_text(self, text: str) -> None:
        if spoken() == "en":
            super().write_text(text)
            return
        from tui.labels import wrap

        indent = " " * self.current_indent
        for line in wrap(text, self.width - self.current_indent):
            self.write(f"{indent}{line}\n")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        if spoken() == "en":
            super().write_dl(list(rows), col_max, col_spacing)
            return
        from tui.labels import pad, wrap

        rows = list(rows)
        first = min(max(len(name) for name, _text in rows), col_max) + col_spacing
        indent = " " * self.current_indent
        for name, text in rows:
            beside = len(name) <= first - col_spacing
            if not beside:
                self.write(f"{indent}{name}\n")
            for index, line in enumerate(wrap(text, self.width - first - self.current_indent)):
                self.write(f"{indent}{pad(name if beside and not index else '', first)}{line}\n")


class _Context(click.Context):
    formatter_class = _Formatter


def _cells(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # English help does without

    return cell_len(text)


class Command(click.Command):
    """A command whose help is translated where it is shown."""

    context_class = _Context

    def __init__(self, *args: Any, **options: Any) -> None:
        options["add_help_option"] = False  # click's speaks English
        super().__init__(*args, **options)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.write_usage(formatter, ctx.command_path, " ".join(self.collect_usage_pieces(ctx)))

    def write_usage(
        self, formatter: click.HelpFormatter, command: str, words: str, first: bool = True
    ) -> None:
        """A line of usage; those after the first stand below it."""
        prefix = _("Usage: ")
        words = words.replace("[OPTIONS]", _("[OPTIONS]"))
        formatter.write_usage(command, words, prefix if first else " " * _cells(prefix))

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(_(str(self.help)))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.get_params(ctx) if isinstance(param, Option)]
        records = [option.get_help_record(ctx) for option in options]
        formatter.write_paragraph()
        formatter.write(_("Options:") + "\n")
        with formatter.indentation():
            formatter.write_dl([record for record in records if record is not None])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.epilog:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(_(self.epilog))


def print_help(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(ctx.get_help())
        ctx.exit()


def print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"attn-tui {version('attn-tui')}")
        ctx.exit()
