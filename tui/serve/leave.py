"""The question before a demo ends: who has left cannot get back without connecting anew."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from core.language import _


class LeaveScreen(ModalScreen[bool]):
    """Asks; gives whether to leave."""

    BINDINGS: ClassVar = [
        Binding("y,enter", "dismiss(True)", "leave", show=False),
        Binding("n,escape,q", "dismiss(False)", "stay", show=False),
    ]
    DEFAULT_CSS = """
    LeaveScreen {
        align: center middle;
        & > Vertical {
            width: auto;
            max-width: 100%;
            height: auto;
            border: round $accent;
            border-title-color: $accent;
            background: $background;
            padding: 1 3;
        }
        & Static { width: auto; max-width: 100%; }
    }
    """

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = _("Leave the demo?")
            keys = (("y", _("leave, and end this session")), ("esc", _("stay")))
            lines = [(f"{shown:<5}", "bold $accent", text) for shown, text in keys]
            parts: list[str | tuple[str, str]] = []
            for shown, style, text in lines:
                parts += [(shown, style), f"{text}\n"]
            yield Static(Content.assemble(*parts).rstrip())
