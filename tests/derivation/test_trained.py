"""Derivations of real models: against transformers, against plain loops, and what they say."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.derivation import WholeDerivation
from core.derive import derive, self_check, tolerance
from core.derive_trained import _bias
from core.errors import SettingError
from core.runner import run
from core.trained import describe, opened
from core.types import Mask, Request, Switches
from tests.core.small_checkpoints import REFERENCE, edit_config, expected_of, speaking
from tests.reference.checkpoint_cases import CASES
from tui.printing.derivation import as_text, blocks_of
from tui.scene import Scene, View

# OPT's positions depend on what is blocked, which is refused.
NAMES = [name for name, case in CASES.items() if "target" not in case and name != "opt-before"]


def traced(name, tmp_path, **changes):
    expected, text = expected_of(name)
    pads = frozenset(expected["pads"].tolist())
    model = describe(speaking(name, tmp_path))
    return run(
        Request(text, model=model, switches=Switches(Mask(blocked=pads)), **changes)
    ), expected


def text_of(trace, **fields):
    view = View(trace.request, **fields)
    return "\n".join(as_text(blocks_of(Scene(view, trace))))


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_those_of_transformers(name, tmp_path):
    """Every layer and head, for a query at the start, in the middle and at the end."""
    trace, expected = traced(name, tmp_path)
    model, count = trace.request.model, len(trace.tokens)
    kept = [i for i in range(count) if i not in expected["pads"]]
    for layer in range(model.layers):
        for head in range(model.heads):
            for query in {kept[0], kept[len(kept) // 2], kept[-1]}:
                made = derive(trace, layer, head, query, kept[-1], component=3)
                assert not isinstance(made, WholeDerivation)
                row = expected["attentions"][layer][head, query]
                np.testing.assert_allclose(made.softmax.weights, row, atol=1e-4)
                checks = self_check(trace, made)
                assert all(check.passed for check in checks), (layer, head, query, checks)
                names = {check.name for check in checks}
                assert {"dot", "attn_scores", "pattern", "z"} <= names
                normed = CASES[name]["config"].startswith(("Gemma2", "Gemma3"))
                assert ("attn_out" in names) == (not normed)


def test_every_step_is_what_a_plain_loop_makes(tmp_path):
    """Gemma 2: a scale of its own, scores that are capped, a window."""
    trace, _expected = traced("gemma2-window", tmp_path)
    layer, head, query, key = 0, 5, 8, 6
    made = derive(trace, layer, head, query, key)
    arrays = trace.layers[layer]
    q, k = arrays.q[head, query].tolist(), arrays.k[head].tolist()
    scores = []
    for row in k:
        total = 0.0
        for a, b in zip(q, row, strict=True):
            total += a * b
        scores.append(4.0 * math.tanh(total / math.sqrt(7) / 4.0))
    allowed = [query - 4 < other <= query for other in range(len(k))]
    assert list(made.mask.allowed) == allowed
    powers = [math.exp(s) if may else 0.0 for s, may in zip(scores, allowed, strict=True)]
    weights = [power / sum(powers) for power in powers]
    assert made.scale.score == pytest.approx(scores[key], rel=1e-6)
    assert made.scale.divisor == pytest.approx(math.sqrt(7), rel=1e-6)
    assert made.softmax.weights == pytest.approx(weights, rel=1e-6)
    z = [0.0] * len(q)
    for weight, row in zip(weights, arrays.v[head].tolist(), strict=True):
        z = [total + weight * value for total, value in zip(z, row, strict=True)]
    assert made.z.total == pytest.approx(z, rel=1e-6, abs=1e-9)


def test_output_is_what_a_plain_loop_makes(tmp_path):
    trace, _expected = traced("gpt2-head", tmp_path)
    made = derive(trace, 1, 2, 4, 0, component=5)
    weights = opened(trace.request.model.path).stack_of("encoder")[1].block(1).attention.o
    merged = [x for head in trace.layers[1].z for x in head[4].tolist()]
    for column in range(24):
        total = float(weights.bias[column])
        for x, row in zip(merged, weights.weight.tolist(), strict=True):
            total += x * row[column]
        assert made.output.attn_out[column] == pytest.approx(total, abs=1e-6)
    assert made.output.index == 5
    assert made.output.component.total + float(weights.bias[5]) == made.output.attn_out[5]


@pytest.mark.parametrize("name", ["t5-relu", "mt5-gated"])
def test_relative_bias_is_what_scores_are_moved_by(name):
    model = opened(str(REFERENCE / name))
    ids = [5, 17, 3, 29, 11, 8, 17, 2, 31, 9, 4]
    run_ = model.run(ids, target=[0, 5, 9, 30, 2])
    for attention, stack in (("encoder", run_.encoder), ("decoder", run_.decoder)):
        plan, weights = model.stack_of(attention)
        block = stack.blocks[1]
        for head in range(plan.facts.heads):
            for query in (0, 3):
                keys = np.array(block.k[head])
                bias = _bias(plan, weights, head, query, len(keys))
                moved = block.attn_scores[head, query] - keys @ block.q[head, query]
                np.testing.assert_allclose(moved, bias, atol=1e-5)


def test_broken_trace_fails_the_check(tmp_path):
    trace, _expected = traced("bert-legacy", tmp_path)
    layer = trace.layers[1]
    pattern = np.array(layer.pattern)
    pattern[0, 2, 1] += 0.001
    layers = (trace.layers[0], replace(layer, pattern=pattern))
    broken = replace(trace, encoder=replace(trace.encoder, layers=layers))
    failed = {c.name for c in self_check(broken, derive(broken, 1, 0, 2, 1)) if not c.passed}
    assert failed == {"the row sums to 1", "pattern"}
    assert tolerance(trace) == 1e-5


def test_place_that_is_not_there(tmp_path):
    trace, _expected = traced("bert-legacy", tmp_path)
    with pytest.raises(SettingError, match="head 3 is out of range: choose 0 to 2"):
        derive(trace, 0, 3, 0, 0)
    with pytest.raises(SettingError, match="there is no cross attention"):
        derive(trace, 0, 0, 0, 0, "cross")


def test_words(tmp_path):
    trace, _expected = traced("llama-shards", tmp_path)
    said = " ".join(text_of(trace, layer=1, head=4, query=6, key=3).split())
    assert "each of their 4 numbers comes from all 24 numbers that enter" in said
    assert "A norm stands before the projections." in said
    assert "Biases are added to them." in said
    assert "turned by their positions (rotary)" in said
    assert "3 heads share one k and one v." in said
    assert "√4 in float32 = 2.000" in said
    for number, stage in enumerate(("dot", "scale", "mask", "softmax", "z", "output"), 1):
        assert f" {number} {stage}: " in said
    assert "embedding:" not in said
    assert "this arithmetic equals the trace ok" in said
    assert "and the bias" in said  # of W_O
    trace, _expected = traced("bert-legacy", tmp_path / "2")
    said = " ".join(text_of(trace, query=2).split())
    assert "norm stands before" not in said
    assert "rotary" not in said
    assert "share one k" not in said
    assert "Biases are added to them." in said
    trace, _expected = traced("qwen3-head-dim", tmp_path / "3")
    said = " ".join(text_of(trace, query=2).split())
    assert "q and k are normalised in each head." in said
    assert "Biases" not in said


def test_scores_that_are_capped(tmp_path):
    trace, _expected = traced("gemma2-window", tmp_path)
    made = derive(trace, 0, 5, 8, 6)
    said = text_of(trace, head=5, query=8, key=6)
    before, after = (f"{value:+.3f}" for value in (made.scale.divided, made.scale.score))
    assert f"÷ 2.646 = {before}" in said
    assert "the model's own = 2.646" in said
    assert f"4 × tanh({before} ÷ 4) = {after}" in said
    assert "What W_O gives is normalised before it is added" in said
    digits = 4 * math.tanh(float(before) / 4)
    note = f"the printed digits give {digits:+.3f}; the difference is rounding"
    assert (note in said) == (f"{digits:+.3f}" != after)


def test_weights_that_are_not_kept(tmp_path, monkeypatch):
    from core.checkpoints import weights

    monkeypatch.setattr(weights, "KEEP_BYTES", 0)
    model = describe(speaking("gpt2-untied", tmp_path))  # BF16, to be made float32
    trace = run(Request("t5 t6 t7", model=model))
    made = derive(trace, 0, 0, 2, 1)
    assert made.output is None
    assert all(check.passed for check in self_check(trace, made))
    said = " ".join(text_of(trace, query=2).split())
    assert "The weights of this model are not kept in memory" in said


def test_long_row_of_a_real_model(tmp_path):
    trace = run(
        Request(" ".join(["t5 t6 t7"] * 6), model=describe(speaking("gpt2-head", tmp_path)))
    )
    said = text_of(trace, query=17, key=2)
    assert "… 2 more" in said
    assert "> 2 t7" in said


@pytest.mark.parametrize("precision", [1, 3, 7, 12])
def test_digits_that_miss_are_said(precision, tmp_path):
    """Terms and result as printed, added up here, against the notes."""
    trace, _expected = traced("gpt2-head", tmp_path)
    made = derive(trace, 0, 0, 4, 2)
    said = text_of(trace, query=4, key=2, precision=precision)
    divided = round(round(made.dot.products.total, precision) / made.scale.divisor, precision)
    exact = f"{made.scale.score:+.{precision}f}"
    if precision < 7:  # beyond, the divisor's own digits count
        missed = f"{divided:+.{precision}f}" != exact
        assert (f"the printed digits give {divided:+.{precision}f}" in said) == missed
    assert f"= {exact}" in said


WRITING = [name for name, case in CASES.items() if "target" in case]


@pytest.mark.parametrize("name", WRITING)
def test_three_attentions_are_those_of_transformers(name, tmp_path):
    """Of encoder–decoders: T5's with a bias for the distance, cross-attention without."""
    expected, text = expected_of(name)
    path = speaking(name, tmp_path)
    edit_config(Path(path), decoder_start_token_id=int(expected["target"][0]))
    target = " ".join(f"t{i}" for i in expected["target"][1:])
    pads = frozenset(expected["pads"].tolist())
    switches = Switches(Mask(blocked=pads))
    trace = run(Request(text, model=describe(path), switches=switches, target=target))
    for kind, attention in trace.attentions.items():
        heads = len(attention.layers[0].q)
        for layer in range(len(attention.layers)):
            for head in range(heads):
                made = derive(trace, layer, head, 2, 1, kind, component=7)
                row = expected[f"{kind}_attentions"][layer][head, 2]
                np.testing.assert_allclose(made.softmax.weights, row, atol=1e-4)
                checks = self_check(trace, made)
                assert all(check.passed for check in checks), (kind, layer, head, checks)
                assert "attn_out" in {check.name for check in checks}
        said = " ".join(text_of(trace, attention=kind, query=2, key=1).split())
        assert ("k and v come from what leaves the encoder." in said) == (kind == "cross")
        moved = name.startswith(("t5", "mt5")) and kind != "cross"
        assert ("learned, for how far" in said) == moved
        assert "this arithmetic equals the trace ok" in said
