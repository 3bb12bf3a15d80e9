import math
from pathlib import Path

import numpy as np
import pytest

from core.attention import attend, build_mask, layer_norm, masked_softmax, merge_heads, split_heads
from core.types import LayerWeights, Mask, Switches

REFERENCE = Path(__file__).parents[1] / "reference" / "attention.npz"
CASES = 34
EVERY_KEY = np.ones((1, 2), dtype=bool)


def load(index):
    with np.load(REFERENCE) as file:
        return {key[3:]: file[key] for key in file.files if key.startswith(f"{index:02}/")}


def attend_case(case):
    heads, scale, temperature = case["facts"]
    x, w_q, w_k, w_v, w_o = (
        case[name].astype(np.float64) for name in ("x", "w_q", "w_k", "w_v", "w_o")
    )
    switches = Switches(scale=bool(scale), temperature=float(temperature))
    return attend(x, LayerWeights(w_q, w_k, w_v, w_o), int(heads), case["mask"], switches)


@pytest.mark.parametrize("index", range(CASES))
def test_against_torch(index):
    """Q10: pattern and output are torch's to 1e-6, no closer; without a key 0 where it has NaN."""
    case = load(index)
    layer = attend_case(case)
    some = case["mask"].any(axis=1)
    assert np.isfinite(case["pattern"][:, some]).all()
    np.testing.assert_allclose(layer.pattern[:, some], case["pattern"][:, some], atol=1e-6, rtol=0)
    np.testing.assert_allclose(layer.attn_out[some], case["attn_out"][some], atol=1e-6, rtol=1e-6)
    assert not layer.pattern[:, ~some].any()
    assert not layer.attn_out[~some].any()


def test_reference_is_worth_comparing():
    """The file has every case, and among them what is easy to get wrong."""
    cases = [load(index) for index in range(CASES)]
    with np.load(REFERENCE) as file:
        assert len({key[:2] for key in file.files}) == CASES
    assert any(not case["mask"].any(axis=1).all() for case in cases)
    assert any(case["mask"].all() for case in cases)
    assert {bool(case["facts"][1]) for case in cases} == {True, False}
    assert any(case["w_q"].shape[1] == case["facts"][0] for case in cases)  # d_head 1
    wide = [case for case in cases if case["mask"].sum(axis=1).max() > 4]
    assert sum(np.nanmax(case["pattern"]) > 0.9 for case in wide) >= 8


def test_by_hand():
    """Two tokens, one head, every weight 1 on the diagonal: the arithmetic of the paper."""
    identity = np.eye(2)
    weights = LayerWeights(identity, identity, identity, identity)
    layer = attend(
        np.array([[1.0, 0.0], [0.0, 2.0]]), weights, 1, np.ones((2, 2), bool), Switches()
    )
    assert layer.dot.tolist() == [[[1.0, 0.0], [0.0, 4.0]]]
    first = 1 / (1 + math.exp(-1 / math.sqrt(2)))
    second = 1 / (1 + math.exp(-4 / math.sqrt(2)))
    expected = [[first, 1 - first], [1 - second, second]]
    np.testing.assert_allclose(layer.pattern[0], expected, atol=1e-15)
    np.testing.assert_allclose(layer.attn_out, np.array(expected) * [1, 2], atol=1e-15)


def test_switches_divide():
    """Scores are q·k over √d_head when that is on, and over the temperature."""
    rng = np.random.default_rng(1)
    x, *matrices = (rng.normal(size=(6, 6)) for _ in range(5))
    weights, mask = LayerWeights(*matrices), np.ones((6, 6), bool)
    for switches, divisor in [
        (Switches(), math.sqrt(3)),
        (Switches(scale=False), 1.0),
        (Switches(temperature=0.5), math.sqrt(3) / 2),
        (Switches(scale=False, temperature=4.0), 4.0),
    ]:
        layer = attend(x, weights, 2, mask, switches)
        np.testing.assert_allclose(layer.attn_scores, layer.dot / divisor, rtol=1e-14)


