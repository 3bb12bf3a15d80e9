"""Qwen2 and Qwen3 (Yang et al. 2024, 2025): Llama with biases, or with norms of q and k."""

from __future__ import annotations

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
from core.transformer_types import BlockWeights, Facts


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    third = config.get("model_type") == "qwen3"
    facts = _windows(config, gated_facts(config))
    prefix = find_prefix(names, "embed_tokens.weight", PREFIXES)
    d_ff = config.size("intermediate_size")
    bias = config.flag("attention_bias", default=False) if third else False
    blocks = []
    for index in range(len(facts.layers)):
        at = f"{prefix}layers.{index}."
        block = gated_block(at, facts, d_ff, qkv_bias=bias or not third, o_bias=bias)
        blocks.append(with_head_norms(block, at, facts) if third else block)
    family = "Qwen3" if third else "Qwen2"
    return gated_model(family, config, names, prefix, facts, tuple(blocks), tied=False)


def with_head_norms(block: BlockWeights[Source], at: str, facts: Facts) -> BlockWeights[Source]:
    """The layer with a norm for each head's q and k."""
    attention = replace(
        block.attention,
        q_norm=norm(f"{at}self_attn.q_norm", facts.d_head, bias=False),
        k_norm=norm(f"{at}self_attn.k_norm", facts.d_head, bias=False),
    )
    return replace(block, attention=attention)


def _windows(config: Config, facts: Facts) -> Facts:
    """A window in the layers from `max_window_layers` on, unless each layer's kind is given."""
    window = config.optional_size("sliding_window", absent=4096)
    if not config.flag("use_sliding_window", default=False):
        window = None
    first = config.get("max_window_layers", default=28)
    if isinstance(first, bool) or not isinstance(first, int):
        raise config.refusal("max_window_layers", first)
    count = len(facts.layers)
    sliding = [window is not None and index >= first for index in range(count)]
    default = ["sliding_attention" if slides else "full_attention" for slides in sliding]
    kinds = layer_kinds(config, count, default)
    if window is None and "sliding_attention" in kinds:
        raise config.refusal("layer_types", kinds)
    return with_window(facts, window, kinds)
