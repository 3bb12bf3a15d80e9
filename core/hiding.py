"""Tokens hidden from a real model: it reads its mask token in their place."""

from __future__ import annotations

from dataclasses import replace

from core.checkpoint_model import CheckpointModel
from core.errors import SettingError, choose_from
from core.language import _
from core.text import visible
from core.types import AnyModel, Request, Token, Tokens


def check_maskable(request: Request) -> None:
    """Raise SettingError where tokens are to be hidden from a model without a mask token."""
    if request.switches.masked:
        refused = not_maskable(request.model)
        if refused is not None:
            raise refused


def not_maskable(model: AnyModel) -> SettingError | None:
    """Why no token can be hidden from a model; None where one can."""
    if not isinstance(model, CheckpointModel):
        return SettingError(
            _("the seeded model has no mask token, since its weights are random and guess nothing"),
            _("open a model that was trained with one, such as BERT"),
        )
    if model.mask_token is not None:
        return None
    if model.causal:
        said = _(
            "the model {name} has no mask token, since it predicts what follows and sees nothing"
            " of it"
        )
        return SettingError(
            said.format(name=model.name), _("look at its next token, with key 0 or --predictions")
        )
    return SettingError(
        _("the model {name} has no mask token").format(name=model.name),
        _("open a model that was trained with one, such as BERT"),
    )


def check_masked(masked: frozenset[int], tokens: Tokens) -> None:
    """Raise SettingError unless every token to hide is one, and stands in the text."""
    for index in sorted(masked):
        if not 0 <= index < len(tokens):
            raise SettingError(
                _("token {index} to mask is out of range").format(index=index),
                choose_from(0, len(tokens) - 1),
            )
        if tokens[index].special or index in tokens.padding:
            raise SettingError(
                _("token {index}, {piece}, is not of the text and cannot be masked").format(
                    index=index, piece=visible(tokens[index].piece)
                ),
                _("choose a token of the text"),
            )


def hide(tokens: Tokens, masked: frozenset[int], by: Token | None) -> Tokens:
    """The tokens with the mask token in the place of some; others that were hidden come back."""
    plain = shown_again(tokens)
    if by is None or not masked:
        return plain
    items = tuple(
        replace(token, piece=by.piece, id=by.id, unknown=False, part=None, hides=token)
        if index in masked
        else token
        for index, token in enumerate(plain)
    )
    return replace(plain, items=items)


def shown_again(tokens: Tokens) -> Tokens:
    """The tokens of the text, whatever hides them."""
    if not any(token.hides for token in tokens):
        return tokens
    return replace(tokens, items=tuple(token.hides or token for token in tokens))
