"""Mistral (Jiang et al. 2023): Llama with a sliding window in every layer."""

from __future__ import annotations

from collections.abc import Collection

from core.checkpoints.config import Config
from core.checkpoints.llama import PREFIXES, gated_block, gated_facts, gated_model, with_window
from core.checkpoints.plan import ModelPlan, find_prefix

_WINDOW = 4096  # where the configuration says nothing


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    window = config.optional_size("sliding_window", absent=_WINDOW)
    facts = with_window(gated_facts(config), window)
    prefix = find_prefix(names, "embed_tokens.weight", PREFIXES)
    d_ff = config.size("intermediate_size")
    blocks = tuple(
        gated_block(f"{prefix}layers.{index}.", facts, d_ff, qkv_bias=False, o_bias=False)
        for index in range(len(facts.layers))
    )
    return gated_model("Mistral", config, names, prefix, facts, blocks, tied=False)
