"""Options of a demo, and what they allow; nothing heavy is imported for ``--help``."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import click

from core.language import N_, _
from tui.model_option import named_model
from tui.options import number
from tui.usage import Decorated, option, with_options
from tui.values import decimal

if TYPE_CHECKING:
    from core.types import Request
    from tui.serve.allowed import Allowed

MOST_TOKENS = 512
_ALLOWANCES = (
    option(
        "--allow-lesson",
        multiple=True,
        metavar="NAME|PATH",
        type=click.UNPROCESSED,
        help=N_(
            "In a demo: a lesson that can be opened; again for more. All of “lessons” if none."
        ),
    ),
    option(
        "--allow-tokenizer",
        multiple=True,
        metavar="NAME|PATH",
        type=click.UNPROCESSED,
        help=N_("In a demo: a tokenizer that can be chosen; again for more. All by name if none."),
    ),
    option(
        "--allow-model",
        multiple=True,
        metavar="NAME|PATH",
        type=click.UNPROCESSED,
        help=N_(
            "In a demo: a real model that can be chosen, as --model names it; again for more."
            " That of --model can be in any case."
        ),
    ),
    number("--most-tokens", N_("In a demo: longer text is cut, and the cut said."), MOST_TOKENS),
    option(
        "--idle",
        type=decimal,
        default=30.0,
        metavar="MINUTES",
        show_default=True,
        help=N_("In a demo: it ends after so long without a key; 0 for no limit."),
    ),
    option(
        "--total",
        type=decimal,
        default=0.0,
        metavar="MINUTES",
        show_default=True,
        help=N_("In a demo: it ends after so long; 0 for no limit."),
    ),
)
DEMO = "--demo"
_DEMO = option(
    DEMO,
    is_flag=True,
    help=N_("For guests: no files, no clipboard, only what the options below allow."),
)
NAMES = ("allow_lesson", "allow_tokenizer", "allow_model", "most_tokens", "idle", "total")


def allowances(command: Decorated) -> Decorated:
    """Add the options that say what a demo allows."""
    return with_options(_ALLOWANCES, command)


def demo(command: Decorated) -> Decorated:
    """Add ``--demo`` and what goes with it."""
    return with_options((_DEMO, *_ALLOWANCES), command)


def take_allowances(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options that say what a demo allows out of all options."""
    return {name: options.pop(name) for name in NAMES}


def refuse_allowances(given: Collection[str]) -> None:
    """Raise UsageError for options that mean nothing without ``--demo``."""
    for name in NAMES:
        if name in given:
            said = _("--{option} is for a demo: add --demo, or leave it out")
            raise click.UsageError(said.format(option=name.replace("_", "-")))


def allowed(options: dict[str, Any], request: Request) -> Allowed:
    """What the options allow; tokenizer and model that the demo begins with are allowed too.

    Raises
    ------
    AttnError
        There is no such lesson, tokenizer or model, or a number is out of range.
    """
    from core.errors import SettingError
    from core.lessons import bundled_lessons, open_lesson
    from core.tokenization import MAX_TOKENS, PATTERNS, open_tokenizer
    from core.types import CheckpointModel
    from tui.serve.allowed import Allowed

    if not 1 <= options["most_tokens"] <= MAX_TOKENS:
        raise SettingError(
            _("--most-tokens {n} is out of range").format(n=options["most_tokens"]),
            _("choose {low} to {high}").format(low=1, high=MAX_TOKENS),
        )
    for name in ("idle", "total"):
        if not 0 <= options[name] <= 10_000_000:
            raise SettingError(
                _("--{name} {minutes:g} is out of range").format(name=name, minutes=options[name]),
                _("choose minutes from 0, which is no limit"),
            )
    lessons = tuple(map(open_lesson, options["allow_lesson"])) or tuple(bundled_lessons())
    tokenizers = options["allow_tokenizer"] or tuple(PATTERNS)
    for name in tokenizers:
        open_tokenizer(name)
    if request.tokenizer not in tokenizers:
        tokenizers = (request.tokenizer, *tokenizers)
    first = [request.model] if isinstance(request.model, CheckpointModel) else []
    models = dict.fromkeys((*first, *map(named_model, options["allow_model"])))
    idle, total = options["idle"] * 60, options["total"] * 60
    return Allowed(lessons, tokenizers, options["most_tokens"], idle, total, tuple(models))
