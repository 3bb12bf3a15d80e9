"""Marian (Junczys-Dowmunt et al. 2018), as OPUS-MT: BART with sinusoids and no embedding norm."""

from __future__ import annotations

from collections.abc import Collection

from core.checkpoints.bart import Kind, plan_kind
from core.checkpoints.config import Config
from core.checkpoints.plan import ModelPlan

_KIND = Kind("Marian", pre=False, norm_embedding=False, offset=0, sinusoids=True)


def plan(config: Config, names: Collection[str]) -> ModelPlan:
    """Facts and sources."""
    return plan_kind(config, names, _KIND)
