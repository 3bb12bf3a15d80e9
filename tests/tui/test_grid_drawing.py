"""The grid of heads without an app: what stands where, what a head says, its small matrix."""

import itertools

import numpy as np
import pytest
from rich.cells import cell_len

from core.head_statistics import HeadFacts
from core.names import BADGES, STATISTICS
from core.pooling import pooled
from core.runner import run
from core.types import ModelSpec, Request
from tui.grid import SHORT, is_nowhere, layout, moved, ordered
from tui.survey import Survey
from tui.terminal import plain
from tui.theme import DARK, make_palette
from tui.widgets.grid import (
    filled,
    lines_for_statistics,
    number,
    statistic_lines,
    value_texts,
)
from tui.widgets.small_matrix import matrix_lines, pixel_rows

COLOURS, FEW = (make_palette(DARK, system) for system in ("truecolor", None))


# The layout.


@pytest.mark.parametrize("matrices", [False, True])
@pytest.mark.parametrize("by_layer", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (12, 12), (30, 9), (32, 32), (100, 2)])
@pytest.mark.parametrize(("width", "height"), [(58, 5), (78, 12), (118, 25), (198, 49)])
def test_whole_heads_fill_the_pane_and_no_more(width, height, shape, by_layer, matrices):
    shown = layout(shape, by_layer, matrices, width, height)
    assert shown.label + shown.wide * shown.cell <= width
    assert shown.high * shown.lines <= height or shown.high == 1
    assert shown.wide <= shown.columns
    assert shown.high <= shown.rows
    assert (shown.rows - 1) * shown.columns < shape[0] * shape[1] <= shown.rows * shown.columns
    if by_layer:
        assert (shown.rows, shown.columns) == shape
    else:
        assert shown.wide == shown.columns
    if shown.high < shown.rows:
        assert (shown.high + 1) * shown.lines > height
    if shown.wide < shown.columns:
        assert shown.label + (shown.wide + 1) * shown.cell > width


@pytest.mark.parametrize("matrices", [False, True])
def test_12_by_12_is_seen_whole_at_120_by_36(matrices):
    shown = layout((12, 12), True, matrices, 118, 36 - 8 - 3)
    assert (shown.high, shown.wide) == (12, 12)
    assert shown.lines == 2


def test_the_next_head_stops_at_the_ends():
    places = list(itertools.product(range(2), range(3)))
    assert moved(places, (0, 1), 1) == (0, 2)
    assert moved(places, (0, 1), 9) == (1, 2)
    assert moved(places, (0, 1), -9) == (0, 0)


# What a head says.


def facts(badge="previous", number=0.813, **values):
    return HeadFacts(0, 0, {**dict.fromkeys(STATISTICS), **values}, badge, number)


def test_a_number_and_a_word_and_what_is_left_out_where_it_is_narrow():
    found = facts(entropy=1.5)
    assert value_texts(found, "badge", "", 8, 2) == [".81", "previous"]
    assert value_texts(found, "badge", "", 7, 2) == [".81", "prev"]
    assert value_texts(found, "entropy", "", 8, 2) == ["1.50", "previous"]
    assert value_texts(found, "first", "", 8, 2) == ["–", "previous"]
    assert value_texts(found, "badge", "", 10, 1) == [".81 prev"]
    assert value_texts(found, "badge", "", 5, 1) == ["prev"]
    assert value_texts(found, "entropy", "", 5, 1) == ["1.50"]
    assert value_texts(found, "badge", "3·4", 12, 2) == ["3·4 .81", "previous"]
    assert value_texts(facts(None, None), "badge", "", 8, 2) == ["–", "–"]


def test_an_undefined_number_is_never_0():
    assert number(None, "induction") == "–"
    assert number(0.0, "induction") == ".00"
    assert number(0.001, "induction") == "<.01"
    assert number(1.0, "induction") == "1.0"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_badge_fits_the_narrowest_cell(language):
    from core.language import _, set_language

    set_language(language)
    try:
        for name in BADGES:
            assert cell_len(_(SHORT.get(name, name))) <= 5
    finally:
        set_language("en")


def test_words_fill_lines_whole():
    words = ["one 1", "two 2", "three 3"]
    assert filled(words, 14, "  ") == [["one 1", "two 2"], ["three 3"]]
    assert filled(words, 13, " ") == [["one 1", "two 2"], ["three 3"]]
    assert filled(words, 6, "  ") == [["one 1"], ["two 2"], ["three 3"]]


