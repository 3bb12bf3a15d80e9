"""What the explorer does for switches, and for how patterns are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.language import _
from tui.screens.tracing import Part


class SwitchesScreen(Part):
    """The part of the explorer that switches what is computed, or how it is read."""

    if TYPE_CHECKING:  # what the explorer itself provides

        def select(self, **places: object) -> None: ...
        def warn(self, sentence: str) -> None: ...

    def action_switch(self, name: str) -> None:
        if name != "scale" or self._divides():
            self.submit(self.state.toggled(name))

    def action_undo(self) -> None:
        request = self.state.undone()
        if request is None:
            self.warn(_("there is no switch to undo; an edit of the text leaves none"))
        else:
            self.submit(request)

    def action_read(self, change: str) -> None:
        """Read patterns another way: nothing is computed anew."""
        from tui.reading import changed, refused  # most sessions read them as they are

        if self.state.scene is None:
            return
        scene = self.state.as_read(self.state.scene)
        sentence = refused(scene, change)
        if sentence:
            self.warn(sentence)
        else:
            self.select(reading=changed(scene, change))

    def action_temperature(self, by: int) -> None:
        if self._divides():
            self.submit(self.state.next_temperature(by))

    def _divides(self) -> bool:
        """Whether scores are divided; linear attention makes none, which is said."""
        if self.state.asked.switches.normalizer != "linear":
            return True
        self.warn(_("linear attention has no scores to divide; n chooses the normalizer"))
        return False
