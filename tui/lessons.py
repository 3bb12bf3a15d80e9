"""Lessons as views: what a step shows, and in which language."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from core.errors import SettingError
from core.language import _
from core.lessons import Lesson
from core.types import GivenModel, Mask, Request
from tui.asked import learning_of, places_of
from tui.scene import View


def view_at(lesson: Lesson, step: int) -> View:
    """What a step shows, counted from 0; of -1, what the lesson starts from."""
    places: dict[str, Any] = lesson.places_at(step)
    return replace(View(lesson.request_at(step)), compare=lesson.compare, **places)


def changed(view: View, options: dict[str, Any], given: Collection[str]) -> View:
    """A view with the options that the command line names, and with no others.

    Parameters
    ----------
    view : View
    options : dict
        Values by parameter name.
    given : collection of str
        The names that stand on the command line.
    """
    chosen = {name: options[name] for name in given if name in options}
    view = replace(view, request=_switched(view.request, chosen), **places_of(chosen))
    learning = learning_of(chosen, view.request.learning, view.head)
    return replace(view, request=replace(view.request, learning=learning))


def _switched(request: Request, given: dict[str, Any]) -> Request:
    names = ("positions", "scale", "temperature", "projections", "normalizer", "edits")
    changes = {name: given[name] for name in names if name in given}
    mask = request.switches.mask
    if "mask" in given:
        mask = Mask(given["mask"][0], given["mask"][1], mask.blocked)
    if "block" in given:
        mask = replace(mask, blocked=given["block"])
    return replace(request, switches=replace(request.switches, mask=mask, **changes))


def step_index(lesson: Lesson, step: int) -> int:
    """A step as people count, from 1, as an index.

    Raises
    ------
    SettingError
        There is no such step.
    """
    if not 1 <= step <= len(lesson.steps):
        raise SettingError(
            _("step {step} is out of range").format(step=step),
            _("lesson {name} has {low} to {high}").format(
                name=lesson.name, low=1, high=len(lesson.steps)
            ),
        )
    return step - 1


@dataclass(slots=True)
class Guide:
    """Where a person is in a lesson.

    Attributes
    ----------
    lesson : Lesson
    step : int
        Counted from 0.
    """

    lesson: Lesson
    step: int = 0

    @property
    def view(self) -> View:
        return view_at(self.lesson, self.step)

    @property
    def places(self) -> dict[str, Any]:
        """The places of the step, also those that it leaves at their defaults."""
        names = ["pane", "attention", "layer", "head", "query", "key", "stage"]
        names += [name for name in self.lesson.places_at(self.step) if name not in names]
        return {name: getattr(self.view, name) for name in names}

    @property
    def given(self) -> bool:
        """Whether the matrices are given, so that they belong to these tokens and no others."""
        return isinstance(self.lesson.request.model, GivenModel)

    def move(self, by: int) -> bool:
        """Go some steps on or back; False where there is none."""
        step = max(0, min(self.step + by, len(self.lesson.steps) - 1))
        moved, self.step = step != self.step, step
        return moved

    def owns(self, view: View) -> bool:
        """Whether a view is the lesson's but for switches, learning, places and another text."""
        request, own = view.request, self.lesson.request
        stopped = view.compare is None and self.lesson.compare is not None
        alike = replace(request, switches=own.switches, learning=own.learning) == own
        return alike and not stopped
