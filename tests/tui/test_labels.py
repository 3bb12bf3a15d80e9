"""Cutting and padding by cells, and numbers in few digits."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.labels import ELLIPSIS, clip, pad, short_weight, signed, weight, weight_cells

quiet = settings(derandomize=True, deadline=None, max_examples=200)
FAMILY, CHINA, THUMB, HEART = "👩‍👩‍👧", "🇨🇳", "👍🏽", "❤️"
drawn = st.lists(st.sampled_from([*"ab我想é", "e\u0301", FAMILY, CHINA, THUMB, HEART]), max_size=8)


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [
        ("milk", 4, "milk"),
        ("milk", 3, "mi…"),
        ("milk", 1, "…"),
        ("milk", 0, ""),
        ("milk", -3, ""),
        ("", 0, ""),
        ("我想吃", 6, "我想吃"),
        ("我想吃", 5, "我想…"),
        ("我想吃", 4, "我…"),
        ("我想吃", 2, "…"),
        ("我想吃", 1, "…"),
        (FAMILY + "x", 3, FAMILY + "x"),
        (FAMILY + "xy", 3, FAMILY + "…"),
        (FAMILY + "xy", 2, "…"),
        (CHINA * 2, 3, CHINA + "…"),
        (CHINA * 2, 2, "…"),
        ("cafe\u0301s", 4, "caf…"),
        ("e\u0301tude", 2, "e\u0301…"),
    ],
)
def test_clipping_by_cells_between_graphemes(text, cells, shown):
    assert clip(text, cells) == shown


@quiet
@given(drawn, st.integers(0, 20))
@example([CHINA, CHINA, CHINA], 4)
def test_clipped_text_fits_and_is_a_start_of_the_text(parts, cells):
    text = "".join(parts)
    shown = clip(text, cells)
    assert cell_len(shown) <= cells
    if shown != text and shown:
        assert shown.endswith(ELLIPSIS)
        starts = ["".join(parts[:n]) for n in range(len(parts))]
        assert shown.removesuffix(ELLIPSIS) in starts


@quiet
@given(drawn, st.integers(0, 20), st.sampled_from("<>"))
def test_padded_text_is_exactly_as_wide_as_asked(parts, cells, align):
    """U02: by cells, where ljust would count characters."""
    text = "".join(parts)
    shown = pad(text, cells, align)
    assert cell_len(shown) == cells
    if cell_len(text) <= cells:
        assert shown.strip(" ") == text
        assert shown.endswith(text) if align == ">" else shown.startswith(text)


@pytest.mark.parametrize(
    ("value", "precision", "shown"),
    [
        (0.0, 3, "0.000"),
        (1.0, 3, "1.000"),
        (0.46949, 3, "0.469"),
        (0.0004999, 3, "<0.001"),
        (1e-300, 3, "<0.001"),
        (0.0006, 3, "0.001"),
        (0.04, 1, "<0.1"),
        (1e-13, 12, "<0.000000000001"),
    ],
)
def test_a_weight_that_is_not_0_never_looks_like_0(value, precision, shown):
    """N10"""
    assert weight(value, precision) == shown


@quiet
@given(st.floats(0, 1), st.integers(1, 12))
@example(5e-7, 6)  # below half of the last digit, although 10.0**-6 / 2 is the same float
def test_a_weight_fits_into_its_cells_and_reads_back(value, precision):
    text = weight(value, precision)
    assert len(text) <= weight_cells(precision)
    if text.startswith("<"):
        assert 0 < value < float(text[1:])
    else:
        assert abs(float(text) - value) <= 0.5000001 * 10.0**-precision
        assert float(text) > 0 or value == 0


@quiet
@given(st.floats(0, 1))
def test_a_short_weight_takes_four_cells_at_most(value):
    assert len(short_weight(value, 2)) <= 4
    assert len(short_weight(value, 1)) <= 3


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [(0.463, 2, ".46"), (0.001, 2, "<.01"), (0.0, 2, ".00"), (1.0, 2, "1.0"), (0.999, 2, "1.0")],
)
def test_short_weights(value, digits, shown):
    assert short_weight(value, digits) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.5, "+1.500"), (-1.5, "-1.500"), (0.0, " 0.000"), (-0.0, " 0.000"), (-0.0001, " 0.000")],
)
def test_signed_numbers_line_up_and_0_has_no_sign(value, shown):
    assert signed(value, 3) == shown
