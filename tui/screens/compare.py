"""What the explorer does for another text: a line to edit it in, and a pane for what it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import AttnError
from core.language import _
from core.types import GivenModel
from tui.scene import View
from tui.screens.lesson import LessonScreen
from tui.widgets.sentence import CaptionedLine, Sentence

if TYPE_CHECKING:
    from core.lessons import Lesson

PANE = "compare"


class CompareScreen(LessonScreen):
    """The part of the explorer that knows another text."""

    if TYPE_CHECKING:  # what the explorer itself provides

        def _publish(self) -> None: ...
        def select(self, **places: object) -> None: ...

    def __init__(self, view: View, lesson: Lesson | None, step: int, side: str) -> None:
        super().__init__(view, lesson, step)
        self._side = side if view.compare is None else PANE  # the pane beside the middle
        self._other: CaptionedLine | None = None  # made when first needed

    def show_other(self, text: str | None) -> None:
        """Choose the other text, or none: its line and its pane come and go with it."""
        begins = self.state.view.compare is None
        self.state.compare_with(text)
        self.set_class(text is not None, "-comparing")
        if text is None:
            return
        if begins:
            self._side = PANE
        self._other = self.show_line(self._other, _("other"), text, "other")
        self.query_one("#sentence-line", CaptionedLine).say(_("this"))

    def other_edited(self) -> bool:
        """Take the other text from its line; whether it is a new one."""
        before = self.state.view.compare
        if before is None or self._other is None or self._other.sentence.true_text == before:
            return False
        self.state.compare_with(self._other.sentence.true_text)
        return True

    def compare_with(self, text: str) -> None:
        """Put another text beside the sentence."""
        if self.state.asked.target is not None:
            self.warn(_("with a target no other text is compared; remove the target (^p) first"))
            return
        if isinstance(self.state.asked.model, GivenModel):
            self.notify(
                _("given matrices belong to the words of one text; leave the lesson (^p) first"),
                title=_("Nothing to compare"),
                severity="warning",
                markup=False,
            )
            return
        self.show_other(text)
        self.state.select(pane=PANE)
        self.submit(self.state.asked)
        self.action_focus_pane()

    def stop_comparing(self) -> None:
        self.show_other(None)
        if isinstance(self.focused, Sentence) and self.focused.id == "sentence":
            self._publish()
        else:
            self.action_focus_pane()

    def action_other(self) -> None:
        """Edit the other text; a copy of the sentence is the first, to change a word of it."""
        if self.state.view.compare is None:
            self.compare_with(self.state.asked.text)
        if self.state.view.compare is not None:
            self.call_after_refresh(self._focus_other)  # its line may have to be mounted first

    def _focus_other(self) -> None:
        if self._other is not None:
            self.set_focus(self._other.sentence)

    def leave_other(self) -> None:
        """End the comparison when its line is left without a text."""
        text = self.state.view.compare
        if text is not None and not text.strip() and not self._edits_other:
            self.stop_comparing()

    @property
    def _edits_other(self) -> bool:
        return self._other is not None and self.focused is self._other.sentence

    def step_in_ranking(self, by: int) -> None:
        """Select the head that is changed less (1) or more (-1) than the selected one."""
        compared, view = self.state.compared, self.state.view
        if compared is None or isinstance(compared, AttnError) or not compared.ranking:
            return
        places = [(each.layer, each.head) for each in compared.ranking]
        place = places.index((view.layer, view.head)) + by
        layer, head = places[max(0, min(place, len(places) - 1))]
        self.select(layer=layer, head=head)
