"""Curves of braille: where the dots are, and what the axes say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.plot import curve, nice_end, plot_lines

quiet = settings(derandomize=True, deadline=None, max_examples=150)


def dots(lines):
    """Columns and rows of the dots, counted from the left and from below."""
    order = ((0, 3), (0, 2), (0, 1), (1, 3), (1, 2), (1, 1), (0, 0), (1, 0))
    return {
        (2 * x + order[bit][0], 4 * (len(lines) - 1 - y) + order[bit][1])
        for y, line in enumerate(lines)
        for x, char in enumerate(line)
        if char != " "
        for bit in range(8)
        if (ord(char) - 0x2800) >> bit & 1
    }


def test_a_straight_line():
    assert dots(curve([0, 1], 1, 0, 1, 4, 2)) == {(x, x) for x in range(8)}
    assert dots(curve([1, 0], 1, 0, 1, 4, 2)) == {(x, 7 - x) for x in range(8)}


def test_one_value_is_one_dot():
    assert dots(curve([1], 20, 0, 1, 4, 2)) == {(0, 7)}
    assert dots(curve([2, 2], 1, 2, 2, 1, 1)) == {(0, 0), (1, 0)}


def test_a_jump_is_joined():
    found = dots(curve([1, 1, 0, 0], 3, 0, 1, 2, 3))
    assert {y for _, y in found} == set(range(12))


def test_a_spike_between_two_columns_is_seen():
    values = [0.0] * 2000
    values[1001] = 1.0
    assert max(y for _, y in dots(curve(values, 1999, 0, 1, 10, 4))) == 15


def test_a_curve_ends_where_its_values_end():
    found = dots(curve([0] * 11, 20, 0, 1, 10, 1))
    assert max(x for x, _ in found) == 10


@quiet
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60),
    st.integers(1, 30),
    st.integers(1, 9),
)
def test_every_column_is_joined_to_the_one_before(values, width, height):
    end = max(1, len(values) - 1)
    lines = curve(values, end, min(values), max(values), width, height)
    assert [cell_len(line) for line in lines] == [width] * height
    found = dots(lines)
    for x in range(1, max(column for column, _ in found) + 1):
        here = {y for column, y in found if column == x}
        before = {y for column, y in found if column == x - 1}
        assert here
        assert any(abs(a - b) <= 1 for a in here for b in before)


def test_axes():
    lines = plot_lines([1.5, 1.0, 0.5], 0.5, 1.5, 2, 24, 6)
    axes = ["1.50┤", "    │", "    │", "0.50┤", "    └" + "─" * 19, "     0                20"]
    assert [axis for axis, _ in lines] == axes
    assert dots([line for _, line in lines[:4]]) == dots(curve([1.5, 1, 0.5], 20, 0.5, 1.5, 19, 4))
    assert all(cell_len(axis + line) <= 24 for axis, line in lines)
    assert plot_lines([1.0], 0, 1, 2, 11, 9) == plot_lines([1.0], 0, 1, 2, 40, 3) == []


@pytest.mark.parametrize(
    ("count", "end"), [(0, 20), (20, 20), (21, 50), (51, 100), (100, 100), (101, 200), (2000, 2000)]
)
def test_an_axis_rests(count, end):
    assert nice_end(count) == end
