"""Pictures of the grid of heads and of pooled matrices; look at each changed one before accepting
it.
"""

from dataclasses import replace

import pytest

from core.language import set_language
from core.types import Mask
from tests.core.small_checkpoints import expected_of
from tests.tui.helpers import make_view, real_view
from tui.theme import LIGHT

SMALLEST, COMPACT, USUAL, LARGE = (60, 18), (80, 24), (120, 36), (200, 60)
TEXT = "the black cat saw the dog and the black cat ran"
LONG = " ".join(f"word{i % 37}" for i in range(300))


def grid(model=(12, 12), text=TEXT, **fields):
    layers, heads = model
    size = {"layers": layers, "heads": heads, "d_model": 2 * heads}
    return make_view(text, model=size, **{"pane": "grid", "mask": Mask(causal=True), **fields})


@pytest.mark.parametrize("size", [SMALLEST, COMPACT, USUAL, LARGE])
@pytest.mark.parametrize("cell", ["value", "matrix"])
def test_12_by_12(looks, cell, size):
    assert looks(grid(cell=cell, layer=4, head=7), size)


@pytest.mark.parametrize("cell", ["value", "matrix"])
def test_32_by_32_scrolls(looks, cell):
    assert looks(grid((32, 32), cell=cell, layer=20, head=21))


@pytest.mark.parametrize("cell", ["value", "matrix"])
def test_by_entropy(looks, cell):
    assert looks(grid(cell=cell, statistic="entropy", order="statistic"))


@pytest.mark.parametrize("cell", ["value", "matrix"])
def test_one_layer(looks, cell):
    assert looks(grid((1, 4), cell=cell, statistic="self", head=2))


@pytest.mark.parametrize("cell", ["value", "matrix"])
def test_without_colours(looks, cell, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert looks(grid(cell=cell, layer=4, head=7))


def test_in_the_light(looks):
    assert looks(grid(statistic="previous"), theme=LIGHT.name)


def test_matrices_in_the_light(looks):
    assert looks(grid(cell="matrix"), theme=LIGHT.name)


@pytest.mark.parametrize("size", [COMPACT, USUAL])
def test_in_chinese(looks, size):
    set_language("zh")
    assert looks(grid(text="我想吃酸菜鱼，我想喝水", layer=1, head=2), size)


def test_scores_that_nothing_normalises(looks):
    assert looks(grid(switches={"normalizer": "none"}), COMPACT)


def test_a_real_model(looks, tmp_path):
    _expected, text = expected_of("gemma3-kinds")
    view = real_view("gemma3-kinds", tmp_path, text, pane="grid", layer=1)
    assert looks(view, COMPACT)


def test_cross_attention(looks):
    view = grid((2, 4), attention="cross")
    assert looks(replace(view, request=replace(view.request, target="un gato negro")), COMPACT)


# Long texts.


@pytest.mark.parametrize("size", [SMALLEST, COMPACT, USUAL])
@pytest.mark.parametrize("pool", ["max", "mean"])
def test_pooled_matrix(looks, pool, size):
    view = make_view(LONG, query=150, key=80, pane="matrix", zoom=0, pool=pool)
    assert looks(view, size)


def test_pooled_matrix_under_a_mask_in_the_light(looks):
    view = make_view(LONG, query=150, key=80, pane="matrix", zoom=0, mask=Mask(causal=True))
    assert looks(view, theme=LIGHT.name)


def test_strongest_pair(looks):
    assert looks(make_view(LONG, head=1), COMPACT, ["S", "S", "S"])


def test_pooled_matrix_in_chinese(looks):
    set_language("zh")
    view = make_view("我想吃酸菜鱼" * 30, query=150, key=80, pane="matrix", zoom=0)
    assert looks(view, COMPACT, ["S"])
