"""What a decoder reads of a target.

A decoder is trained to predict each token of a target from those before it. So it reads a token
that starts every target, then the target without its end, which is only ever predicted:
``shift_tokens_right`` of transformers, and with it the ``decoder_input_ids`` of given ``labels``.
mBART has no such token: the last one of a target moves to its start, the code of its language or
the end of what was before it (Liu et al. 2020, section 2.2).
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from core.checkpoints.folder import inside
from core.checkpoints.plain import json_object, shown
from core.checkpoints.plan import TargetPlan
from core.errors import ModelError
from core.language import _
from core.tokenization import ModelTokenizer
from core.types import Tokens

SETTINGS = "tokenizer_config.json"


def decoder_tokens(
    tokenizer: ModelTokenizer, text: str, plan: TargetPlan, rows: int, path: Path
) -> Tokens:
    """The tokens of a target as its decoder reads them, the one that starts it first.

    A blank text gives what stands before the first word. Of a tokenizer that marks no end, every
    token is kept.

    Parameters
    ----------
    tokenizer : ModelTokenizer
    text : str
    plan : TargetPlan
    rows : int
        Of the decoder's embedding.
    path : Path
        The model's folder or file.

    Raises
    ------
    TextError, TokenizerError
        The text cannot be cut into tokens.
    ModelError
        The model does not say what starts a target, or in which language it is.
    """
    around = tokenizer.around
    labels = tokenizer.encode(text) if text.strip() else Tokens(text, around, len(around))
    items = labels.items
    codes = [token for token in around if plan.wraps and token.id not in plan.marks]
    if codes:
        language = tokenizer.special(_language(tokenizer, plan, around[-1] in codes, path))
        items = tuple(language if token in codes else token for token in items)
        items = (items[-1], *items[:-1])
    else:
        if items and items[-1].special:
            items = items[:-1]
        items = (tokenizer.special(_start(plan, rows, path)), *items)
    items = items[: tokenizer.limit]
    return replace(labels, items=items, total=max(labels.total, len(items)))


def _start(plan: TargetPlan, rows: int, path: Path) -> int:
    if isinstance(plan.start, int) and plan.start is not True and 0 <= plan.start < rows:
        return plan.start
    raise ModelError(
        _("{path} names no token that starts a target: decoder_start_token_id is {value}").format(
            path=shown(path), value=shown(json.dumps(plan.start))
        ),
        _("correct it in config.json, or leave the target out"),
    )


def _language(tokenizer: ModelTokenizer, plan: TargetPlan, behind: bool, path: Path) -> int:
    """The id of a target's language: its code stands `behind` the text or before it."""
    settings = path / SETTINGS
    code = json_object(inside(path, SETTINGS)).get("tgt_lang") if settings.is_file() else None
    if isinstance(code, str):
        found = tokenizer.id_of(code)
        if found is None:
            raise ModelError(
                _("{path}: tgt_lang {code} is no token of the tokenizer").format(
                    path=shown(settings), code=shown(repr(code))
                ),
                _("correct it, or leave the target out"),
            )
        return found
    named = plan.start if behind else plan.first
    if isinstance(named, int) and named is not True and named not in plan.marks:
        known = tokenizer.id_of(tokenizer.special(named).piece) == named
        if known:
            return named
    raise ModelError(
        _("{path} does not say which language a target is in").format(path=shown(path)),
        _('add "tgt_lang" to its {file}, or leave the target out').format(file=SETTINGS),
    )
