"""The words of a lesson's step."""

from __future__ import annotations

from dataclasses import dataclass

from textual.reactive import reactive

from core.language import _
from core.text import visible
from tui.labels import wrap
from tui.theme import Palette
from tui.widgets.lines import Line, Lines
from tui.widgets.pane import frame


@dataclass(frozen=True, slots=True)
class Said:
    """What the panel says.

    Attributes
    ----------
    title : str
        The lesson's.
    words : str
        Of a step.
    step, steps : int
        Which one it is, from 0, and how many there are.
    followed : bool
        Somebody else goes from step to step.
    """

    title: str
    words: str
    step: int
    steps: int
    followed: bool = False


class LessonPanel(Lines):
    """Title, step and words; longer words than there is room for are turned like pages."""

    said: reactive[Said | None] = reactive(None, repaint=False)

    def __init__(self) -> None:
        super().__init__()
        self.top = 0

    def watch_said(self) -> None:
        self.top = 0
        self.redraw()

    def turn(self, by: int) -> bool:
        """Show the words after or before these; False when there are none."""
        top = self.top + by * max(1, self.size.height - 2)
        if self.said is None or not 0 <= top < len(_lines(self.said, self.size.width)):
            return False
        self.top = top
        self.redraw()
        return True

    def draw(self, palette: Palette, width: int, height: int) -> list[Line]:
        if self.said is None or width < 8 or height < 3:
            return []
        words, rows = _lines(self.said, width), height - 2
        self.top = min(self.top, (len(words) - 1) // rows * rows)
        shown = words[self.top : self.top + rows]
        lines: list[Line] = [[(f" {line}", palette.base)] for line in shown]
        title: Line = [(visible(self.said.title), palette.strong)]
        foot = [self._foot(self.said, self.top + rows < len(words))]
        return frame(lines, title, foot, width, height, palette, False)

    def _foot(self, said: Said, more: bool) -> str:
        facts = [_("step {step} of {steps}").format(step=said.step + 1, steps=said.steps)]
        steps = range(0 if said.followed else said.steps)  # that keys lead to
        if more:
            facts.append(_("> more"))
        elif said.step + 1 in steps:
            facts.append(_("> next"))
        if self.top or said.step - 1 in steps:
            facts.append(_("< back"))
        if said.step + 1 == len(steps) and not more:
            facts.append(_("^p other lessons"))
        return " · ".join(facts)


def _lines(said: Said, width: int) -> list[str]:
    return list(wrap(visible(said.words), max(2, width - 4)))
