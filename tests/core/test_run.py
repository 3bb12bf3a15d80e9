import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from core import Mask, ModelSpec, Request, Switches, run
from core.errors import AttnError, BudgetError, SettingError
from core.runner import needed_bytes
from core.runner import trace as run_tokens
from core.tokenization import open_tokenizer
from core.weights import seeded_weights
from tests.core.small_tokenizers import bert_tokenizer

REFERENCE = Path(__file__).parents[1] / "reference" / "runs.npz"
RUNS = 8
SENTENCE = "The black cat drank the milk and went to bed"

BALL_HEAD_0 = [
    [0.200769, 0.384298, 0.212672, 0.202261],
    [0.373514, 0.101606, 0.255266, 0.269614],
    [0.220262, 0.263537, 0.150932, 0.365269],
    [0.095943, 0.707126, 0.110813, 0.086118],
]


def ask(text="a b", model=None, switches=None, **mask):
    switches = Switches(Mask(**mask), **(switches or {}))
    return run(Request(text, model=ModelSpec(**(model or {})), switches=switches))


def arrays_of(layer):
    weights = [getattr(layer.weights, field.name) for field in dataclasses.fields(layer.weights)]
    arrays = [getattr(layer, field.name) for field in dataclasses.fields(layer)[1:]]
    return weights + [array for array in arrays if array is not None]


def saved_request(facts):
    mask = Mask(
        facts.get("causal", False), facts.get("window"), frozenset(facts.get("blocked", []))
    )
    switches = {
        name: facts[name] for name in ("positions", "scale", "temperature") if name in facts
    }
    model = {name: facts[name] for name in ("layers", "heads", "d_model", "seed")}
    return Request(facts["text"], model=ModelSpec(**model), switches=Switches(mask, **switches))


@pytest.mark.parametrize("index", range(RUNS))
def test_whole_runs_against_torch(index):
    """A seeded run of several layers is torch's, layer by layer, to 1e-6."""
    with np.load(REFERENCE) as file:
        case = {key[3:]: file[key] for key in file.files if key.startswith(f"{index:02}/")}
    facts = json.loads(str(case["request"]))
    trace = run(saved_request(facts))
    assert len(trace.layers) == facts["layers"]
    np.testing.assert_allclose(trace.layers[0].resid_pre, case["resid_pre"], atol=1e-9)
    for number, layer in enumerate(trace.layers):
        for name in ("pattern", "attn_out", "resid_post"):
            expected = case[f"{name} {number}"]
            np.testing.assert_allclose(getattr(layer, name), expected, atol=1e-6, rtol=1e-6)


def test_ball():
    """The sentence of the first screen, in digits."""
    pattern = run(Request("The ball is blue")).layers[0].pattern
    assert pattern.shape == (4, 4, 4)
    np.testing.assert_allclose(pattern[0], BALL_HEAD_0, atol=6e-7, rtol=0)


def test_every_step_in_plain_python():
    """Each array of a trace follows from the one before, written out with loops."""
    trace = ask("x y z", {"heads": 2, "d_model": 6, "layers": 2}, causal=True)
    for layer in trace.layers:
        weights = layer.weights
        for head in range(2):
            for query in range(3):
                for dim in range(3):
                    column = 3 * head + dim
                    expected = sum(
                        layer.resid_pre[query, i] * weights.w_q[i, column] for i in range(6)
                    )
                    assert layer.q[head, query, dim] == pytest.approx(expected)
                scores = []
                for key in range(3):
                    dot = sum(layer.q[head, query, i] * layer.k[head, key, i] for i in range(3))
                    assert layer.dot[head, query, key] == pytest.approx(dot)
                    scores.append(dot / math.sqrt(3))
                    assert layer.attn_scores[head, query, key] == pytest.approx(scores[-1])
                total = sum(math.exp(score) for score in scores[: query + 1])
                for key in range(3):
                    expected = math.exp(scores[key]) / total if key <= query else 0.0
                    assert layer.pattern[head, query, key] == pytest.approx(expected)
    first, second = trace.layers
    assert second.resid_pre is first.resid_post
    np.testing.assert_array_equal(first.resid_pre, trace.embed + trace.pos_embed)


