"""A picture of every view; look at each changed one before accepting it."""

from dataclasses import replace

import pytest

from core.language import set_language
from core.learning_types import Learning, Wish
from core.lessons import bundled_paths, open_lesson
from core.names import ATTENTIONS
from core.types import Edit, Mask, Request, Switches
from tests.core.small_checkpoints import expected_of
from tests.tui.helpers import SENTENCE, make_view, real_view
from tui.lessons import view_at
from tui.scene import View
from tui.theme import LIGHT

COMPACT, USUAL, LARGE = (80, 24), (120, 36), (200, 60)
LONG = " ".join(f"word{i % 37}" for i in range(300))
CHINESE = "我想吃酸菜鱼"
EMOJI = "👩‍👩‍👧 🇨🇳 👍🏽 ❤️ make one picture each"
FIVE = "t5 t17 t3 t29 t11"  # words of a reference checkpoint


@pytest.mark.parametrize("pane", ["tokens", "weights", "matrix", "vectors"])
def test_pane_at_80x24(looks, pane):
    assert looks(make_view(query=5, head=1, key=3, pane=pane), COMPACT)


def test_everything_at_120x36(looks):
    assert looks(make_view(query=5, head=1, key=3))


def test_everything_at_200x60(looks):
    assert looks(make_view(query=5, head=1, key=3), LARGE)


def test_smallest_size(looks):
    assert looks(make_view(query=5, head=1, key=3), (60, 18))


def test_too_small(looks):
    assert looks(size=(59, 18))


def test_chinese(looks):
    assert looks(make_view(CHINESE, query=2, head=1))


def test_chinese_matrix_at_80x24(looks):
    assert looks(make_view(CHINESE, query=2, key=1, pane="matrix", zoom=7), COMPACT)


def test_emoji(looks):
    assert looks(make_view(EMOJI, query=3, head=2))


def test_hostile_text(looks):
    text = "[/] [CLS] [@click=app.quit]x[/] a\x1b[2Jb \u202ec\u200b \x9b31m end"
    assert looks(make_view(text, tokenizer="spaces", query=3))


def test_causal_mask(looks):
    assert looks(make_view(mask=Mask(causal=True), query=2, key=4))


def test_window_mask_with_blocked_key(looks):
    assert looks(make_view(mask=Mask(window=1, blocked=frozenset({2})), query=3, key=2))


def test_query_that_may_attend_to_nothing(looks):
    assert looks(make_view(mask=Mask(window=0, blocked=frozenset({2})), query=2, key=2))


def test_three_layers_of_twelve_heads(looks):
    model = {"layers": 3, "heads": 12, "d_model": 48}
    assert looks(make_view(model=model, layer=2, head=7, query=3, key=1))


def test_long_text_zoomed_out(looks):
    assert looks(make_view(LONG, query=120, key=100, pane="matrix", zoom=1))


def test_long_text_zoomed_out_at_80x24(looks):
    assert looks(make_view(LONG, query=120, key=100, pane="matrix", zoom=2), COMPACT)


def test_more_tokens_than_the_cap(looks):
    assert looks(make_view("a b " * 1100, model={"heads": 2}, query=2047, key=2040))


def test_many_digits(looks):
    assert looks(make_view(precision=8, zoom=9, pane="vectors", vector="q"))


