"""Colours and glyphs: from a theme to the few styles that everything is drawn with."""

from __future__ import annotations

from dataclasses import dataclass

from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color
from textual.theme import Theme

DARK = Theme(
    name="attn-dark",
    primary="#ffb454",
    secondary="#7d93b2",
    accent="#ffb454",
    warning="#ffb454",
    error="#f07178",
    success="#8fc58f",
    foreground="#d5dae3",
    background="#11151c",
    surface="#11151c",
    panel="#1c222c",
    dark=True,
)
LIGHT = Theme(
    name="attn-light",
    primary="#a84300",
    secondary="#55708f",
    accent="#a84300",
    warning="#a84300",
    error="#b3261e",
    success="#2f6f3e",
    foreground="#1d2430",
    background="#fbfaf7",
    surface="#fbfaf7",
    panel="#eceae4",
    dark=False,
)

RAMP_STEPS = 10
# Bars grow by eighths of a cell to the right, columns by eighths upwards; a bar that grows to
# the left has only halves, so signed bars use halves on both sides.
BAR = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█")
COLUMN = (" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█")
_SIGNED = {  # positive and negative, told apart by colour-blind people too
    True: ("#5fb0ff", "#ff9e64"),
    False: ("#0b5cad", "#a8470b"),
}


@dataclass(frozen=True, eq=False, slots=True)
class Palette:
    """Every style that a widget may use.

    Attributes
    ----------
    base, dim, strong : Style
        Text, secondary text, text that stands out.
    selected : Style
        The one accent: what is selected.
    head, other : Style
        Weights of the selected head, and of the others.
    positive, negative : Style
        Signed numbers.
    cursor : Style
        The cell under the cursor.
    cursor_glyph : Style
        The same where a cell holds a glyph, which must be seen as it is.
    ramp : tuple of Style
        Backgrounds for weights from 0 to 1, in steps of equal size.
    ink : tuple of Style
        The same steps as colours of a glyph, the faintest still visible.
    """

    base: Style
    dim: Style
    strong: Style
    selected: Style
    head: Style
    other: Style
    positive: Style
    negative: Style
    cursor: Style
    cursor_glyph: Style
    ramp: tuple[Style, ...]
    ink: tuple[Style, ...]


def make_palette(theme: Theme, color_system: str | None) -> Palette:
    """Derive the styles from a theme.

    Parameters
    ----------
    theme : Theme
    color_system : str, optional
        Rich's name of what the terminal can show. With 16 colours or none a background ramp
        would collapse to two or three steps in no order, so the ramp keeps the background and
        the digits and glyphs carry the weight.
    """
    background = _color(theme.background, "#121212" if theme.dark else "#ffffff")
    foreground = _color(theme.foreground, "#e0e0e0" if theme.dark else "#1f1f1f")
    accent = _readable(_color(theme.accent, theme.primary), background, foreground)
    other = _readable(_color(theme.secondary, theme.primary), background, foreground)
    blue, orange = (Color.parse(name) for name in _SIGNED[theme.dark])

    def on_background(color: Color, bold: bool = False) -> Style:
        return Style(color=color.rich_color, bgcolor=background.rich_color, bold=bold)

    few_colors = color_system not in ("truecolor", "256")
    ramp = _ramp_colors(background, accent, few=color_system == "256")
    return Palette(
        base=on_background(foreground),
        dim=on_background(background.blend(foreground, 0.58 if theme.dark else 0.66)),
        strong=on_background(foreground, bold=True),
        selected=on_background(accent, bold=True),
        head=on_background(accent),
        other=on_background(other),
        positive=on_background(_readable(blue, background, foreground)),
        negative=on_background(_readable(orange, background, foreground)),
        cursor=Style(color=background.rich_color, bgcolor=foreground.rich_color, bold=True),
        cursor_glyph=Style(
            color=accent.rich_color, bgcolor=background.blend(foreground, 0.4).rich_color
        ),
        ramp=tuple(
            on_background(foreground) if few_colors else _cell_style(color) for color in ramp
        ),
        ink=tuple(
            on_background(accent if few_colors else background.blend(accent, _ink(step)))
            for step in range(RAMP_STEPS)
        ),
    )


def ramp_step(fraction: float) -> int:
    """Index of the step of `ramp` and `ink` for a weight from 0 to 1."""
    return max(0, min(int(fraction * RAMP_STEPS), RAMP_STEPS - 1))


def bar(fraction: float, cells: int) -> str:
    """A bar of at most `cells` cells for a fraction from 0 to 1, padded with spaces.

    Anything above 0 shows at least an eighth, so that it differs from nothing.
    """
    eighths = min(round(fraction * cells * 8), cells * 8)
    if fraction > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return (BAR[8] * full + BAR[rest]).ljust(cells)


def column(fraction: float) -> str:
    """One cell, filled from below to the nearest eighth."""
    return COLUMN[min(round(fraction * 8), 8)]


def signed_bar(fraction: float, half: int) -> str:
    """A bar of ``2 * half`` cells from the middle: left for -1, right for 1."""
    halves = min(round(abs(fraction) * half * 2), half * 2)
    full, rest = divmod(halves, 2)
    if fraction < 0:
        return ("▐" * rest + "█" * full).rjust(half) + " " * half
    return " " * half + ("█" * full + "▌" * rest).ljust(half)


def _color(name: str | None, fallback: str) -> Color:
    return Color.parse(name or fallback)


def _ink(step: int) -> float:
    return 0.4 + 0.6 * step / (RAMP_STEPS - 1)


def _ramp_colors(background: Color, accent: Color, few: bool) -> list[Color]:
    """Steps from the background to the accent, monotone in luminance.

    With a palette of 256 colours the nearest one may be darker or lighter than the step before;
    then that one is repeated.
    """
    steps = [background.blend(accent, step / (RAMP_STEPS - 1)) for step in range(RAMP_STEPS)]
    if not few:
        return steps
    rising = _luminance(accent) > _luminance(background)
    kept: list[Color] = []
    for color in map(_in_256, steps):
        turns = kept and (_luminance(color) < _luminance(kept[-1])) == rising
        kept.append(kept[-1] if turns else color)
    return kept


def _in_256(color: Color) -> Color:
    """The colour that a terminal with a palette of 256 shows."""
    return Color.from_rich_color(color.rich_color.downgrade(ColorSystem.EIGHT_BIT))


def _readable(color: Color, background: Color, foreground: Color) -> Color:
    """The colour, moved towards the foreground as far as its contrast needs."""
    mixed = (color.blend(foreground, step / 10) for step in range(11))
    return next((one for one in mixed if _contrast(one, background) >= 4.5), foreground)


def _cell_style(color: Color) -> Style:
    ink = max((Color(0, 0, 0), Color(255, 255, 255)), key=lambda ink: _contrast(ink, color))
    return Style(color=ink.rich_color, bgcolor=color.rich_color)


def _contrast(one: Color, two: Color) -> float:
    """Contrast ratio of WCAG 2.1, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in color.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
