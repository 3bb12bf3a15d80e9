"""The one door: a request in, a trace out."""

from __future__ import annotations

import math

import numpy as np

from core import counts
from core.attention import build_mask
from core.edits import check_edits
from core.embedding import embed, sinusoidal_positions
from core.errors import BudgetError, SettingError, TextError, choose_from
from core.freeze import frozen
from core.given import check_given, given_rows
from core.hiding import check_maskable, check_masked
from core.language import _
from core.names import NORMALIZERS, PROJECTIONS
from core.stacks import decode, encode, mask_of
from core.tokenization import TokenizerLike, open_tokenizer
from core.types import (
    AnyModel,
    Array,
    CheckpointModel,
    GivenModel,
    Mask,
    ModelSpec,
    Request,
    Side,
    Switches,
    Tokens,
    Trace,
)

MAX_LAYERS = 96
BUDGET_BYTES = 2**30
MAX_SEED = 2**64 - 1

MAX_WIDTH = 2**16


def run(request: Request) -> Trace:
    """Tokenize, embed and attend.

    Parameters
    ----------
    request : Request

    Returns
    -------
    Trace
        All arrays are float64, of real models float32, and cannot be written to.

    Raises
    ------
    TextError
        The text or the target is empty or blank, or the tokenizer makes no token of it.
    TokenizerError
        The tokenizer cannot be opened or cannot encode the text.
    SettingError
        A size or a switch is out of range, a target goes with given matrices or with wishes,
        something cannot be learned, or a layer's numbers are no longer finite.
    BudgetError
        The arrays would not fit into the budget of 1 GiB, those of a real model into 4 GiB or
        what is free.
    ModelError
        A real model cannot be opened any more, or its numbers are not finite.
    """
    check_request(request)
    return trace(request, *cut(request))


def cut(request: Request) -> tuple[Tokens, Tokens | None]:
    """The tokens of the text, and those of the target if there is one."""
    tokenizer = tokenizer_of(request)
    tokens = tokenizer.encode(request.text)
    if request.target is None:
        return tokens, None
    if isinstance(request.model, CheckpointModel):
        from core.trained import target_tokens

        return tokens, target_tokens(request.model, request.target)
    if not request.target.strip():
        raise TextError(_("the target is empty"), _("type a sentence, or leave the target out"))
    try:
        return tokens, tokenizer.encode(request.target)
    except TextError as error:
        raise TextError(_("target: {fault}").format(fault=error.message), error.hint) from error


def tokenizer_of(request: Request) -> TokenizerLike:
    """The tokenizer of a request; a real model's own."""
    if isinstance(request.model, CheckpointModel):
        from core.trained import opened  # most sessions open none

        return opened(request.model.path).tokenizer
    return open_tokenizer(request.tokenizer, request.as_saved)


def trace(request: Request, tokens: Tokens, target: Tokens | None = None) -> Trace:
    """Run a request whose texts are already cut into tokens; `run` says what it raises."""
    if not isinstance(request.model, CheckpointModel):  # which knows what it needs
        _check_budget(request.model, len(tokens), 0 if target is None else len(target))
    check_blocked(request.switches.mask, len(tokens))
    check_masked(request.switches.masked, tokens)
    if isinstance(request.model, CheckpointModel):
        from core.trained import trace_trained

        result = trace_trained(request.model, request, tokens, target)
        return frozen(result)
    check_edits(request, len(tokens))
    encoder, history = encode(request, _embedded(request, tokens))
    if target is None:
        result = Trace(request, encoder, history=history)
    else:
        result = Trace(request, encoder, *decode(request, encoder, _embedded(request, target)))
    return frozen(result)


def _embedded(request: Request, tokens: Tokens) -> Side:
    model, count = request.model, len(tokens)
    rows: Array
    if isinstance(model, GivenModel):
        rows = given_rows(model, count)
    else:
        assert isinstance(model, ModelSpec)  # noqa: S101 - a real model embeds for itself
        rows = embed(tokens, model.seed, model.d_model)
    positions = (
        sinusoidal_positions(count, model.d_model)
        if request.switches.positions
        else np.zeros_like(rows)
    )
    return Side(tokens, rows, positions)


def check_request(request: Request) -> None:
    """Raise what `run` raises for a model and switches that cannot be, before a text is cut."""
    if isinstance(request.model, CheckpointModel):
        from core.trained import check_trained

        check_trained(request)
        return
    check_model(request.model)
    check_maskable(request)
    check_switches(request.switches)
    if request.learning is not None:
        from core.learning import check_learning  # most sessions learn nothing

        check_learning(request)
    check_target(request)