def test_same_request_same_trace():
    """N14: two runs of a request agree, what enters them to the last bit."""
    one, two = (ask(SENTENCE, {"layers": 3}) for _ in range(2))
    assert one.embed.tobytes() == two.embed.tobytes()
    np.testing.assert_allclose(two.layers[-1].resid_post, one.layers[-1].resid_post, atol=1e-12)


def test_weights():
    """Golden weights, to the last bit; only W_O knows how deep the model is."""
    (alone,) = seeded_weights(0, 1, 16)
    assert alone.w_q[0, :3].tolist() == [
        -0.021014905976435676,
        -0.1444036072930837,
        -0.03571824851562914,
    ]
    first = seeded_weights(0, 4, 16)[0]
    assert first.w_q.tobytes() == alone.w_q.tobytes()
    np.testing.assert_allclose(first.w_o, alone.w_o / 2, rtol=1e-15)


def test_a_trace_cannot_be_written_to():
    """Every array of a trace is read-only, and so is the trace."""
    trace = ask()
    arrays = [trace.embed, trace.pos_embed, trace.mask, *arrays_of(trace.layers[0])]
    assert len(arrays) == 17
    assert not any(array.flags.writeable for array in arrays)
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.encoder = None


def test_positions_off():
    """Without positions equal tokens have equal rows, and the encoding is all 0."""
    trace = ask("a b a", switches={"positions": False})
    assert not trace.pos_embed.any()
    pattern = trace.layers[0].pattern
    np.testing.assert_allclose(pattern[:, 0], pattern[:, 2], atol=1e-12)
    with_positions = ask("a b a").layers[0].pattern
    assert np.abs(with_positions[:, 0] - with_positions[:, 2]).max() > 0.01


def test_one_token():
    """N11: one token gives all its weight to itself."""
    pattern = ask("one", {"layers": 2}).layers[1].pattern
    assert pattern.tolist() == [[[1.0]]] * 4


def test_blocked_keys():
    """N02: keys that are blocked get exactly 0, and a row left with none is all 0."""
    pattern = ask("a b c", blocked=frozenset({1})).layers[0].pattern
    assert not pattern[:, :, 1].any()
    trace = ask("a b c", {"layers": 2}, causal=True, blocked=frozenset({0}))
    assert not trace.layers[1].pattern[:, 0].any()
    assert np.isfinite(trace.layers[1].resid_post).all()
    none = ask("a b", blocked=frozenset({0, 1})).layers[0]
    assert not none.pattern.any()
    assert not none.attn_out.any()


@pytest.mark.parametrize("layers", [1, 2, 12, 96])
def test_deep_models(layers):
    """Deep models stay finite, and their patterns neither flat nor one-hot."""
    scores, top = [], []
    for seed in range(4):
        layer = ask(SENTENCE, {"layers": layers, "seed": seed}).layers[-1]
        assert np.isfinite(layer.resid_post).all()
        scores.append(layer.attn_scores)
        top.append(layer.pattern.max(axis=-1).mean())
    assert 0.5 < np.var(scores) < 2
    assert 0.18 < np.mean(top) < 0.6  # of 10 keys: flat would be 0.1, one-hot 1


@pytest.mark.parametrize("positions", [True, False])
@pytest.mark.parametrize(("heads", "d_model"), [(1, 8), (4, 16), (16, 16), (2, 128)])
def test_scores_have_variance_near_one(heads, d_model, positions):
    """The first layer's scores have a variance near 1 at every size."""
    words = " ".join(f"w{i}" for i in range(40))
    variances = [
        ask(words, {"heads": heads, "d_model": d_model, "seed": seed}, {"positions": positions})
        .layers[0]
        .attn_scores.var()
        for seed in range(30)
    ]
    assert 0.5 < np.mean(variances) < 1.8


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"heads": 3}, "3 heads cannot share d_model 16 evenly: choose a divisor such as 1, 2, 4"),
        ({"heads": 32}, "32 heads cannot share d_model 16 evenly"),
        ({"heads": 0}, "heads 0 is out of range"),
        ({"heads": -4}, "heads -4 is out of range"),
        ({"heads": 2.0}, "heads 2.0 is no whole number"),
        ({"layers": 0}, "layers 0 is out of range: choose 1 to 96"),
        ({"layers": 97}, "layers 97 is out of range"),
        ({"layers": True}, "layers True is no whole number"),
        ({"d_model": 0}, "d_model 0 is out of range"),
        ({"d_model": 10**400, "heads": 1}, "is out of range: choose 1 to 65536"),
        ({"seed": -1}, "seed -1 is out of range: choose 0 to 18446744073709551615"),
        ({"seed": 2**64}, "seed 18446744073709551616 is out of range"),
        ({"seed": 1.0}, "seed 1.0 is no whole number"),
    ],
)
def test_models_out_of_range(model, words):
    """A size or seed out of range is refused in words that say what to choose."""
    with pytest.raises(SettingError) as caught:
        ask(model=model)
    assert words in str(caught.value)


