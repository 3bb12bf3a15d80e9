"""GPT-2 (Radford et al. 2019): pre-norm decoder, learned positions, weights stored [in, out]."""

from __future__ import annotations

from collections.abc import Collection

from core.activations import ACTIVATIONS
from core.checkpoints.config import Config
from core.checkpoints.plan import (
    ModelPlan,
    Source,
    StackPlan,
    causal_head,
    find_prefix,
    norm,
)
from core.transformer_types import (
    AttentionWeights,
    BlockWeights,
    EmbeddingParts,
    Facts,
    LayerFacts,
    Linear,
    MlpWeights,
)


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    prefix = find_prefix(names, "wte.weight", ("", "transformer."))
    facts = _facts(config)
    size = facts.d_model
    d_ff = config.optional_size("n_inner") or 4 * size
    table = Source(f"{prefix}wte.weight", (facts.vocabulary, size))
    stack = StackPlan(
        facts,
        table,
        EmbeddingParts(positions=Source(f"{prefix}wpe.weight", (facts.limit or 0, size))),
        tuple(_block(f"{prefix}h.{index}.", size, d_ff) for index in range(len(facts.layers))),
        final=norm(f"{prefix}ln_f", size),
    )
    head = causal_head(config, table, "lm_head.weight", names, tied=True)
    return ModelPlan("GPT-2", prefix, decoder=stack, head=head)


def _facts(config: Config) -> Facts:
    config.expect(add_cross_attention=False)
    # The order of two multiplications, for half precision; in float32 it changes nothing.
    config.flag("reorder_and_upcast_attn", default=False)
    size = config.size("n_embd", "hidden_size", default=768)
    heads = config.heads(size, "n_head", "num_attention_heads", default=12)
    scaled = config.flag("scale_attn_weights", default=True)
    by_layer = config.flag("scale_attn_by_inverse_layer_idx", default=False)
    scale = (size // heads) ** -0.5 if scaled else 1.0
    layers = config.size("n_layer", "num_hidden_layers", default=12)
    config.get("n_ctx")  # an old name for n_positions beside it
    return Facts(
        heads=heads,
        kv_heads=heads,
        d_model=size,
        d_head=size // heads,
        vocabulary=config.size("vocab_size", default=50257),
        limit=config.size("n_positions", "max_position_embeddings", default=1024),
        causal=True,
        layers=tuple(
            LayerFacts(scale=scale / (index + 1) if by_layer else scale) for index in range(layers)
        ),
        norm="layer",
        epsilon=config.number("layer_norm_epsilon", default=1e-5),
        activation=config.word("activation_function", default="gelu_new", known=ACTIVATIONS),
    )


def _block(at: str, size: int, d_ff: int) -> BlockWeights[Source]:
    def third(index: int) -> Linear[Source]:  # q, k and v side by side
        mine = slice(index * size, (index + 1) * size)
        name = f"{at}attn.c_attn"
        weight = Source(f"{name}.weight", (size, 3 * size), lambda stored: stored[:, mine])
        return Linear(weight, Source(f"{name}.bias", (3 * size,), lambda stored: stored[mine]))

    def conv(name: str, d_in: int, d_out: int) -> Linear[Source]:
        return Linear(Source(f"{name}.weight", (d_in, d_out)), Source(f"{name}.bias", (d_out,)))

    return BlockWeights(
        AttentionWeights(
            q=third(0),
            k=third(1),
            v=third(2),
            o=conv(f"{at}attn.c_proj", size, size),
            before=norm(f"{at}ln_1", size),
        ),
        MlpWeights(
            up=conv(f"{at}mlp.c_fc", size, d_ff),
            down=conv(f"{at}mlp.c_proj", d_ff, size),
            before=norm(f"{at}ln_2", size),
        ),
    )
