"""The arithmetic of a derivation, without its layout."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given

from core import Edit, Mask, ModelSpec, Request, Switches, run
from core.derivation import WholeDerivation
from core.derive import derive, self_check
from core.errors import SettingError
from core.names import STAGES
from tests.derivation.requests import DERIVATION, break_cell, places

BALL = Request("The ball is blue")


def ask(text="a b c", layers=1, **switches):
    return run(Request(text, model=ModelSpec(layers), switches=Switches(**switches)))


def with_layers(trace, *layers):
    return dataclasses.replace(trace, encoder=dataclasses.replace(trace.encoder, layers=layers))


def by_hand(trace, query, key):
    """The default model's head 0, in loops that share nothing with the code under test."""
    layer = trace.layers[0]
    embed, rows = trace.embed.tolist(), trace.pos_embed.tolist()
    x = [[embed[i][dim] + rows[i][dim] for dim in range(16)] for i in range(4)]
    project = {}
    for name in ("q", "k", "v"):
        matrix = getattr(layer.weights, f"w_{name}").tolist()
        project[name] = [
            [sum(row[i] * matrix[i][dim] for i in range(16)) for dim in range(4)] for row in x
        ]
    q, k, v = project["q"][query], project["k"], project["v"]
    products = [q[i] * k[key][i] for i in range(4)]
    scores = [sum(q[i] * row[i] for i in range(4)) / 2 for row in k]
    exps = [math.exp(score - max(scores)) for score in scores]
    weights = [part / sum(exps) for part in exps]
    z = [sum(weights[j] * v[j][dim] for j in range(4)) for dim in range(4)]
    merged = z + [float(layer.z[head, query, dim]) for head in (1, 2, 3) for dim in range(4)]
    w_o = layer.weights.w_o.tolist()
    attn_out = [sum(merged[i] * w_o[i][dim] for i in range(16)) for dim in range(16)]
    return x, q, k[key], products, scores, exps, weights, z, attn_out


def test_blue_to_ball():
    """Number by number against loops, and the digits that the README prints."""
    trace = run(BALL)
    made = derive(trace, 0, 0, 3, 1)
    x, q, k, products, scores, exps, weights, z, attn_out = by_hand(trace, 3, 1)
    found = [
        (made.positions.resid_pre.query, x[3]),
        (made.positions.resid_pre.key, x[1]),
        (made.projections.q.vector, q),
        (made.projections.k.vector, k),
        ([made.projections.q.component.total], q[:1]),
        (made.dot.q, q),
        (made.dot.k, k),
        (made.dot.products.terms, products),
        ([made.dot.products.total], [sum(products)]),
        (made.scale.row, scores),
        ([made.scale.divisor, made.scale.score], [2.0, scores[1]]),
        (made.softmax.parts.terms, exps),
        ([made.softmax.parts.total, made.softmax.top], [sum(exps), max(scores)]),
        (made.softmax.weights, weights),
        ([made.softmax.weight], weights[1:2]),
        (made.z.total, z),
        (made.output.attn_out, attn_out),
        ([made.output.component.total], attn_out[:1]),
    ]
    for own, expected in found:
        assert own == pytest.approx(expected, rel=1e-12, abs=1e-14)
    rounded = [round(number, 3) for number in (*q, *k, *products)]
    assert rounded[:4] == [-2.582, 0.994, 0.168, -0.224]
    assert rounded[4:8] == [-1.610, -0.835, 0.483, -0.871]
    assert rounded[8:] == [4.157, -0.830, 0.081, 0.195]
    assert round(made.softmax.weight, 3) == 0.707


def test_every_stage_has_its_part():
    fields = {field.name for field in dataclasses.fields(WholeDerivation)}
    place = {"attention", "layer", "head", "query", "key", "component"}
    assert fields == place | set(STAGES) | {"made"}  # of a real model


