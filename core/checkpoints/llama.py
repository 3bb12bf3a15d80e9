"""Llama 1–3 (Touvron et al. 2023), SmolLM: RMSNorm, rotary positions, grouped heads, gated MLP."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from core.activations import ACTIVATIONS
from core.checkpoints.config import Config
from core.checkpoints.plan import (
    ModelPlan,
    Source,
    StackPlan,
    causal_head,
    find_prefix,
    linear,
    norm,
)
from core.checkpoints.rope import read_rope
from core.transformer_types import (
    AttentionWeights,
    BlockWeights,
    EmbeddingParts,
    Facts,
    LayerFacts,
    MlpWeights,
)

PREFIXES = ("", "model.")


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    facts = gated_facts(config)
    bias = config.flag("attention_bias", default=False)
    mlp_bias = config.flag("mlp_bias", default=False)
    prefix = find_prefix(names, "embed_tokens.weight", PREFIXES)
    d_ff = config.size("intermediate_size")
    blocks = tuple(
        gated_block(f"{prefix}layers.{index}.", facts, d_ff, bias, bias, mlp_bias)
        for index in range(len(facts.layers))
    )
    return gated_model("Llama", config, names, prefix, facts, blocks, tied=False)


def gated_facts(config: Config, activation: str = "silu", kind: str | None = None) -> Facts:
    """Facts of Llama, and of those that took over its configuration.

    `kind` is the kind of layer whose rotation they get, where a model has several.
    """
    d_model = config.size("hidden_size")
    heads = config.size("num_attention_heads")
    kv_heads = config.size("num_key_value_heads", default=heads)
    if heads % kv_heads:
        raise config.refusal("num_key_value_heads", kv_heads)
    d_head = config.optional_size("head_dim")
    if d_head is None:
        d_head = d_model // heads
        if d_model % heads:
            raise config.refusal("num_attention_heads", heads)
    layer = LayerFacts(scale=d_head**-0.5, rotary=read_rope(config, d_head, kind=kind))
    return Facts(
        heads=heads,
        kv_heads=kv_heads,
        d_model=d_model,
        d_head=d_head,
        vocabulary=config.size("vocab_size"),
        limit=config.size("max_position_embeddings", default=2048),
        causal=True,
        layers=(layer,) * config.size("num_hidden_layers"),
        norm="rms",
        epsilon=config.number("rms_norm_eps", default=1e-6),
        activation=config.word(
            "hidden_activation", "hidden_act", default=activation, known=ACTIVATIONS
        ),
    )


def with_window(facts: Facts, window: int | None, kinds: list[str] | None = None) -> Facts:
    """Facts with a window in every layer, or in those whose kind is ``sliding_attention``."""
    layers = tuple(
        replace(layer, window=window)
        if kinds is None or kinds[index] == "sliding_attention"
        else layer
        for index, layer in enumerate(facts.layers)
    )
    return replace(facts, layers=layers)


def layer_kinds(config: Config, count: int, default: list[str]) -> list[str]:
    """The kind of every layer, ``full_attention`` or ``sliding_attention``."""
    kinds = config.get("layer_types", default=default)
    known = ("full_attention", "sliding_attention")
    if not isinstance(kinds, list) or len(kinds) != count or any(k not in known for k in kinds):
        raise config.refusal("layer_types", kinds)
    return kinds


def gated_block(
    at: str, facts: Facts, d_ff: int, qkv_bias: bool, o_bias: bool, mlp_bias: bool = False
) -> BlockWeights[Source]:
    """Sources of one layer."""
    size, wide, narrow = facts.d_model, facts.heads * facts.d_head, facts.kv_heads * facts.d_head
    return BlockWeights(
        AttentionWeights(
            q=linear(f"{at}self_attn.q_proj", size, wide, qkv_bias),
            k=linear(f"{at}self_attn.k_proj", size, narrow, qkv_bias),
            v=linear(f"{at}self_attn.v_proj", size, narrow, qkv_bias),
            o=linear(f"{at}self_attn.o_proj", wide, size, o_bias),
            before=norm(f"{at}input_layernorm", size, bias=False),
        ),
        MlpWeights(
            up=linear(f"{at}mlp.up_proj", size, d_ff, mlp_bias),
            gate=linear(f"{at}mlp.gate_proj", size, d_ff, mlp_bias),
            down=linear(f"{at}mlp.down_proj", d_ff, size, mlp_bias),
            before=norm(f"{at}post_attention_layernorm", size, bias=False),
        ),
    )


def gated_model(
    family: str,
    config: Config,
    names: Collection[str],
    prefix: str,
    facts: Facts,
    blocks: tuple[BlockWeights[Source], ...],
    tied: bool,
) -> ModelPlan:
    """The model around its layers."""
    table = Source(f"{prefix}embed_tokens.weight", (facts.vocabulary, facts.d_model))
    final = norm(f"{prefix}norm", facts.d_model, bias=False)
    stack = StackPlan(facts, table, EmbeddingParts(), blocks, final)
    head = causal_head(config, table, "lm_head.weight", names, tied)
    return ModelPlan(family, prefix, decoder=stack, head=head)
