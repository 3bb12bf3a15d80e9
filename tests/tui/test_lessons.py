"""Lessons on screen: the panel, its keys, and what they move."""

from dataclasses import replace

import pytest

from core.language import set_language
from core.lessons import bundled_paths, open_lesson
from tests.tui.helpers import (
    AttnApp,
    asynccontextmanager,
    explorer_of,
    find,
    paste,
    press,
    says,
    screen_text,
    sentence_of,
    settle,
    shown_text,
    view_of,
)
from tui.command import command_line
from tui.labels import wrap
from tui.lessons import view_at
from tui.widgets.lesson import LessonPanel

PLACES = ("pane", "attention", "head", "query", "key", "stage")
NEXT, BACK = "greater_than_sign", "less_than_sign"


@asynccontextmanager
async def open_at(name, step=0, size=(120, 36)):
    lesson = open_lesson(name)
    app = AttnApp(view_at(lesson, step), lesson=lesson, step=step)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settle(pilot)
        yield pilot


def seen(view):
    """What a step decides of a view."""
    return {name: getattr(view, name) for name in PLACES}


@pytest.mark.parametrize("name", bundled_paths())
async def test_from_the_first_step_to_the_last_and_back(name):
    lesson = open_lesson(name)
    count = len(lesson.steps)
    async with open_at(name) as pilot:

        def check(step):
            wanted = view_at(lesson, step)
            assert view_of(pilot).request == wanted.request
            assert seen(view_of(pilot)) == seen(wanted)
            find(pilot, f"step {step + 1} of {count}", "LessonPanel")
            find(pilot, first_words(lesson.steps[step].say.en), "LessonPanel")
            assert explorer_of(pilot.app).focused.id == f"pane-{wanted.pane}"

        check(0)
        for step in range(1, count):
            await press(pilot, NEXT)
            check(step)
        for step in reversed(range(count - 1)):
            await press(pilot, BACK)
            check(step)


NUMBERS = [
    ("by-hand", 6, "0.3057 0.0743 0.6200 0.3177 0.0381 0.6443"),
    ("relations", 6, "0.6225 0.3775"),
    ("no-projections", 5, "0.0742 0.0450 0.5483 0.3325"),
    ("source-target", 1, "0.096 0.707 0.111 0.086"),
    ("source-target", 2, "1.000 0.744 0.256"),
    ("source-target", 5, "0.035 0.113 0.060 0.792"),
    ("order", 6, "0.175 0.144 0.506 0.175"),
]


@pytest.mark.parametrize(("name", "step", "numbers"), NUMBERS)
async def test_the_matrix_shows_the_numbers_that_are_told(name, step, numbers):
    """A student compares them digit by digit, also where the weights are not seen beside it."""
    async with open_at(name, step - 1, (80, 24)) as pilot:
        assert view_of(pilot).pane == "matrix"
        for number in numbers.split():
            assert number.lstrip("0") in open_lesson(name).steps[step - 1].say.en
            find(pilot, number, "#pane-matrix")


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_curve_that_is_told_of_is_seen(language):
    set_language(language)
    async with open_at("learning", 3, (80, 24)) as pilot:
        find(pilot, "1.648┤", "#pane-learning")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", bundled_paths())
def test_a_step_is_read_on_one_page_at_80_columns(name, language):
    """Where a page was turned for two words, they looked like another step."""
    for step in open_lesson(name).steps:
        assert len(list(wrap(getattr(step.say, language), 76))) <= 4


async def test_the_first_stage_is_seen_where_a_lesson_leaves_few_lines():
    """Below what is said of all stages it would be out of sight."""
    async with open_at("by-hand", 0, (60, 18)) as pilot:
        find(pilot, "1 embedding: the rows of", "#pane-derivation")
        find(pilot, "dim ", "#pane-derivation")
    async with open_at("by-hand", 0, (80, 24)) as pilot:
        find(pilot, "Every number is worked out", "#pane-derivation")


def guide_step(pilot):
    return explorer_of(pilot.app).guide.step


def first_words(text):
    return next(wrap(text, 116))[:30]


async def test_the_ends_of_a_lesson_hold():
    async with open_at("by-hand") as pilot:
        await press(pilot, BACK)
        assert guide_step(pilot) == 0
        for _ in range(9):
            await press(pilot, NEXT)
        assert guide_step(pilot) == 6
        assert "> next" not in screen_text(pilot.app)


async def test_the_header_says_that_the_matrices_are_given():
    async with open_at("by-hand") as pilot:
        assert "given matrices" in screen_text(pilot.app)
        assert "random weights" not in screen_text(pilot.app)


async def test_there_is_no_panel_without_a_lesson():
    app = AttnApp(view_at(open_lesson("order"), 0))
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, NEXT, BACK)
        assert not [panel for panel in app.screen.query(LessonPanel) if panel.display]


async def test_chinese_words_where_chinese_is_spoken():
    set_language("zh")
    async with open_at("by-hand") as pilot:
        find(pilot, "三个词，两个维度，动手算一遍")
        find(pilot, "三个词，每个词是一行两个数", "LessonPanel")


async def test_given_matrices_keep_their_sentence():
    async with open_at("by-hand") as pilot:
        await press(pilot, "e")
        assert says(pilot, "The sentence stays")
        assert explorer_of(pilot.app).focused is not sentence_of(pilot)
        pilot.app.clear_notifications()
        explorer_of(pilot.app).set_focus(sentence_of(pilot))
        await settle(pilot)
        for _ in range(2):
            await paste(pilot, " and more")
            assert sentence_of(pilot).true_text == shown_text(pilot) == "我 爱 你"
            assert says(pilot, "The sentence stays")
            (told,) = {each.message for each in pilot.app._notifications}
            assert "belong to the 3 tokens of this lesson" in told


