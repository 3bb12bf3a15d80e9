"""ALBERT (Lan et al. 2020): a narrow embedding, and layers that share their weights."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from core.checkpoints import bert
from core.checkpoints.config import Config
from core.checkpoints.plan import (
    ModelPlan,
    Source,
    StackPlan,
    find_prefix,
    first_of,
    linear,
    masked_head,
    norm,
)
from core.transformer_types import (
    AttentionWeights,
    BlockWeights,
    EmbeddingParts,
    HeadParts,
    MlpWeights,
)


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    prefix = find_prefix(names, "embeddings.word_embeddings.weight", ("", "albert."))
    config.expect(inner_group_num=1, net_structure_type=0, gap_size=0, num_memory_blocks=0)
    config.expect(down_scale_factor=1)
    config.word("hidden_act", default="gelu_new", known=("gelu_new", "gelu", "relu"))
    facts = bert.encoder_facts(config)
    facts = replace(facts, activation=config.get("hidden_act", default="gelu_new"))
    facts = replace(facts, head_activation=facts.activation)
    layers, groups = len(facts.layers), config.size("num_hidden_groups", default=1)
    if layers % groups:
        raise config.refusal("num_hidden_groups", groups)
    size, width = facts.d_model, config.size("embedding_size", default=128)
    types = config.size("type_vocab_size", default=2)
    rows = config.size("max_position_embeddings")
    d_ff = config.size("intermediate_size")
    shared = [_block(f"{prefix}{_LAYERS}.{group}.albert_layers.0.", size, d_ff)
              for group in range(groups)]  # fmt: skip
    at = f"{prefix}embeddings."
    table = Source(f"{at}word_embeddings.weight", (facts.vocabulary, width))
    stack = StackPlan(
        facts,
        table,
        EmbeddingParts(
            positions=Source(f"{at}position_embeddings.weight", (rows, width)),
            types=Source(f"{at}token_type_embeddings.weight", (types, width)),
            norm=norm(f"{at}LayerNorm", width),
            project_out=linear(f"{prefix}encoder.embedding_hidden_mapping_in", width, size),
        ),
        tuple(shared[index // (layers // groups)] for index in range(layers)),
    )
    own = "predictions.decoder"
    parts = HeadParts(
        project=linear("predictions.dense", size, width),
        norm=norm("predictions.LayerNorm", width),
        bias=Source(first_of(names, "predictions.bias", f"{own}.bias"), (facts.vocabulary,)),
    )
    head = masked_head(config, table, names, parts, f"{own}.weight")
    return ModelPlan("ALBERT", prefix, encoder=stack, head=head)


_LAYERS = "encoder.albert_layer_groups"


def _block(at: str, size: int, d_ff: int) -> BlockWeights[Source]:
    return BlockWeights(
        AttentionWeights(
            q=linear(f"{at}attention.query", size, size),
            k=linear(f"{at}attention.key", size, size),
            v=linear(f"{at}attention.value", size, size),
            o=linear(f"{at}attention.dense", size, size),
            at_sum=norm(f"{at}attention.LayerNorm", size),
        ),
        MlpWeights(
            up=linear(f"{at}ffn", size, d_ff),
            down=linear(f"{at}ffn_output", d_ff, size),
            at_sum=norm(f"{at}full_layer_layer_norm", size),
        ),
    )
