"""Pictures of every view where Chinese is spoken; look at each changed one before accepting it."""

from dataclasses import replace

import pytest

from core.language import set_language
from core.learning_types import Learning, Wish
from core.trained import describe
from core.types import Edit, Mask, Request, Switches
from tests.core.small_checkpoints import speaking
from tests.tui.helpers import make_view
from tui.scene import View

COMPACT, USUAL = (80, 24), (120, 36)
SIZES = pytest.mark.parametrize("size", [COMPACT, USUAL], ids=["80x24", "120x36"])
TEXT, OTHER = "我想吃酸菜鱼", "我想吃红烧肉"


@pytest.fixture(autouse=True)
def chinese(surroundings):
    set_language("zh")


def seen(pane, **fields):
    return make_view(TEXT, **{"query": 2, "head": 1, "key": 3, "pane": pane, **fields})


@SIZES
@pytest.mark.parametrize("pane", ["tokens", "weights", "matrix", "vectors", "derivation"])
def test_pane(looks, pane, size):
    assert looks(seen(pane), size)


@SIZES
def test_numbers(looks, size):
    typed = (Edit("attn_scores", (0, 1, 2, 3), 1.5),)
    assert looks(seen("numbers", switches={"edits": typed}), size)


@SIZES
def test_learning(looks, size):
    view = seen("learning")
    wish = Wish(2, ((3, 0.6), (5, 0.3)))
    assert looks(
        replace(view, request=replace(view.request, learning=Learning((wish,), 1, 30))), size
    )


@SIZES
def test_learning_without_a_wish(looks, size):
    assert looks(seen("learning"), size)


@SIZES
def test_typing_a_wish(looks, size):
    assert looks(seen("learning"), size, keys=("enter", *"9=.5", "enter"))


@SIZES
def test_compare(looks, size):
    assert looks(seen("compare", compare=OTHER), size)


@SIZES
@pytest.mark.parametrize("pane", ["tokens", "matrix", "derivation"])
def test_cross_attention(looks, pane, size):
    view = seen(pane, attention="cross")
    assert looks(replace(view, request=replace(view.request, target=OTHER)), size)


@SIZES
def test_derivation_as_far_as_the_mask(looks, size):
    mask = Mask(causal=True, window=2, blocked=frozenset({1}))
    assert looks(seen("derivation", stage="mask", mask=mask), size)


@SIZES
def test_derivation_at_its_end(looks, size):
    assert looks(seen("derivation"), size, keys=("end",))


@SIZES
def test_before_and_after_a_switch(looks, size):
    model = {"layers": 3, "heads": 12, "d_model": 48}
    assert looks(seen("weights", model=model), size, keys=("p",))


@SIZES
def test_scores_without_a_normalizer(looks, size):
    assert looks(seen("weights", switches={"normalizer": "none"}), size)


@SIZES
def test_editing(looks, size):
    assert looks(seen("weights"), size, keys=("e",))


@SIZES
def test_a_number_is_asked_for(looks, size):
    assert looks(seen("numbers"), size, keys=("enter", *"1,5", "enter"))


@SIZES
def test_help(looks, size):
    assert looks(seen("weights"), size, keys=("question_mark",))


@SIZES
def test_the_end_of_help(looks, size):
    assert looks(seen("weights"), size, keys=("question_mark", "end"))


@SIZES
def test_palette(looks, size):
    assert looks(seen("weights"), size, keys=("ctrl+p",))


@SIZES
def test_prediction_under_a_mask(looks, size, tmp_path):
    model = describe(speaking("bert-legacy", tmp_path, mask=9))
    switches = Switches(masked=frozenset({1, 3}))
    request = Request("t5 t17 t3 t29 t11", model=model, switches=switches)
    assert looks(View(request, query=3, pane="predictions"), size)


def test_palette_that_finds_nothing(looks):
    assert looks(seen("weights"), COMPACT, keys=("ctrl+p", *"zzz"))


@SIZES
def test_refused_text(looks, size):
    assert looks(make_view(" "), size)


def test_a_notice(looks):
    assert looks(seen("derivation"), USUAL, keys=("y",))


def test_smallest_size(looks):
    assert looks(seen("weights"), (60, 18))


def test_too_small(looks):
    assert looks(seen("weights"), (59, 18))
