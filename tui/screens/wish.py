"""One line to type the wished-for weights of a row."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from core.language import _
from core.text import label
from core.wishes import wished_rows
from tui.labels import clip
from tui.learning import with_words, words_of
from tui.scene import Scene
from tui.screens.prompt import LineInput, Prompt

_MOST_KEYS = 12


class WishPrompt(Prompt[str]):
    """Gives the weights as they are typed, which can be wished for."""

    DEFAULT_CSS = """
    WishPrompt {
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
            line = LineInput(words_of(scene), select_on_focus=False)
            line.cursor_blink = False
            yield line
            yield Static(id="fault")

    def read(self, text: str) -> str:
        made = with_words(self._scene, text)
        if made is not None:
            wished_rows(made.wishes, self._scene.trace.mask)
        return text


def _keys(scene: Scene) -> str:
    """The numbers of the first keys."""
    names = [f"{index} {clip(label(token), 12)}" for index, token in enumerate(scene.keys)]
    return "  ".join(names[:_MOST_KEYS]) + ("  …" if len(names) > _MOST_KEYS else "")