@pytest.mark.parametrize("component", [0, 3, 4, 15, 17])
def test_the_component_that_is_worked_out(component):
    """It goes round where a vector is shorter, and its sum is that entry of the vector."""
    trace = ask()
    made = derive(trace, 0, 1, 2, 1, component=component)
    layer = trace.layers[0]
    for name, token in (("q", 2), ("k", 1), ("v", 1)):
        part = getattr(made.projections, name)
        assert part.index == component % 4
        column = getattr(layer.weights, f"w_{name}")[:, 4 + part.index]
        terms = [x * w for x, w in zip(layer.resid_pre[token], column, strict=True)]
        assert part.component.terms == pytest.approx(terms)
        assert part.component.total == part.vector[part.index]
        traced = float(getattr(layer, name)[1, token, part.index])
        assert part.component.total == pytest.approx(traced)
    output = made.output
    assert output.index == component % 16
    assert output.component.total == output.attn_out[output.index]
    assert output.component.total == pytest.approx(float(layer.attn_out[2, output.index]))


def test_numbers_typed_over_are_used_and_named():
    edits = (
        Edit("attn_scores", (0, 1, 2, 0), 0.5),
        Edit("attn_scores", (0, 0, 2, 1), 9.0),  # of another head
        Edit("x", (1, 3), -2.0),
        Edit("w_q", (0, 2, 6), 1.0),
        Edit("w_q", (0, 2, 3), 1.0),  # of another head
    )
    plain = derive(ask(), 0, 1, 2, 0)
    trace = ask(edits=edits)
    made = derive(trace, 0, 1, 2, 0)
    assert all(check.passed for check in self_check(trace, made))
    assert made.scale.typed == {0}
    assert made.scale.score == made.scale.row[0] == 0.5
    assert made.scale.divided == pytest.approx(made.dot.products.total / 2)
    assert made.positions.typed_query == made.positions.typed_key == ()
    assert derive(trace, 0, 1, 1, 2).positions.typed_query == (3,)
    assert derive(trace, 0, 1, 1, 2).positions.resid_pre.query[3] == -2.0
    assert made.projections.q.typed == ((2, 6),)
    assert made.projections.k.typed == ()
    moved = made.projections.q.vector[2] - plain.projections.q.vector[2]
    old = ask().layers[0].weights.w_q[2, 6]
    assert moved == pytest.approx((1.0 - old) * made.projections.q.x[2])


@DERIVATION
@given(places())
def test_self_check_passes(drawn):
    """Whatever is switched, the plain arithmetic and NumPy agree."""
    request, place = drawn
    trace = run(request)
    checks = self_check(trace, derive(trace, *place))
    assert [check for check in checks if not check.passed] == []
    names = [check.name for check in checks]
    assert ("rows sum to 1" in names) == (request.switches.normalizer != "none")
    ends = (request.model.layers - 1, "cross" if request.target else "encoder")
    assert ("resid_post" in names) == ((place[0], place[4]) != ends)


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("q", (0, 2, 1)),
        ("k", (0, 1, 0)),
        ("v", (0, 1, 0)),
        ("dot", (0, 2, 1)),
        ("attn_scores", (0, 2, 0)),
        ("pattern", (0, 2, 1)),
        ("z", (0, 2, 3)),
        ("attn_out", (2, 5)),
        ("resid_post", (2, 5)),
    ],
)
def test_self_check_finds_one_wrong_number(name, index):
    """A trace in which one number is off by a thousandth fails, in the step of that name."""
    trace = ask(layers=2)
    good = trace.layers[0]
    wrong = dataclasses.replace(good, **{name: break_cell(getattr(good, name), *index)})
    broken = with_layers(trace, wrong, trace.layers[1])
    checks = self_check(broken, derive(trace, 0, 0, 2, 1))
    failed = {check.name for check in checks if not check.passed}
    assert name in failed


def test_self_check_of_a_pattern():
    """A row that does not sum to 1, a masked cell that is not 0, a number that is not finite."""
    trace = ask(mask=Mask(causal=True))
    good = trace.layers[0]
    made = derive(trace, 0, 0, 2, 1)

    def failed(**arrays):
        broken = with_layers(trace, dataclasses.replace(good, **arrays))
        return [check.name for check in self_check(broken, made) if not check.passed]

    assert failed() == []
    assert failed(pattern=break_cell(good.pattern, 0, 1, 0)) == ["rows sum to 1"]
    masked = break_cell(good.pattern, 0, 0, 2, by=1e-300)
    assert failed(pattern=masked) == ["masked cells 0"]
    assert failed(q=break_cell(good.q, 0, 0, 0, by=math.inf)) == ["finite"]
    assert "attn_out" in failed(attn_out=break_cell(good.attn_out, 2, 0, by=math.nan))


