"""A curve in a terminal, of braille dots: two across and four down in each cell."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BRAILLE = 0x2800
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # by column, from above
_NICE = (10, 20, 50)


def nice_end(count: int) -> int:
    """The smallest of 20, 50, 100, 200, 500, … that is not below `count`: an axis that rests."""
    decade = 1
    while True:
        for step in _NICE[1:] if decade == 1 else _NICE:
            if step * decade >= count:
                return step * decade
        decade *= 10


def curve(
    values: Sequence[float], end: int, low: float, high: float, width: int, height: int
) -> list[str]:
    """Lines of braille that join the values.

    Parameters
    ----------
    values : sequence of float
        At 0, 1, 2, … of the horizontal axis.
    end : int
        Where that axis ends, at the right edge; above 0 and not below the last value's place.
    low, high : float
        The vertical axis, from the lowest row of dots to the highest.
    width, height : int
        Cells.

    Returns
    -------
    list of str
        `height` lines of `width` cells.
    """
    cells = [[0] * width for _ in range(height)]
    last_x, last_y = 2 * width - 1, 4 * height - 1

    def dot(x: int, y: int) -> None:
        cells[y // 4][x // 2] |= _DOTS[x % 2][y % 4]

    def down(value: float) -> int:
        part = (value - low) / (high - low) if high > low else 0.0
        return last_y - round(min(max(part, 0.0), 1.0) * last_y)

    before: int | None = None
    place = 0.0
    for x in range(round(last_x * (len(values) - 1) / end) + 1):
        since, place = place, x * end / last_x
        passed = values[math.floor(since) + 1 : math.floor(place) + 1]
        here = down(_between(values, place))
        rows = [here, *map(down, passed)]  # also what lies between this column and the last
        if before is not None and abs(before - here) > 1:
            rows.append(before + (1 if before < here else -1))
        for y in range(min(rows), max(rows) + 1):
            dot(x, y)
        before = here
    return ["".join(chr(_BRAILLE + bits) if bits else " " for bits in line) for line in cells]


def _between(values: Sequence[float], place: float) -> float:
    """The value at a place between two whole ones."""
    left = min(int(place), len(values) - 1)
    right = min(left + 1, len(values) - 1)
    return values[left] + (values[right] - values[left]) * (place - left)


def plot_lines(
    values: Sequence[float], low: float, high: float, digits: int, width: int, height: int
) -> list[tuple[str, str]]:
    """A curve with its axes: the highest and the lowest value at the left, steps below.

    Parameters
    ----------
    values : sequence of float
    low, high : float
        What the vertical axis spans.
    digits : int
        After the point, of its figures.
    width, height : int
        Cells of the whole; nothing is drawn in less than 12 × 4.

    Returns
    -------
    list of (axis, curve)
        Lines in two parts, to be seen apart.
    """
    if width < 12 or height < 4:
        return []
    top, bottom = f"{high:.{digits}f}", f"{low:.{digits}f}"
    left = max(len(top), len(bottom))
    end = nice_end(len(values) - 1)
    rows = curve(values, end, low, high, width - left - 1, height - 2)
    figures = [top, *[""] * (height - 4), bottom]
    lines = [
        (f"{figure:>{left}}{'┤' if figure else '│'}", row)
        for figure, row in zip(figures, rows, strict=True)
    ]
    lines.append((" " * left + "└" + "─" * (width - left - 1), ""))
    lines.append((" " * (left + 1) + "0" + f"{end:,}".rjust(width - left - 2), ""))
    return lines
