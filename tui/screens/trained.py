"""What the explorer does for a real model: predictions, masked tokens, and why the keys of the
seeded one do nothing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.worker import get_current_worker

from core.errors import AttnError
from core.hiding import not_maskable
from core.language import _
from core.types import CheckpointModel, Request, Trace
from tui.keys import GRID_KEYS, GROUPS, goes_with, parsed
from tui.screens.target import TargetScreen
from tui.state import attempt
from tui.widgets.sentence import Sentence

if TYPE_CHECKING:
    from core.predictions import Prediction

PREDICTIONS = "predictions"


class TrainedScreen(TargetScreen):
    """The part of the explorer that knows real models."""

    if TYPE_CHECKING:  # what the explorer itself provides

        def _publish(self) -> None: ...

    predicting = False

    def predict(self) -> None:
        """Ask for what the pane of predictions is to show, in a thread: the vocabulary may be large
        and has to be read first.
        """
        place, trace = self.state.to_predict(), self.state.trace
        if place is not None and trace is not None and not self.predicting:
            self.predicting = True
            self.run_worker(partial(self._predict, trace, place), thread=True, group=PREDICTIONS)

    def _predict(self, trace: Trace, place: int) -> None:
        """In a thread: the prediction, or why there is none."""
        from core.predictions import predict

        made = attempt(lambda: predict(trace, place))
        if not get_current_worker().is_cancelled:  # the screen is still there
            self.app.call_from_thread(self._predicted, trace, place, made)

    def _predicted(self, trace: Trace, place: int, made: Prediction | AttnError) -> None:
        """Show a prediction, or ask for another where the selection has moved on."""
        self.predicting = False
        if self.app.return_code is None:  # else the explorer is being taken apart
            self.state.take_prediction(trace, place, made)
            self._publish()

    def warn_of_predictions(self) -> None:
        """Say why the model predicts nothing."""
        from core.predictions import no_predictions

        refused = no_predictions(self.state.view.request.model)
        if refused is not None:
            self.warn(str(refused))

    def action_mask_token(self) -> None:
        """Hide the query behind the mask token, or show it again."""
        refused = not_maskable(self.state.asked.model)
        if refused is not None:
            self.warn(str(refused))
        elif self.state.scene is not None:
            self.submit(self.state.toggle_masked(self._to_mask()))

    def _to_mask(self) -> range:
        """The query's token, and where words are read its whole word: a piece tells the rest."""
        view, trace = self.state.view, self.state.trace
        words = view.reading is not None and view.reading.words and view.attention == "encoder"
        if trace is None or not words:
            return range(view.query, view.query + 1)
        from tui.reading import word_at  # most sessions read tokens

        return word_at(trace.tokens, view.query)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key does anything; one that does not goes on to `on_key`."""
        return goes_with(action, parameters, self.state.view) and super().check_action(
            action, parameters
        )

    def on_key(self, event: events.Key) -> None:
        if isinstance(self.focused, Sentence):  # its own keys come by here too
            return
        view = self.state.view
        if view.pane == "grid" and any(event.key in key.keys.split(",") for key in GRID_KEYS):
            return  # the pane's own, which are found only after this
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
