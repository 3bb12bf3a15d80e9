"""The matrices of a model, before anything is typed over in them."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from core.given import check_identity, given_weights
from core.seeded import draw
from core.types import Array, GivenModel, LayerWeights, Request

# Variance of one component of what enters a layer, for which its projections are drawn, so that
# scores have a variance near 1. Layer 0: 1 without and 1.5 with positions (a sinusoid's is 1/2),
# so the middle; every later layer: 1, by LayerNorm.
_FIRST_VARIANCE = 1.25
_LATER_VARIANCE = 1.0


def own_weights(request: Request) -> tuple[LayerWeights, ...]:
    """The matrices of every layer; none of them can be written to.

    Raises
    ------
    SettingError
        Q = K = V = X is asked of a model whose heads do not share a row.
    """
    model = request.model
    if request.switches.projections == "identity":
        check_identity(model)
        return identity_weights(model.layers, model.d_model)
    if isinstance(model, GivenModel):
        return given_weights(model)
    return seeded_weights(model.seed, model.layers, model.d_model)


@lru_cache(maxsize=1)  # one model, so that what is kept stays within the budget
def seeded_weights(seed: int, layers: int, d_model: int) -> tuple[LayerWeights, ...]:
    """The seeded projections of every layer, each [d_model, d_model] with mean 0.

    W_O is divided by √layers as in GPT-2 (Radford et al. 2019, section 2.3). Without it what all
    tokens share grows with each layer, and after some ten every pattern is flat.
    """

    def matrix(name: str, layer: int) -> Array:
        variance = _FIRST_VARIANCE if layer == 0 else _LATER_VARIANCE
        weights = draw(f"{name} {seed} {layer}", d_model, d_model)
        weights /= math.sqrt(variance * d_model * (layers if name == "W_O" else 1))
        weights.setflags(write=False)
        return weights

    names = ("W_Q", "W_K", "W_V", "W_O")
    return tuple(LayerWeights(*(matrix(name, i) for name in names)) for i in range(layers))


@lru_cache(maxsize=1)
def identity_weights(layers: int, d_model: int) -> tuple[LayerWeights, ...]:
    """Projections that change nothing: Q = K = V = X, and attn_out is the heads' z merged."""
    identity = np.eye(d_model)
    identity.setflags(write=False)
    return (LayerWeights(identity, identity, identity, identity),) * layers
