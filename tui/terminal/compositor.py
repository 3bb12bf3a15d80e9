"""Textual's compositor, which renders and sends the changed spans and nothing around them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


class Piece(NamedTuple):
    """Cells ``[left, right)`` of a line of the screen that show a line of a widget."""

    left: int
    right: int
    widget: Widget
    region: Region


class SpansUpdate(CompositorUpdate):
    """Segments to write, each list at its place ``(y, x)``."""

    def __init__(self, spans: list[tuple[int, int, Iterable[Segment]]]) -> None:
        self.spans = spans

    def render_segments(self, console: Console) -> str:
        out: list[str] = []
        system = console._color_system
        for y, x, segments in self.spans:
            out.append(f"\x1b[{y + 1};{x + 1}H")
            for text, style, _ in segments:
                out.append(style.render(text, color_system=system) if style else text)
        return "".join(out)


def _between(strip: Strip, start: int, end: int) -> Iterable[Segment]:
    """Segments of the cells ``[start, end)``."""
    if start <= 0 and end >= strip.cell_length:
        return strip
    kept: list[Segment] = []
    at = 0
    for segment in strip:
        length = cell_len(segment.text)
        if at + length > start:
            if at < start:
                segment = segment.split_cells(start - at)[1]
                length -= start - at
                at = start
            if at + length > end:
                segment = segment.split_cells(end - at)[0]
            kept.append(segment)
        at += length
        if at >= end:
            break
    return kept


class SpansCompositor(Compositor):
    """Textual's own partial update renders every widget on the lines that changed."""

    _of: object = None  # the layout that `_lines` belongs to
    _lines: dict[int, list[Piece]]

    def render_partial_update(self) -> SpansUpdate | ChopsUpdate | None:  # type: ignore[override]
        regions, screen = self._dirty_regions.copy(), self.size.region
        self._dirty_regions.clear()
        found = [
            (y, max(piece.left, start), min(piece.right, end), piece)
            for y, start, end in self._regions_to_spans(regions)
            if 0 <= y < screen.height
            for piece in self._pieces(y)
            if piece.left < end and piece.right > start
        ]
        if not found:
            return None
        seen: dict[Widget, tuple[int, int]] = {}  # first and last line of each
        for y, _, _, piece in found:
            first, _ = seen.get(piece.widget, (y, y))
            seen[piece.widget] = first, y
        strips = {
            piece.widget: piece.widget.render_lines(_lines_of(piece.region, *seen[piece.widget]))
            for piece in {id(piece.widget): piece for _, _, _, piece in found}.values()
        }
        spans = []
        for y, left, right, piece in found:
            strip = strips[piece.widget][y - seen[piece.widget][0]]
            x = piece.region.x
            spans.append((y, left, _between(strip, left - x, right - x)))
        return SpansUpdate(spans)

    def _pieces(self, y: int) -> list[Piece]:
        """What stands on a line of the screen: the widget in front, cell by cell."""
        if self._of is not self.visible_widgets:
            self._of, self._lines = self.visible_widgets, {}
        pieces = self._lines.get(y)
        if pieces is None:
            pieces = self._lines[y] = list(_in_front(self.visible_widgets, y, self.size.width))
        return pieces


def _lines_of(region: Region, first: int, last: int) -> Region:
    """The part of a widget between two lines of the screen."""
    return Region(0, first - region.y, region.width, last - first + 1)


def _in_front(widgets: dict[Widget, tuple[Region, Region]], y: int, width: int) -> Iterable[Piece]:
    """Share a line of the screen out; the widgets come front to back, the first one wins."""
    free = [(0, width)]
    for widget, (region, clip) in widgets.items():
        x, top, columns, rows = region.intersection(clip)
        if not (columns and top <= y < top + rows):
            continue
        left_over = []
        for start, end in free:
            left, right = max(start, x), min(end, x + columns)
            if left >= right:
                left_over.append((start, end))
                continue
            yield Piece(left, right, widget, region)
            left_over += [part for part in ((start, left), (right, end)) if part[0] < part[1]]
        free = left_over
