"""Pictures of each lesson's first and last step in Chinese; test_snapshots.py has the English."""

import pytest

from core.language import set_language
from core.lessons import bundled_paths, open_lesson
from tui.lessons import view_at


@pytest.mark.parametrize("end", ["first", "last"])
@pytest.mark.parametrize("name", bundled_paths())
def test_lesson(looks, name, end):
    set_language("zh")
    lesson = open_lesson(name)
    step = 0 if end == "first" else len(lesson.steps) - 1
    assert looks(view_at(lesson, step), lesson=lesson, step=step)
