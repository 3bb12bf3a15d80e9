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
from core.errors import ModelError, SettingError
from core.language import _
from core.stacks import rules_of
from core.transformer_types import BlockTrace, StackTrace
from core.types import (
    Attention,
    BoolArray,
    LayerTrace,
    Mask,
    Request,
    Side,
    Switches,
    Tokens,
    Trace,
)

_SNAPSHOT = re.compile(r"models--(?P<owner>.+)--(?P<name>.+)/snapshots/[0-9a-f]+")
_PLAIN_NAMES = ("model", "models", "weights")  # of a folder; the one around it says more


def describe(path: str) -> CheckpointModel:
    """Open a model's folder or ``.gguf`` file as far as to say what it is; no weight is read.

    Raises
    ------
    ModelError
        It cannot be opened, has no tokenizer, or is an encoder–decoder.
    """
    path = os.path.abspath(path)
    model = opened(path)
    if model.encoder is not None and model.decoder is not None:
        raise encoder_decoder(path, model.family)
    model.tokenizer  # noqa: B018 - refused here where there is none
    facts = model.facts
    return CheckpointModel(
        path,
        name_of(path),
        model.family,
        len(facts.layers),
        facts.heads,
        facts.d_model,
        facts.d_head,
        facts.causal,
        tuple(layer.window for layer in facts.layers),
    )


def encoder_decoder(name: str, family: str) -> ModelError:
    """Why a model with two stacks is not shown."""
    return ModelError(
        _("{name} is an encoder–decoder ({family}), which cannot be shown yet").format(
            name=shown(name), family=family
        ),
        _("open an encoder such as BERT or a decoder such as GPT-2"),
    )


@lru_cache(maxsize=2)
def opened(path: str) -> Model:
    """The model at an absolute path; its weights stay with it once they are read."""
    return open_model(path)


def name_of(path: str) -> str:
    """What people call it: owner and name in Hugging Face's cache, else the last telling part."""
    found = _SNAPSHOT.search(path)
    if found:
        return shown(f"{found['owner']}/{found['name']}")
    parts = Path(path).parts
    plain = len(parts) > 2 and parts[-1].lower() in _PLAIN_NAMES
    return shown(parts[-2 if plain else -1].removesuffix(".gguf"))


def check_trained(request: Request) -> None:
    """Raise SettingError for what a real model cannot be run with; keys may be blocked."""
    switches = request.switches
    plain = Switches(Mask(blocked=switches.mask.blocked))
    if switches != plain:
        raise SettingError(
            _("trained weights go with the attention that they were trained in"),
            _("leave all switches but blocked keys out"),
        )
    if request.learning is not None:
        raise SettingError(_("a trained model learns no wishes"), _("leave the wishes out"))
    if request.target is not None:
        raise SettingError(
            _("{name} has no decoder for a target").format(name=request.model.name),
            _("leave the target out"),
        )
    if (request.tokenizer, request.as_saved) != (Request("").tokenizer, False):
        raise SettingError(
            _("a trained model goes with its own tokenizer"), _("leave the tokenizer out")
        )
    assert isinstance(request.model, CheckpointModel)  # noqa: S101 - as the caller knows
    rule = opened(request.model.path).facts.position_rule
    if switches.mask.blocked and rule == "unpadded-mask":
        raise SettingError(
            _("a blocked key would move the positions of the others in {family}").format(
                family=request.model.family
            ),
            _("block none"),
        )


def trained_bytes(model: CheckpointModel, count: int) -> int:
    """Bytes of float32 that a trace of `count` tokens keeps."""
    return run_bytes(opened(model.path).facts, count, 0, keep_dot=True)


def trace_trained(model: CheckpointModel, request: Request, tokens: Tokens) -> Trace:
    """Run a real model over tokens.

    Raises
    ------
    SettingError, BudgetError, ModelError
        As `core.checkpoints.model.Model.run`.
    """
    blocked = request.switches.mask.blocked | tokens.padding
    ids = [token.id for token in tokens]
    stack = opened(model.path).run(ids, blocked, keep_dot=True).last
    masks = _masks(stack, model, len(tokens))
    absent = np.zeros_like(stack.embed)
    side = Side(tokens, stack.embed, absent if stack.pos_embed is None else stack.pos_embed)
    layers = tuple(map(_layer, stack.blocks))
    attention = Attention("encoder", side, side, rules_of(model, blocked), masks, layers)
    return Trace(request, attention, final=stack.final)


def _masks(stack: StackTrace, model: CheckpointModel, count: int) -> tuple[BoolArray, ...]:
    everything = np.ones((count, count), dtype=np.bool_)
    found = (stack.masks[window] for window in model.windows)
    return tuple(everything if mask is None else mask for mask in found)


def _layer(block: BlockTrace) -> LayerTrace:
    assert block.dot is not None  # noqa: S101 - it was asked for
    return LayerTrace(
        None,
        block.resid_pre,
        block.q,
        block.k,
        block.v,
        block.dot,
        block.attn_scores,
        block.pattern,
        block.z,
        block.attn_out,
        block.resid_post,
    )
