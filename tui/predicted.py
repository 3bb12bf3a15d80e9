"""A prediction in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from core.language import _
from core.text import label, visible
from core.types import Tokens
from tui.labels import clip, clip_start, weight

if TYPE_CHECKING:
    from core.predictions import Prediction


def place_in_words(prediction: Prediction, tokens: Tokens, cells: int) -> str:
    """The text up to the place, or around a mask, as much of it as there is room for."""
    before, after = texts_around(tokens, prediction.position)
    if prediction.follows:
        said = _("after “{text}”") if before else _("after the first token")
        return said.format(text=clip_start(before, cells - cell_len(said.format(text=""))))
    said = _("in “{text}”")
    room = cells - cell_len(said.format(text=""))
    left = clip_start(before, max(room // 2, room - cell_len(after)))
    return said.format(text=left + clip(after, room - cell_len(left)))


def texts_around(tokens: Tokens, index: int) -> tuple[str, str]:
    """The text up to the end of a token, and the rest, with mask tokens as the model reads them.

    A token that is a part of a character ends there: it is not the character that was read.
    """
    parts, at, cut = [""], 0, 0
    for place, token in enumerate(tokens):
        if token.hides:
            parts += [tokens.text[at : token.start], token.piece]
            at = token.end
        if place == index:
            inside = token.part is not None and token.part[0] < token.part[1]
            end = token.start if inside else token.end
            parts.append(tokens.text[at:end] + (label(token) if inside else ""))
            at = max(at, token.end)
            cut = len(parts)
    parts.append(tokens.text[at:])
    return visible("".join(parts[:cut])), visible("".join(parts[cut:]))


def actual_in_words(prediction: Prediction, tokens: Tokens, precision: int) -> str:
    """What stands there, and how probable the model finds it."""
    actual = prediction.actual
    if actual is None:
        behind = tokens.text[tokens[prediction.position].end :].strip()
        if behind and len(tokens) < tokens.total:
            return _("The text goes on, beyond what is run.")
        return _("The text ends here.")
    said = (
        _("“{token}” follows: {probability}, rank {rank:,} of {all:,}")
        if prediction.follows
        else _("“{token}” is hidden: {probability}, rank {rank:,} of {all:,}")
    )
    return said.format(
        token=label(actual.token),
        probability=weight(actual.probability, precision),
        rank=actual.rank,
        all=prediction.vocabulary,
    )


def rest_in_words(prediction: Prediction, precision: int) -> str:
    """What the tokens that are not listed have together; nothing where there are none."""
    count = prediction.vocabulary - len(prediction.top)
    left = max(0.0, 1.0 - sum(each.probability for each in prediction.top))
    said = _("the other {n:,} tokens together {probability}")
    return said.format(n=count, probability=weight(left, precision)) if count else ""
