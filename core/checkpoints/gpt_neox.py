"""GPT-NeoX (Black et al. 2022), as Pythia: rotary positions in part, attention beside the MLP."""

from __future__ import annotations

from collections.abc import Callable, Collection

from core.activations import ACTIVATIONS
from core.checkpoints.config import Config
from core.checkpoints.plan import (
    ModelPlan,
    Source,
    StackPlan,
    causal_head,
    find_prefix,
    first_of,
    linear,
    norm,
)
from core.checkpoints.rope import read_rope
from core.transformer_types import (
    AttentionWeights,
    BlockWeights,
    EmbeddingParts,
    Facts,
    Float32,
    LayerFacts,
    Linear,
    MlpWeights,
)


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    prefix = find_prefix(names, "embed_in.weight", ("", "gpt_neox."))
    facts = _facts(config)
    bias = config.flag("attention_bias", default=True)
    d_ff = config.size("intermediate_size")
    table = Source(f"{prefix}embed_in.weight", (facts.vocabulary, facts.d_model))
    stack = StackPlan(
        facts,
        table,
        EmbeddingParts(),
        tuple(
            _block(f"{prefix}layers.{index}.", facts, d_ff, bias)
            for index in range(len(facts.layers))
        ),
        final=norm(f"{prefix}final_layer_norm", facts.d_model),
    )
    own = first_of(names, "embed_out.weight", "lm_head.weight")
    head = causal_head(config, table, own, names, tied=False)
    return ModelPlan("GPT-NeoX", prefix, decoder=stack, head=head)


def _facts(config: Config) -> Facts:
    config.expect(is_decoder=False)
    size = config.size("hidden_size")
    heads = config.heads(size, "num_attention_heads")
    d_head = size // heads
    layer = LayerFacts(scale=d_head**-0.5, rotary=read_rope(config, d_head, part=0.25))
    return Facts(
        heads=heads,
        kv_heads=heads,
        d_model=size,
        d_head=d_head,
        vocabulary=config.size("vocab_size"),
        limit=config.size("max_position_embeddings"),
        causal=True,
        layers=(layer,) * config.size("num_hidden_layers"),
        norm="layer",
        epsilon=config.number("layer_norm_eps", default=1e-5),
        activation=config.word("hidden_act", default="gelu", known=ACTIVATIONS),
        parallel=config.flag("use_parallel_residual", default=True),
    )


def _block(at: str, facts: Facts, d_ff: int, bias: bool) -> BlockWeights[Source]:
    size = facts.d_model

    def third(index: int) -> Linear[Source]:  # each head's q, k and v lie together
        name, shape = f"{at}attention.query_key_value", (3 * size, size)
        weight = Source(f"{name}.weight", shape, _third(index, facts, turned=True))
        added = Source(f"{name}.bias", shape[:1], _third(index, facts)) if bias else None
        return Linear(weight, added)

    return BlockWeights(
        AttentionWeights(
            q=third(0),
            k=third(1),
            v=third(2),
            o=linear(f"{at}attention.dense", size, size, bias),
            before=norm(f"{at}input_layernorm", size),
        ),
        MlpWeights(
            up=linear(f"{at}mlp.dense_h_to_4h", size, d_ff),
            down=linear(f"{at}mlp.dense_4h_to_h", d_ff, size),
            before=norm(f"{at}post_attention_layernorm", size),
        ),
    )


def _third(index: int, facts: Facts, turned: bool = False) -> Callable[[Float32], Float32]:
    def take(stored: Float32) -> Float32:
        by_head = stored.reshape(facts.heads, 3, facts.d_head, *stored.shape[1:])
        mine = by_head[:, index].reshape(facts.d_model, *stored.shape[1:])
        return mine.T if turned else mine

    return take
