"""One row worked out by hand, stage by stage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.reactive import reactive

from core.language import _
from core.names import STAGES
from tui.scene import Scene, stages
from tui.theme import Palette
from tui.widgets.lines import Line
from tui.widgets.pane import Pane, cells_of

if TYPE_CHECKING:
    from tui.printing.derivation import Block


Piece = Sequence[tuple[str, str]]
_SEEN = 4  # lines of a stage that are worth seeing: its title, its columns and two rows
_NUMBER = re.compile(r"[+-]?\d+\.\d+")


class DerivationPane(Pane):
    """Blocks of a derivation, which the screen makes when the pane is shown."""

    blocks: reactive[Sequence[Block]] = reactive((), repaint=False)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._stage = STAGES[-1]
        self._shown: int | None = None  # results of the last stage to show; None shows all

    def watch_blocks(self) -> None:
        self._shown = None
        self.redraw()

    def guess(self) -> None:
        """Hide the results of the last stage, or show the next of them."""
        self._shown = 0 if self._shown is None else self._shown + 1
        if self._shown and self._shown >= len(self._results()):
            self._shown = None
        self.redraw()

    def show_results(self) -> None:
        self._shown = None
        self.redraw()

    def _last(self) -> int:
        """Index of the block of the last stage."""
        return max(i for i, block in enumerate(self.blocks) if block.stage in STAGES)

    def _results(self) -> list[int]:
        """Lines of the last stage that end in a result."""
        lines = self.blocks[self._last()].lines if self.blocks else ()
        return [i for i, line in enumerate(lines) if _result(line) is not None]

    def _hidden(self) -> set[int]:
        return set() if self._shown is None else set(self._results()[self._shown :])

    def title(self, scene: Scene, palette: Palette) -> Line:
        name = self.blocks[0].title if self.blocks else _("Derivation")
        return [(name, palette.strong)]

    def foot(self, scene: Scene) -> list[str]:
        stage = scene.view.stage
        said = _("stage {n} of {all}: {name}")
        known = stages(scene.view.request.model)
        facts = [said.format(n=known.index(stage) + 1, all=len(known), name=_(stage))]
        if hidden := len(self._hidden()):
            keys = _("{n} to guess: r shows one, R all").format(n=hidden)
            fits = cells_of([*facts, keys]) <= self.foot_cells
            facts.append(keys if fits else _("{n} to guess").format(n=hidden))
        total, shown = len(self._all(None)), self.size.height - 2
        if total > shown:
            last = min(self.top + shown, total) - 1
            some = _("lines {first}–{last} of {n}")
            facts.append(some.format(first=self.top, last=last, n=total))
        return facts

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        if scene.view.stage != self._stage:
            self._stage = scene.view.stage
            self.top = self._start_of_last(height)
        lines = self._all(palette)
        self.top = max(0, min(self.top, len(lines) - height))
        return lines[self.top : self.top + height]

    def _start_of_last(self, height: int) -> int:
        """Line where the last stage begins, with the blank line before it; what stands before the
        first stage is seen with it, where both have the room.
        """
        if not self.blocks:
            return 0
        start = sum(len(block.lines) + 2 for block in self.blocks[: self._last()]) - 1
        return 0 if self._last() <= 1 and start + _SEEN <= height else start

    def _all(self, palette: Palette | None) -> list[Line]:
        """Every line, or as many empty ones where only their number is wanted."""
        lines: list[Line] = []
        hidden = self._hidden()
        for index, block in enumerate(self.blocks):
            if index:
                lines += [[], [(f" {block.title}", palette.selected)] if palette else []]
            for number, line in enumerate(block.lines):
                blank = hidden and index == self._last() and number in hidden
                shown = _without_result(line) if blank else line
                lines.append([(" ", palette.base), *_coloured(shown, palette)] if palette else [])
        return lines


def _result(line: Piece) -> int | None:
    """The piece with the last number of a line; what is dim is a remark."""
    found = [i for i, (text, role) in enumerate(line) if role != "dim" and _NUMBER.search(text)]
    return found[-1] if found else None


def _without_result(line: Piece) -> Piece:
    """The line with underscores in the place of its last number."""
    place = _result(line)
    if place is None:
        return line
    text, role = line[place]
    start, end = list(_NUMBER.finditer(text))[-1].span()
    blank = (text[:start] + "_" * (end - start) + text[end:], role)
    return [*line[:place], blank, *line[place + 1 :]]


def _coloured(line: Piece, palette: Palette) -> Line:
    styles = {
        "plain": palette.base,
        "dim": palette.dim,
        "strong": palette.strong,
        "positive": palette.positive,
        "negative": palette.negative,
        "selected": palette.selected,
    }
    return [(text, styles[role]) for text, role in line]
