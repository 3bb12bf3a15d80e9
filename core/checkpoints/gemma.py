"""Gemma 1–3 (Gemma Team 2024, 2025): Llama with a scaled embedding, gains of 1 + w, more norms."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from core.checkpoints.config import Config
from core.checkpoints.llama import (
    PREFIXES,
    gated_block,
    gated_facts,
    gated_model,
    layer_kinds,
    with_window,
)
from core.checkpoints.plan import ModelPlan, Source, find_prefix, norm
from core.checkpoints.qwen import with_head_norms
from core.checkpoints.rope import make_rope, read_rope
from core.transformer_types import AttentionWeights, BlockWeights, Facts, Float32, MlpWeights, Norm

_WORDS = {"gemma": "Gemma", "gemma2": "Gemma 2", "gemma3_text": "Gemma 3"}


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    generation = config.get("model_type")
    config.expect(use_bidirectional_attention=False)
    bias = config.flag("attention_bias", default=False)
    facts = _facts(config, generation)
    prefix = find_prefix(names, "embed_tokens.weight", PREFIXES)
    d_ff = config.size("intermediate_size")
    blocks = []
    for index in range(len(facts.layers)):
        at = f"{prefix}layers.{index}."
        block = gated_block(at, facts, d_ff, bias, bias)
        if generation != "gemma":
            block = _with_norms_around(block, at, facts)
        if generation == "gemma3_text":
            block = with_head_norms(block, at, facts)
        blocks.append(BlockWeights(_raised_attention(block.attention), _raised_mlp(block.mlp)))
    family = _WORDS[generation]
    made = gated_model(family, config, names, prefix, facts, tuple(blocks), tied=True)
    assert made.decoder is not None  # noqa: S101 - gated_model makes one
    return replace(made, decoder=replace(made.decoder, final=_raised(made.decoder.final)))


def _facts(config: Config, generation: str) -> Facts:
    kind = "full_attention" if generation == "gemma3_text" else None
    facts = gated_facts(config, "gelu_pytorch_tanh", kind)
    if facts.activation == "gelu":  # as the first files said; the model was always trained so
        facts = replace(facts, activation="gelu_pytorch_tanh")
    facts = replace(facts, embedding_scale=math.sqrt(facts.d_model))
    if generation == "gemma":
        return facts
    scale = config.number("query_pre_attn_scalar", default=256) ** -0.5
    facts = replace(facts, layers=tuple(replace(layer, scale=scale) for layer in facts.layers))
    window = config.optional_size("sliding_window", absent=4096)
    if generation == "gemma2":
        kinds = layer_kinds(config, len(facts.layers), _pattern(len(facts.layers), 2))
        facts = replace(facts, softcap=_cap(config, "attn_logit_softcapping", 50.0))
        facts = replace(facts, head_softcap=_cap(config, "final_logit_softcapping", 30.0))
        return with_window(facts, window, kinds)
    config.expect(attn_logit_softcapping=False)  # null: nothing computes it for Gemma 3
    every = config.size("sliding_window_pattern", "_sliding_window_pattern", default=6)
    kinds = layer_kinds(config, len(facts.layers), _pattern(len(facts.layers), every))
    facts = replace(facts, head_softcap=_cap(config, "final_logit_softcapping", None))
    return with_window(_two_rotations(config, facts, kinds), window, kinds)


def _pattern(count: int, every: int) -> list[str]:
    """Full attention in each `every`-th layer."""
    return [
        "sliding_attention" if (index + 1) % every else "full_attention" for index in range(count)
    ]


def _cap(config: Config, name: str, absent: float | None) -> float | None:
    if not config.has(name):
        return absent
    return config.optional_number(name)


def _two_rotations(config: Config, facts: Facts, kinds: list[str]) -> Facts:
    """Layers with a window turn faster than the others (and only the others' turn is scaled)."""
    local = config.number("rope_local_base_freq", default=10000.0)
    parameters = config.get("rope_parameters", default={})
    by_kind = {"full_attention": read_rope(config, facts.d_head, 1e6, kind="full_attention")}
    if "sliding_attention" in parameters:
        by_kind["sliding_attention"] = read_rope(
            config, facts.d_head, local, kind="sliding_attention"
        )
    else:
        by_kind["sliding_attention"] = make_rope(config, {}, facts.d_head, local)
    layers = tuple(
        replace(layer, rotary=by_kind[kind])
        for layer, kind in zip(facts.layers, kinds, strict=True)
    )
    return replace(facts, layers=layers)


def _with_norms_around(block: BlockWeights[Source], at: str, facts: Facts) -> BlockWeights[Source]:
    """Norms behind attention and MLP too; the one before the MLP has another name."""

    def around(name: str) -> Norm[Source]:
        return norm(f"{at}{name}_layernorm", facts.d_model, bias=False)

    return BlockWeights(
        replace(block.attention, after=around("post_attention")),
        replace(block.mlp, before=around("pre_feedforward"), after=around("post_feedforward")),
    )


def _raised(norm: Norm[Source] | None) -> Norm[Source] | None:
    """The file has the gain less 1."""
    if norm is None or norm.gain is None:
        return norm
    return Norm(replace(norm.gain, take=_one_more))


def _one_more(stored: Float32) -> Float32:
    return stored + 1


def _raised_attention(weights: AttentionWeights[Source]) -> AttentionWeights[Source]:
    return replace(
        weights,
        q_norm=_raised(weights.q_norm),
        k_norm=_raised(weights.k_norm),
        before=_raised(weights.before),
        after=_raised(weights.after),
    )


def _raised_mlp(weights: MlpWeights[Source]) -> MlpWeights[Source]:
    return replace(weights, before=_raised(weights.before), after=_raised(weights.after))
