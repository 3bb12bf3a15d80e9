"""Which family a model is of, by the name in its configuration."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from types import ModuleType

from core.checkpoints.config import Config
from core.checkpoints.plain import shown
from core.checkpoints.plan import ModelPlan
from core.errors import ModelError
from core.language import _

_HOMES = {
    "albert": "albert",
    "bart": "bart",
    "bert": "bert",
    "distilbert": "distilbert",
    "electra": "electra",
    "gemma": "gemma",
    "gemma2": "gemma",
    "gemma3_text": "gemma",
    "gpt2": "gpt2",
    "gpt_neox": "gpt_neox",
    "llama": "llama",
    "marian": "marian",
    "mbart": "bart",
    "mistral": "mistral",
    "mt5": "t5",
    "opt": "opt",
    "phi3": "phi3",
    "qwen2": "qwen",
    "qwen3": "qwen",
    "roberta": "roberta",
    "t5": "t5",
    "xlm-roberta": "roberta",
}


def check_family(config: Config) -> str:
    """The name of a model's family in its configuration; raises ModelError if it is not known."""
    if config.get("quantization_config") is not None:
        raise config.refusal("quantization_config", config.get("quantization_config"))
    family = config.get("model_type")
    if not isinstance(family, str) or family not in _HOMES:
        said = (
            _("{where} names no model_type")
            if family is None
            else _("{where}: model_type {family} is not supported")
        )
        raise ModelError(
            said.format(where=config.where, family=shown(repr(family))),
            _("open a model of one of {families}").format(families=", ".join(sorted(_HOMES))),
        )
    return family


def plan_model(config: Config, names: Collection[str]) -> ModelPlan:
    """The plan of a model.

    Raises
    ------
    ModelError
        The family or a setting is not known, or the weights are another model's.
    """
    family = check_family(config)
    home: ModuleType = import_module(f"core.checkpoints.{_HOMES[family]}")
    made: ModelPlan = home.plan(config, names)
    if made.decoder is not None:
        config.expect(is_causal=True)  # some are trained on to see both sides
    config.refuse_unknown()
    return made
