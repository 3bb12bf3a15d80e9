"""The words of a lesson's step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from textual.reactive import reactive
from textual.strip import Strip

from core.text import visible
from tui.theme import Palette
from tui.widgets.lines import Line, Lines
from tui.widgets.pane import frame

# What stays together in a line: a word, or one Chinese character, with the marks around it.
_WIDE = "\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_OPENING, _CLOSING = "（「『“《", "，。、；：？！）」』”》"
_ATOM = rf"\s+|[{_OPENING}]*(?:[^\s{_WIDE}{_OPENING}{_CLOSING}]+|[{_WIDE}])?[{_CLOSING}]*"


def wrap(text: str, cells: int) -> Iterator[str]:
    """Lines of at most `cells` cells, broken at spaces and between Chinese characters."""
    line = ""
    for atom in _atoms(text, cells):
        if line and cell_len(line) + cell_len(atom.rstrip()) > cells:
            yield line.rstrip()
            line = atom.lstrip()
        else:
            line += atom
    yield line.rstrip()


def _atoms(text: str, cells: int) -> Iterator[str]:
    for atom in filter(None, re.findall(_ATOM, text)):
        if cell_len(atom) <= cells:
            yield atom
        else:  # a word longer than a line
            yield from atom


@dataclass(frozen=True, slots=True)
class Said:
    """What the panel says: the lesson's title, the words of a step, counted from 0."""

    title: str
    words: str
    step: int
    steps: int


class LessonPanel(Lines):
    """Title, step and words; longer words than there is room for are turned like pages."""

    said: reactive[Said | None] = reactive(None, repaint=False)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
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

    def draw(self, palette: Palette, width: int, height: int) -> list[Strip]:
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
        facts = [f"step {said.step + 1} of {said.steps}"]
        if more or said.step + 1 < said.steps:
            facts.append("> more" if more else "> next")
        if said.step or self.top:
            facts.append("< back")
        return " · ".join(facts)


def _lines(said: Said, width: int) -> list[str]:
    return list(wrap(visible(said.words), max(2, width - 4)))