def test_no_color(looks, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert looks(make_view(query=5, head=1, key=3))


def test_sixteen_colours(looks, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLORTERM")
    assert looks(make_view(query=5, head=1, key=3, zoom=2))


def test_light_theme(looks):
    assert looks(make_view(query=5, head=1, key=3), theme=LIGHT.name)


def test_light_theme_at_80x24(looks):
    assert looks(make_view(query=5, pane="matrix", zoom=7), COMPACT, theme=LIGHT.name)


def test_refused_text(looks):
    assert looks(make_view("   "), COMPACT)


def test_editing(looks):
    assert looks(make_view(), keys=("e", "!", "enter", "?"))


def test_help(looks):
    assert looks(keys=("question_mark",))


def test_help_at_80x24(looks):
    assert looks(size=COMPACT, keys=("question_mark",))


def test_palette(looks):
    assert looks(keys=("ctrl+p",))


def test_palette_finds_a_token(looks):
    assert looks(size=COMPACT, keys=("ctrl+p", *"milk"))


def test_scores_without_a_normalizer(looks):
    """Weights below 0 have bars to the left, and their own colour in the matrix."""
    assert looks(make_view(query=5, head=1, switches={"normalizer": "none"}))


def test_derivation(looks):
    assert looks(make_view(query=5, head=1, key=3, pane="derivation"))


def test_derivation_at_80x24_as_far_as_the_dot(looks):
    assert looks(make_view(CHINESE, query=2, key=1, pane="derivation", stage="dot"), COMPACT)


def test_derivation_of_a_masked_cell_in_the_light(looks):
    view = make_view(query=1, key=3, pane="derivation", stage="mask", mask=Mask(causal=True))
    assert looks(view, theme=LIGHT.name)


def learning(steps, **fields):
    wish = Wish(5, ((1, 0.1), (2, 0.3), (3, 0.5)))
    view = make_view(query=5, key=3, pane="learning", **fields)
    return replace(view, request=replace(view.request, learning=Learning((wish,), 0, steps)))


@pytest.mark.parametrize("size", [(60, 18), COMPACT, USUAL, LARGE])
def test_learning(looks, size):
    assert looks(learning(30), size)


def test_learning_without_a_wish(looks):
    assert looks(make_view(query=5, key=3, pane="learning"))


def test_learning_that_is_done_in_the_light(looks):
    assert looks(learning(120), theme=LIGHT.name)


def test_learning_without_colours_at_80x24(looks, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert looks(learning(30), COMPACT)


def test_typing_a_wish(looks):
    assert looks(learning(0), COMPACT, keys=("enter", *",5=.5", "enter"))


def test_a_learning_rate_that_runs_away(looks):
    assert looks(learning(20), keys=["plus"] * 4)


def test_before_and_after_a_switch(looks):
    assert looks(make_view(query=5, head=1), keys=("s",))


OTHER = "The cat drank sour milk"


@pytest.mark.parametrize("size", [COMPACT, USUAL])
def test_compare(looks, size):
    assert looks(make_view(query=2, head=1, key=3, compare=OTHER, pane="compare"), size)


def test_compare_a_token_that_only_this_text_has(looks):
    assert looks(make_view(query=1, compare=OTHER, pane="compare"), COMPACT)


def test_compare_three_layers_in_the_light(looks):
    model = {"layers": 3, "heads": 12, "d_model": 48}
    view = make_view(query=2, key=3, layer=1, head=5, compare=OTHER, model=model)
    assert looks(view, keys=("8",), theme=LIGHT.name)


def test_compare_without_colours(looks, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert looks(make_view(query=2, head=1, compare=OTHER, pane="compare"), COMPACT)


def test_edit_the_other_text(looks):
    assert looks(make_view(query=2), COMPACT, keys=("o", " ", "n", "o", "w"))


TYPED = (Edit("attn_scores", (0, 1, 5, 2), 1.5), Edit("w_q", (0, 1, 5), -2.0))


def numbers(text=SENTENCE, **fields):
    place = {"query": 5, "key": 2, "head": 1, "pane": "numbers", "dim": 1, "component": 1}
    return make_view(text, **{**place, **fields})


def test_scores_to_type_over(looks):
    assert looks(numbers(switches={"edits": TYPED}))


def test_scores_before_and_after_one_is_typed_over(looks):
    assert looks(numbers(), keys=("enter", *"1.5", "enter"))


def test_a_matrix_to_type_over_at_80x24(looks):
    assert looks(numbers(array="w_q", switches={"edits": TYPED}), COMPACT)


def test_chinese_vectors_to_type_over_at_80x24(looks):
    assert looks(numbers(CHINESE, array="x"), COMPACT)


def test_numbers_in_chinese(looks):
    set_language("zh")
    view = numbers(CHINESE, switches={"edits": TYPED})
    assert looks(view, COMPACT, keys=("enter", *"1,5", "enter"))


def test_many_scores_in_the_light(looks):
    model = {"layers": 2, "heads": 2, "d_model": 8}
    view = numbers(LONG, model=model, query=140, key=100, layer=1, mask=Mask(causal=True))
    assert looks(view, theme=LIGHT.name)


def test_a_number_is_asked_for(looks):
    assert looks(numbers(), keys=("enter", *"1."))


def test_what_is_no_number_at_80x24(looks):
    assert looks(numbers(), COMPACT, keys=("enter", *"1,5", "enter"))


def test_a_derivation_with_a_score_typed_over(looks):
    view = numbers(pane="derivation", switches={"edits": TYPED}, stage="softmax")
    assert looks(view)


def translating(target="La bola es azul ahora", **fields):
    request = Request("The ball is blue", target=target)
    return View(request, **{"attention": "cross", "query": 3, "key": 3, **fields})


@pytest.mark.parametrize("pane", ["tokens", "weights", "matrix", "vectors", "derivation"])
def test_cross_attention_at_80x24(looks, pane):
    assert looks(translating(pane=pane, stage="positions"), COMPACT)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_an_attention_of_a_target(looks, attention):
    assert looks(translating(attention=attention, pane="matrix"))


def test_cross_attention_in_the_light(looks):
    assert looks(translating(), theme=LIGHT.name)


@pytest.mark.parametrize("size", [COMPACT, USUAL])
def test_cross_attention_in_chinese(looks, size):
    set_language("zh")
    assert looks(translating(pane="tokens"), size)


def test_a_chinese_source_and_a_long_target(looks):
    target = "I want to eat " + "very " * 30 + "good fish"
    view = View(Request("我想吃酸菜鱼", target=target), attention="cross", query=8, key=5, layer=0)
    assert looks(view)


@pytest.mark.parametrize("attention", ATTENTIONS[:2])
def test_numbers_beside_a_target(looks, attention):
    assert looks(translating(attention=attention, pane="numbers"))


def test_numbers_are_elsewhere_at_80x24(looks):
    assert looks(translating(pane="numbers"), COMPACT)


def test_an_empty_target(looks):
    assert looks(translating(target=""), COMPACT)


def test_editing_a_target(looks):
    assert looks(translating(), COMPACT, keys=("A", "!"))


@pytest.mark.parametrize("end", ["first", "last"])
@pytest.mark.parametrize("name", bundled_paths())
def test_lesson(looks, name, end):
    lesson = open_lesson(name)
    step = 0 if end == "first" else len(lesson.steps) - 1
    assert looks(view_at(lesson, step), lesson=lesson, step=step)


@pytest.mark.parametrize("size", [COMPACT, USUAL])
def test_lesson_in_chinese(looks, size, monkeypatch):
    set_language("zh")
    lesson = open_lesson("dot-product")
    assert looks(view_at(lesson, 0), size, lesson=lesson, step=0)


def test_the_lesson_about_learning_in_chinese(looks):
    set_language("zh")
    lesson = open_lesson("learning")
    assert looks(view_at(lesson, 2), COMPACT, lesson=lesson, step=2)


@pytest.mark.parametrize("size", [COMPACT, USUAL])
def test_compare_in_a_chinese_lesson(looks, size):
    set_language("zh")
    lesson = open_lesson("what-matters")
    assert looks(view_at(lesson, 1), size, lesson=lesson, step=1)


@pytest.mark.parametrize("size", [COMPACT, USUAL])
def test_real_model(looks, size, tmp_path):
    view = real_view("bert-legacy", tmp_path, FIVE, query=3, head=1, key=1, layer=1)
    assert looks(view, size)


def test_matrix_of_a_window_at_80x24(looks, tmp_path):
    _expected, text = expected_of("gemma3-kinds")
    view = real_view("gemma3-kinds", tmp_path, text, query=8, head=1, key=6, pane="matrix")
    assert looks(view, COMPACT)


def test_key_that_a_real_model_has_no_use_for(looks, tmp_path):
    assert looks(real_view("bert-legacy", tmp_path, "t5 t17 t3"), COMPACT, ["t"])


@pytest.mark.parametrize("size", [(60, 18), COMPACT, USUAL])
def test_predictions(looks, size, tmp_path):
    view = real_view("gpt2-head", tmp_path, FIVE, query=2, pane="predictions")
    assert looks(view, size)


def test_prediction_under_a_mask(looks, tmp_path):
    asked = {"mask": 9, "switches": Switches(masked=frozenset({1, 3}))}
    view = real_view("bert-legacy", tmp_path, FIVE, **asked, query=3, pane="predictions")
    assert looks(view, USUAL)


@pytest.mark.parametrize(("size", "stage"), [(COMPACT, "scale"), (USUAL, "output")])
def test_derivation_of_a_real_model(looks, size, stage, tmp_path):
    place = {"query": 2, "key": 1, "head": 3, "layer": 1}
    view = real_view("gemma2-window", tmp_path, pane="derivation", stage=stage, **place)
    assert looks(view, size)


def real_translation(tmp_path, target="t9 t30 t4"):
    return real_view("bart-head", tmp_path, FIVE, target=target)


def test_real_encoder_without_a_target(looks, tmp_path):
    assert looks(real_translation(tmp_path, None), COMPACT)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_real_encoder_decoder(looks, tmp_path, attention):
    view = real_translation(tmp_path)
    assert looks(replace(view, attention=attention, query=3, key=1, head=2, layer=1))


def test_matrix_of_real_cross_attention_at_80x24(looks, tmp_path):
    view = replace(real_translation(tmp_path), attention="cross", query=2, key=4, head=3)
    assert looks(replace(view, pane="matrix"), COMPACT)


def test_real_decoder_before_its_first_word(looks, tmp_path):
    view = replace(real_translation(tmp_path, ""), attention="cross", pane="tokens")
    assert looks(view, COMPACT)


def test_real_encoder_decoder_in_chinese(looks, tmp_path):
    set_language("zh")
    assert looks(replace(real_translation(tmp_path), attention="cross", query=0, head=3), COMPACT)


@pytest.mark.parametrize("size", [COMPACT, USUAL])
def test_predictions_of_a_decoder(looks, tmp_path, size):
    view = replace(real_translation(tmp_path), attention="cross", query=2, key=4, head=3)
    assert looks(replace(view, pane="predictions"), size)
