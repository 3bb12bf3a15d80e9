"""One line to type the wished-for weights of a row."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from core.errors import AttnError
from core.language import _
from core.text import label
from core.wishes import wished_rows
from tui.labels import clip
from tui.learning import with_words, words_of
from tui.scene import Scene

_MOST_KEYS = 12


class WishScreen(ModalScreen[str | None]):
    """Shown over the explorer until enter or esc; gives what was typed, None for nothing."""

    BINDINGS: ClassVar = [Binding("escape", "dismiss", "close", show=False)]
    DEFAULT_CSS = """
    WishScreen {
        align: center middle;
        & > Vertical {
            width: 64;
            max-width: 100%;
            height: auto;
            border: round $accent;
            border-title-color: $accent;
            border-subtitle-color: $foreground 60%;
            background: $background;
            padding: 0 2;
        }
        & Static { height: auto; }
        & #keys { color: $foreground 60%; }
        & #fault { color: $warning; }
        & Input, & Input:focus {
            height: 1;
            border: none;
            padding: 0;
            margin: 1 0;
            background: $panel;
        }
    }
    """

    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self._scene = scene

    def compose(self) -> ComposeResult:
        scene = self._scene
        with Vertical() as box:
            box.border_title = Content(
                _("Wish for the row of “{token}”").format(token=label(scene.query_token))
            )
            box.border_subtitle = _("enter wish · esc close")
            yield Static(
                _("KEY=WEIGHT, as in 3=0.6,2=0.3. Keys not named share the rest to 1."),
                markup=False,
            )
            yield Static(Content(_keys(scene)), id="keys")
            line = Input(words_of(scene), select_on_focus=False)
            line.cursor_blink = False
            yield line
            yield Static(id="fault")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            made = with_words(self._scene, event.value)
            if made is not None:
                wished_rows(made.wishes, self._scene.trace.mask)
        except AttnError as error:
            sentence = str(error)
            fault = Content(sentence[:1].upper() + sentence[1:])
            self.query_one("#fault", Static).update(fault)
        else:
            self.dismiss(event.value)


def _keys(scene: Scene) -> str:
    """The numbers of the first keys."""
    names = [f"{index} {clip(label(token), 12)}" for index, token in enumerate(scene.keys)]
    return "  ".join(names[:_MOST_KEYS]) + ("  …" if len(names) > _MOST_KEYS else "")
