"""Screens over the explorer, which are left once."""

from __future__ import annotations

from typing import Any

from textual.await_complete import AwaitComplete
from textual.message import Message
from textual.widgets import Input, OptionList

_OF_WIDGETS = (
    *(Input.Changed, Input.Submitted),
    *(OptionList.OptionHighlighted, OptionList.OptionSelected),
)


class LeftOnce:
    """What a screen that can be dismissed has to be besides.

    Two keys in one read may both mean its end. Textual would take away the screen below for the
    second, or another one that has come to lie on top; and what the widgets of a screen that is
    gone still have to say would find none of them.
    """

    left = False

    def dismiss(self, result: Any = None) -> AwaitComplete:
        screen: Any = self
        if self.left or screen.app.screen is not self:
            return AwaitComplete()
        self.left = True
        return super().dismiss(result)  # type: ignore[misc, no-any-return]

    async def _on_message(self, message: Message) -> None:
        if not (self.left and isinstance(message, _OF_WIDGETS)):
            await super()._on_message(message)  # type: ignore[misc]
