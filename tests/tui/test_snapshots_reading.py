"""Pictures of patterns as they are read; look at each changed one before accepting it."""

from dataclasses import replace

import pytest

from core.language import set_language
from core.reading import Reading
from core.trained import describe
from core.types import Mask, ModelSpec, Request
from tests.core.small_checkpoints import speaking
from tests.core.small_tokenizers import bert_tokenizer
from tests.tui.helpers import make_view
from tui.scene import View
from tui.theme import LIGHT

SMALLEST, COMPACT, USUAL, LARGE = (60, 18), (80, 24), (120, 36), (200, 60)
TEXT = "hello milking a world b cafe"
SPECIALS, WORDS = Reading(drop="specials"), Reading(True, "specials")


@pytest.fixture
def view(tmp_path):
    path = tmp_path / "tokenizer.json"
    bert_tokenizer(("mil", "##king")).save(str(path))
    return View(Request(TEXT, str(path), ModelSpec(layers=2, heads=6, d_model=24)), query=2, key=3)


@pytest.mark.parametrize("pane", ["tokens", "weights", "matrix"])
def test_special_tokens_dropped(looks, view, pane):
    assert looks(replace(view, pane=pane, reading=SPECIALS), COMPACT)


@pytest.mark.parametrize("pane", ["tokens", "weights", "matrix", "vectors"])
def test_words(looks, view, pane):
    assert looks(replace(view, pane=pane, reading=Reading(words=True)), COMPACT)


@pytest.mark.parametrize("size", [SMALLEST, USUAL, LARGE])
def test_words_without_special_tokens(looks, view, size):
    assert looks(replace(view, head=2, reading=WORDS), size)


def test_capped_beside_the_numbers(looks, view):
    reading = Reading(drop="specials", keys=frozenset({3}), cap=0.05)
    assert looks(replace(view, pane="numbers", reading=reading))


@pytest.mark.parametrize("colours", ["row", "log"])
def test_colours(looks, view, colours):
    assert looks(replace(view, pane="matrix", colours=colours), COMPACT)


def test_logarithmic_columns_in_the_light(looks, view):
    assert looks(
        replace(view, pane="matrix", colours="log", zoom=2, reading=WORDS), theme=LIGHT.name
    )


def test_rows_that_are_all_dropped(looks):
    view = make_view(mask=Mask(causal=True), key=1, reading=Reading(drop="first"))
    assert looks(view)


def test_words_of_a_real_model(looks, tmp_path):
    model = describe(speaking("bert-legacy", tmp_path))
    reading = Reading(drop="first", keys=frozenset({2}))
    view = View(Request("t5 t17 t3 t29 t11", model=model), query=3, head=1, key=1, reading=reading)
    assert looks(view)


@pytest.mark.parametrize("size", [COMPACT, USUAL])
def test_words_without_special_tokens_in_chinese(looks, view, size):
    set_language("zh")
    assert looks(replace(view, pane="matrix", reading=WORDS, colours="log"), size)
