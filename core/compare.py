"""Another text under the model and the switches of a trace, beside it."""

from __future__ import annotations

from dataclasses import replace

from core.comparison import Comparison, align, ranked, row_changes, shared_pairs
from core.errors import BudgetError, SettingError, TextError
from core.hiding import shown_again
from core.language import _
from core.runner import budget_bytes, needed_bytes, tokenizer_of, trace
from core.types import GivenModel, Request, Tokens, Trace


def compare(one: Trace, text: str) -> Comparison:
    """Run another text under a trace's model and switches, and lay the two side by side.

    A blocked key blocks the token that it is aligned with, and a masked token masks it.

    Raises
    ------
    TextError, TokenizerError
        The other text is empty or cannot be cut into tokens.
    SettingError
        There is a target, the model's matrices are given, weights were learned, or the numbers are
        no longer finite.
    BudgetError
        The two traces together would not fit into the budget.
    """
    tokens = compared_tokens(one.request, one.tokens, text)
    alignment = align(shown_again(one.tokens), tokens)
    mask = one.request.switches.mask
    follow = dict(shared_pairs(alignment))
    switches = one.request.switches
    blocked, masked = (
        frozenset(follow[index] for index in indexes if index in follow)
        for indexes in (mask.blocked, switches.masked)
    )
    switches = replace(switches, mask=replace(mask, blocked=blocked), masked=masked)
    other = trace(replace(one.request, text=text, switches=switches, learning=None), tokens)
    rows = row_changes(one, other, alignment)
    return Comparison(one, other, text, alignment, rows, ranked(rows))


def compared_tokens(request: Request, tokens: Tokens, text: str) -> Tokens:
    """Cut the other text as a request cuts its own; `compare` says what it raises."""
    if isinstance(request.model, GivenModel):
        raise SettingError(
            _("given matrices belong to the words of one text"),
            _("compare texts under a seeded model"),
        )
    if request.target is not None:
        raise SettingError(
            _("with a target no other text is compared"),
            _("leave the target or the other text out"),
        )
    if request.learning is not None and request.learning.steps:
        raise SettingError(
            _("the weights were learned on one text"),
            _("forget what was learned before you compare"),
        )
    if not text.strip():
        raise TextError(_("the text to compare with is empty"), _("type a word or a sentence"))
    try:
        other = tokenizer_of(request).encode(text)
    except TextError as error:
        message = _("the text to compare with is refused: {reason}").format(reason=error.message)
        raise TextError(message, error.hint) from error
    needed = sum(needed_bytes(request.model, len(each)) for each in (tokens, other))
    budget = budget_bytes(request.model)
    if needed > budget:
        raise BudgetError(
            _("the two texts together need {needed} GiB, and the budget is {budget} GiB").format(
                needed=f"{needed / 2**30:,.1f}", budget=budget // 2**30
            ),
            _("use shorter texts or a smaller model"),
        )
    return other
