"""A line that asks for one number, in place of the keys."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from core.edits import read_value
from core.errors import AttnError
from core.language import _
from tui.labels import clip

_INPUT = 8  # cells to type in, at least
_GAPS = 4


class NumberInput(Input):
    """An input that takes all keys in their order.

    Textual inserts letters at once and deletes and submits by a binding, which comes after the
    letters that arrive in the same read: from a slow line, ``12⌫3`` would become 12.
    """

    async def _on_key(self, event: events.Key) -> None:
        if event.key not in ("backspace", "enter"):
            return
        event.stop()
        event.prevent_default()
        if event.key == "enter":
            await self.action_submit()
        else:
            self.action_delete_left()


class NumberPrompt(ModalScreen[float | None]):
    """Gives the number that is typed, None when the person leaves it."""

    BINDINGS: ClassVar = [Binding("escape", "dismiss", "leave", show=False)]
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
                yield NumberInput()
                yield Static(Content(keys), id="keys")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            self.dismiss(read_value(event.value))
        except AttnError as error:
            sentence = str(error)
            self.query_one("#fault", Static).update(Content(sentence[:1].upper() + sentence[1:]))
            self.add_class("-fault")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.remove_class("-fault")
