"""Numbers typed over: what they change, how they are written, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Edit, GivenModel, Learning, Mask, ModelSpec, Request, Switches, Wish, run
from core.edits import current, read_edit, read_value, with_edit, without_edit, written
from core.errors import SettingError
from core.explain import original
from core.names import EDITABLE
from core.weights import seeded_weights
from tests.derivation.requests import DERIVATION, places

TEXT = "The ball is blue"
MODEL = ModelSpec(layers=2)
ARRAYS = ("q", "k", "v", "dot", "attn_scores", "pattern", "z", "attn_out", "resid_post")
PLACES = {
    "attn_scores": (1, 2, 3, 0),
    "x": (2, 7),
    "w_q": (0, 3, 9),
    "w_k": (1, 15, 0),
    "w_v": (0, 0, 15),
}


def ask(*edits, **switches):
    return run(Request(TEXT, model=MODEL, switches=Switches(edits=edits, **switches)))


def same(one, other, name, layer):
    return bool((getattr(one.layers[layer], name) == getattr(other.layers[layer], name)).all())


@pytest.mark.parametrize("name", ["x", "w_q", "w_k", "w_v"])
def test_a_typed_entry_is_a_model_with_that_entry(name):
    """Against a model whose matrices are written down with the entry already in them."""
    plain = run(Request(TEXT))
    weights = plain.layers[0].weights
    rows = {
        "x": plain.layers[0].resid_pre,
        "w_q": weights.w_q,
        "w_k": weights.w_k,
        "w_v": weights.w_v,
        "w_o": weights.w_o,
    }
    place = (2, 7)
    changed = np.array(rows[name])
    changed[place] = -3.5
    rows[name] = changed
    model = GivenModel("hand", **{key: tuple(map(tuple, m.tolist())) for key, m in rows.items()})
    model = replace(model, heads=4)
    expected = run(Request(TEXT, model=model, switches=Switches(positions=False)))
    edit = Edit(name, place if name == "x" else (0, *place), -3.5)
    made = run(Request(TEXT, switches=Switches(edits=(edit,))))
    for array in ("resid_pre", *ARRAYS):
        assert same(made, expected, array, 0), array
    assert not same(made, plain, "pattern" if name != "w_v" else "z", 0)


def test_a_typed_score_takes_the_place_of_the_divided_one():
    """One row of one head is another softmax; dot and all the other rows stay."""
    plain = ask()
    made = ask(Edit("attn_scores", (0, 1, 3, 0), 1.5))
    before, after = plain.layers[0], made.layers[0]
    scores = before.attn_scores[1, 3].tolist()
    scores[0] = 1.5
    exps = [math.exp(score) for score in scores]
    assert after.pattern[1, 3] == pytest.approx([part / sum(exps) for part in exps])
    assert after.attn_scores[1, 3].tolist() == scores
    assert same(made, plain, "dot", 0)
    changed = (after.pattern != before.pattern).any(axis=-1)
    assert np.argwhere(changed).tolist() == [[1, 3]]
    assert not same(made, plain, "q", 1)  # the layer after it sees the change


def test_a_typed_score_of_a_masked_cell_changes_no_weight():
    mask = Mask(causal=True)
    plain, made = ask(mask=mask), ask(Edit("attn_scores", (0, 0, 0, 3), 9.0), mask=mask)
    assert same(made, plain, "pattern", 0)


def test_scores_are_the_weights_without_a_normalizer():
    made = ask(Edit("attn_scores", (0, 0, 1, 2), -7.25), normalizer="none")
    assert made.layers[0].pattern[0, 1, 2] == -7.25


def test_the_kept_weights_are_never_written_to():
    before = [
        getattr(layer, name).copy()
        for layer in seeded_weights(0, 2, 16)
        for name in ("w_q", "w_k", "w_v", "w_o")
    ]
    made = ask(*(Edit(name, PLACES[name], 4.0) for name in ("w_q", "w_k", "w_v")))
    kept = [
        getattr(layer, name)
        for layer in seeded_weights(0, 2, 16)
        for name in ("w_q", "w_k", "w_v", "w_o")
    ]
    assert all((one == other).all() for one, other in zip(before, kept, strict=True))
    assert made.layers[0].weights.w_q[3, 9] == 4.0
    assert not made.layers[0].weights.w_q.flags.writeable
    assert not made.layers[0].resid_pre.flags.writeable


@DERIVATION
@given(places())
def test_the_original_back_in_its_place_changes_nothing(drawn):
    request, _ = drawn
    made = run(request)
    without = run(replace(request, switches=replace(request.switches, edits=())))
    for edit in request.switches.edits:
        assert current(made, edit.array, edit.place) == edit.value
    restored = tuple(
        Edit(edit.array, edit.place, original(without, edit.array, edit.place))
        for edit in request.switches.edits
    )
    again = run(replace(request, switches=replace(request.switches, edits=restored)))
    for layer in range(request.model.layers):
        for name in ARRAYS:
            assert same(again, without, name, layer)


@pytest.mark.parametrize("name", EDITABLE)
def test_the_original_is_that_of_an_untouched_trace(name):
    plain = ask()
    made = ask(Edit(name, PLACES[name], 3.0))
    assert original(made, name, PLACES[name]) == current(plain, name, PLACES[name])


EDITS = st.builds(
    Edit,
    st.sampled_from(sorted(EDITABLE)),
    st.lists(st.integers(0, 10**6), min_size=1, max_size=4).map(tuple),
    st.floats(allow_nan=False, allow_infinity=False),
)


@given(EDITS)
def test_what_is_written_is_read_again(edit):
    assert read_edit(written(edit)) == edit


@given(st.lists(EDITS, max_size=6))
def test_the_last_one_at_a_place_holds_and_the_order_does_not_matter(edits):
    made, backwards = (), ()
    last = {(edit.array, edit.place): edit for edit in edits}
    for edit in edits:
        made = with_edit(made, edit)
    for edit in reversed(list(last.values())):
        backwards = with_edit(backwards, edit)
    assert made == backwards
    assert set(made) == set(last.values())
    for edit in edits:
        made = without_edit(made, edit.array, edit.place)
    assert made == ()


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("attn_scores[0,1,5,2]=1.5", Edit("attn_scores", (0, 1, 5, 2), 1.5)),
        (" x[ 3 , 0 ] = -.5e1 ", Edit("x", (3, 0), -5.0)),
        ("w_v[0,15,15]=+2.", Edit("w_v", (0, 15, 15), 2.0)),
    ],
)
def test_an_edit_is_read(text, edit):
    assert read_edit(text) == edit


@pytest.mark.parametrize(
    "text",
    ["", "x", "x=1", "x[]=1", "x[0,0]", "w_o[0,0,0]=1", "x[-1,0]=1", "x[0;0]=1", "x[１,0]=1"],
)
def test_what_is_no_edit(text):
    with pytest.raises(SettingError, match="does not say what to type over: write it as attn_sc"):
        read_edit(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "nothing is typed: type a number such as 1.5"),
        ("1,5", "“1,5” is no number: type a number such as -0.5, 2 or 1e-3"),
        ("nan", "is no number"),
        ("inf", "is no number"),
        ("1_000", "is no number"),
        ("０", "is no number"),
        ("1e999", "“1e999” is too large"),
        ("\x1b[2J", "“␛[2J” is no number"),
        ("9" * 100, None),
        ("x" * 100, "“" + "x" * 40 + "…” is no number"),
    ],
)
def test_what_is_no_number(text, words):
    if words is None:
        assert read_value(text) == float(text)
        return
    with pytest.raises(SettingError) as caught:
        read_value(text)
    assert words in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (Edit("attn_scores", (2, 0, 0, 0), 1.0), "layer 2 of attn_scores is out of range: choose"),
        (Edit("attn_scores", (0, 4, 0, 0), 1.0), "head 4 of attn_scores is out of range"),
        (Edit("attn_scores", (0, 0, 4, 0), 1.0), "query 4 of attn_scores is out of range"),
        (Edit("attn_scores", (0, 0, 0, -1), 1.0), "key -1 of attn_scores is out of range"),
        (Edit("x", (4, 0), 1.0), "token 4 of x is out of range: choose 0 to 3"),
        (Edit("x", (0, 16), 1.0), "dim 16 of x is out of range: choose 0 to 15"),
        (Edit("w_q", (0, 16, 0), 1.0), "row 16 of w_q is out of range: choose 0 to 15"),
        (Edit("w_v", (0, 0, 16), 1.0), "column 16 of w_v is out of range: choose 0 to 15"),
        (Edit("x", (0,), 1.0), "x has 2 indexes and not 1: give token, dim"),
        (Edit("w_o", (0, 0, 0), 1.0), "w_o cannot be typed over: choose one of attn_scores, x,"),
        (Edit("x", (0, 0), math.nan), "x cannot be nan: use finite numbers"),
        (Edit("x", (0, 0), 1e308), "is not finite at temperature 1: choose a temperature nearer"),
    ],
)
def test_refusals(edit, words):
    with pytest.raises(SettingError) as caught:
        ask(edit)
    assert words in str(caught.value)


def test_what_would_change_nothing_is_refused():
    with pytest.raises(SettingError, match="linear attention takes no scores"):
        ask(Edit("attn_scores", (0, 0, 0, 0), 1.0), normalizer="linear")
    with pytest.raises(SettingError, match="Q = K = V = X has no matrices, and w_k is typed over"):
        ask(Edit("w_k", (0, 0, 0), 1.0), projections="identity")
    ask(Edit("x", (0, 0), 1.0), normalizer="linear", projections="identity")


def test_what_learns_is_not_typed_over():
    """The curve of its loss would be that of other numbers than those shown."""
    learning = Learning((Wish(0, ((1, 1.0),)),), 0, 3)
    for name in ("attn_scores", "w_q", "w_k"):
        edit = Edit(name, (0, *PLACES[name][1:]), 1.0)
        with pytest.raises(SettingError, match=f"layer 0 learns, and {name} is typed over there"):
            run(Request(TEXT, model=MODEL, switches=Switches(edits=(edit,)), learning=learning))
    later = (Edit("attn_scores", (1, 0, 0, 1), 1.0), Edit("w_v", (0, 0, 0), 2.0))
    made = run(Request(TEXT, model=MODEL, switches=Switches(edits=later), learning=learning))
    assert made.layers[1].attn_scores[0, 0, 1] == 1.0
    assert made.layers[0].weights.w_v[0, 0] == 2.0
    plain = run(Request(TEXT, model=MODEL, learning=learning))
    assert made.history.losses == plain.history.losses
