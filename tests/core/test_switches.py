"""Projections and normalizers, against plain Python."""

import math

import numpy as np
import pytest

from core import Mask, ModelSpec, Request, Switches, run
from core.errors import SettingError

TEXT = "The black cat drank the milk"


def elu_plus_one(x):
    return x + 1 if x > 0 else math.exp(x)


def test_linear_weights_are_similarities_of_feature_maps():
    """Each weight is φ(q)·φ(k) over the row's sum, whatever the scale and the temperature."""
    mask = Mask(causal=True)
    layer = run(Request(TEXT, switches=Switches(mask=mask, normalizer="linear"))).layers[0]
    other = Switches(mask=mask, normalizer="linear", scale=False, temperature=5.0)
    assert np.array_equal(run(Request(TEXT, switches=other)).layers[0].pattern, layer.pattern)
    for head in range(4):
        for query in range(6):
            similar = [
                sum(
                    elu_plus_one(a) * elu_plus_one(b)
                    for a, b in zip(layer.q[head, query], layer.k[head, key], strict=True)
                )
                for key in range(query + 1)
            ]
            expected = [value / sum(similar) for value in similar] + [0.0] * (5 - query)
            assert layer.pattern[head, query] == pytest.approx(expected, abs=1e-12)


def test_linear_weights_of_a_row_without_keys_are_zero():
    switches = Switches(mask=Mask(window=0, blocked=frozenset({2})), normalizer="linear")
    assert not run(Request(TEXT, switches=switches)).layers[0].pattern[:, 2].any()


def test_linear_weights_stay_finite_far_from_zero():
    switches = Switches(projections="identity", normalizer="linear")
    layer = run(Request(TEXT, model=ModelSpec(d_model=512), switches=switches)).layers[0]
    assert layer.pattern.sum(axis=-1) == pytest.approx(1)


def test_without_normalizer_the_weights_are_the_scores():
    switches = Switches(mask=Mask(causal=True), normalizer="none")
    trace = run(Request(TEXT, switches=switches))
    layer = trace.layers[0]
    assert np.array_equal(layer.pattern, np.where(trace.mask, layer.attn_scores, 0))
    assert (layer.pattern < 0).any()


def test_identity_projections_change_nothing():
    """Q = K = V = X, and attn_out is z with its heads side by side."""
    layer = run(Request(TEXT, switches=Switches(projections="identity"))).layers[0]
    merged = np.concatenate(list(layer.q), axis=-1)
    assert np.array_equal(merged, layer.resid_pre)
    assert np.array_equal(layer.q, layer.k)
    assert np.array_equal(layer.q, layer.v)
    assert np.array_equal(layer.attn_out, np.concatenate(list(layer.z), axis=-1))
    assert np.array_equal(layer.dot, layer.dot.transpose(0, 2, 1))


@pytest.mark.parametrize("name", ["projections", "normalizer"])
def test_unknown_words_are_refused(name):
    with pytest.raises(SettingError, match=f"{name} 'no' is unknown: choose "):
        run(Request(TEXT, switches=Switches(**{name: "no"})))
