"""What the explorer does for the grid of heads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.worker import get_current_worker

from core.errors import AttnError
from tui.messages import Missing
from tui.scene import Scene
from tui.screens.tracing import Part
from tui.state import attempt

if TYPE_CHECKING:
    from tui.survey import Survey, Wanted
    from tui.widgets.grid import GridPane
    from tui.widgets.pane import Pane

PANE = "grid"


class GridScreen(Part):
    """The part of the explorer that knows all heads."""

    if TYPE_CHECKING:  # what the explorer itself provides

        def action_pane(self, name: str) -> None: ...
        def warn(self, sentence: str) -> None: ...

        _panes: dict[str, Pane]

    _survey: Survey | None = None
    _looking = False  # a thread is

    @property
    def _grid(self) -> GridPane | None:
        return cast("GridPane | None", self._panes.get(PANE))

    # What is known of the heads.

    def survey(self, scene: Scene | None) -> None:
        """Look at the heads that the grid shows: at once if that is quick, else in a thread."""
        looks = scene is not None and scene.view.pane == PANE and scene.trace.whole
        if scene is None or not looks or self._grid is None:
            self._survey = None  # which would keep a trace alive
            if self._grid is not None:
                self._grid.forget()
            return
        from tui.survey import Survey  # not needed for the first frame

        what = scene.trace, scene.view.attention, scene.view.reading
        if self._survey is None or not self._survey.is_of(*what):
            self._survey = Survey(*what)
        survey = self._grid.survey = self._survey
        wanted = self._grid.wanted(scene)
        missing = survey.missing(wanted)
        if not missing:
            return
        if survey.is_quick(missing):
            for layer in missing:
                survey.look(layer, wanted)
        elif not self._looking:
            self._looking = True
            work = partial(self._look, survey, wanted, missing)
            self.run_worker(work, thread=True, group="survey")

    def _look(self, survey: Survey, wanted: Wanted, layers: list[int]) -> None:
        """In a thread: layer by layer, as long as anybody wants them."""
        worker, refused = get_current_worker(), None
        for layer in layers:
            if worker.is_cancelled or refused is not None or survey is not self._survey:
                break
            refused = attempt(lambda layer=layer: survey.look(layer, wanted))  # type: ignore[misc]
            if not worker.is_cancelled:
                self.app.call_from_thread(self._show_grid)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._looked, refused)

    def _show_grid(self) -> None:
        if self._grid is not None:
            self._grid.redraw()

    def _looked(self, refused: AttnError | None) -> None:
        self._looking = False
        if refused is None:
            self._look_for_missing()
        else:
            self.warn(str(refused))

    def on_missing(self, event: Missing) -> None:
        event.stop()
        self._look_for_missing()

    def _look_for_missing(self) -> None:
        """The grid was scrolled or has another size, or a thread is ready for what came since."""
        scene = self.state.scene
        if scene is not None and self._grid is not None:
            self.survey(scene)
            self._grid.redraw()

    # Choosing a head.

    def action_open_head(self) -> None:
        """Show the pattern of the selected head."""
        self.action_pane("matrix")

    def show_statistic(self, name: str) -> None:
        self.state.select(statistic=name)
        self.action_pane(PANE)
