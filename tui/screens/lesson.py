"""What the explorer does for a lesson: its steps drive the view, its words stand in a panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core import counts
from core.errors import AttnError
from core.language import _, spoken
from core.types import GivenModel, Request
from tui.scene import View
from tui.screens.target import TargetScreen

if TYPE_CHECKING:
    from core.lessons import Lesson
    from tui.lessons import Guide
    from tui.widgets.lesson import LessonPanel, Said
    from tui.widgets.lines import Lines


def _guide(lesson: Lesson, step: int) -> Guide:
    from tui.lessons import Guide  # most sessions have no lesson

    return Guide(lesson, step)


class LessonScreen(TargetScreen):
    """The part of the explorer that knows lessons."""

    if TYPE_CHECKING:  # what the explorer itself provides

        def action_focus_pane(self) -> None: ...
        def add_lines(self, widget: Lines) -> None: ...
        def show_other(self, text: str | None) -> None: ...

    following = False  # somebody else, who goes from step to step

    def __init__(self, view: View, lesson: Lesson | None, step: int) -> None:
        super().__init__(view)  # of the other parts too
        self.guide = None if lesson is None else _guide(lesson, step)
        self._to_select: dict[str, Any] | None = None  # once the trace on its way is there

    def show_lesson(self) -> None:
        """Show the words of the step, or no panel without a lesson."""
        self.set_class(self.guide is not None, "-lesson")
        if self.guide is not None:
            self._panel.said = _said(self.guide, self.following)

    @property
    def _panel(self) -> LessonPanel:
        """The panel of the words, which comes with the first lesson."""
        from tui.widgets.lesson import LessonPanel

        if not self.query(LessonPanel):
            panel = LessonPanel()
            self.add_lines(panel)
            self.mount(panel, after="#sentence-box")
        return self.query_one(LessonPanel)

    def action_lesson(self, by: int) -> None:
        """Turn the page of a step's words, or go to the step after or before."""
        if self.guide is None or self._panel.turn(by) or self.following:
            return
        if self.guide.move(by):
            self._show_step(self.guide)

    def open_lesson(self, lesson: Lesson) -> None:
        """Begin a lesson in place of whatever is shown."""
        self.guide = _guide(lesson, 0)
        self._show_step(self.guide)

    def leave_lesson(self) -> None:
        """Go on with the lesson's sentence; given matrices stay behind."""
        if self.guide is None:
            return
        given, text = self.guide.given, self.guide.lesson.request.text
        self.guide = None
        self.show_lesson()
        if given:
            self.submit(Request(text))

    def _show_step(self, guide: Guide) -> None:
        self.show_view(guide.view, guide.places)

    def show_view(self, view: View, places: dict[str, Any]) -> None:
        """Show another request, and select places in its trace once that is there."""
        request, other = view.request, view.compare
        again = other == self.state.view.compare
        self.show_other(other)
        self._to_select = places
        self.show_lesson()
        shown = self.state.trace.request if self.state.trace else None
        if again and request == self.state.asked == shown:  # nothing is to be computed
            self.select_of_step()
            self.action_focus_pane()
            return
        self.submit(request)
        self.show_texts(request)

    def keeps(self, request: Request, error: AttnError) -> bool:
        """A step that cannot be shown is not passed over."""
        return self._to_select is None and super().keeps(request, error)

    def select_of_step(self) -> bool:
        """Select what a step shows, now that its trace is there; whether there was a step."""
        places, self._to_select = self._to_select, None
        if places is None:
            return False
        self.state.select(**places)
        return True

    def refuse_edit(self) -> bool:
        """Say that given matrices belong to the lesson's words, if they do."""
        model = None if self.guide is None else self.guide.lesson.request.model
        if not isinstance(model, GivenModel):
            return False
        self.notify(
            _(
                "the given matrices belong to the {tokens} of this lesson; to write a sentence,"
                " leave the lesson (^p)"
            ).format(tokens=counts.tokens(len(model.x))),
            title=_("The sentence stays"),
            severity="warning",
            markup=False,
        )
        return True

    def restore_sentence(self) -> bool:
        """Take back an edit that the lesson does not allow; whether there was one."""
        sentence = self.sentence
        if self.guide is None or sentence.true_text == self.guide.lesson.request.text:
            return False
        if not self.refuse_edit():
            return False
        sentence.set_true_text(self.guide.lesson.request.text)
        return True

    def action_edit(self) -> None:
        if not self.refuse_edit():
            self.set_focus(self.sentence)

    def explore(self, text: str) -> None:
        """Put another sentence in place of this one, and of a lesson with given matrices."""
        if self.guide is not None and self.guide.given:
            self.leave_lesson()
        self.sentence.set_true_text(text)


def _said(guide: Guide, followed: bool) -> Said:
    from tui.widgets.lesson import Said

    lesson = guide.lesson
    say = lesson.steps[guide.step].say.of(spoken())
    return Said(lesson.title.of(spoken()), say, guide.step, len(lesson.steps), followed)
