"""The formulas of the forward pass, by themselves: against plain Python and by their properties."""

import math
from dataclasses import replace
from threading import Thread

import numpy as np
import pytest

from core import activations
from core.activations import ACTIVATIONS
from core.checkpoints.model import open_model
from core.norms import apply_norm
from core.positions import position_rows, relative_bias, rotate, rotation, sinusoids
from core.projections import project
from core.scores import barrier, layer_mask, mix, softmax
from core.transformer import logits
from core.transformer_types import (
    Facts,
    HeadParts,
    LayerFacts,
    Linear,
    Norm,
    RelativeBias,
    Rotary,
    Scoring,
)
from tests.core.small_checkpoints import REFERENCE

FACTS = Facts(
    heads=2, kv_heads=1, d_model=4, d_head=2, vocabulary=9, limit=None, causal=True,
    layers=(LayerFacts(scale=1.0),), norm="layer", epsilon=1e-5, activation="gelu",
)  # fmt: skip
IDS = [5, 17, 3, 29, 11]


def soft(rows, allowed=None):
    scores = np.array(rows, dtype=np.float32)
    softmax(scores, None if allowed is None else barrier(np.array(allowed)))
    return scores


@pytest.mark.parametrize("row", [[1000, 1001], [-800, -801], [12, 11], [90, 89], [3e38, -3e38]])
def test_softmax_of_large_scores(row):
    """N01: no score overflows."""
    with np.errstate(over="ignore"):
        (found,) = soft([row])
    smaller = 1 / (1 + math.exp(min(abs(float(row[0]) - float(row[1])), 700)))
    np.testing.assert_allclose(sorted(found), [smaller, 1 - smaller], rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize("allowed", [None, [[True, False, True, True], [False] * 4]])
def test_softmax_of_small_scores(allowed):
    """Without a maximum subtracted the weights are the same."""
    scores = np.array([[59, -59, 3, 0.5], [-40, -41, -42, -58]], dtype=np.float32)
    barred = None if allowed is None else barrier(np.array(allowed))
    expected, found = scores.copy(), scores.copy()
    softmax(expected, barred)
    softmax(found, barred, small=True)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_row_with_no_key_is_zero():
    """N02: neither NaN nor 1/n."""
    found = soft([[3, 4], [3, 4]], [[False, False], [True, False]])
    np.testing.assert_array_equal(found, [[0, 0], [1, 0]])


def test_masked_score_does_not_leak_however_large():
    """N04, N05: a masked key gets exactly 0, though its score is the largest by far."""
    found = soft([[60, -10050, -10051]], [[False, True, True]])
    np.testing.assert_allclose(found, [[0, 0.731059, 0.268941]], atol=1e-6)
    assert found[0, 0] == 0


def test_scores_keep_no_infinity():
    """A masked cell of a trace is 0 in the pattern and finite in the scores."""
    model = open_model(REFERENCE / "mistral-window")
    trace = model.run([5, 17, 3, 29, 11, 8, 17], frozenset({0})).last
    mask = trace.masks[4]
    for block in trace.blocks:
        assert np.isfinite(block.attn_scores).all()
        assert (block.pattern[:, ~mask] == 0).all()
        assert (block.pattern[:, 0] == 0).all()  # its only key is blocked


def test_mask_of_a_window():
    """A window counts the query's own position."""
    mask = layer_mask(5, FACTS, LayerFacts(scale=1.0, window=2), frozenset({1}))
    np.testing.assert_array_equal(
        mask.astype(int),
        [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]],
    )
    encoder = replace(FACTS, causal=False)
    assert layer_mask(5, encoder, LayerFacts(scale=1.0), frozenset()) is None


@pytest.mark.parametrize("count", [1, 7, 40000])
def test_gelu_and_its_approximation_differ(count):
    """N15: exact GELU by erf, the other by tanh; each is what its formula says."""
    x = np.linspace(-9, 9, count, dtype=np.float32)
    exact = [v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x.astype(float)]
    inner = [math.sqrt(2 / math.pi) * (v + 0.044715 * v**3) for v in x.astype(float)]
    near = [v * 0.5 * (1 + math.tanh(i)) for v, i in zip(x.astype(float), inner, strict=True)]
    np.testing.assert_allclose(ACTIVATIONS["gelu"](x), exact, atol=6e-7)
    np.testing.assert_allclose(ACTIVATIONS["gelu_new"](x), near, atol=2e-6)
    if count > 100:
        assert 4e-4 < np.abs(ACTIVATIONS["gelu"](x) - ACTIVATIONS["gelu_new"](x)).max() < 5e-4


