"""Phi-3 (Abdin et al. 2024): Llama with q, k and v in one tensor, gate and up in another."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from core.checkpoints.config import Config
from core.checkpoints.llama import PREFIXES, gated_facts, gated_model, with_window
from core.checkpoints.plan import ModelPlan, Source, find_prefix, linear, norm, part
from core.checkpoints.rope import trained_limit
from core.transformer_types import AttentionWeights, BlockWeights, Facts, MlpWeights


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    config.expect(full_attn_mod=1, interpolate_factor=1)
    facts = replace(gated_facts(config), limit=trained_limit(config))
    facts = with_window(facts, config.optional_size("sliding_window"))
    prefix = find_prefix(names, "embed_tokens.weight", PREFIXES)
    d_ff = config.size("intermediate_size")
    blocks = tuple(
        _block(f"{prefix}layers.{index}.", facts, d_ff) for index in range(len(facts.layers))
    )
    return gated_model("Phi-3", config, names, prefix, facts, blocks, tied=False)


def _block(at: str, facts: Facts, d_ff: int) -> BlockWeights[Source]:
    size, wide, narrow = facts.d_model, facts.heads * facts.d_head, facts.kv_heads * facts.d_head
    qkv, shape = f"{at}self_attn.qkv_proj", (wide + 2 * narrow, size)
    gate_up, both = f"{at}mlp.gate_up_proj", (2 * d_ff, size)
    return BlockWeights(
        AttentionWeights(
            q=part(qkv, shape, slice(0, wide)),
            k=part(qkv, shape, slice(wide, wide + narrow)),
            v=part(qkv, shape, slice(wide + narrow, None)),
            o=linear(f"{at}self_attn.o_proj", wide, size, bias=False),
            before=norm(f"{at}input_layernorm", size, bias=False),
        ),
        MlpWeights(
            gate=part(gate_up, both, slice(0, d_ff)),
            up=part(gate_up, both, slice(d_ff, None)),
            down=linear(f"{at}mlp.down_proj", d_ff, size, bias=False),
            before=norm(f"{at}post_attention_layernorm", size, bias=False),
        ),
    )
