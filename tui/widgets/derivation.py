"""One row worked out by hand, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.reactive import reactive

from core.names import STAGES
from tui.scene import Scene
from tui.theme import Palette
from tui.widgets.lines import Line
from tui.widgets.pane import Pane

if TYPE_CHECKING:
    from tui.printing.derivation import Block


class DerivationPane(Pane):
    """Blocks of a derivation, which the screen makes when the pane is shown."""

    blocks: reactive[Sequence[Block]] = reactive((), repaint=False)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._stage = STAGES[-1]

    def watch_blocks(self) -> None:
        self.redraw()

    def title(self, scene: Scene, palette: Palette) -> Line:
        name = self.blocks[0].title if self.blocks else "Derivation"
        return [(name, palette.strong)]

    def foot(self, scene: Scene) -> list[str]:
        stage = scene.view.stage
        facts = [f"stage {STAGES.index(stage) + 1} of {len(STAGES)}: {stage}"]
        total, shown = len(self._all(None)), self.size.height - 2
        if total > shown:
            facts.append(f"lines {self.top}–{min(self.top + shown, total) - 1} of {total}")
        return facts

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        if scene.view.stage != self._stage:
            self._stage = scene.view.stage
            self.top = self._start_of_last(height)
        lines = self._all(palette)
        self.top = max(0, min(self.top, len(lines) - height))
        return lines[self.top : self.top + height]

    def _start_of_last(self, height: int) -> int:
        """Where the last stage begins, or its end where it is longer than the pane."""
        last = [index for index, block in enumerate(self.blocks) if block.stage in STAGES][-1:]
        before = sum(len(block.lines) + 2 for block in self.blocks[: last[0]]) if last else 0
        return before if self._stage != STAGES[0] else 0

    def _all(self, palette: Palette | None) -> list[Line]:
        lines: list[Line] = []
        for index, block in enumerate(self.blocks):
            if index:
                lines += [[], [(f" {block.title}", palette.selected)] if palette else []]
            for line in block.lines:
                lines.append([(" ", palette.base), *_coloured(line, palette)] if palette else [])
        return lines


def _coloured(line: Sequence[tuple[str, str]], palette: Palette) -> Line:
    styles = {
        "plain": palette.base,
        "dim": palette.dim,
        "strong": palette.strong,
        "positive": palette.positive,
        "negative": palette.negative,
        "selected": palette.selected,
    }
    return [(text, styles[role]) for text, role in line]
