"""What the explorer does for learning: wishes, steps, and a run that can be watched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.timer import Timer

from core.errors import AttnError
from core.language import _
from core.learning_types import Learning
from core.types import Request
from tui.messages import Painted
from tui.scene import Scene, View
from tui.screens.tracing import Part

if TYPE_CHECKING:
    from tui.widgets.learning import LearningPane

TICK_SECONDS = 0.05
STEPS_TO_FASTER = 100  # so many steps add one to those of a tick


class LearningScreen(Part):
    """The part of the explorer that learns."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._wanted: Request | None = None  # the last that learning asked for
        self._ticks: Timer | None = None

    # Wishes.

    def on_painted(self, event: Painted) -> None:
        from tui import learning as ways  # not needed for the first frame

        event.stop()
        self._wish(lambda scene: ways.with_weight(scene, event.key, event.weight))

    def action_paint(self, by: int) -> None:
        from tui import learning as ways

        self._wish(lambda scene: ways.with_tenths(scene, by))

    def action_drop_wish(self) -> None:
        from tui import learning as ways

        self._wish(ways.without_wish)

    def wish_whole(self, back: int) -> None:
        """Wish for every row: each token attends to the one so many places before."""
        from tui import learning as ways

        self._wish(lambda scene: ways.whole_pattern(scene, back))

    def action_type_wish(self) -> None:
        from tui.screens.wish import WishPrompt  # not needed for the first frame

        scene = self.state.scene
        if scene is not None:
            asked = WishPrompt(scene)
            self.app.push_screen(asked, self._typed)

    def _typed(self, text: str | None) -> None:
        from tui import learning as ways

        if text is not None:
            self._wish(lambda scene: ways.with_words(scene, text))

    def _wish(self, make: Callable[[Scene], Learning | None]) -> None:
        scene = self.state.scene
        if scene is None:
            return
        try:
            made = make(scene)
        except AttnError as error:
            self._say(error)
            return
        self.stop_learning()
        self._ask(made)

    # Steps.

    def action_learn(self, by: int) -> None:
        from tui import learning as ways

        self._change(lambda learning: ways.stepped(learning, by))

    def action_reset_learning(self) -> None:
        self.stop_learning()
        self._change(lambda learning: replace(learning, steps=0))

    def action_rate(self, by: int) -> None:
        from tui import learning as ways

        self._change(lambda learning: ways.with_next_rate(learning, by))

    def action_run_learning(self) -> None:
        """Begin to learn, or pause."""
        if self._ticks is not None:
            self.stop_learning()
        elif self._may_go_on():
            self._wanted = self.state.asked
            self._ticks = self.set_interval(TICK_SECONDS, self.advance)
            self._learning_pane.running = True

    def advance(self) -> None:
        """One tick of a run, which ends when all is learned or anything else is done."""
        from tui import learning as ways

        if self._ticks is None or self.busy:
            return
        learning = self.state.asked.learning
        elsewhere = self.state.view.pane != "learning" or self.app.screen is not self
        if elsewhere or learning is None or self.state.asked is not self._wanted:
            self.stop_learning()
        elif self._may_go_on():
            self._ask(ways.stepped(learning, 1 + learning.steps // STEPS_TO_FASTER))
        else:
            self.stop_learning()

    def stop_learning(self) -> None:
        """Pause a run, if there is one."""
        if self._ticks is not None:
            self._ticks.stop()
            self._ticks = None
            self._learning_pane.running = False

    def keeps(self, request: Request, error: AttnError) -> bool:
        """What cannot be learned leaves all as it was, except for an edited sentence."""
        trace = self.state.trace
        if trace is None or request.learning is None or request.text != trace.request.text:
            return False
        self.stop_learning()
        self.state.asked = trace.request
        self._say(error)
        return True

    @property
    def _learning_pane(self) -> LearningPane:
        from tui.widgets.learning import LearningPane  # made when first shown

        return self.query_one(LearningPane)

    def _may_go_on(self) -> bool:
        from tui import learning as ways

        trace = self.state.trace
        return (
            trace is not None and trace.request.learning is not None and ways.ending(trace) is None
        )

    def _change(self, make: Callable[[Learning], Learning]) -> None:
        learning = self.state.asked.learning
        if learning is not None:
            self._ask(make(learning))

    def _ask(self, learning: Learning | None) -> None:
        self._wanted = replace(self.state.asked, learning=learning)
        self.submit(self._wanted)

    def _say(self, error: AttnError) -> None:
        self.notify(str(error), title=_(error.title), severity="warning", markup=False)
