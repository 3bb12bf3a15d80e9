"""What the words on a command line mean: numbers, masks, keys, wishes, numbers typed over."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from core.language import _
from core.names import DROPS, MASK_FORMS, mask_parts
from tui.choices import SMALLEST

if TYPE_CHECKING:
    from core.learning_types import Wish

# 20 digits hold the largest seed, and every sum with them stays cheap.
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_SIZE = re.compile(r"([0-9]{1,4})x([0-9]{1,4})")
LARGEST = (400, 200)  # columns and lines of a picture
_SHOWN = 40  # cells of a value that is quoted back
NONE = "none"
DROP_FORMS = "specials|first|I,J,…"


def whole(value: str | int) -> int:
    """Read a whole number; its range is checked where its meaning is known."""
    if not _WHOLE.fullmatch(str(value)):
        raise click.BadParameter(
            _("{value} is not a whole number of at most 20 digits").format(value=_short(value))
        )
    return int(value)


def decimal(value: str | float) -> float:
    """Read a number; its range is checked where its meaning is known."""
    try:
        return float(value)
    except ValueError:
        from tui.labels import clip

        shown = repr(clip(str(value), _SHOWN))
        raise click.BadParameter(
            _("{value} is no number such as 0.5 or 2").format(value=shown)
        ) from None


def size(value: str | tuple[int, int]) -> tuple[int, int]:
    """Read columns and lines of a picture, as in ``120x36``."""
    if isinstance(value, tuple):  # click reads a default again
        return value
    found = _SIZE.fullmatch(value)
    columns, lines = map(int, found.groups()) if found else (0, 0)
    fits = SMALLEST[0] <= columns <= LARGEST[0] and SMALLEST[1] <= lines <= LARGEST[1]
    if not fits:
        raise click.BadParameter(
            _("{value} is no size from {low} to {high}, such as 120x36").format(
                value=_short(value), low="{}x{}".format(*SMALLEST), high="{}x{}".format(*LARGEST)
            )
        )
    return columns, lines


def mask(value: str) -> tuple[bool, int | None]:
    """Read ``none``, ``causal``, ``window:N`` or ``causal+window:N`` as (causal, window)."""
    parts = mask_parts(value)
    if parts is None:
        raise click.BadParameter(
            _("{value} is no mask: choose one of {forms} with N from 0").format(
                value=_short(value), forms=", ".join(MASK_FORMS)
            )
        )
    return parts


def keys(value: str) -> frozenset[int]:
    """Read key numbers with commas between them."""
    parts = [part.strip() for part in value.split(",")]
    if not all(_WHOLE.fullmatch(part) for part in parts):
        raise click.BadParameter(
            _("{value} is no list of key numbers such as 0,2").format(value=_short(value))
        )
    return frozenset(map(int, parts))


def drops(value: str) -> tuple[str | None, frozenset[int]]:
    """Read columns to drop: a word of `DROPS`, key numbers, or both, with commas between them."""
    parts = [part.strip() for part in value.split(",")]
    words = [part for part in parts if part in DROPS]
    numbers = [part for part in parts if part not in DROPS]
    if len(words) > 1 or not all(_WHOLE.fullmatch(part) for part in numbers):
        raise click.BadParameter(
            _("{value} names no columns: choose specials, first or key numbers such as 0,2").format(
                value=_short(value)
            )
        )
    return words[0] if words else None, frozenset(map(int, numbers))


def wish(value: str) -> Wish | None:
    """Read ``5:3=0.6,2=0.3``; None is the word ``none``."""
    from core.errors import AttnError
    from core.wishes import read_wish

    try:
        return None if value == NONE else read_wish(value)
    except AttnError as error:
        raise click.BadParameter(str(error)) from None


def edits(_ctx: click.Context, _option: click.Parameter, values: Sequence[str]) -> tuple[Any, ...]:
    """Read numbers typed over; the word ``none`` takes away those of a lesson."""
    if not values:
        return ()
    from core.edits import read_edits  # NumPy, which --help does without
    from core.errors import AttnError

    try:
        return read_edits([value for value in values if value != NONE])
    except AttnError as error:
        raise click.BadParameter(str(error)) from None


def _short(value: str | int) -> str:
    """What was given, in quotes; enough of it to find it again."""
    text = str(value)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