@pytest.mark.parametrize(
    ("precision", "cells", "lines"), [(3, 76, 2), (6, 76, 2), (3, 56, 2), (4, 56, 3), (12, 56, 5)]
)
def test_there_are_lines_enough_for_any_statistics(precision, cells, lines):
    assert lines_for_statistics(10.0, precision, cells) == lines
    for value in (None, 0.0, 1e-20, 0.5, 1.0):
        values = dict.fromkeys(STATISTICS, value)
        found, gap = statistic_lines(values, precision, cells, lines)
        assert len(found) <= lines
        assert all(cell_len(gap.join(words)) <= cells for words in found)


def test_statistics_are_in_short_words_only_where_long_ones_take_more_lines():
    values = {**dict.fromkeys(STATISTICS, 0.5), "entropy": 1.25, "special": None}

    def shown(cells):
        lines, gap = statistic_lines(values, 2, cells, 2)
        return [gap.join(words) for words in lines]

    assert shown(76) == [
        "entropy 1.25  evenness 0.50  first 0.50  special –  self 0.50  previous 0.50",
        "next 0.50  duplicate 0.50  induction 0.50",
    ]
    assert shown(51) == [
        "entropy 1.25 evenness .50 first .50 spec – self .50",
        "prev .50 next .50 dupl .50 induc .50",
    ]


# Small matrices.


def matrix_of(pattern, mask=None, bins=(8, 8)):
    mask = np.ones(pattern.shape, bool) if mask is None else mask
    return pooled(lambda start, stop: (pattern[start:stop], None), mask, *bins, "max")


def test_pixels_are_the_bins():
    found = matrix_of(np.eye(4))
    rows = pixel_rows(found, 8, 4)
    assert rows == [[9 if x // 2 == y else 0 for x in range(8)] for y in range(4)]


def test_two_pixels_a_cell_with_a_gap_below():
    lines = matrix_lines(matrix_of(np.eye(3), bins=(3, 3)), COLOURS, 3, 2)
    full, empty = COLOURS.ramp[-1].bgcolor, COLOURS.ramp[0].bgcolor
    cells = [[(style.color, style.bgcolor) for text, style in line for _ in text] for line in lines]
    assert cells == [
        [(full, empty), (empty, full), (empty, empty)],
        [(empty, empty), (empty, empty), (full, empty)],
    ]
    assert {text for line in lines for text, _ in line} == {"▀", "▀▀"}


def test_without_colours_a_glyph_a_cell_and_a_dot_where_it_is_masked():
    found = matrix_of(np.diag([1, 0.5, 0.25]), np.tri(3, dtype=bool), (3, 3))
    lines = matrix_lines(found, FEW, 3, 3)
    assert ["".join(text for text, _ in line) for line in lines] == ["█··", " ▄·", "  ▂"]


def test_in_ascii_a_row_of_the_matrix_is_a_line(monkeypatch):
    monkeypatch.setattr(plain, "_wanted", True)
    found = matrix_of(np.diag([1, 0.5, 0.25]), np.tri(3, dtype=bool), (3, 3))
    lines = matrix_lines(found, COLOURS, 3, 3)
    drawn = ["".join(text for text, _ in line).translate(plain.table()) for line in lines]
    assert drawn == ["#..", " =.", "  _"]


def test_scores_below_0_have_their_own_colour():
    found = matrix_of(np.array([[1.0, -0.9]]))
    (line,) = matrix_lines(found, COLOURS, 2, 1)
    assert [style.color for _, style in line] == [
        COLOURS.ramp[-1].bgcolor,
        COLOURS.negative.color,
    ]


# Order.


def test_heads_by_a_statistic_and_by_badge():
    trace = run(Request("the black cat saw the dog", model=ModelSpec(layers=2, heads=3, d_model=6)))
    survey = Survey(trace, "encoder")
    shape = (2, 3)
    in_layers = list(itertools.product(range(2), range(3)))
    assert ordered(None, shape, "first") == ordered(survey, shape, "first") == in_layers
    survey.facts[1] = [
        facts("first", 0.6, first=0.6),
        facts("induction", 0.5, first=0.9),
        facts(None, None),
    ]
    # Layer 0 is not known yet.
    assert not is_nowhere(survey, 2, "special")
    assert ordered(survey, shape, "first")[:2] == [(1, 1), (1, 0)]
    assert ordered(survey, shape, "badge")[:2] == [(1, 1), (1, 0)]
    survey.facts[0] = [facts("first", 0.8, first=0.8)] * 3
    assert is_nowhere(survey, 2, "special")
    assert not is_nowhere(survey, 2, "first")
    assert ordered(survey, shape, "first") == [(1, 1), (0, 0), (0, 1), (0, 2), (1, 0), (1, 2)]
    assert ordered(survey, shape, "badge") == [(1, 1), (0, 0), (0, 1), (0, 2), (1, 0), (1, 2)]
