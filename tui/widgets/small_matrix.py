"""A small matrix of the grid of heads: two pixels a cell, or a glyph a cell."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color
from rich.style import Style

from core.explain import largest, nice_ceiling
from core.pooling import Pooled
from tui.labels import MASKED_CELL
from tui.terminal.plain import table
from tui.theme import RAMP_STEPS, Palette, column, ramp_step
from tui.widgets.lines import Line, append

_NEGATIVE = RAMP_STEPS  # the colour of a score below 0, after those of the ramp


def pixel_rows(found: Pooled, cells: int, lines: int) -> list[list[int]]:
    """Steps of the ramp for each pixel: a matrix smaller than that has larger pixels."""
    values, (rows, columns) = found.values, found.values.shape
    full = nice_ceiling(largest(values))
    steps = [
        [_NEGATIVE if value < 0 else ramp_step(value / full) for value in row]
        for row in values.tolist()
    ]
    across = [x * columns // cells for x in range(cells)]
    return [[steps[y * rows // lines][x] for x in across] for y in range(lines)]


def has_pixels(palette: Palette) -> bool:
    """Whether colours alone tell weights apart, in half blocks that ASCII lacks; else glyphs do."""
    return table() is None and palette.ramp[0].bgcolor != palette.ramp[-1].bgcolor


@lru_cache(maxsize=512)  # the same objects, so that what does not change is seen at once
def _pixel(upper: Color | None, lower: Color | None) -> Style:
    return Style(color=upper, bgcolor=lower)


def matrix_lines(found: Pooled, palette: Palette, cells: int, lines: int) -> list[Line]:
    """A small matrix: two pixels a cell, one above the other, or a glyph a cell.

    The last half of a line stays empty, between the matrix and the one below it.
    """
    if not has_pixels(palette):
        return _glyph_lines(found, palette, cells, lines)
    colors = [style.bgcolor for style in palette.ramp] + [palette.negative.color]
    pixels = [*pixel_rows(found, cells, lines * 2 - 1), [0] * cells]
    drawn: list[Line] = []
    for upper, lower in zip(pixels[::2], pixels[1::2], strict=True):
        line: Line = []
        for one, other in zip(upper, lower, strict=True):
            append(line, "▀", _pixel(colors[one], colors[other]))
        drawn.append(line)
    return drawn


def _glyph_lines(found: Pooled, palette: Palette, cells: int, lines: int) -> list[Line]:
    full, (rows, columns) = nice_ceiling(largest(found.values)), found.values.shape
    drawn: list[Line] = []
    for y in range(lines):
        line: Line = []
        row = y * rows // lines
        for x in range(cells):
            at = x * columns // cells
            value = float(found.values[row, at])
            style = palette.negative if value < 0 else palette.ink[ramp_step(value / full)]
            if found.allowed[row, at]:
                append(line, column(abs(value) / full), style)
            else:
                append(line, MASKED_CELL, palette.dim)
        drawn.append(line)
    return drawn
