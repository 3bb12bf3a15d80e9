"""The one door: a request in, a trace out."""

from __future__ import annotations

import math

import numpy as np

from core import counts
from core.attention import attend, build_mask
from core.edits import check_edits, edited, edited_weights, typed_over
from core.embedding import embed, sinusoidal_positions
from core.errors import BudgetError, SettingError
from core.given import check_given, given_rows
from core.language import _
from core.learning import check_learning, learned
from core.names import NORMALIZERS, PROJECTIONS
from core.tokenization import open_tokenizer
from core.types import (
    BoolArray,
    GivenModel,
    LayerTrace,
    Mask,
    ModelSpec,
    Request,
    Switches,
    Tokens,
    Trace,
)
from core.weights import own_weights
from core.wishes import wished_rows

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
        All arrays are float64 and cannot be written to.

    Raises
    ------
    TextError
        The text is empty or blank, or the tokenizer makes no token of it.
    TokenizerError
        The tokenizer cannot be opened or cannot encode the text.
    SettingError
        A size or a switch is out of range, something cannot be learned, or a layer's numbers are
        no longer finite.
    BudgetError
        The arrays would not fit into the budget of 1 GiB.
    """
    check_model(request.model)
    check_switches(request.switches)
    check_learning(request)
    tokenizer = open_tokenizer(request.tokenizer, request.as_saved)
    return trace(request, tokenizer.encode(request.text))


def trace(request: Request, tokens: Tokens) -> Trace:
    """Run a request whose text is already cut into tokens; `run` says what it raises."""
    model, switches = request.model, request.switches
    count = len(tokens)
    _check_budget(model, count)
    check_blocked(switches.mask, count)
    check_edits(request, count)
    mask = _mask_for(request, tokens)
    if isinstance(model, GivenModel):
        embedded = given_rows(model, count)
    else:
        embedded = embed(tokens, model.seed, model.d_model)
    positions = (
        sinusoidal_positions(count, model.d_model)
        if switches.positions
        else np.zeros_like(embedded)
    )
    x = edited(embedded + positions, typed_over(switches, "x"))  # [pos, d_model]
    all_weights = own_weights(request)
    history = None
    if request.learning is not None:
        first, history = learned(request.learning, x, mask, all_weights[0], model.heads, switches)
        all_weights = (first, *all_weights[1:])
    layers = []
    for index, own in enumerate(all_weights):
        weights = edited_weights(own, switches, index)
        with np.errstate(over="ignore", invalid="ignore"):  # _check_finite says it in words
            layer = attend(x, weights, model.heads, mask, switches, index)
        _check_finite(index, layer, request)
        layers.append(layer)
        x = layer.resid_post
    result = Trace(request, tokens, embedded, positions, mask, tuple(layers), history)
    _freeze(result)
    return result


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
            _("choose {low} or more").format(low=low)
            if high is None
            else _("choose {low} to {high}").format(low=low, high=high),
        )


def check_blocked(mask: Mask, count: int) -> None:
    """Raise SettingError unless every blocked key is one of `count` tokens."""
    for index in sorted(mask.blocked):
        if not 0 <= index < count:
            raise SettingError(
                _("blocked key {index} is out of range").format(index=index),
                _("choose {low} to {high}").format(low=0, high=count - 1),
            )


def check_wishes(request: Request, tokens: Tokens) -> None:
    """Raise SettingError unless every wish fits the tokens and the mask."""
    if request.learning is not None:
        wished_rows(request.learning.wishes, _mask_for(request, tokens))


def _mask_for(request: Request, tokens: Tokens) -> BoolArray:
    """[query, key]; padding is blocked too."""
    mask = request.switches.mask
    blocked = mask.blocked | tokens.padding
    return build_mask(len(tokens), Mask(mask.causal, mask.window, blocked))


def needed_bytes(model: ModelSpec | GivenModel, count: int) -> int:
    """Bytes of float64 that a trace of `count` tokens and its weights keep."""
    square = 3 * model.heads * count * count  # dot, attn_scores, pattern
    width = max(model.d_model, model.heads * model.d_head)
    rows = 8 * count * width  # resid_pre, q, k, v, z, attn_out, resid_post, scratch
    weights = 4 * model.d_model * width
    return 8 * model.layers * (square + rows + weights)


def _check_budget(model: ModelSpec | GivenModel, count: int) -> None:
    needed = needed_bytes(model, count)
    if needed > BUDGET_BYTES:
        raise BudgetError(
            _(
                "{tokens} × {layers} × {heads} with d_model {d_model:,} need {gib:,.1f} GiB of the"
                " 1 GiB budget"
            ).format(
                tokens=counts.tokens(count),
                layers=counts.layers(model.layers),
                heads=counts.heads(model.heads),
                d_model=model.d_model,
                gib=needed / 2**30,
            ),
            _("use a smaller model") if count == 1 else _("use a shorter text or a smaller model"),
        )


def _check_finite(index: int, layer: LayerTrace, request: Request) -> None:
    hint = _("choose a temperature nearer to 1")
    if isinstance(request.model, GivenModel):
        hint = _("choose a temperature nearer to 1 or smaller numbers")
    if request.learning is not None:
        hint = _("choose a temperature nearer to 1 or a smaller learning rate")
    elif request.switches.edits:
        hint = _("choose a temperature nearer to 1 or type smaller numbers")
    for name in ("attn_scores", "pattern", "resid_post"):
        if not np.isfinite(getattr(layer, name)).all():
            raise SettingError(
                _("layer {layer}: {name} is not finite at temperature {temperature:g}").format(
                    layer=index, name=name, temperature=request.switches.temperature
                ),
                hint,
            )


def _freeze(result: Trace) -> None:
    for array in (result.embed, result.pos_embed, result.mask):
        array.setflags(write=False)
    for layer in result.layers:
        for name in layer.__dataclass_fields__:
            value = getattr(layer, name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