async def test_a_seeded_lesson_may_be_edited_until_the_next_step():
    async with open_at("follow-a-word", 4) as pilot:
        await press(pilot, "e", *" x", "escape")
        assert shown_text(pilot) == "The ball is blue x"
        await press(pilot, "0", "end", NEXT)
        assert shown_text(pilot) == sentence_of(pilot).true_text == "The ball is blue"
        assert view_of(pilot).query == 3


async def test_switches_and_places_are_free_and_the_next_step_sets_them():
    async with open_at("no-projections", 0) as pilot:
        await press(pilot, "w", "s", "down")
        assert view_of(pilot).request.switches.projections == "seeded"
        await press(pilot, NEXT)
        lesson = open_lesson("no-projections")
        assert view_of(pilot).request == lesson.request_at(1)
        assert view_of(pilot).query == 0


async def test_a_step_that_changes_no_switch_computes_nothing():
    async with open_at("by-hand") as pilot:
        before = explorer_of(pilot.app).state.trace
        await press(pilot, NEXT)
        assert explorer_of(pilot.app).state.trace is before
        assert view_of(pilot).stage == "projections"


async def test_a_place_that_no_step_has_named_yet_is_the_first():
    async with open_at("bert-sized") as pilot:
        await press(pilot, NEXT, "down", "down", BACK)
        assert seen(view_of(pilot)) == seen(view_at(open_lesson("bert-sized"), 0))
        assert view_of(pilot).query == 0


async def test_the_copied_command_of_a_teachers_lesson_has_its_path(tmp_path):
    file = tmp_path / "my lesson.toml"
    file.write_text(bundled_paths()["order"].read_text())
    async with open_at(str(file)) as pilot:
        guide = explorer_of(pilot.app).guide
        assert command_line(view_of(pilot), "nord", guide) == (
            f"attn-tui lesson --theme nord '{file}'"
        )


async def test_a_step_leads_out_of_a_refusal():
    async with open_at("by-hand") as pilot:
        explorer = explorer_of(pilot.app)
        explorer.submit(replace(explorer.state.asked, tokenizer="chars"))
        await settle(pilot)
        assert says(pilot, "x has 3 rows but the text has 5 tokens")
        await press(pilot, NEXT)
        assert view_of(pilot) == view_at(open_lesson("by-hand"), 1)
        find(pilot, "step 2 of 7", "LessonPanel")


async def test_words_that_do_not_fit_are_turned_like_pages():
    async with open_at("follow-a-word", 0, (60, 18)) as pilot:
        find(pilot, "step 1 of 7 · > more")
        await press(pilot, NEXT)
        assert guide_step(pilot) == 0
        find(pilot, "mechanism, not meaning.", "LessonPanel")
        await press(pilot, BACK)
        find(pilot, "We follow the last word", "LessonPanel")
        await press(pilot, NEXT, NEXT)
        assert guide_step(pilot) == 1


async def test_lessons_are_opened_and_left_from_the_palette():
    app = AttnApp(view_at(open_lesson("order"), 0))
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+p", *"lesson: two samples", "enter")
        assert view_of(pilot) == view_at(open_lesson("relations"), 0)
        assert sentence_of(pilot).true_text == "A B"
        await press(pilot, "ctrl+p", *"leave the lesson", "enter")
        assert view_of(pilot).request.model.seed == 0
        assert not [panel for panel in app.screen.query(LessonPanel) if panel.display]
        assert shown_text(pilot) == "A B"


async def test_an_example_leaves_given_matrices_behind():
    async with open_at("by-hand") as pilot:
        explorer_of(pilot.app).explore("The ball is blue")
        await settle(pilot)
        assert shown_text(pilot) == sentence_of(pilot).true_text == "The ball is blue"
        assert explorer_of(pilot.app).guide is None


async def test_the_copied_command_reopens_the_step():
    async with open_at("by-hand", 2) as pilot:
        copied = []
        pilot.app.copy_to_clipboard = copied.append
        await press(pilot, "c", "s", "down", "c")
        assert copied == [
            "attn-tui lesson --step 3 by-hand",
            "attn-tui lesson --step 3 --no-scale --query 1 by-hand",
        ]


async def test_the_copied_command_of_an_edited_sentence_is_that_of_the_sentence():
    async with open_at("order") as pilot:
        await press(pilot, "e", "x", "escape")
        guide = explorer_of(pilot.app).guide
        assert command_line(view_of(pilot), None, guide).endswith("'the dog saw the catx'")


def test_chinese_breaks_between_characters_and_keeps_its_marks():
    assert list(wrap("一二三，四五。六", 7)) == ["一二", "三，四", "五。六"]
    assert list(wrap("one two three", 7)) == ["one two", "three"]
    assert list(wrap("abcdefghij", 4)) == ["abcd", "efgh", "ij"]
    assert list(wrap("", 4)) == [""]


def test_a_list_of_numbers_stays_in_one_line():
    assert list(wrap("a = [1, -1, 0], b", 12)) == ["a =", "[1, -1, 0],", "b"]
    assert list(wrap("词 [1, 0]，(1, 2)。", 10)) == ["词", "[1, 0]，", "(1, 2)。"]
    assert list(wrap("a [see b] c", 7)) == ["a [see", "b] c"]
    assert list(wrap("[1, 2, 3]", 4)) == ["[1,", "2,", "3]"]
