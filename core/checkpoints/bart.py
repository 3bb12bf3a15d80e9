"""BART and mBART (Lewis et al. 2020, Liu et al. 2020): encoder–decoder, post- and pre-norm."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from core.activations import ACTIVATIONS
from core.checkpoints.config import Config
from core.checkpoints.plan import (
    HeadPlan,
    ModelPlan,
    Source,
    StackPlan,
    TargetPlan,
    find_prefix,
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
    Norm,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What tells the relatives apart.

    Attributes
    ----------
    pre : bool
        Norms before the parts and one at the end, instead of behind the sums.
    norm_embedding : bool
    offset : int
        Row of the position table that the first token takes.
    sinusoids : bool
        Positions follow from a formula where the file has none.
    wraps : bool
        As of a `TargetPlan`.
    """

    family: str
    pre: bool
    norm_embedding: bool = True
    offset: int = 2
    sinusoids: bool = False
    wraps: bool = False


_KINDS = {"bart": Kind("BART", pre=False), "mbart": Kind("mBART", pre=True, wraps=True)}


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    return plan_kind(config, names, _KINDS[config.get("model_type")])


def plan_kind(config: Config, names: Collection[str], kind: Kind) -> ModelPlan:
    """Facts and sources of BART or a relative."""
    config.expect(
        is_decoder=False,
        normalize_before=kind.pre,
        add_final_layer_norm=kind.pre,
        normalize_embedding=kind.norm_embedding,
        static_position_embeddings=kind.sinusoids,
        share_encoder_decoder_embeddings=True,
    )
    if kind.sinusoids:
        config.get("extra_pos_embeddings")  # OPUS-MT's is the size of its vocabulary, for nothing
    else:
        config.expect(extra_pos_embeddings=kind.offset)
    config.get("add_bias_logits")  # the file says it by having the bias or not
    config.get("decoder_vocab_size")  # the vocabulary is shared
    anchor = "encoder.layers.0.self_attn.q_proj.weight"
    prefix = find_prefix(names, anchor, ("", "model."))
    decoder = _stack(config, names, prefix, "decoder", kind)
    rows = unembedding(config, decoder.table, "lm_head.weight", names, tied=True)
    bias = "final_logits_bias"
    shape = (1, decoder.facts.vocabulary)
    parts = HeadParts(bias=Source(bias, shape) if bias in names else None)
    return ModelPlan(
        kind.family,
        prefix,
        encoder=_stack(config, names, prefix, "encoder", kind),
        decoder=decoder,
        head=None if rows is None else HeadPlan(rows, parts),
        target=_target(config, kind),
    )


def _target(config: Config, kind: Kind) -> TargetPlan:
    """BART and Marian name the token that starts a target; mBART's files name one or none."""
    start = config.get("decoder_start_token_id", default=None if kind.wraps else 2)
    marks = ("bos_token_id", 0), ("pad_token_id", 1), ("eos_token_id", 2)
    return TargetPlan(
        start,
        kind.wraps,
        config.get("forced_bos_token_id"),
        tuple(config.get(name, default=usual) for name, usual in marks),
    )


def _facts(config: Config, which: str, offset: int) -> Facts:
    size = config.size("d_model")
    heads = config.heads(size, f"{which}_attention_heads")
    layer = LayerFacts(scale=(size // heads) ** -0.5)
    return Facts(
        heads=heads,
        kv_heads=heads,
        d_model=size,
        d_head=size // heads,
        vocabulary=config.size("vocab_size"),
        limit=config.size("max_position_embeddings"),
        causal=which == "decoder",
        layers=(layer,) * config.size(f"{which}_layers"),
        norm="layer",
        epsilon=1e-5,  # no setting of these families
        activation=config.word("activation_function", default="gelu", known=ACTIVATIONS),
        embedding_scale=math.sqrt(size) if config.flag("scale_embedding", default=False) else 1.0,
        position_offset=offset,
    )


def _stack(
    config: Config, names: Collection[str], prefix: str, which: str, kind: Kind
) -> StackPlan:
    facts = _facts(config, which, kind.offset)
    at, size = f"{prefix}{which}.", facts.d_model
    table = first_of(names, f"{at}embed_tokens.weight", f"{prefix}shared.weight")
    rows = (facts.limit or 0) + kind.offset
    positions = f"{at}embed_positions.weight"
    made = kind.sinusoids and positions not in names
    if made:
        facts = replace(facts, sinusoids=True)
    d_ff = config.size(f"{which}_ffn_dim")
    return StackPlan(
        facts,
        Source(table, (facts.vocabulary, size)),
        EmbeddingParts(
            positions=Source(positions, (rows, size)) if not made else None,
            norm=norm(f"{at}layernorm_embedding", size) if kind.norm_embedding else None,
        ),
        tuple(
            _block(f"{at}layers.{index}.", size, d_ff, which == "decoder", kind.pre)
            for index in range(len(facts.layers))
        ),
        final=norm(f"{at}layer_norm", size) if kind.pre else None,
    )


def _block(at: str, size: int, d_ff: int, cross: bool, pre: bool) -> BlockWeights[Source]:
    def before(name: str) -> Norm[Source] | None:
        return norm(f"{at}{name}", size) if pre else None

    def at_sum(name: str) -> Norm[Source] | None:
        return None if pre else norm(f"{at}{name}", size)

    def attention(name: str) -> AttentionWeights[Source]:
        return AttentionWeights(
            q=linear(f"{at}{name}.q_proj", size, size),
            k=linear(f"{at}{name}.k_proj", size, size),
            v=linear(f"{at}{name}.v_proj", size, size),
            o=linear(f"{at}{name}.out_proj", size, size),
            before=before(f"{name}_layer_norm"),
            at_sum=at_sum(f"{name}_layer_norm"),
        )

    return BlockWeights(
        attention("self_attn"),
        MlpWeights(
            up=linear(f"{at}fc1", size, d_ff),
            down=linear(f"{at}fc2", d_ff, size),
            before=before("final_layer_norm"),
            at_sum=at_sum("final_layer_norm"),
        ),
        attention("encoder_attn") if cross else None,
    )