def check_model(model: ModelSpec | GivenModel) -> None:
    """Raise SettingError or BudgetError unless the model can be built."""
    if isinstance(model, GivenModel):
        check_given(model)
        _check_budget(model, len(model.x))
        return
    _check_range("layers", model.layers, 1, MAX_LAYERS)
    _check_range("heads", model.heads, 1, MAX_WIDTH)
    _check_range("d_model", model.d_model, 1, MAX_WIDTH)
    _check_range("seed", model.seed, 0, MAX_SEED)
    if model.d_model % model.heads:
        divisors = [n for n in range(1, min(model.d_model, 256) + 1) if model.d_model % n == 0]
        raise SettingError(
            _("{heads} heads cannot share d_model {d_model} evenly").format(
                heads=model.heads, d_model=model.d_model
            ),
            _("choose a divisor such as {divisors} heads").format(
                divisors=", ".join(map(str, divisors[:8]))
            ),
        )
    _check_budget(model, 1)


def check_target(request: Request) -> None:
    """Raise SettingError where a target meets given matrices, or wishes."""
    if request.target is not None and request.learning is not None:
        raise SettingError(
            _("with a target nothing is learned"), _("leave the target or the wishes out")
        )
    if request.target is not None and isinstance(request.model, GivenModel):
        raise SettingError(
            _("given matrices have no decoder for a target"), _("leave the target out")
        )


def check_switches(switches: Switches) -> None:
    """Raise SettingError unless temperature, window, projections and normalizer are known."""
    _check_word("projections", switches.projections, PROJECTIONS)
    _check_word("normalizer", switches.normalizer, NORMALIZERS)
    if not (math.isfinite(switches.temperature) and switches.temperature > 0):
        raise SettingError(
            _("temperature {value} is out of range").format(value=switches.temperature),
            _("choose a number above 0"),
        )
    if switches.mask.window is not None:
        _check_range("window", switches.mask.window, 0, None)


def _check_word(name: str, value: str, words: tuple[str, ...]) -> None:
    if value not in words:
        raise SettingError(
            _("{name} {value!r} is unknown").format(name=name, value=value),
            _("choose {words}").format(words=", ".join(words)),
        )


def _check_range(name: str, value: int, low: int, high: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, int):  # 1.0 and True would equal seed 1
        raise SettingError(
            _("{name} {value!r} is no whole number").format(name=name, value=value),
            _("choose a whole number"),
        )
    if value < low or (high is not None and value > high):
        raise SettingError(
            _("{name} {value} is out of range").format(name=name, value=value),
            _("choose {low} or more").format(low=low) if high is None else choose_from(low, high),
        )


def check_blocked(mask: Mask, count: int) -> None:
    """Raise SettingError unless every blocked key is one of `count` tokens."""
    for index in sorted(mask.blocked):
        if not 0 <= index < count:
            raise SettingError(
                _("blocked key {index} is out of range").format(index=index),
                choose_from(0, count - 1),
            )


def check_wishes(request: Request, tokens: Tokens) -> None:
    """Raise SettingError unless every wish fits the tokens and the mask."""
    if request.learning is not None:
        from core.wishes import wished_rows

        rule = mask_of("encoder", request.switches.mask, tokens.padding)
        wished_rows(request.learning.wishes, build_mask(len(tokens), rule))


def needed_bytes(model: AnyModel, count: int, target: int = 0) -> int:
    """Bytes that a trace of `count` tokens and `target` of the target keeps: of float64, but of
    float32 under a `CheckpointModel`.
    """
    if isinstance(model, CheckpointModel):
        from core.trained import trained_bytes

        return trained_bytes(model, count, target)
    width = max(model.d_model, model.heads * model.d_head)

    def attention(queries: int, keys: int) -> int:
        square = 3 * model.heads * queries * keys  # dot, attn_scores, pattern
        rows = (6 * queries + 2 * keys) * width  # resid_pre, q, z, attn_out, resid_post, scratch
        return square + rows + 4 * model.d_model * width  # k, v; weights

    numbers = attention(count, count)
    if target:
        numbers += attention(target, target) + attention(target, count)
    return 8 * model.layers * numbers


def budget_bytes(model: AnyModel) -> int:
    """Bytes that what is kept of a model's traces may take."""
    if isinstance(model, CheckpointModel):
        from core.checkpoints.budget import BUDGET_BYTES as TRAINED_BYTES

        return TRAINED_BYTES
    return BUDGET_BYTES


def _check_budget(model: AnyModel, count: int, target: int = 0) -> None:
    needed = needed_bytes(model, count, target)
    if needed > BUDGET_BYTES:
        tokens = counts.tokens(count)
        if target:
            both = _("{tokens} and {count:,} of the target")
            tokens = both.format(tokens=tokens, count=target)
        raise BudgetError(
            _(
                "{tokens} × {layers} × {heads} with d_model {d_model:,} need {gib:,.1f} GiB,"
                " and the budget is 1 GiB"
            ).format(
                tokens=tokens,
                layers=counts.layers(model.layers),
                heads=counts.heads(model.heads),
                d_model=model.d_model,
                gib=needed / 2**30,
            ),
            _("use a smaller model") if count == 1 else _("use a shorter text or a smaller model"),
        )
