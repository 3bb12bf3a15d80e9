"""The stacks of layers: an encoder over a text, and a decoder over a target that looks at it.

Vaswani et al. 2017, "Attention is all you need", section 3.1, without the MLPs: a layer of the
encoder is self-attention, a layer of the decoder is masked self-attention and then cross-attention
to what leaves the encoder; "Add & Norm" follows each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from core.attention import attend, build_mask
from core.edits import edited, edited_weights, switches_of, typed_over
from core.errors import SettingError
from core.language import N_, _
from core.progress import LAYERS, step
from core.types import (
    AnyModel,
    Array,
    Attention,
    BoolArray,
    CheckpointModel,
    GivenModel,
    LayerTrace,
    LayerWeights,
    Mask,
    ModelSpec,
    Request,
    Side,
    Stack,
)
from core.weights import own_decoder_weights, own_weights

if TYPE_CHECKING:
    from core.learning_types import History

_PLACES = {
    "encoder": N_("layer {n}"),
    "decoder": N_("decoder layer {n}"),
    "cross": N_("cross layer {n}"),
}


def mask_of(
    attention: str,
    mask: Mask,
    source_padding: frozenset[int] = frozenset(),
    target_padding: frozenset[int] = frozenset(),
) -> Mask:
    """What holds in one of `ATTENTIONS` under the mask that is switched on, padding blocked.

    The mask is the encoder's. Its blocked keys are tokens of the text, so cross-attention has them
    too. The decoder's self-attention is causal, whatever is switched.
    """
    if attention == "decoder":
        return Mask(causal=True, blocked=target_padding)
    blocked = mask.blocked | source_padding
    return Mask(blocked=blocked) if attention == "cross" else replace(mask, blocked=blocked)


def stack_of(model: AnyModel, attention: str) -> ModelSpec | GivenModel | Stack:
    """What has the layers, heads and d_head of one of `ATTENTIONS`: a real model's two differ."""
    return model.stack(attention) if isinstance(model, CheckpointModel) else model


def rules_of(
    model: CheckpointModel, blocked: frozenset[int], attention: str = "encoder"
) -> tuple[Mask, ...]:
    """Which keys may be attended to in each layer of one of a real model's `ATTENTIONS`.

    Its windows count the query's own position, those of a `Mask` do not. Blocked are tokens of the
    text.
    """
    stack = model.stack(attention)
    if attention == "cross":
        return (Mask(blocked=blocked),) * stack.layers
    mine = blocked if attention == "encoder" else frozenset()
    return tuple(
        Mask(stack.causal, None if window is None else window - 1, mine) for window in stack.windows
    )


def encode(request: Request, text: Side) -> tuple[Attention, History | None]:
    """The encoder's self-attention, layer after layer, and what its first layer has learned.

    Raises
    ------
    SettingError
        A layer's numbers are no longer finite, or there can be no identity projections.
    """
    rule = mask_of("encoder", request.switches.mask, text.tokens.padding)
    mask = build_mask(len(text.tokens), rule)
    switches = request.switches
    x = edited(text.embed + text.pos_embed, typed_over(switches, "x"))  # [pos, d_model]
    all_weights, history, layers = own_weights(request), None, []
    if request.learning is not None:
        from core.learning import learned  # most sessions learn nothing

        heads = request.model.heads
        first, history = learned(request.learning, x, mask, all_weights[0], heads, switches)
        all_weights = (first, *all_weights[1:])
    for index, own in enumerate(all_weights):
        step(LAYERS, index, len(all_weights))
        weights = edited_weights(own, switches, index)
        layers.append(_layer("encoder", index, request, x, weights, mask))
        x = np.asarray(layers[-1].resid_post)
    return _attention("encoder", text, text, rule, mask, layers), history


def decode(request: Request, encoder: Attention, target: Side) -> tuple[Attention, Attention]:
    """The decoder's two attentions: of the target to itself, and to what leaves the encoder.

    Raises
    ------
    SettingError
        A layer's numbers are no longer finite.
    """
    text, padding = encoder.queries, target.tokens.padding
    causal = mask_of("decoder", request.switches.mask, target_padding=padding)
    open_ = mask_of("cross", request.switches.mask, text.tokens.padding)
    count, source = len(target.tokens), np.asarray(encoder.layers[-1].resid_post)  # [key, d_model]
    own_mask, cross_mask = build_mask(count, causal), build_mask(count, open_, len(text.tokens))
    x: Array = target.embed + target.pos_embed  # [query, d_model]
    own, cross = [], []
    for index, (to_itself, to_source) in enumerate(own_decoder_weights(request)):
        step(LAYERS, index, request.model.layers)
        own.append(_layer("decoder", index, request, x, to_itself, own_mask))
        x = np.asarray(own[-1].resid_post)
        cross.append(_layer("cross", index, request, x, to_source, cross_mask, source))
        x = np.asarray(cross[-1].resid_post)
    return (
        _attention("decoder", target, target, causal, own_mask, own),
        _attention("cross", target, text, open_, cross_mask, cross),
    )


def _attention(
    name: str, queries: Side, keys: Side, rule: Mask, mask: BoolArray, layers: Sequence[LayerTrace]
) -> Attention:
    """An attention with one mask for all its layers."""
    count = len(layers)
    return Attention(name, queries, keys, (rule,) * count, (mask,) * count, tuple(layers))


def _layer(
    attention: str,
    index: int,
    request: Request,
    x: Array,
    weights: LayerWeights,
    mask: BoolArray,
    source: Array | None = None,
) -> LayerTrace:
    """One layer, whose numbers are finite."""
    with np.errstate(over="ignore", invalid="ignore"):  # said in words below
        switches = switches_of(attention, request.switches)
        layer = attend(x, weights, request.model.heads, mask, switches, index, source)
    for name in ("attn_scores", "pattern", "resid_post"):
        if not np.isfinite(getattr(layer, name)).all():
            hint = _("choose a temperature nearer to 1")
            if isinstance(request.model, GivenModel):
                hint = _("choose a temperature nearer to 1 or smaller numbers")
            if request.learning is not None:
                hint = _("choose a temperature nearer to 1 or a smaller learning rate")
            elif request.switches.edits:
                hint = _("choose a temperature nearer to 1 or type smaller numbers")
            raise SettingError(
                _("{place}: {name} is not finite at temperature {temperature:g}").format(
                    place=_(_PLACES[attention]).format(n=index),
                    name=name,
                    temperature=request.switches.temperature,
                ),
                hint,
            )
    return layer
