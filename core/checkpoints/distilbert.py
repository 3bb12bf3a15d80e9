"""DistilBERT (Sanh et al. 2019): BERT without token types, under names of its own."""

from __future__ import annotations

from collections.abc import Collection

from core.activations import ACTIVATIONS
from core.checkpoints.config import Config
from core.checkpoints.plan import (
    ModelPlan,
    Source,
    StackPlan,
    find_prefix,
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
    """Facts and sources."""
    prefix = find_prefix(names, "embeddings.word_embeddings.weight", ("", "distilbert."))
    facts = _facts(config)
    size, rows = facts.d_model, config.size("max_position_embeddings", default=512)
    d_ff = config.size("hidden_dim", "intermediate_size", default=4 * size)
    at = f"{prefix}embeddings."
    table = Source(f"{at}word_embeddings.weight", (facts.vocabulary, size))
    stack = StackPlan(
        facts,
        table,
        EmbeddingParts(
            # Sinusoids too: the file has them where the model was trained with them.
            positions=Source(f"{at}position_embeddings.weight", (rows, size)),
            norm=norm(f"{at}LayerNorm", size),
        ),
        tuple(
            _block(f"{prefix}transformer.layer.{index}.", size, d_ff)
            for index in range(len(facts.layers))
        ),
    )
    parts = HeadParts(
        project=linear("vocab_transform", size, size),
        norm=norm("vocab_layer_norm", size),
        bias=Source("vocab_projector.bias", (facts.vocabulary,)),
    )
    head = masked_head(config, table, names, parts, "vocab_projector.weight")
    return ModelPlan("DistilBERT", prefix, encoder=stack, head=head)


def _facts(config: Config) -> Facts:
    config.get("sinusoidal_pos_embds", "tie_weights_", "qa_dropout", "seq_classif_dropout")
    size = config.size("dim", "hidden_size", default=768)
    heads = config.heads(size, "n_heads", "num_attention_heads", default=12)
    activation = config.word("activation", "hidden_act", default="gelu", known=ACTIVATIONS)
    layers = config.size("n_layers", "num_hidden_layers", default=6)
    return Facts(
        heads=heads,
        kv_heads=heads,
        d_model=size,
        d_head=size // heads,
        vocabulary=config.size("vocab_size", default=30522),
        limit=config.size("max_position_embeddings", default=512),
        causal=False,
        layers=(LayerFacts(scale=(size // heads) ** -0.5),) * layers,
        norm="layer",
        epsilon=1e-12,  # no setting of this family
        activation=activation,
        head_activation=activation,
    )


def _block(at: str, size: int, d_ff: int) -> BlockWeights[Source]:
    return BlockWeights(
        AttentionWeights(
            q=linear(f"{at}attention.q_lin", size, size),
            k=linear(f"{at}attention.k_lin", size, size),
            v=linear(f"{at}attention.v_lin", size, size),
            o=linear(f"{at}attention.out_lin", size, size),
            at_sum=norm(f"{at}sa_layer_norm", size),
        ),
        MlpWeights(
            up=linear(f"{at}ffn.lin1", size, d_ff),
            down=linear(f"{at}ffn.lin2", d_ff, size),
            at_sum=norm(f"{at}output_layer_norm", size),
        ),
    )
