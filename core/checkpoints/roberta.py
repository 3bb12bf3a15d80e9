"""RoBERTa (Liu et al. 2019) and XLM-RoBERTa: BERT whose positions begin behind that of padding."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from core.checkpoints import bert
from core.checkpoints.config import Config
from core.checkpoints.plan import (
    ModelPlan,
    Source,
    find_prefix,
    first_of,
    linear,
    masked_head,
    norm,
)
from core.transformer_types import HeadParts


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    prefix = find_prefix(names, "embeddings.word_embeddings.weight", ("", "roberta."))
    pad = config.get("pad_token_id", default=1)
    if isinstance(pad, bool) or not isinstance(pad, int) or pad < 0:
        raise config.refusal("pad_token_id", pad)
    facts = bert.encoder_facts(config)
    rows = config.size("max_position_embeddings")
    if rows <= pad + 1:
        raise config.refusal("max_position_embeddings", rows)
    facts = replace(
        facts,
        limit=rows - pad - 1,
        position_rule="unpadded-id",
        position_offset=pad + 1,
        pad_id=pad,
        head_activation="gelu",
    )
    stack = bert.encoder(config, facts, prefix)
    parts = HeadParts(
        project=linear("lm_head.dense", facts.d_model, facts.d_model),
        norm=norm("lm_head.layer_norm", facts.d_model),
        bias=Source(first_of(names, "lm_head.bias", "lm_head.decoder.bias"), (facts.vocabulary,)),
    )
    head = masked_head(config, stack.table, names, parts, "lm_head.decoder.weight")
    family = "XLM-RoBERTa" if config.get("model_type") == "xlm-roberta" else "RoBERTa"
    return ModelPlan(family, prefix, encoder=stack, head=head)
