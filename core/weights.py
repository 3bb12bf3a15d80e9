"""The matrices of a model, before anything is typed over in them."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from core.given import check_identity, given_weights
from core.seeded import draw
from core.types import Array, CheckpointModel, GivenModel, LayerWeights, ModelSpec, Request

# Variance of one component of what enters a layer, for which its projections are drawn, so that
# scores have a variance near 1. What is embedded: 1 without and 1.5 with positions (a sinusoid's
# is 1/2), so the middle; everything later: 1, by LayerNorm.
_FIRST_VARIANCE = 1.25
_LATER_VARIANCE = 1.0


def own_weights(request: Request) -> tuple[LayerWeights, ...]:
    """The matrices of every layer of the encoder; none of them can be written to.

    Raises
    ------
    SettingError
        Q = K = V = X is asked of a model whose heads do not share a row.
    """
    model = request.model
    assert not isinstance(model, CheckpointModel)  # noqa: S101 - its weights stay with it
    if request.switches.projections == "identity":
        check_identity(model)
        return (identity_weights(model.d_model),) * model.layers
    if isinstance(model, GivenModel):
        return given_weights(model)
    return seeded_weights(model.seed, model.layers, model.d_model)


def own_decoder_weights(request: Request) -> tuple[tuple[LayerWeights, LayerWeights], ...]:
    """Those of the decoder: of each layer its self-attention's and its cross-attention's."""
    model = request.model
    if request.switches.projections == "identity":
        return ((identity_weights(model.d_model),) * 2,) * model.layers
    assert isinstance(model, ModelSpec)  # noqa: S101 - `core.runner` refuses a target to others
    return decoder_weights(model.seed, model.layers, model.d_model)


@lru_cache(maxsize=1)  # one model, so that what is kept stays within the budget
def seeded_weights(seed: int, layers: int, d_model: int) -> tuple[LayerWeights, ...]:
    """The seeded projections of every layer of the encoder, each [d_model, d_model] with mean 0.

    W_O is divided by the square root of the number of residual sums in the stack, as in GPT-2
    (Radford et al. 2019, section 2.3). Without it what all tokens share grows with each layer, and
    after some ten every pattern is flat.
    """
    return tuple(_drawn("", seed, i, d_model, i == 0, layers) for i in range(layers))


@lru_cache(maxsize=1)
def decoder_weights(
    seed: int, layers: int, d_model: int
) -> tuple[tuple[LayerWeights, LayerWeights], ...]:
    """Those of the decoder: of each layer its self-attention's and its cross-attention's.

    They are drawn under names of their own, so the encoder's are the same with and without them.
    A layer has two residual sums.
    """
    return tuple(
        (
            _drawn("decoder ", seed, i, d_model, i == 0, 2 * layers),
            _drawn("cross ", seed, i, d_model, False, 2 * layers),
        )
        for i in range(layers)
    )


def _drawn(
    stack: str, seed: int, layer: int, d_model: int, embedded: bool, sums: int
) -> LayerWeights:
    """Projections for what was just embedded, or for what LayerNorm gave."""
    variance = _FIRST_VARIANCE if embedded else _LATER_VARIANCE

    def matrix(name: str) -> Array:
        weights = draw(f"{stack}{name} {seed} {layer}", d_model, d_model)
        weights /= math.sqrt(variance * d_model * (sums if name == "W_O" else 1))
        weights.setflags(write=False)
        return weights

    return LayerWeights(matrix("W_Q"), matrix("W_K"), matrix("W_V"), matrix("W_O"))


@lru_cache(maxsize=1)
def identity_weights(d_model: int) -> LayerWeights:
    """Projections that change nothing: Q = K = V = X, and attn_out is the heads' z merged."""
    identity = np.eye(d_model)
    identity.setflags(write=False)
    return LayerWeights(identity, identity, identity, identity)
