"""Colours keep the order of the weights in every colour system; bars keep their length."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.style import Style
from textual.theme import BUILTIN_THEMES

from core.errors import SettingError
from tests.tui.helpers import make_view
from tui.app import AttnApp
from tui.theme import (
    COLUMN,
    DARK,
    LIGHT,
    RAMP_STEPS,
    bar,
    column,
    make_palette,
    ramp_step,
    signed_bar,
)

quiet = settings(derandomize=True, deadline=None, max_examples=200)
fractions = st.floats(0, 1)
OURS = [DARK, LIGHT]
ALL = [*OURS, *(theme for theme in BUILTIN_THEMES.values() if not theme.ansi)]
named = pytest.mark.parametrize("theme", ALL, ids=lambda theme: theme.name)
ours = pytest.mark.parametrize("theme", OURS, ids=lambda theme: theme.name)


def shades(color: Color, system=ColorSystem.TRUECOLOR):
    """Red, green and blue of what a terminal of this colour system shows."""
    return color.downgrade(system).get_truecolor()


def luminance(color: Color, system=ColorSystem.TRUECOLOR) -> float:
    parts = (part / 255 for part in shades(color, system))
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(style: Style, system=ColorSystem.TRUECOLOR) -> float:
    light, dark = sorted(
        (luminance(style.color, system), luminance(style.bgcolor, system)), reverse=True
    )
    return (light + 0.05) / (dark + 0.05)


def falls(values) -> bool:
    return all(a >= b for a, b in itertools.pairwise(values))


def rises(values) -> bool:
    return all(a <= b for a, b in itertools.pairwise(values))


@named
def test_the_ramp_is_monotone_in_true_colour(theme):
    palette = make_palette(theme, "truecolor")
    steps = [luminance(style.bgcolor) for style in palette.ramp]
    assert len(set(steps)) == RAMP_STEPS
    assert rises(steps) or falls(steps)


@ours
@pytest.mark.parametrize("name", ["ramp", "ink"])
def test_the_ramps_leave_the_background_behind_in_true_colour(theme, name):
    palette = make_palette(theme, "truecolor")
    colors = [s.bgcolor if name == "ramp" else s.color for s in getattr(palette, name)]
    steps = [luminance(color) for color in colors]
    assert len(set(steps)) == RAMP_STEPS
    assert rises(steps) if theme.dark else falls(steps)


@ours
@pytest.mark.parametrize("name", ["ramp", "ink"])
def test_the_ramps_stay_in_order_with_256_colours(theme, name):
    """S08: rich picks the nearest of 256 colours; the order of the weights must stay."""
    palette = make_palette(theme, "256")
    colors = [s.bgcolor if name == "ramp" else s.color for s in getattr(palette, name)]
    steps = [luminance(color, ColorSystem.EIGHT_BIT) for color in colors]
    assert len(set(steps)) >= 5
    assert rises(steps) if theme.dark else falls(steps)


@named
def test_digits_are_readable_on_every_step(theme):
    for style in make_palette(theme, "truecolor").ramp:
        assert contrast(style) >= 4.5


@ours
def test_digits_are_readable_on_every_step_with_256_colours(theme):
    for style in make_palette(theme, "256").ramp:
        assert contrast(style, ColorSystem.EIGHT_BIT) >= 4.5


@ours
def test_text_is_readable(theme):
    palette = make_palette(theme, "truecolor")
    names = "base dim strong selected head other positive negative cursor"
    for name in names.split():
        assert contrast(getattr(palette, name)) >= 4.5, name


@ours
@pytest.mark.parametrize("color_system", ["standard", None])
def test_few_colours_make_no_ramp(theme, color_system):
    """S08: sixteen colours hold no ramp in order, so the glyphs and digits carry the weight."""
    palette = make_palette(theme, color_system)
    assert len({style.bgcolor for style in palette.ramp}) == 1
    assert len(set(palette.ink)) == 1


def test_every_theme_has_a_palette_without_holes():
    for theme in ALL:
        for color_system in ("truecolor", "256", "standard", None):
            for style in make_palette(theme, color_system).ramp:
                assert style.color is not None
                assert style.bgcolor is not None


def test_themes_that_would_be_unreadable_are_refused():
    with pytest.raises(SettingError, match=r"no theme textual-ansi: choose one of .*attn-dark"):
        AttnApp(make_view(), "textual-ansi")
    with pytest.raises(SettingError, match="there is no theme nothing"):
        AttnApp(make_view(), "nothing")


def test_ramp_steps_are_of_equal_size():
    steps = [ramp_step(i / 1000) for i in range(1001)]
    assert rises(steps)
    assert set(steps) == set(range(RAMP_STEPS))
    assert [ramp_step(x) for x in (0.0, 0.0999, 0.1, 0.9, 1.0)] == [0, 0, 1, 9, 9]


@quiet
@given(fractions, st.integers(1, 60))
def test_a_bar_is_as_wide_as_asked_and_never_hides_a_weight(fraction, cells):
    shown = bar(fraction, cells)
    assert cell_len(shown) == cells
    assert (shown.strip() == "") == (fraction == 0)
    assert (shown == "█" * cells) == (round(fraction * cells * 8) == cells * 8)


def eighths(shown: str) -> int:
    return sum(" ▏▎▍▌▋▊▉█".index(char) for char in shown)


@quiet
@given(fractions, fractions, st.integers(1, 60))
def test_a_longer_bar_is_never_a_smaller_weight(one, other, cells):
    low, high = sorted((one, other))
    assert eighths(bar(low, cells)) <= eighths(bar(high, cells))
    assert abs(eighths(bar(high, cells)) - high * cells * 8) <= 1


@quiet
@given(fractions, fractions)
def test_columns_are_one_cell_and_monotone(one, other):
    low, high = sorted((one, other))
    assert cell_len(column(low)) == 1
    assert COLUMN.index(column(low)) <= COLUMN.index(column(high))
    assert column(0) == " "
    assert column(1) == "█"


@quiet
@given(st.floats(-1, 1), st.integers(0, 20))
def test_a_signed_bar_grows_from_the_middle(fraction, half):
    shown = signed_bar(fraction, half)
    assert cell_len(shown) == 2 * half
    left, right = shown[:half], shown[half:]
    assert not (left if fraction >= 0 else right).strip()
    assert signed_bar(-fraction, half).translate(str.maketrans("▐▌", "▌▐")) == shown[::-1]


@quiet
@given(fractions, fractions, st.integers(1, 20))
def test_signed_bars_are_monotone(one, other, half):
    low, high = sorted((one, other))

    def halves(shown):
        return sum({"█": 2, "▌": 1, "▐": 1}.get(char, 0) for char in shown)

    assert halves(signed_bar(low, half)) <= halves(signed_bar(high, half))
    assert halves(signed_bar(-low, half)) <= halves(signed_bar(-high, half))
