"""Learning: gradients against finite differences, runs, and what cannot be learned."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import core.learning
from core import GivenModel, Learning, Mask, ModelSpec, Request, Switches, Wish, run
from core.errors import AttnError, BudgetError, SettingError
from core.learning import Task, gradients, least_loss
from tests.core.test_properties import CORE, masks

TEXT = "The black cat drank the milk"
MILK = Wish(5, ((1, 0.1), (2, 0.3), (3, 0.5)))
LESSON = Request(TEXT, learning=Learning((MILK,), steps=200))
SWITCHES = st.builds(
    Switches, positions=st.booleans(), scale=st.booleans(), temperature=st.floats(0.5, 4)
)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    """Every test begins without runs that another one left."""
    monkeypatch.setattr(core.learning, "_kept", {})


def learn(**changes):
    return replace(LESSON, learning=replace(LESSON.learning, **changes))


def plain_loss(x, w_q, w_k, mask, queries, wished, divisor):
    """The loss as a person would write it down, element by element."""
    total = 0.0
    for row, query in enumerate(queries):
        scores = [float(x[query] @ w_q @ (x[key] @ w_k)) / divisor for key in range(len(x))]
        allowed = [key for key in range(len(x)) if mask[query, key]]
        below = sum(np.exp(scores[key]) for key in allowed)
        total -= sum(wished[row, key] * np.log(np.exp(scores[key]) / below) for key in allowed)
    return total


@st.composite
def problems(draw):
    """A request that learns: mask, switches, head, seed and one or more rows."""
    count, heads = draw(st.integers(2, 5)), draw(st.integers(1, 3))
    mask = Mask(draw(st.booleans()), draw(st.none() | st.integers(0, count)))
    wishes = []
    for query in draw(st.sets(st.integers(0, count - 1), min_size=1)):
        key = draw(st.integers(0, query))
        window = mask.window is None or query - key <= mask.window
        only = (mask.causal and query == 0) or mask.window == 0
        share = 1.0 if only else draw(st.sampled_from([0.3, 0.7, 1.0]))
        wishes.append(Wish(query, ((key if window and not only else query, share),)))
    model = ModelSpec(1, heads, heads * draw(st.integers(1, 3)), draw(st.integers(0, 999)))
    learning = Learning(tuple(wishes), draw(st.integers(0, heads - 1)))
    switches = replace(draw(SWITCHES), mask=mask)
    return Request(" ".join("abcde"[:count]), "spaces", model, switches, learning=learning)


@CORE
@given(problems())
def test_gradients_are_those_of_finite_differences(request):
    """Central differences of a loss that is written down anew, in float64, to 1e-6."""
    trace = run(request)
    layer, history, d_head = trace.layers[0], trace.history, request.model.d_head
    columns = slice(request.learning.head * d_head, (request.learning.head + 1) * d_head)
    w_q, w_k = layer.weights.w_q[:, columns], layer.weights.w_k[:, columns]
    root = np.sqrt(d_head) if request.switches.scale else 1.0
    divisor = root * request.switches.temperature
    allowed = trace.mask[list(history.queries)]
    slope = gradients(
        Task(layer.resid_pre, history.queries, history.wished, allowed, divisor), w_q, w_k
    )

    def loss(w_q, w_k):
        rows = history.queries, history.wished, divisor
        return plain_loss(layer.resid_pre, w_q, w_k, trace.mask, *rows)

    assert slope.loss == pytest.approx(loss(w_q, w_k), abs=1e-12)
    step = 1e-5
    for index in np.ndindex(w_q.shape):
        nudge = np.zeros(w_q.shape)
        nudge[index] = step
        by_q = (loss(w_q + nudge, w_k) - loss(w_q - nudge, w_k)) / (2 * step)
        by_k = (loss(w_q, w_k + nudge) - loss(w_q, w_k - nudge)) / (2 * step)
        assert slope.w_q[index] == pytest.approx(by_q, abs=1e-6)
        assert slope.w_k[index] == pytest.approx(by_k, abs=1e-6)


@pytest.mark.parametrize("head", range(4))
def test_the_milk_learns(head):
    """From seed 0 within 200 steps, and the loss never rises on the way."""
    trace = run(learn(head=head))
    row = trace.layers[0].pattern[head, 5]
    assert row[3] > row[2] > row[1] > max(row[[0, 4, 5]])
    assert len(trace.history.losses) == 201
    assert (np.diff(trace.history.losses) <= 0).all()
    assert trace.history.losses[-1] == pytest.approx(trace.history.least, abs=1e-2)


def test_the_order_of_the_milk_has_to_be_learned():
    row = run(learn(steps=0)).layers[0].pattern[0, 5]
    assert not row[3] > row[2] > row[1]


def test_learned_weights_are_near_the_wished_ones():
    trace = run(LESSON)
    wished = [0.1 / 3, 0.1, 0.3, 0.5, 0.1 / 3, 0.1 / 3]
    assert trace.history.wished == pytest.approx(np.array([wished]))
    assert trace.layers[0].pattern[0, 5] == pytest.approx(wished, abs=1e-3)
    assert trace.history.least == pytest.approx(-sum(w * np.log(w) for w in wished))


def test_a_run_ends_in_the_same_bits():
    one = run(LESSON).layers[0].weights
    core.learning._kept.clear()
    other = run(LESSON).layers[0].weights
    assert one is not other
    assert np.array_equal(one.w_q, other.w_q)
    assert np.array_equal(one.w_k, other.w_k)


def test_resuming_is_the_same_as_running_at_once(monkeypatch):
    """And takes no step again."""
    whole = run(LESSON)
    core.learning._kept.clear()
    taken = []
    counted = gradients
    monkeypatch.setattr(
        core.learning, "gradients", lambda *given: taken.append(1) or counted(*given)
    )
    for steps in (0, 1, 2, 50, 199, 200):
        trace = run(learn(steps=steps))
        assert len(taken) == steps + 1
    assert trace.history.losses == whole.history.losses
    for name in ("w_q", "w_k"):
        resumed, at_once = (getattr(t.layers[0].weights, name) for t in (trace, whole))
        assert np.array_equal(resumed, at_once)
    back = run(learn(steps=7))
    assert back.history.losses == whole.history.losses[:8]


def test_runs_with_another_rate_wish_or_switch_are_kept_apart():
    first = run(LESSON).history.losses
    other_wish = Wish(5, ((1, 0.2), (2, 0.3), (3, 0.5)))
    for request in (
        learn(rate=0.01),
        learn(wishes=(other_wish,)),
        learn(wishes=(replace(MILK, query=4),)),
        learn(head=1),
        replace(LESSON, switches=Switches(scale=False)),
        replace(LESSON, switches=Switches(positions=False)),
        replace(LESSON, model=ModelSpec(seed=1)),
        replace(LESSON, text="A black cat drank the milk"),
    ):
        assert run(request).history.losses != first
    assert run(LESSON).history.losses == first


def test_only_the_heads_columns_of_w_q_and_w_k_change():
    before, after = run(Request(TEXT)), run(learn(head=2))
    for name in ("w_q", "w_k"):
        old, new = (getattr(t.layers[0].weights, name) for t in (before, after))
        changed = (old != new).any(axis=0)
        assert changed[8:12].all()
        assert not changed[:8].any()
        assert not changed[12:].any()
    for name in ("w_v", "w_o"):
        old, new = (getattr(t.layers[0].weights, name) for t in (before, after))
        assert np.array_equal(old, new)
    others = [0, 1, 3]
    assert np.array_equal(before.layers[0].pattern[others], after.layers[0].pattern[others])


def test_no_step_leaves_the_model_as_it_is():
    before, after = run(Request(TEXT)).layers[0], run(learn(steps=0)).layers[0]
    assert np.array_equal(before.pattern, after.pattern)
    assert run(Request(TEXT)).history is None


def test_every_row_at_once():
    """The whole pattern: each token attends to the one before it."""
    wishes = tuple(Wish(query, ((max(0, query - 1), 1.0),)) for query in range(6))
    trace = run(Request(TEXT, learning=Learning(wishes, steps=400)))
    assert trace.layers[0].pattern[0].argmax(axis=1).tolist() == [0, 0, 1, 2, 3, 4]
    assert trace.history.losses[-1] < trace.history.losses[0] / 4
    assert trace.history.least == 0


def test_given_matrices_learn_too():
    ones = ((1.0, 0.0), (0.0, 1.0))
    model = GivenModel("two", ones, ones, ones, ones)
    learning = Learning((Wish(0, ((1, 0.9),)),), steps=2000, rate=0.1)
    trace = run(Request("a b", "spaces", model, learning=learning))
    assert trace.layers[0].pattern[0, 0] == pytest.approx([0.1, 0.9], abs=2e-3)


def test_later_layers_take_what_the_first_gives():
    deep = replace(LESSON, model=ModelSpec(layers=2))
    plain = replace(deep, learning=None)
    one, other = run(plain).layers[1], run(deep).layers[1]
    assert np.array_equal(one.weights.w_q, other.weights.w_q)
    assert (one.pattern != other.pattern).any()


def test_the_loss_is_finite_where_a_weight_underflows():
    x, w = np.eye(2), np.array([[1.0], [0.0]])
    task = Task(x, (0,), np.array([[0.0, 1.0]]), np.ones((1, 2), dtype=bool), 1e-3)
    slope = gradients(task, w, w)
    assert slope.loss == pytest.approx(1000)
    assert np.isfinite(slope.w_q).all()


def test_the_least_loss_is_the_entropy_of_the_wishes():
    assert least_loss(np.array([[0.5, 0.5], [1.0, 0.0]])) == pytest.approx(np.log(2))
    assert str(least_loss(np.array([[1.0, 0.0]]))) == "0.0"


CAUSAL = Switches(Mask(causal=True))
REFUSED = [
    (learn(steps=-1), "-1 steps of learning are out of range: choose 0 to 2000"),
    (learn(steps=2001), "2001 steps of learning are out of range"),
    (learn(rate=0.0), "learning rate 0.0 is out of range: choose a number above 0"),
    (learn(rate=float("nan")), "learning rate nan is out of range"),
    (learn(head=4), "head 4 cannot learn, for there is none: choose 0 to 3"),
    (learn(wishes=()), "learning needs wishes, one a query"),
    (learn(wishes=(MILK, MILK)), "learning needs wishes, one a query: name each query once"),
    (learn(wishes=(Wish(6, ((0, 1.0),)),)), "there is no token 6 to wish for: choose 0 to 5"),
    (learn(wishes=(Wish(5, ((6, 1.0),)),)), "there is no token 6 to wish for: choose 0 to 5"),
    (learn(wishes=(Wish(5, ((0, 0.7), (1, 0.7))),)), "of query 5 sum to 1.4: choose weights that"),
    (
        replace(learn(wishes=(Wish(0, ((0, 0.5),)),)), switches=CAUSAL),
        "the wished-for weights of query 0 sum to 0.5: choose weights that sum to 1",
    ),
    (
        replace(learn(wishes=(Wish(2, ((3, 0.5),)),)), switches=CAUSAL),
        "query 2 may not attend to key 3, which has a wish of 0.5: take the wish back or",
    ),
    (
        replace(LESSON, switches=Switches(Mask(window=0, blocked=frozenset({5})))),
        "query 5 may attend to no key, so its row cannot learn",
    ),
    (
        replace(LESSON, switches=Switches(normalizer="linear")),
        "learning goes through softmax, and the normalizer is linear",
    ),
    (
        replace(LESSON, switches=Switches(projections="identity")),
        "Q = K = V = X has no W_Q and W_K that could learn",
    ),
    (learn(rate=0.5), "rate 0.5 runs away: the loss was 1.65 and after step 7 is 5.57e+06"),
    (learn(rate=1e300), "rate 1e+300 runs away: the loss was 1.65 and after step 1 is nan: choose"),
]


@pytest.mark.parametrize(("request_", "fault"), REFUSED, ids=[fault for _, fault in REFUSED])
def test_what_cannot_be_learned_is_refused(request_, fault):
    with pytest.raises(SettingError) as refused:
        run(request_)
    assert fault in str(refused.value)


def test_a_step_that_would_take_too_long_is_refused():
    request = Request("a " * 600, model=ModelSpec(heads=4), learning=Learning((MILK,)))
    with pytest.raises(BudgetError, match=r"learning on 600 tokens .* takes 1.4 million products"):
        run(request)


@CORE
@given(
    st.integers(1, 5).flatmap(lambda count: st.tuples(st.just(count), masks(count))),
    st.floats(1e-3, 1e6),
)
def test_whatever_the_rate_numbers_are_finite_or_refused(drawn, rate):
    count, mask = drawn
    wishes = tuple(Wish(query, ((query, 1.0),)) for query in range(count))
    request = Request(
        " ".join("abcde"[:count]), switches=Switches(mask), learning=Learning(wishes, 0, 20, rate)
    )
    try:
        trace = run(request)
    except AttnError:
        return
    assert np.isfinite(trace.history.losses).all()
    assert np.isfinite(trace.layers[0].pattern).all()
