"""What belongs to tokens stays with them while a text is edited."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.errors import AttnError
from core.hiding import shown_again
from core.learning_types import Learning
from core.tokenization import open_tokenizer
from core.types import CheckpointModel, Request, Tokens

if TYPE_CHECKING:
    from core.reading import Reading


def cut_alike(one: Request, other: Request) -> bool:
    """Whether two requests have the same tokens."""
    names = ("text", "target", "tokenizer", "as_saved")
    return _own(one) == _own(other) and all(
        getattr(one, name) == getattr(other, name) for name in names
    )


def _own(request: Request) -> CheckpointModel | None:
    """The model, where it brings its own tokenizer."""
    return request.model if isinstance(request.model, CheckpointModel) else None


def follow(before: Tokens, after: Tokens, index: int) -> int | None:
    """Where the token at `index` is after an edit; None when the edit changed it.

    The edit is taken to be between the longest common start and the longest common end.
    """
    old = [token.piece for token in shown_again(before)]
    new = [token.piece for token in shown_again(after)]
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    if index < start:
        return index
    from_end = len(old) - index
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return len(new) - from_end if from_end <= end else None


def followed_reading(reading: Reading | None, before: Tokens, after: Tokens) -> Reading | None:
    """The reading with its columns where their tokens are now."""
    if reading is None or not reading.keys:
        return reading
    places = (follow(before, after, index) for index in reading.keys)
    return replace(reading, keys=frozenset(p for p in places if p is not None)).or_none()


def moved_wishes(before: Request, after: Request) -> Learning | None:
    """The wishes at the places of their tokens after an edit, as far as those are still there."""
    if before.learning is None or cut_alike(before, after):
        return before.learning
    try:
        old, new = (
            open_tokenizer(each.tokenizer, each.as_saved).encode(each.text)
            for each in (before, after)
        )
    except AttnError:  # a blank text: nothing is there any more
        return None
    from core.wishes import moved

    return moved(before.learning, lambda index: follow(old, new, index), len(new))


def followed(request: Request, before: Tokens, after: Tokens) -> Request:
    """The request with all that belongs to tokens moved with them, or dropped with them."""
    switches = request.switches

    def places(indexes: frozenset[int]) -> frozenset[int]:
        found = (follow(before, after, index) for index in indexes)
        return frozenset(place for place in found if place is not None)

    edits = []
    for edit in switches.edits:
        tokens = {"x": slice(0, 1), "attn_scores": slice(2, 4)}.get(edit.array, slice(0, 0))
        moved_to = [follow(before, after, index) for index in edit.place[tokens]]
        kept = [index for index in moved_to if index is not None]
        if len(kept) == len(moved_to):
            place = (*edit.place[: tokens.start], *kept, *edit.place[tokens.stop :])
            edits.append(replace(edit, place=place))
    switches = replace(
        switches,
        mask=replace(switches.mask, blocked=places(switches.mask.blocked)),
        edits=tuple(edits),
        masked=places(switches.masked),
    )
    return replace(request, switches=switches)
