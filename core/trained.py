"""Traces of real models: their attention, as they were trained, in the words of `core.types`."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

import numpy as np

from core.checkpoint_model import CheckpointModel
from core.checkpoints.budget import run_bytes
from core.checkpoints.model import Model, open_model
from core.checkpoints.plain import shown
from core.errors import SettingError
from core.freeze import frozen
from core.hiding import check_maskable, hide
from core.language import _
from core.lazy import RowArray
from core.progress import offer
from core.stacks import rules_of
from core.transformer_types import (
    AttentionTrace,
    BlockTrace,
    Facts,
    Float32,
    StackPart,
    StackTrace,
)
from core.types import (
    Attention,
    LayerTrace,
    Mask,
    Request,
    Side,
    Stack,
    Switches,
    Tokens,
    Trace,
)

_SNAPSHOT = re.compile(r"models--(?P<owner>.+)--(?P<name>.+)/snapshots/[0-9a-f]+")
_BLOB = re.compile("sha256-[0-9a-f]{64}")  # a file of Ollama's; nothing in it says the name
_PLAIN_NAMES = ("model", "models", "weights")  # of a folder; the one around it says more


def describe(path: str) -> CheckpointModel:
    """Open a model's folder or ``.gguf`` file as far as to say what it is; no weight is read.

    Raises
    ------
    ModelError
        It cannot be opened, or has no tokenizer.
    """
    path = os.path.abspath(path)
    model = opened(path)
    model.tokenizer  # noqa: B018 - refused here where there is none
    both = model.encoder is not None and model.decoder is not None
    return CheckpointModel(
        path,
        name_of(path),
        model.family,
        model.facts.d_model,
        stack_in_short(model.facts),
        stack_in_short(model.decoder) if model.decoder is not None and both else None,
        model.has_head,
        model.mask_token.piece if model.mask_token else None,
    )


def stack_in_short(facts: Facts) -> Stack:
    """What can be looked at of a stack."""
    windows = tuple(layer.window for layer in facts.layers)
    return Stack(len(facts.layers), facts.heads, facts.d_head, facts.causal, windows)


@lru_cache(maxsize=8)
def opened(path: str) -> Model:
    """The model at an absolute path; its weights stay with it once they are read."""
    return open_model(path)


def name_of(path: str) -> str:
    """What people call it: owner and name in Hugging Face's cache, else the last telling part."""
    found = _SNAPSHOT.search(path)
    if found:
        return shown(f"{found['owner']}/{found['name']}")
    parts = Path(path).parts
    if _BLOB.fullmatch(parts[-1]):  # whole it would leave a title no room for anything else
        return f"{parts[-1][:19]}…"
    plain = len(parts) > 2 and parts[-1].lower() in _PLAIN_NAMES
    return shown(parts[-2 if plain else -1].removesuffix(".gguf"))


def check_trained(request: Request) -> None:
    """Raise SettingError for what a real model cannot be run with; keys may be blocked."""
    switches = request.switches
    plain = Switches(Mask(blocked=switches.mask.blocked), masked=switches.masked)
    if switches != plain:
        raise SettingError(
            _("trained weights go with the attention that they were trained in"),
            _("leave all switches but blocked keys out"),
        )
    if request.learning is not None:
        raise SettingError(_("a trained model learns no wishes"), _("leave the wishes out"))
    if (request.tokenizer, request.as_saved) != (Request("").tokenizer, False):
        raise SettingError(
            _("a trained model goes with its own tokenizer"), _("leave the tokenizer out")
        )
    assert isinstance(request.model, CheckpointModel)  # noqa: S101 - as the caller knows
    check_maskable(request)
    if request.target is not None and request.model.writes is None:
        raise no_target(request.model)
    rule = opened(request.model.path).facts.position_rule
    if switches.mask.blocked and rule == "unpadded-mask":
        raise SettingError(
            _("a blocked key would move the positions of the others in {family}").format(
                family=request.model.family
            ),
            _("block none"),
        )


def no_target(model: CheckpointModel) -> SettingError:
    """Why a model with one stack takes no target."""
    return SettingError(
        _("{name} ({family}) is no encoder–decoder, so it takes no target").format(
            name=model.name, family=model.family
        ),
        _("leave the target out"),
    )


