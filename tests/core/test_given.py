"""Models whose numbers are written down."""

from dataclasses import replace

import numpy as np
import pytest

from core import GivenModel, ModelSpec, Request, Switches, run
from core.errors import SettingError

# Worked out by hand: three words of two numbers, and whole numbers up to the softmax.
HAND = GivenModel(
    "hand",
    x=((1, 0), (0, 1), (1, 1)),
    w_q=((1, 0), (1, 1)),
    w_k=((1, 2), (0, 1)),
    w_v=((2, 0), (0, 1)),
)
OFF = Switches(positions=False)


def hand(text="我 爱 你", switches=OFF, **changes):
    return run(Request(text, "spaces", replace(HAND, **changes), switches))


def test_three_words_by_hand():
    trace = hand()
    layer = trace.layers[0]
    assert layer.q[0].tolist() == [[1, 0], [1, 1], [2, 1]]
    assert layer.k[0].tolist() == [[1, 2], [0, 1], [1, 3]]
    assert layer.v[0].tolist() == [[2, 0], [0, 1], [2, 1]]
    assert layer.dot[0].tolist() == [[1, 0, 1], [3, 1, 4], [4, 1, 5]]
    scores = [[0.7071, 0, 0.7071], [2.1213, 0.7071, 2.8284], [2.8284, 0.7071, 3.5355]]
    pattern = [[0.4011, 0.1978, 0.4011], [0.3057, 0.0743, 0.6200], [0.3177, 0.0381, 0.6443]]
    output = [[1.6044, 0.5989], [1.8514, 0.6943], [1.9238, 0.6823]]
    for made, printed in (
        (layer.attn_scores[0], scores),
        (layer.pattern[0], pattern),
        (layer.attn_out, output),
    ):
        assert np.abs(made - printed).max() <= 0.00005
    assert all(getattr(layer, name).dtype == np.float64 for name in ("q", "pattern", "attn_out"))
    assert not trace.embed.flags.writeable
    assert not layer.weights.w_q.flags.writeable


def test_positions_only_when_switched_on():
    assert not hand().pos_embed.any()
    assert hand(switches=Switches()).layers[0].resid_pre[0].tolist() == [1, 1]  # + sin 0, cos 0


def test_without_projections():
    layer = hand(switches=replace(OFF, projections="identity")).layers[0]
    assert layer.dot[0].tolist() == [[1, 0, 1], [0, 1, 1], [1, 1, 2]]


def test_heads_may_be_of_any_size_with_an_output_matrix():
    rows = ((1.0, 2.0, 3.0, 4.0), (0.0, 1.0, 0.0, 1.0))
    layer = hand(w_q=rows, w_k=rows, w_v=rows, w_o=((1, 0),) * 4, heads=2).layers[0]
    assert layer.q.shape == (2, 3, 2)
    assert layer.attn_out.shape == (3, 2)
    assert not layer.attn_out[:, 1].any()


def test_a_model_is_comparable_and_has_no_seed():
    assert replace(HAND) == HAND
    assert hash(Request("a", model=HAND)) == hash(Request("a", model=replace(HAND)))
    assert (HAND.layers, HAND.d_model, HAND.d_head, HAND.seed) == (1, 2, 2, None)
    assert Request("a").model == ModelSpec()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"w_q": ((1, 0),) * 3}, "w_q has 3 rows but x has 2 columns: make the two agree."),
        ({"w_v": ((1,), (2,))}, "w_v has 1 column but w_q has 2 columns: make the two agree."),
        ({"w_o": ((1, 0),)}, "w_o has 1 row but w_v has 2 columns: make the two agree."),
        ({"w_o": ((1,), (0,))}, "w_o has 1 column but x has 2 columns: make the two agree."),
        ({"x": ((1, 0), (1,), (1, 1))}, "row 1 of x has 1 number but row 0 has 2"),
        ({"x": ()}, "x is empty"),
        ({"w_k": ((1, 0), (float("nan"), 1))}, "row 1 of w_k holds nan"),
        ({"w_k": ((1, float("inf")), (0, 1))}, "row 0 of w_k holds inf"),
        ({"heads": 3}, "3 heads cannot share the 2 columns of w_q evenly"),
        ({"heads": 0}, "heads 0 is no count"),
        (
            dict.fromkeys(("w_q", "w_k", "w_v"), ((1,), (2,))),
            "w_v has 1 column but x has 2, and there is no w_o",
        ),
        ({"x": ((1e200, 1e200),) * 3}, "attn_scores is not finite"),
    ],
)
def test_what_does_not_fit_is_refused(changes, sentence):
    with pytest.raises(SettingError) as refused:
        hand(**changes)
    assert sentence in str(refused.value)


def test_one_row_a_token():
    with pytest.raises(SettingError, match="x has 3 rows but the text has 2 tokens: use as many"):
        hand("我 爱")


def test_identity_needs_heads_that_share_a_row():
    wide = dict.fromkeys(("w_q", "w_k", "w_v"), ((1, 2, 3), (4, 5, 6)))
    with pytest.raises(SettingError, match="Q = K = V = X needs heads that share the 2 numbers"):
        hand(switches=replace(OFF, projections="identity"), w_o=((1, 0),) * 3, **wide)
