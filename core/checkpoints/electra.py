"""ELECTRA (Clark et al. 2020): BERT, in its small sizes with a narrow embedding."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from core.checkpoints import bert
from core.checkpoints.config import Config
from core.checkpoints.plan import ModelPlan, Source, find_prefix, linear, masked_head, norm
from core.transformer_types import HeadParts


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    prefix = find_prefix(names, "embeddings.word_embeddings.weight", ("", "electra."))
    width = config.size("embedding_size", default=128)
    facts = replace(bert.encoder_facts(config), head_activation="gelu")
    stack = bert.encoder(config, facts, prefix, width)
    parts = HeadParts(
        project=linear("generator_predictions.dense", facts.d_model, width),
        norm=norm("generator_predictions.LayerNorm", width),
        bias=Source("generator_lm_head.bias", (facts.vocabulary,)),
    )
    head = masked_head(config, stack.table, names, parts, "generator_lm_head.weight")
    return ModelPlan("ELECTRA", prefix, encoder=stack, head=head)
