"""What the explorer does for a real model: the keys of the seeded one say why they do nothing."""

from __future__ import annotations

from textual import events

from core.errors import AttnError
from core.language import _
from core.types import CheckpointModel, Request
from tui.keys import GROUPS, goes_with, parsed
from tui.screens.target import TargetScreen


class TrainedScreen(TargetScreen):
    """The part of the explorer that knows real models."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key does anything; one that does not goes on to `on_key`."""
        return goes_with(action, parameters, self.state.view) and super().check_action(
            action, parameters
        )

    def on_key(self, event: events.Key) -> None:
        view = self.state.view
        for key in (key for group in GROUPS.values() for key in group):
            if event.key in key.keys.split(",") and not goes_with(*parsed(key), view):
                said = _("trained weights stay as they are: “{what}” is for the seeded model")
                self.warn(said.format(what=_(key.help)))

    def keeps(self, request: Request, error: AttnError) -> bool:
        """What a real model refuses of a switch leaves all as it was."""
        if super().keeps(request, error):
            return True
        trace = self.state.trace
        if trace is None or not isinstance(request.model, CheckpointModel):
            return False
        written, before = request.target, trace.request.target
        if request.text != trace.request.text or (before is not None and written != before):
            return False
        self.state.asked = trace.request
        self.warn(str(error))
        return True
