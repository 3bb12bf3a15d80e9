"""Textual's compositor, which sends each changed span from its start, not from its pane's edge."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from textual._compositor import ChopsUpdate, Compositor
from textual.strip import Strip


class SpansUpdate(ChopsUpdate):
    """Sends spans cropped at both ends; Textual's own crops only the right one."""

    def render_segments(self, console: Console) -> str:
        out: list[str] = []
        system = console._color_system
        for y, start, end in self.spans:
            for stop, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is None or x >= end or stop <= start:
                    continue
                left, right = max(x, start), min(stop, end)
                out.append(f"\x1b[{y + 1};{left + 1}H")
                for text, style, _ in _between(strip, left - x, right - x):
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
    def render_partial_update(self) -> ChopsUpdate | None:
        update = super().render_partial_update()
        if update is None:
            return None
        return SpansUpdate(update.chops, update.spans, update.chop_ends)