def test_masked_key():
    made = derive(ask(mask=Mask(causal=True)), 0, 0, 1, 2)
    assert made.mask.allowed == (True, True, False)
    assert made.softmax.parts.terms[2] == made.softmax.weight == 0.0
    assert made.z.terms[2] == (0.0,) * 4
    assert sum(made.softmax.weights) == pytest.approx(1)


@pytest.mark.parametrize("normalizer", ["softmax", "linear", "none"])
def test_row_without_a_key(normalizer):
    """A query that may attend to nothing has weights, z and checks all the same."""
    mask = Mask(causal=True, blocked=frozenset({0}))
    trace = ask(layers=2, mask=mask, normalizer=normalizer)
    made = derive(trace, 0, 0, 0, 0)
    assert made.softmax.weights == (0.0, 0.0, 0.0)
    assert made.softmax.top is None
    assert made.z.total == (0.0,) * 4
    assert all(check.passed for check in self_check(trace, made))


def test_one_token():
    made = derive(ask("one"), 0, 3, 0, 0)
    assert made.softmax.weights == (1.0,)
    assert made.z.total == pytest.approx(made.projections.v.vector)


def test_linear_normalizer():
    """elu + 1, written out."""
    trace = ask(normalizer="linear")
    q, keys = trace.layers[0].q[0, 2].tolist(), trace.layers[0].k[0].tolist()
    phi = [[x + 1 if x > 0 else math.exp(x) for x in row] for row in [q, *keys]]
    similar = [sum(phi[0][i] * row[i] for i in range(4)) for row in phi[1:]]
    made = derive(trace, 0, 0, 2, 1).softmax
    assert made.parts.terms == pytest.approx(similar)
    assert made.similarity.products.total == pytest.approx(similar[1])
    assert made.weights == pytest.approx([part / sum(similar) for part in similar])


def test_later_layers():
    """Layer 1 starts from what layer 0 gives, and only layer 0 has Add & Norm to show."""
    trace = ask(layers=2)
    first, second = derive(trace, 0, 0, 1, 2), derive(trace, 1, 0, 1, 2)
    assert second.output.residual is None
    expected = second.positions.resid_pre.query
    assert first.output.residual.resid_post == pytest.approx(expected)
    assert np.mean(expected) == pytest.approx(0, abs=1e-12)


def test_cross_attention_starts_from_both_stacks():
    """q is made of what masked self-attention gave, k and v of what leaves the encoder."""
    model = ModelSpec(2)
    trace = run(Request("a b c", model=model, target="d e"))
    made = derive(trace, 1, 0, 1, 2, "cross")
    asking = trace.decoder.layers[1].resid_post[1].tolist()
    answering = trace.layers[1].resid_post[2].tolist()
    assert made.positions.resid_pre.query == tuple(asking) == made.projections.q.x
    assert made.positions.resid_pre.key == tuple(answering) == made.projections.v.x
    assert made.embedding.query == tuple(trace.decoder.queries.embed[1].tolist())
    assert made.embedding.key == tuple(trace.embed[2].tolist())
    assert len(made.softmax.weights) == 3


def test_add_and_norm_is_shown_where_something_follows():
    """Of two texts, only what leaves the decoder goes nowhere."""
    trace = run(Request("a b c", model=ModelSpec(2), target="d e"))
    shown = {
        (name, layer): derive(trace, layer, 0, 0, 0, name).output.residual is not None
        for name in trace.attentions
        for layer in (0, 1)
    }
    assert [place for place, residual in shown.items() if not residual] == [("cross", 1)]


def test_an_attention_that_is_not_there():
    with pytest.raises(SettingError, match="there is no cross attention: choose one of encoder"):
        derive(ask(), 0, 0, 0, 0, "cross")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ((1, 0, 0, 0), "layer 1 is out of range: 0 is the only one, since counting starts there"),
        ((0, 4, 0, 0), "head 4 is out of range: choose 0 to 3"),
        ((0, 0, -1, 0), "query -1 is out of range: choose 0 to 2"),
        ((0, 0, 0, 3), "key 3 is out of range: choose 0 to 2"),
    ],
)
def test_places_out_of_range(place, words):
    with pytest.raises(SettingError, match=words):
        derive(ask(), *place)
