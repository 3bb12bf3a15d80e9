"""The options of how patterns are read, and what they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.language import N_
from tui.usage import Decorated, option, with_options
from tui.values import DROP_FORMS, decimal, drops

if TYPE_CHECKING:
    from core.reading import Reading

READING = (
    option(
        "--words",
        "merge",  # the text itself is "words"
        is_flag=True,
        help=N_(
            "Merge the tokens of each word: keys summed, queries averaged. --query, --key and"
            " --drop count tokens all the same."
        ),
    ),
    option(
        "--drop",
        type=drops,
        metavar=DROP_FORMS,
        help=N_(
            "Columns to drop, the rows made 1 again: of special tokens, the first key, or keys."
        ),
    ),
    option(
        "--cap",
        type=decimal,
        metavar="X",
        help=N_("Cap the columns of --drop at this weight in place of dropping them."),
    ),
)


def reading(command: Decorated) -> Decorated:
    """Add the options of how patterns are read to a command."""
    return with_options(READING, command)


def reading_of(options: dict[str, Any]) -> Reading | None:
    """How patterns are to be read; None as they are."""
    words, cap = options.get("merge") or False, options.get("cap") or 0.0
    drop, dropped = options.get("drop") or (None, frozenset())
    if not (words or cap or drop or dropped):
        return None

    from core.reading import Reading

    return Reading(words, drop, dropped, cap)
