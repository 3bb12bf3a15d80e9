"""T5 and mT5 (Raffel et al. 2020, Xue et al. 2021): a learned bias for distances, no ÷√d_head."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from core.activations import ACTIVATIONS
from core.checkpoints.config import Config
from core.checkpoints.plan import (
    HeadPlan,
    ModelPlan,
    Source,
    StackPlan,
    TargetPlan,
    first_of,
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
    RelativeBias,
)

_ACTIVATIONS = {"gelu": "gelu_new"}  # what `gated-gelu` has always meant


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    config.expect(is_decoder=False)
    config.get("n_positions")  # what it was trained on, no limit
    facts, gated = _facts(config)
    family = "mT5" if config.get("model_type") == "mt5" else "T5"
    d_ff = config.size("d_ff")
    encoder = _stack("encoder", facts, d_ff, gated, names)
    if _encodes_only(config, names):
        config.get("num_decoder_layers", "tie_word_embeddings", "scale_decoder_outputs")
        return ModelPlan(family, prefix="", encoder=encoder)
    writing = replace(facts, causal=True)
    assert facts.relative is not None  # noqa: S101 - _facts sets it
    writing = replace(writing, relative=replace(facts.relative, both_ways=False))
    count = config.size("num_decoder_layers", default=len(facts.layers))
    writing = replace(writing, layers=facts.layers[:1] * count)
    scaled = config.flag("tie_word_embeddings", default=True)
    scaled = config.flag("scale_decoder_outputs", default=scaled)
    if config.get("model_type") == "t5" and scaled:
        writing = replace(writing, head_scale=facts.d_model**-0.5)
    decoder = _stack("decoder", writing, d_ff, gated, names)
    rows = unembedding(config, decoder.table, "lm_head.weight", names, tied=True)
    return ModelPlan(
        family,
        prefix="",
        encoder=encoder,
        decoder=decoder,
        head=None if rows is None else HeadPlan(rows, HeadParts()),
        target=TargetPlan(config.get("decoder_start_token_id", "pad_token_id", default=0)),
    )


def _encodes_only(config: Config, names: Collection[str]) -> bool:
    """Whether a file is an encoder that was taken out, as models of pictures use it.

    Its configuration must say so: a file without a decoder may also be cut off.
    """
    made_by = config.get("architectures", default=[])
    said = isinstance(made_by, list) and any(
        isinstance(name, str) and name.endswith("EncoderModel") for name in made_by
    )
    said = said or config.get("is_encoder_decoder") is False
    return said and not any(name.startswith("decoder.") for name in names)


def _facts(config: Config) -> tuple[Facts, bool]:
    """Facts of the encoder, and whether the MLP is gated."""
    config.get("dense_act_fn", "is_gated_act")  # follow from the next
    kind = config.get("feed_forward_proj", default="relu")
    gated, activation = str(kind).startswith("gated-"), str(kind).removeprefix("gated-")
    if activation not in ACTIVATIONS:
        raise config.refusal("feed_forward_proj", kind)
    if gated:
        activation = _ACTIVATIONS.get(activation, activation)
    heads = config.size("num_heads")
    buckets = config.size("relative_attention_num_buckets", default=32)
    distance = config.size("relative_attention_max_distance", default=128)
    if buckets < 4 or buckets % 2 or distance <= buckets // 2:
        raise config.refusal("relative_attention_num_buckets", buckets)
    facts = Facts(
        heads=heads,
        kv_heads=heads,
        d_model=config.size("d_model"),
        d_head=config.size("d_kv"),
        vocabulary=config.size("vocab_size"),
        limit=None,
        causal=False,
        layers=(LayerFacts(scale=1.0),) * config.size("num_layers"),
        norm="rms",
        epsilon=config.number("layer_norm_epsilon", default=1e-6),
        activation=activation,
        relative=RelativeBias(buckets, distance, both_ways=True),
    )
    return facts, gated


def _stack(kind: str, facts: Facts, d_ff: int, gated: bool, names: Collection[str]) -> StackPlan:
    assert facts.relative is not None  # noqa: S101 - _facts sets it
    bias = f"{kind}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    table = first_of(names, f"{kind}.embed_tokens.weight", "shared.weight")
    return StackPlan(
        facts,
        Source(table, (facts.vocabulary, facts.d_model)),
        EmbeddingParts(),
        tuple(
            _block(f"{kind}.block.{index}.layer.", facts, d_ff, gated, cross=kind == "decoder")
            for index in range(len(facts.layers))
        ),
        final=norm(f"{kind}.final_layer_norm", facts.d_model, bias=False),
        relative=Source(bias, (facts.relative.buckets, facts.heads)),
    )


def _block(at: str, facts: Facts, d_ff: int, gated: bool, cross: bool) -> BlockWeights[Source]:
    mlp = 2 if cross else 1
    name = f"{at}{mlp}.DenseReluDense"
    first, second = ("wi_1", "wi_0") if gated else ("wi", "")
    size = facts.d_model
    return BlockWeights(
        _attention(f"{at}0.SelfAttention", f"{at}0.layer_norm", facts),
        MlpWeights(
            up=linear(f"{name}.{first}", size, d_ff, bias=False),
            gate=linear(f"{name}.{second}", size, d_ff, bias=False) if gated else None,
            down=linear(f"{name}.wo", d_ff, size, bias=False),
            before=norm(f"{at}{mlp}.layer_norm", size, bias=False),
        ),
        _attention(f"{at}1.EncDecAttention", f"{at}1.layer_norm", facts) if cross else None,
    )


def _attention(name: str, before: str, facts: Facts) -> AttentionWeights[Source]:
    size, wide = facts.d_model, facts.heads * facts.d_head
    return AttentionWeights(
        q=linear(f"{name}.q", size, wide, bias=False),
        k=linear(f"{name}.k", size, wide, bias=False),
        v=linear(f"{name}.v", size, wide, bias=False),
        o=linear(f"{name}.o", wide, size, bias=False),
        before=norm(before, size, bias=False),
    )
