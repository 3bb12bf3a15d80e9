"""What screens that ask for one line have alike."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from textual import events, on
from textual.binding import Binding
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from core.errors import AttnError
from tui.labels import capitalized
from tui.screens.once import LeftOnce

Answer = TypeVar("Answer")


class LineInput(Input):
    """An input that takes all keys in their order.

    Textual inserts letters at once and moves, deletes and submits by a binding, which comes after
    the letters that arrive in the same read: from a slow line, ``12⌫3`` would become 12.
    """

    async def _on_key(self, event: events.Key) -> None:
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            event.stop()
            event.prevent_default()
            await self.run_action(binding.action)


class Prompt(LeftOnce, ModalScreen[Answer | None], Generic[Answer]):
    """Shown over the explorer until enter or esc; gives what was typed, None for nothing.

    It has a `LineInput`, and a `Static` with the id ``fault``, which says what is wrong with it.
    """

    BINDINGS: ClassVar = [Binding("escape", "dismiss", "leave", show=False)]

    def read(self, text: str) -> Answer:
        """What a typed line means.

        Raises
        ------
        AttnError
            It means nothing.
        """
        raise NotImplementedError

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            self.dismiss(self.read(event.value))
        except AttnError as error:
            self.query_one("#fault", Static).update(Content(capitalized(str(error))))
            self.add_class("-fault")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.remove_class("-fault")
