"""The app: themes, palette, screens. It owns no numbers."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.binding import Binding
from textual.command import CommandPalette
from textual.notifications import Notify, SeverityLevel
from textual.screen import Screen
from textual.theme import Theme

from core.errors import SettingError
from core.language import _
from tui.notices import Notice
from tui.scene import View
from tui.screens.explorer import ExplorerScreen
from tui.theme import DARK, LIGHT, Palette, make_palette

if TYPE_CHECKING:
    from textual.command import Provider

    from core.lessons import Lesson


def explorer_commands() -> type[Provider]:
    """The palette's provider, imported when it is first opened."""
    from tui.palette import ExplorerCommands

    return ExplorerCommands


def collect_garbage_again() -> None:
    """End the pause of the garbage collector that the command line began for a quick start.

    What is there now stays for good, so no later collection looks at it.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


class AttnApp(App[None]):
    """Explore attention on one view.

    Parameters
    ----------
    view : View
        What to show first; already checked.
    theme : str, optional
        Name of a theme; the dark one of the project by default.
    lesson : Lesson, optional
        To go through beside the view.
    step : int
        Its step to begin with, counted from 0.
    **options
        For Textual's App, such as ``driver_class``.

    Raises
    ------
    SettingError
        There is no such theme.
    """

    TITLE = "attn-tui"
    # Here and not in the screen: Textual loads no CSS of a default screen.
    CSS_PATH = "screens/explorer.tcss"
    COMMANDS: ClassVar = {explorer_commands}
    BINDINGS: ClassVar = [Binding("ctrl+q", "quit", "quit", show=False, priority=True)]
    # Marking text is the terminal's; Textual's falls over a press on a notice that is just gone.
    ALLOW_SELECT = False

    def __init__(
        self,
        view: View,
        theme: str | None = None,
        *,
        lesson: Lesson | None = None,
        step: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._view = view
        self._lesson = (lesson, step)
        self.animation_level = "none"  # a frame that says nothing is one too many over SSH
        for each in (DARK, LIGHT):
            self.register_theme(each)
        # What the attribute would do too would have all style sheets read twice.
        self.set_reactive(App.theme, self._checked(DARK.name if theme is None else theme))
        self.stylesheet.set_variables(self.get_css_variables())

    def get_default_screen(self) -> Screen[None]:
        return ExplorerScreen(self._view, self._palette(), *self._lesson)

    def on_mount(self) -> None:
        self.call_after_refresh(collect_garbage_again)
        self.theme_changed_signal.subscribe(self, self._recolour)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action can be taken; none can while the app ends."""
        return self.return_code is None and super().check_action(action, parameters)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        seconds = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
        self.post_message(Notify(Notice(message, title, severity, seconds, markup)))

    def action_help_quit(self) -> None:
        """Say which key quits here, for who pressed ctrl+c; Textual says it in English."""
        for key, active in self.active_bindings.items():
            if active.binding.action in ("quit", "app.quit"):
                shown = key.replace("ctrl+", "^")
                self.notify(_("{key} quits").format(key=shown), markup=False)
                return

    def action_command_palette(self) -> None:
        from tui.palette import SteadyPalette

        if not any(isinstance(screen, CommandPalette) for screen in self.screen_stack):
            self.push_screen(SteadyPalette(placeholder=_("Search for commands…")))

    def _checked(self, name: str) -> str:
        # An ansi theme with NO_COLOR is black on black, and the ramp needs known colours.
        names = sorted(name for name, theme in self.available_themes.items() if not theme.ansi)
        if name in names:
            return name
        raise SettingError(
            _("there is no theme {name}").format(name=name),
            _("choose one of {names}").format(names=", ".join(names)),
        )

    def _palette(self) -> Palette:
        return make_palette(self.current_theme, self.console.color_system)

    def _recolour(self, theme: Theme) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, ExplorerScreen):
                screen.set_palette(self._palette())