@pytest.mark.parametrize("size", [0.0, np.nan, 1e4])
@pytest.mark.parametrize("some", [slice(0, 3), slice(3, 6), slice(1, 4)])
def test_heads_are_mixed_by_the_keys_that_they_read(some, size):
    """Of what other heads read nothing is known: another thread may not have written it yet."""
    random = np.random.default_rng(3)
    q, k, v = (random.normal(size=(heads, 9, 8)).astype(np.float32) for heads in (6, 2, 2))
    k[1] *= 30  # its scores would overflow if none were subtracted
    z = np.zeros_like(q)
    scoring = Scoring(scale=1.0)
    mix(q, k, v, scoring, some, z)
    for head in range(some.start, some.stop):
        scores = (q[head] @ k[head // 3].T).astype(np.float64)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        expected = weights / weights.sum(axis=-1, keepdims=True) @ v[head // 3]
        np.testing.assert_allclose(z[head], expected, rtol=1e-4, atol=1e-5)
    if some.stop <= 3:
        k[1], again = size, np.zeros_like(q)
        mix(q, k, v, scoring, some, again)
        assert again.tobytes() == z.tobytes()


def test_each_thread_works_in_memory_of_its_own():
    others = []
    thread = Thread(target=lambda: others.append(activations._scratch(0, 8)))
    thread.start()
    thread.join()
    assert not np.shares_memory(activations._scratch(0, 8), others[0])
    assert np.shares_memory(activations._scratch(0, 8), activations._scratch(0, 8))


def test_gelu_between_all_steps():
    """The polynomial in place of erf is close wherever Φ is neither 0 nor 1, and tends to both."""
    x = np.concatenate([np.linspace(-40, 40, 80001), np.geomspace(1e-30, 1, 301)])
    x = x.astype(np.float32)
    exact = np.array([v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in x.astype(float)])
    np.testing.assert_allclose(ACTIVATIONS["gelu"](x), exact, rtol=2e-7, atol=4e-7)


def test_activation_in_place():
    x = np.linspace(-9, 9, 40000, dtype=np.float32)
    expected = ACTIVATIONS["gelu"](x)
    assert ACTIVATIONS["gelu"](x, out=x) is x
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("count", [1, 2, 40, 64, 65, 130])
@pytest.mark.parametrize("stored", ["in-out", "out-in"])
def test_projection(count, stored):
    """Few tokens are multiplied in pieces; a weight lies one way or the other."""
    generator = np.random.default_rng(count)
    weight = generator.standard_normal((40, 700)).astype(np.float32)
    bias = generator.standard_normal(700).astype(np.float32)
    x = generator.standard_normal((count, 40)).astype(np.float32)
    lying = weight if stored == "in-out" else np.asfortranarray(weight)
    expected = x.astype(float) @ weight + bias
    np.testing.assert_allclose(project(x, Linear(lying, bias)), expected, rtol=1e-4, atol=1e-4)
    out = np.empty((count, 700), np.float32, order="F")
    assert project(np.asfortranarray(x), Linear(lying), "relu", out=out) is out
    np.testing.assert_allclose(out, np.maximum(expected - bias, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_at_the_ends(name):
    """No overflow is reported and nothing becomes NaN, in any shape."""
    x = np.array([[-3e4, -100, -1, 0], [1, 100, 3e4, -0.0]], dtype=np.float32)
    with np.errstate(all="raise", under="ignore"):
        found = ACTIVATIONS[name](x)
    assert found.dtype == np.float32
    assert found.shape == x.shape
    np.testing.assert_allclose(found[1, 1:3], [100, 3e4], rtol=1e-6)
    np.testing.assert_allclose(found[0, :2], 0, atol=1e-6)


def test_silu():
    np.testing.assert_allclose(
        ACTIVATIONS["silu"](np.array([-2, 0, 3], dtype=np.float32)),
        [-2 / (1 + math.exp(2)), 0, 3 / (1 + math.exp(-3))],
        rtol=1e-6,
    )


def test_rotation_turns_halves():
    """C18: dimension i turns with i + half; what is beyond stays; lengths stay."""
    x = np.random.default_rng(0).standard_normal((2, 5, 6)).astype(np.float32)
    turned = x.copy()
    rotate(turned, rotation(5, Rotary((1.0, 0.25))))
    for pos in range(5):
        for i, rate in enumerate((1.0, 0.25)):
            cos, sin = math.cos(pos * rate), math.sin(pos * rate)
            a, b = x[:, pos, i], x[:, pos, i + 2]
            np.testing.assert_allclose(turned[:, pos, i], a * cos - b * sin, rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(
                turned[:, pos, i + 2], b * cos + a * sin, rtol=1e-4, atol=1e-6
            )
    np.testing.assert_array_equal(turned[..., 4:], x[..., 4:])
    known = turned.copy()
    rotate(turned, None)
    np.testing.assert_array_equal(turned, known)


def test_rotation_depends_on_distance_alone():
    """q·k after rotation is the same wherever the two stand, at equal distance."""
    q, k = np.random.default_rng(1).standard_normal((2, 1, 1, 8)).astype(np.float32)
    turn = rotation(30, Rotary((1.0, 0.3, 0.1, 0.01)))
    qs, ks = (np.repeat(x, 30, axis=1) for x in (q, k))
    rotate(qs, turn)
    rotate(ks, turn)
    dot = (qs @ ks.transpose(0, 2, 1))[0]
    for distance in (0, 3, 11):
        np.testing.assert_allclose(np.diagonal(dot, -distance), dot[distance, 0], atol=1e-4)


def test_position_rows():
    """C10: RoBERTa's padding takes its own row, by its id; OPT's by the mask."""
    roberta = replace(FACTS, position_rule="unpadded-id", position_offset=2, pad_id=1)
    assert position_rows(roberta, [0, 10, 11, 2, 1, 1], frozenset()) == [2, 3, 4, 5, 1, 1]
    opt = replace(FACTS, position_rule="unpadded-mask", position_offset=2)
    assert position_rows(opt, [1, 1, 5, 6], frozenset({0, 1})) == [1, 1, 2, 3]
    assert position_rows(replace(FACTS, position_offset=2), [7, 7], frozenset()) == [2, 3]


def test_relative_bias_buckets():
    """Near distances have a bucket each, far ones share the last; the future only both ways."""
    table = np.arange(8, dtype=np.float32)[:, None]
    both = relative_bias(40, RelativeBias(8, 10, both_ways=True), table)[0]
    assert both[0, :4].tolist() == [0, 5, 6, 6]
    assert both[:4, 0].tolist() == [0, 1, 2, 2]
    assert both[0, 39] == 7
    assert both[39, 0] == 3
    back = relative_bias(40, RelativeBias(8, 10, both_ways=False), table)[0]
    assert back[0].tolist() == [0] * 40
    assert back[:6, 0].tolist() == [0, 1, 2, 3, 4, 4]
    assert back[39, 0] == 7


def test_sinusoids_of_an_odd_width():
    found = sinusoids(3, 5)
    assert found.shape == (3, 5)
    assert found.dtype == np.float32
    rates = [10000.0 ** -(2 * i / 5) for i in range(3)]
    expected = [math.sin(2 * rate) for rate in rates] + [math.cos(2 * r) for r in rates[:2]]
    np.testing.assert_allclose(found[2], expected, rtol=1e-5)


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_norms(kind):
    facts = replace(FACTS, norm=kind)
    x = np.array([[1, 2, 3, 6]], dtype=np.float32)
    found = apply_norm(x, Norm(np.array([1, 1, 2, 1], np.float32), np.float32([0, 0, 0, 1])), facts)
    mean = 3 if kind == "layer" else 0
    size = math.sqrt(sum((v - mean) ** 2 for v in (1, 2, 3, 6)) / 4 + 1e-5)
    expected = [(v - mean) / size for v in (1, 2, 3, 6)]
    np.testing.assert_allclose(
        found, [[expected[0], expected[1], 2 * expected[2], expected[3] + 1]], rtol=1e-5
    )
    assert apply_norm(x, None, facts) is x


class Rows:
    """A head of given rows."""

    parts = HeadParts()

    def __init__(self, rows):
        self._rows = rows
        self.count = len(rows)

    def rows(self, start, stop):
        return self._rows[start:stop]


def test_logits_of_some_positions():
    """The unembedding is taken in parts; a scale and a soft cap are the facts'."""
    generator = np.random.default_rng(3)
    rows = generator.standard_normal((40000, 4)).astype(np.float32)
    final = generator.standard_normal((3, 4)).astype(np.float32)
    found = logits(FACTS, Rows(rows), final, [2, 0])
    np.testing.assert_allclose(found, final[[2, 0]] @ rows.T, rtol=1e-4, atol=1e-5)
    capped = logits(replace(FACTS, head_scale=0.5, head_softcap=2.0), Rows(rows), final)
    np.testing.assert_allclose(capped, 2 * np.tanh(final @ rows.T / 4), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["llama-shards", "gemma2-window", "t5-relu", "bert-plain"])
def test_every_step_follows_from_the_one_before(name):
    """A trace's arrays fit together: scores, pattern, z, attn_out and what is added."""
    model = open_model(REFERENCE / name)
    trace = model.run([5, 17, 3, 29, 11], target=[3, 4]).last
    facts = model.decoder or model.encoder
    for index, block in enumerate(trace.blocks):
        q, k, v = block.q, block.k, block.v
        assert q.shape == k.shape == v.shape == (facts.heads, len(trace.ids), facts.d_head)
        np.testing.assert_allclose(block.dot, q @ np.transpose(k, (0, 2, 1)), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(block.z, np.matmul(block.pattern, v), rtol=1e-4, atol=1e-5)
        scores = np.asarray(block.dot) * np.float32(facts.layers[index].scale)
        if facts.softcap:
            scores = facts.softcap * np.tanh(scores / facts.softcap)
        if facts.relative is None:
            np.testing.assert_allclose(block.attn_scores, scores, rtol=1e-4, atol=1e-4)
        assert block.resid_pre.shape == block.resid_post.shape == block.attn_out.shape
        own = (
            model._stack_weights(model._plan.decoder or model._plan.encoder).block(index).attention
        )
        merged = np.transpose(block.z, (1, 0, 2)).reshape(len(trace.ids), -1)
        attn_out = merged @ own.o.weight + (0 if own.o.bias is None else own.o.bias)
        if own.after is None:  # what the pass mixed is what z is when it is looked at
            np.testing.assert_allclose(block.attn_out, attn_out, rtol=1e-5, atol=1e-5)


def test_grouped_heads_share_keys():
    """Query heads of a group see the same keys and values."""
    attention = open_model(REFERENCE / "llama-shards").run(IDS).last.blocks[0]
    np.testing.assert_array_equal(attention.k[0], attention.k[2])
    np.testing.assert_array_equal(attention.v[3], attention.v[5])
    assert not np.allclose(attention.k[2], attention.k[3])


def test_every_array_is_float32():
    """Neither a cosine nor a scale makes the pass float64, which is slow."""
    trace = open_model(REFERENCE / "gemma3-kinds").run(IDS).last
    for block in trace.blocks:
        others = ("cross", "own_kv", "resid_mid")
        arrays = [getattr(block, name) for name in block.__dataclass_fields__ if name not in others]
        assert {np.asarray(array).dtype for array in arrays} == {np.dtype(np.float32)}


def test_a_prefix_is_computed_alike():
    """N14: a causal model gives a text's first tokens the same, whatever follows."""
    model = open_model(REFERENCE / "llama-shards")
    long, short = model.run(IDS).last.final, model.run(IDS[:3]).last.final
    np.testing.assert_allclose(long[:3], short, rtol=1e-4, atol=1e-5)


def test_one_token():
    """N11: a single token attends to itself alone."""
    for name in ("bert-plain", "llama-shards", "gpt2-head"):
        for block in open_model(REFERENCE / name).run([5]).last.blocks:
            np.testing.assert_array_equal(block.pattern, 1)
