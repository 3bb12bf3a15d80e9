"""OPT (Zhang et al. 2022): learned positions from row 2 on; its smallest sizes differ in norms."""

from __future__ import annotations

from collections.abc import Collection

from core.activations import ACTIVATIONS
from core.checkpoints.config import Config
from core.checkpoints.plan import (
    HeadPlan,
    ModelPlan,
    Source,
    StackPlan,
    find_prefix,
    linear,
    norm,
    unembedding,
)
from core.transformer_types import (
    AttentionWeights,
    BlockWeights,
    EmbeddingParts,
    Facts,
    HeadParts,
    LayerFacts,
    MlpWeights,
)

_OFFSET = 2


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    prefixes = ("", "decoder.", "model.decoder.")
    prefix = find_prefix(names, "embed_tokens.weight", prefixes)
    config.expect(layer_norm_elementwise_affine=True)
    facts = _facts(config)
    size = facts.d_model
    width = config.size("word_embed_proj_dim", default=size)
    pre = config.flag("do_layer_norm_before", default=True)
    bias = config.flag("enable_bias", default=True)
    d_ff = config.size("ffn_dim")
    table = Source(f"{prefix}embed_tokens.weight", (facts.vocabulary, width))
    narrow = width != size
    final_norm = pre and not config.flag("_remove_final_layer_norm", default=False)
    stack = StackPlan(
        facts,
        table,
        EmbeddingParts(
            positions=Source(
                f"{prefix}embed_positions.weight", ((facts.limit or 0) + _OFFSET, size)
            ),
            project_in=linear(f"{prefix}project_in", width, size, bias=False) if narrow else None,
        ),
        tuple(
            _block(f"{prefix}layers.{index}.", size, d_ff, pre, bias)
            for index in range(len(facts.layers))
        ),
        final=norm(f"{prefix}final_layer_norm", size) if final_norm else None,
    )
    out = linear(f"{prefix}project_out", size, width, bias=False) if narrow else None
    rows = unembedding(config, table, "lm_head.weight", names, tied=True)
    head = None if rows is None else HeadPlan(rows, HeadParts(project=out))
    return ModelPlan("OPT", prefix, decoder=stack, head=head)


def _facts(config: Config) -> Facts:
    size = config.size("hidden_size")
    heads = config.heads(size, "num_attention_heads")
    layer = LayerFacts(scale=(size // heads) ** -0.5)
    return Facts(
        heads=heads,
        kv_heads=heads,
        d_model=size,
        d_head=size // heads,
        vocabulary=config.size("vocab_size"),
        limit=config.size("max_position_embeddings"),
        causal=True,
        layers=(layer,) * config.size("num_hidden_layers"),
        norm="layer",
        epsilon=1e-5,  # no setting of this family
        activation=config.word("activation_function", default="relu", known=ACTIVATIONS),
        position_rule="unpadded-mask",
        position_offset=_OFFSET,
    )


def _block(at: str, size: int, d_ff: int, pre: bool, bias: bool) -> BlockWeights[Source]:
    attention_norm = norm(f"{at}self_attn_layer_norm", size)
    mlp_norm = norm(f"{at}final_layer_norm", size)
    return BlockWeights(
        AttentionWeights(
            q=linear(f"{at}self_attn.q_proj", size, size, bias),
            k=linear(f"{at}self_attn.k_proj", size, size, bias),
            v=linear(f"{at}self_attn.v_proj", size, size, bias),
            o=linear(f"{at}self_attn.out_proj", size, size, bias),
            before=attention_norm if pre else None,
            at_sum=None if pre else attention_norm,
        ),
        MlpWeights(
            up=linear(f"{at}fc1", size, d_ff, bias),
            down=linear(f"{at}fc2", d_ff, size, bias),
            before=mlp_norm if pre else None,
            at_sum=None if pre else mlp_norm,
        ),
    )