@pytest.mark.parametrize("temperature", [0, -1.0, math.nan, math.inf, -math.inf])
def test_temperatures_out_of_range(temperature):
    """A temperature that is no number above 0 is refused."""
    with pytest.raises(SettingError, match="is out of range: choose a number above 0"):
        ask(switches={"temperature": temperature})


@pytest.mark.parametrize("temperature", [5e-324, 1e-308])
def test_temperature_that_overflows(temperature):
    """N08: scores that are no longer finite are refused by layer, none is ever drawn."""
    with pytest.raises(SettingError, match="layer 0: attn_scores is not finite at temperature"):
        ask(switches={"temperature": temperature})


def test_extreme_temperatures():
    """Very cold is one-hot on the largest score, very hot is even; both are finite."""
    cold = ask("a b c", switches={"temperature": 1e-300}).layers[0]
    assert cold.pattern.max(axis=-1).tolist() == [[1.0] * 3] * 4
    assert cold.pattern.argmax(axis=-1).tolist() == cold.dot.argmax(axis=-1).tolist()
    hot = ask("a b c", switches={"temperature": 1e308}).layers[0].pattern
    np.testing.assert_allclose(hot, 1 / 3)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ({"window": -1}, "window -1 is out of range: choose 0 or more"),
        ({"window": 1.5}, "window 1.5 is no whole number"),
        ({"blocked": frozenset({2})}, "blocked key 2 is out of range: choose 0 to 1"),
        ({"blocked": frozenset({-1})}, "blocked key -1 is out of range"),
    ],
)
def test_masks_out_of_range(mask, words):
    """A mask that names what is not there is refused."""
    with pytest.raises(SettingError, match=words):
        ask(**mask)


def test_budget():
    """T18: what would not fit is refused before it is allocated, with both numbers."""
    with pytest.raises(
        BudgetError, match=r"2,048 tokens × 96 layers .* need 36.2 GiB, and the budget is 1 GiB"
    ):
        ask("x " * 10_000, {"layers": 96})
    with pytest.raises(BudgetError, match="1 token × 1 layer × 4 heads"):
        ask(model={"d_model": 2**16})


def test_budget_counts_what_a_trace_keeps():
    """T18: the estimate covers the arrays of a trace."""
    trace = ask(SENTENCE, {"layers": 3, "heads": 2, "d_model": 8})
    kept = sum(array.nbytes for layer in trace.layers for array in arrays_of(layer))
    assert kept <= needed_bytes(trace.request.model, 10) <= 1.2 * kept


def test_padding_is_blocked(saved):
    """T15: nobody attends to what only pads."""
    made = bert_tokenizer()
    made.enable_padding(length=6, pad_id=0, pad_token="[PAD]")
    tokens = open_tokenizer(saved(made), as_saved=True).encode("a a")
    pattern = run_tokens(Request("a a"), tokens).layers[0].pattern
    assert not pattern[:, :, 4:].any()
    np.testing.assert_allclose(pattern.sum(axis=-1), 1)


def test_refusals_are_one_sentence():
    """T17: every refusal is one base class with a message and a hint."""
    for request in (Request(""), Request("a", "no such file"), Request("a", model=ModelSpec(0))):
        with pytest.raises(AttnError) as caught:
            run(request)
        assert str(caught.value) == f"{caught.value.message}: {caught.value.hint}."
        assert caught.value.title
        assert "\n" not in str(caught.value)
