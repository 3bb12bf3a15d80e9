"""A line that asks for one number, in place of the keys."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from core.edits import read_value
from core.language import _
from tui.labels import clip
from tui.screens.prompt import LineInput, Prompt

_INPUT = 8  # cells to type in, at least
_GAPS = 4


class NumberPrompt(Prompt[float]):
    """Gives the number that is typed, None when the person leaves it."""

    DEFAULT_CSS = """
    NumberPrompt {
        align: left bottom;
        background: transparent;
        & > Vertical {
            height: auto;
            background: $panel;
        }
        & Horizontal, & Input { height: 1; }
        & Static { width: auto; height: auto; padding: 0 1; }
        & #question { color: $accent; text-style: bold; height: 1; }
        & #fault { color: $warning; display: none; }
        &.-fault #fault { display: block; }
        & #keys { color: $foreground 60%; }
        & Input, & Input:focus {
            width: 1fr; min-width: 8; border: none; padding: 0; background: $panel;
        }
    }
    """

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        keys = _("enter type over · esc leave")
        room = self.app.size.width - _INPUT - _GAPS
        if cell_len(self._question) + cell_len(keys) > room:
            keys = ""
        with Vertical():
            yield Static(id="fault")
            with Horizontal():
                yield Static(Content(clip(self._question, room - cell_len(keys))), id="question")
                yield LineInput()
                yield Static(Content(keys), id="keys")

    def read(self, text: str) -> float:
        return read_value(text)
