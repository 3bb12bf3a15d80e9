"""The app of a demo: no file, no clipboard, no shell, and an end that is announced."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.screen import Screen
from textual.timer import Timer

from core.language import _, counted
from tui.app import AttnApp
from tui.scene import View
from tui.serve.allowed import APP_ACTIONS, WARNING, Allowed, Limits
from tui.serve.leave import LeaveScreen
from tui.serve.screen import DemoScreen

if TYPE_CHECKING:
    from textual.command import Provider


def demo_commands() -> type[Provider]:
    """The palette's provider, imported when it is first opened."""
    from tui.serve.palette import DemoCommands

    return DemoCommands


class DemoApp(AttnApp):
    """The explorer for people who are guests on this machine."""

    CSS_PATH = "../screens/explorer.tcss"
    COMMANDS: ClassVar = {demo_commands}

    def __init__(
        self,
        view: View,
        theme: str | None = None,
        *,
        allowed: Allowed,
        lead: int | None = None,
        follow: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(view, theme, **options)
        self.allowed = allowed
        self._pipes = (lead, follow)
        self.limits = Limits(allowed.idle, allowed.total, time.monotonic(), time.monotonic())
        self._end: Timer | None = None
        self._warned: str | None = None  # of what

    def get_default_screen(self) -> Screen[None]:
        screen = DemoScreen(self._view, self._palette(), *self._lesson, allowed=self.allowed)
        lead, follow = self._pipes
        if lead is not None:
            screen.lead(lead)
        if follow is not None:
            screen.follow(follow, self._touch)
        return screen

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        if action == "command_palette" and isinstance(self.screen, LeaveScreen):
            return False
        return action in APP_ACTIONS and bool(super().check_action(action, parameters))

    # Ways out of the program, each of them closed. A test walks through all of Textual's.

    def copy_to_clipboard(self, text: str) -> None:
        """Keep a copied text here; the terminal's own clipboard hears nothing of it."""
        self._clipboard = text

    def deliver_text(self, *_: Any, **__: Any) -> None:
        """No file leaves a demo."""

    def deliver_binary(self, *_: Any, **__: Any) -> None:
        """No file leaves a demo."""

    def save_screenshot(self, *_: Any, **__: Any) -> str:
        """No file is written in a demo."""
        return ""

    def open_url(self, *_: Any, **__: Any) -> None:
        """No browser is opened on the host."""

    def action_suspend_process(self) -> None:
        """There is no shell to go back to."""

    def _handle_exception(self, error: Exception) -> None:
        """Take faults but for those of what still runs while the app ends: keys, searches."""
        if not self._exit:
            super()._handle_exception(error)

    def panic(self, *renderables: Any) -> None:
        """Say that there was a fault, but not where: a traceback names files of the host."""
        super().panic(_("attn-tui has ended because of a fault; connect again."))

    def _fatal_error(self) -> None:
        self.panic()

    # The end.

    async def action_quit(self) -> None:
        if isinstance(self.screen, LeaveScreen):
            self.screen.dismiss(True)
        else:
            self.push_screen(LeaveScreen(), lambda leave: self.exit() if leave else None)

    def on_mount(self) -> None:  # Textual calls that of the explorer's app too
        self._watch_limits()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.InputEvent | events.Paste):
            self._touch()
        await super().on_event(event)

    def _touch(self) -> None:
        """Somebody is there: pressed a key, or was shown something by the presenter."""
        self.limits.touched = time.monotonic()
        if self._warned == "idle":
            self._warned = None
            self.clear_notifications()
            self._watch_limits()

    def _watch_limits(self) -> None:
        """Warn of the end or end, when it is time, and look again when it may be."""
        if self._end is not None:
            self._end.stop()
        left = self.limits.left(time.monotonic())
        if left is None:
            return
        if left <= 0:
            self.exit(message=self._reason())
            return
        if left <= WARNING and self._warned is None:
            self._warned = "idle" if self.limits.idles() else "total"
            self._warn(left)
        self._end = self.set_timer(left if left <= WARNING else left - WARNING, self._watch_limits)

    def _warn(self, left: float) -> None:
        count = round(left)
        ends = counted(
            "This session ends in {n} second.", "This session ends in {n} seconds.", count
        ).format(n=count)
        more = _("Press any key to go on.") if self.limits.idles() else ""
        self.notify(f"{ends} {more}".strip(), severity="warning", timeout=left, markup=False)

    def _reason(self) -> str:
        if self.limits.idles():
            return _("attn-tui: this session has ended, since no key was pressed. Connect again.")
        return _("attn-tui: the time of this session is over. Connect again.")