def target_tokens(model: CheckpointModel, text: str) -> Tokens:
    """What the decoder reads of a target, its start token first; a blank one is that alone.

    Raises
    ------
    TextError, TokenizerError, ModelError
        As `core.checkpoints.model.Model.target_tokens`.
    """
    return opened(model.path).target_tokens(text)


def trained_bytes(model: CheckpointModel, count: int, target: int = 0) -> int:
    """Bytes of float32 that a trace of `count` tokens, and `target` of the target, keeps."""
    found = opened(model.path)
    needed = run_bytes(found.facts, count, 0)
    if target and found.decoder is not None:
        needed += run_bytes(found.decoder, target, count)
    return needed


def trace_trained(
    model: CheckpointModel, request: Request, tokens: Tokens, target: Tokens | None = None
) -> Trace:
    """Run a real model over the tokens of a text, and of a target where there is one.

    Without a target it offers, layer by layer, the trace so far.

    Raises
    ------
    SettingError, BudgetError, ModelError
        As `core.checkpoints.model.Model.run`.
    """
    blocked = request.switches.mask.blocked | tokens.padding
    tokens = hide(tokens, request.switches.masked, opened(model.path).mask_token)
    ids, writing = ([token.id for token in each or ()] for each in (tokens, target))

    def so_far(earlier: StackTrace | None, part: StackPart) -> None:
        def made() -> Trace:
            attention = _self_attention("encoder", model, part, tokens, blocked)
            return frozen(Trace(request, attention, whole=False, earlier=earlier))

        offer(len(part.blocks), made)

    ran = opened(model.path).run(ids, blocked, writing, so_far=so_far if target is None else None)
    read = ran.encoder or ran.last
    encoder = _self_attention("encoder", model, read, tokens, blocked)
    if target is None or ran.decoder is None:
        return Trace(request, encoder, run=ran)
    decoder = _self_attention("decoder", model, ran.decoder, target, blocked)
    cross = _cross(model, ran.decoder, read, encoder, decoder)
    return Trace(request, encoder, decoder, cross, run=ran)


def _self_attention(
    name: str, model: CheckpointModel, stack: StackPart, tokens: Tokens, blocked: frozenset[int]
) -> Attention:
    """The attention of a stack's tokens to themselves."""
    absent = np.zeros_like(stack.embed)
    side = Side(tokens, stack.embed, absent if stack.pos_embed is None else stack.pos_embed)
    everything = np.ones((len(tokens), len(tokens)), dtype=np.bool_)
    found = (stack.masks[window] for window in model.stack(name).windows)
    masks = tuple(everything if mask is None else mask for mask in found)
    layers = tuple(_layer(block, block.resid_pre, _left(block)) for block in stack.blocks)
    return Attention(name, side, side, rules_of(model, blocked, name), masks, layers)


def _cross(
    model: CheckpointModel,
    written: StackTrace,
    read: StackTrace,
    encoder: Attention,
    decoder: Attention,
) -> Attention:
    """A decoder's attention to what the encoder made."""
    asks, answers = decoder.queries, encoder.queries
    rules = rules_of(model, encoder.rule.blocked, "cross")
    mask = np.ones((len(asks.tokens), len(answers.tokens)), dtype=np.bool_)
    mask[:, sorted(rules[0].blocked)] = False
    layers = tuple(
        _layer(block.cross, block.resid_mid, block.resid_post, read.final)
        for block in written.blocks
        if block.cross is not None and block.resid_mid is not None
    )
    return Attention("cross", asks, answers, rules, (mask,) * len(layers), layers)


def _left(block: BlockTrace) -> RowArray:
    """What self-attention leaves: in a decoder for cross-attention, else for the next layer."""
    return block.resid_post if block.resid_mid is None else block.resid_mid


def _layer(
    made: AttentionTrace, entered: RowArray, left: RowArray, source: Float32 | None = None
) -> LayerTrace:
    return LayerTrace(
        None,
        entered,
        made.q,
        made.k,
        made.v,
        made.dot,
        made.attn_scores,
        made.pattern,
        made.z,
        made.attn_out,
        left,
        source,
    )
