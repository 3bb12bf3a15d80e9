"""The explorer of a demo: it does what the host allowed, and says nothing about the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import AttnError
from core.language import _
from core.types import CheckpointModel, ModelSpec, Request
from tui.keys import GROUPS
from tui.scene import View
from tui.serve.allowed import SCREEN_ACTIONS, Allowed, action_name
from tui.serve.following import FollowingScreen
from tui.theme import Palette
from tui.widgets.bars import KeyBar

if TYPE_CHECKING:
    from core.lessons import Lesson

_ACTIONS = {
    key: entry.action
    for group in GROUPS.values()
    for entry in group
    for key in entry.keys.split(",")
}
_ACTIONS["E"] = "follow"


class DemoScreen(FollowingScreen):
    """An explorer with a list of actions that can be reached."""

    def __init__(
        self, view: View, palette: Palette, lesson: Lesson | None, step: int, allowed: Allowed
    ) -> None:
        super().__init__(view, palette, lesson, step)
        self.allowed = allowed

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.allows(action) and super().check_action(action, parameters)

    def allows(self, action: str) -> bool:
        """Whether an action, written as in a binding, can be reached."""
        known = action_name(action) in SCREEN_ACTIONS or action.startswith("app.")
        return known and self.may(action)

    def use_model(self, model: CheckpointModel | ModelSpec) -> None:
        """Explore the sentence with another model."""
        self.guide = None
        request = Request(self.sentence.true_text, model=model)
        self.show_view(View(request, compare=self.state.view.compare), {})

    def answered(self) -> None:
        for name in ("error", "compared"):
            found = getattr(self.state, name)
            if isinstance(found, AttnError):
                setattr(self.state, name, _told(found, self.allowed))
        super().answered()

    def keeps(self, request: Request, error: AttnError) -> bool:
        return super().keeps(request, _told(error, self.allowed))

    def action_help(self) -> None:
        from tui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self.state.view.request.model, self.allows))

    def _update_keys(self) -> None:
        super()._update_keys()
        bar = self.query_one(KeyBar)
        hints, last = bar.hints
        usable = tuple(hint for hint in hints if self.allows(_ACTIONS.get(hint.key, "edit")))
        bar.hints = (usable, last)


def _told(error: AttnError, allowed: Allowed) -> AttnError:
    """A refusal as a guest may read it."""
    if type(error) is AttnError:  # a fault of ours, whose reason may name anything
        return AttnError(_("this did not work"), _("change the sentence or a switch"))
    return type(error)(allowed.without_paths(error.message), allowed.without_paths(error.hint))
