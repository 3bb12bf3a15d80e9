"""Rotary positions out of a configuration, as transformers 4 writes them and as 5 does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from core.checkpoints.config import Config
from core.checkpoints.plain import shown
from core.errors import ModelError
from core.language import _
from core.transformer_types import Float32, Rotary

KNOWN = ("default", "linear", "llama3", "longrope", "su", "factors")


def read_rope(
    config: Config, d_head: int, base: float = 10000.0, part: float = 1.0, kind: str | None = None
) -> Rotary:
    """The rotation of one kind of layer.

    transformers 4 writes ``rope_theta``, ``rope_scaling`` and ``partial_rotary_factor``, 5 writes
    all of them into ``rope_parameters``, by kind of layer where the kinds differ.

    Parameters
    ----------
    config : Config
    d_head : int
    base, part : float
        The family's defaults: the base of the frequencies, and the part of d_head that turns.
    kind : str, optional
        Such as ``sliding_attention``, for a model whose kinds of layers differ.

    Raises
    ------
    ModelError
        A scaling that is not known, or a setting that is written in both ways and differs.
    """
    old = config.get("rope_scaling", default={})
    parameters = config.get("rope_parameters", default={})
    base = config.number("rope_theta", "rotary_emb_base", default=base)
    part = config.number("partial_rotary_factor", "rotary_pct", default=part)
    if not isinstance(old, dict) or not isinstance(parameters, dict):
        raise config.refusal("rope_scaling", old or parameters)
    if kind is not None and kind in parameters:
        parameters = parameters[kind]
        if not isinstance(parameters, dict):
            raise config.refusal(f"rope_parameters.{kind}", parameters)
    else:
        outside = {
            "rope_theta": config.get("rope_theta", "rotary_emb_base"),
            "partial_rotary_factor": config.get("partial_rotary_factor", "rotary_pct"),
        }
        old = outside | old
    old, parameters = _type_by_its_name(old), _type_by_its_name(parameters)
    _check_agreement(config, old, parameters)
    return make_rope(config, {**old, **parameters}, d_head, base, part)


def _type_by_its_name(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that are there, with ``rope_type`` for what was called ``type`` at first."""
    given = {name: value for name, value in settings.items() if value is not None}
    if "type" in given:
        given.setdefault("rope_type", given.pop("type"))
    return given


def _check_agreement(config: Config, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Nobody can say which of two values holds; a scaling is often added by hand."""
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name]:
            raise ModelError(
                _("{where} gives {name} twice, as {one} and as {other}").format(
                    where=config.where,
                    name=shown(name),
                    one=shown(repr(old[name])),
                    other=shown(repr(new[name])),
                ),
                _("correct it in rope_parameters alone"),
            )


def make_rope(
    config: Config, settings: dict[str, Any], d_head: int, base: float, part: float = 1.0
) -> Rotary:
    """The rotation that some settings ask for; `read_rope` says what they may be."""
    known = {
        "rope_type", "type", "rope_theta", "partial_rotary_factor", "factor", "low_freq_factor",
        "high_freq_factor", "original_max_position_embeddings", "factors", "short_factor",
        "long_factor", "attention_factor",
    }  # fmt: skip
    for name, value in settings.items():
        if name not in known and value is not None:
            raise config.refusal(f"rope_parameters.{name}", value)
    rope = Config(settings, config.where)
    base = rope.number("rope_theta", default=base)
    part = rope.number("partial_rotary_factor", default=part)
    kind = rope.word("rope_type", "type", default="default", known=KNOWN)
    turning = int(d_head * part)
    if not 0 < turning <= d_head or turning % 2:
        raise config.refusal("partial_rotary_factor", part)
    exponents = np.arange(0, turning, 2, dtype=np.float32) / np.float32(turning)
    frequencies = np.float32(1) / np.float32(base) ** exponents  # [turning / 2]
    if kind == "linear":
        frequencies /= np.float32(rope.number("factor", default=0))
    elif kind == "llama3":
        frequencies = _llama3(frequencies, rope, config)
    elif kind == "factors":  # as GGUF has them: one divisor a pair
        frequencies = frequencies / _divisors(rope, "factors", len(frequencies))
    elif kind in ("longrope", "su"):
        frequencies = frequencies / _divisors(rope, "short_factor", len(frequencies))
        return Rotary(tuple(map(float, frequencies)), _longrope_factor(rope, config))
    return Rotary(tuple(map(float, frequencies)))


def trained_limit(config: Config) -> int:
    """The longest text whose rotation is the one that `read_rope` gives.

    Longer ones turn by LongRoPE's other set of divisors, from the first token on.
    """
    limit = config.size("max_position_embeddings")
    original = config.optional_size("original_max_position_embeddings")
    return min(limit, original or limit)


def _divisors(rope: Config, name: str, count: int) -> Float32:
    values = rope.get(name)
    if not isinstance(values, list) or len(values) != count:
        raise rope.refusal(name, values)
    if not all(isinstance(value, int | float) and value > 0 for value in values):
        raise rope.refusal(name, values)
    return np.asarray(values, dtype=np.float32)


def _longrope_factor(rope: Config, config: Config) -> float:
    """What LongRoPE multiplies cosines and sines by (Ding et al. 2024, section 3)."""
    given = rope.optional_number("attention_factor")
    if given is not None:
        return given
    limit = config.size("max_position_embeddings")
    top = config.get("original_max_position_embeddings", default=limit)
    original = rope.number("original_max_position_embeddings", default=top)
    if original <= 1:  # its logarithm divides
        raise config.refusal("original_max_position_embeddings", original)
    factor = rope.number("factor", default=limit / original)
    return 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))


def _llama3(frequencies: Float32, rope: Config, config: Config) -> Float32:
    """Long wavelengths stretched by `factor`, short ones kept, the rest blended (Llama 3.1)."""
    factor = rope.number("factor", default=0)
    low = rope.number("low_freq_factor", default=0)
    high = rope.number("high_freq_factor", default=0)
    limit = config.get("max_position_embeddings", default=0)
    context = rope.number("original_max_position_embeddings", default=limit)
    if high <= low:
        raise config.refusal("high_freq_factor", high)
    wavelength = 2 * math.pi / frequencies.astype(np.float64)
    blend = np.clip((context / wavelength - low) / (high - low), 0, 1)
    scaled = frequencies * ((1 - blend) / factor + blend)
    return scaled.astype(np.float32)
