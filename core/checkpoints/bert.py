"""BERT (Devlin et al. 2019): post-norm encoder, learned positions."""

from __future__ import annotations

from collections.abc import Collection

from core.activations import ACTIVATIONS
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
    Facts,
    HeadParts,
    LayerFacts,
    MlpWeights,
)


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources of a BERT."""
    prefix = find_prefix(names, "embeddings.word_embeddings.weight", ("", "bert."))
    facts = encoder_facts(config)
    stack = encoder(config, facts, prefix)
    at = "cls.predictions"
    parts = HeadParts(
        project=linear(f"{at}.transform.dense", facts.d_model, facts.d_model),
        norm=norm(f"{at}.transform.LayerNorm", facts.d_model),
        bias=Source(first_of(names, f"{at}.bias", f"{at}.decoder.bias"), (facts.vocabulary,)),
    )
    head = masked_head(config, stack.table, names, parts, f"{at}.decoder.weight")
    return ModelPlan("BERT", prefix, encoder=stack, head=head)


def encoder_facts(config: Config) -> Facts:
    """Facts of BERT, and of those that took over its configuration."""
    config.expect(position_embedding_type="absolute", is_decoder=False, add_cross_attention=False)
    d_model = config.size("hidden_size")
    heads = config.heads(d_model, "num_attention_heads")
    activation = config.word("hidden_act", default="gelu", known=ACTIVATIONS)
    layer = LayerFacts(scale=(d_model // heads) ** -0.5)
    return Facts(
        heads=heads,
        kv_heads=heads,
        d_model=d_model,
        d_head=d_model // heads,
        vocabulary=config.size("vocab_size"),
        limit=config.size("max_position_embeddings"),
        causal=False,
        layers=(layer,) * config.size("num_hidden_layers"),
        norm="layer",
        epsilon=config.number("layer_norm_eps", default=1e-12),
        activation=activation,
        head_activation=activation,
    )


def encoder(config: Config, facts: Facts, prefix: str, d_embed: int | None = None) -> StackPlan:
    """Sources of the stack; `d_embed` where the embedding is narrower than the layers."""
    width = d_embed or facts.d_model
    at = f"{prefix}embeddings."
    types = config.size("type_vocab_size", default=2)
    project = None
    if width != facts.d_model:
        project = linear(f"{prefix}embeddings_project", width, facts.d_model)
    rows = config.size("max_position_embeddings")
    return StackPlan(
        facts,
        table=Source(f"{at}word_embeddings.weight", (facts.vocabulary, width)),
        embedding=EmbeddingParts(
            positions=Source(f"{at}position_embeddings.weight", (rows, width)),
            types=Source(f"{at}token_type_embeddings.weight", (types, width)),
            norm=norm(f"{at}LayerNorm", width),
            project_out=project,
        ),
        blocks=tuple(
            block(f"{prefix}encoder.layer.{index}.", facts, config.size("intermediate_size"))
            for index in range(len(facts.layers))
        ),
    )


def block(at: str, facts: Facts, d_ff: int) -> BlockWeights[Source]:
    """Sources of one layer."""
    size = facts.d_model
    return BlockWeights(
        AttentionWeights(
            q=linear(f"{at}attention.self.query", size, size),
            k=linear(f"{at}attention.self.key", size, size),
            v=linear(f"{at}attention.self.value", size, size),
            o=linear(f"{at}attention.output.dense", size, size),
            at_sum=norm(f"{at}attention.output.LayerNorm", size),
        ),
        MlpWeights(
            up=linear(f"{at}intermediate.dense", size, d_ff),
            down=linear(f"{at}output.dense", d_ff, size),
            at_sum=norm(f"{at}output.LayerNorm", size),
        ),
    )