def test_heads_are_columns():
    """Head h reads columns h * d_head and on, and merging undoes splitting."""
    x = np.arange(12.0).reshape(2, 6)
    heads = split_heads(x, 3)
    assert heads[1].tolist() == [[2.0, 3.0], [8.0, 9.0]]
    assert merge_heads(heads).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([1000.0, 1001.0], [0.2689414213699951, 0.7310585786300049]),
        ([-800.0, -801.0], [0.7310585786300049, 0.2689414213699951]),
        ([90.0, 89.0], [0.7310585786300049, 0.2689414213699951]),
        ([1e300, -1e300], [1.0, 0.0]),
        ([-1e300, -1e300], [0.5, 0.5]),
    ],
)
def test_large_scores(scores, expected):
    """N01: scores of any size overflow nothing."""
    with np.errstate(all="raise", under="ignore"):
        pattern = masked_softmax(np.array([scores]), EVERY_KEY)
    np.testing.assert_allclose(pattern, [expected], rtol=1e-12)


def test_row_without_a_key():
    """N02: a row with nothing to attend to is all 0, not NaN and not even."""
    scores = np.array([[1.0, 2.0], [3.0, 4.0]])
    pattern = masked_softmax(scores, np.array([[False, False], [True, False]]))
    assert pattern.tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_mask_multiplies_nothing():
    """N04: a kept cell beside a masked one is a plain number."""
    assert masked_softmax(np.array([[2.0, 5.0]]), np.array([[True, False]])).tolist() == [
        [1.0, 0.0]
    ]


def test_mask_adds_nothing():
    """N05: no logit, however large, leaks through the mask."""
    for kept, masked in [(-10_050.0, 60.0), (-1e12, 1e12), (0.0, np.inf), (0.0, np.nan)]:
        pattern = masked_softmax(np.array([[kept, masked]]), np.array([[True, False]]))
        assert pattern.tolist() == [[1.0, 0.0]]


def test_wide_products():
    """N06: a product beyond float16 is finite, for inputs of float64 as every trace has."""
    x = np.full((1, 64), 40.0)
    weights = LayerWeights(*(np.eye(64) for _ in range(4)))
    layer = attend(x, weights, 1, np.ones((1, 1), bool), Switches())
    assert layer.dot.item() == 102_400.0
    assert layer.attn_scores.item() == 12_800.0
    assert layer.pattern.item() == 1.0


def test_equal_scores_share_evenly():
    """N14: ties stay ties."""
    pattern = masked_softmax(np.full((1, 20), 0.3), np.ones((1, 20), bool))
    assert set(pattern[0].tolist()) == {1 / 20}


@pytest.mark.parametrize(
    ("mask", "rows"),
    [
        (Mask(), ["1111", "1111", "1111", "1111"]),
        (Mask(causal=True), ["1000", "1100", "1110", "1111"]),
        (Mask(window=1), ["1100", "1110", "0111", "0011"]),
        (Mask(window=0), ["1000", "0100", "0010", "0001"]),
        (Mask(window=10**30), ["1111", "1111", "1111", "1111"]),
        (Mask(causal=True, window=1), ["1000", "1100", "0110", "0011"]),
        (Mask(blocked=frozenset({0, 2})), ["0101", "0101", "0101", "0101"]),
        (Mask(True, 1, frozenset({1})), ["1000", "1000", "0010", "0011"]),
        (Mask(True, 0, frozenset({1})), ["1000", "0000", "0010", "0001"]),
    ],
)
def test_masks(mask, rows):
    """Each mask as a picture, query by query; combined, every part must allow a cell."""
    picture = ["".join("01"[int(cell)] for cell in row) for row in build_mask(4, mask)]
    assert picture == rows


def test_layer_norm():
    """Every row gets mean 0 and variance 1; a constant row gets 0 and no division by 0."""
    normed = layer_norm(np.array([[1.0, 2.0, 3.0, 6.0], [5.0, 5.0, 5.0, 5.0]]))
    expected = [(value - 3) / math.sqrt(3.5 + 1e-5) for value in (1, 2, 3, 6)]
    np.testing.assert_allclose(normed, [expected, [0.0] * 4], rtol=1e-14)
