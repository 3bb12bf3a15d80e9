"""Lessons as data: a request, steps that show places of its trace, and the numbers to expect."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from core.errors import LessonError
from core.language import _
from core.learning_types import Learning
from core.names import ATTENTIONS
from core.resources import data_path
from core.text import brief
from core.types import Request


@dataclass(frozen=True, slots=True)
class Words:
    """The same words in English and in Simplified Chinese."""

    en: str
    zh: str

    def of(self, language: str) -> str:
        return self.zh if language == "zh" else self.en


@dataclass(frozen=True, slots=True)
class Step:
    """What is said, and what is shown; what a step leaves out stays as the step before had it.

    Attributes
    ----------
    say : Words
    places : tuple of (name, value)
        Fields of a view: ``pane``, ``attention``, ``layer``, ``head``, ``query``, ``key``,
        ``stage``, ``array``, ``dim``, ``component``, ``precision`` and ``zoom``.
    switches : tuple of (name, value)
        Fields of `Switches`; ``mask`` is a `Mask`.
    learning : tuple of (name, value)
        Fields of `Learning`.
    """

    say: Words
    places: tuple[tuple[str, str | int], ...] = ()
    switches: tuple[tuple[str, Any], ...] = ()
    learning: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """Numbers that an array must have, as they are printed.

    Attributes
    ----------
    array : str
        A field of `LayerTrace` such as ``pattern``.
    values : tuple of rows
    digits : int
        After the point; the array may differ by half of the last one.
    step : int
        Under whose switches, from 0; -1 is the lesson before its first step.
    layer, head : int
    query : int, optional
        Only this row; None is all of them.
    compared : bool
        Of the trace of the text that the lesson compares with.
    attention : str
        One of `ATTENTIONS`.
    """

    array: str
    values: tuple[tuple[float, ...], ...]
    digits: int
    step: int = -1
    layer: int = 0
    head: int = 0
    query: int | None = None
    compared: bool = False
    attention: str = ATTENTIONS[0]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A worked example.

    Attributes
    ----------
    name : str
    path : str
        The file, absolute.
    title, about : Words
    request : Request
        Before the first step, and before anything is learned.
    steps : tuple of Step
    expected : tuple of Expected
    learning : tuple of (name, value)
        Fields of `Learning` before the first step.
    compare : str, optional
        Another text, to be seen beside that of the request.
    """

    name: str
    path: str
    title: Words
    about: Words
    request: Request
    steps: tuple[Step, ...]
    expected: tuple[Expected, ...] = ()
    learning: tuple[tuple[str, Any], ...] = ()
    compare: str | None = None

    def request_at(self, step: int) -> Request:
        """The request under the switches of a step, counted from 0; of -1, before the first.

        There is nothing to learn before a step with wishes.
        """
        steps = self.steps[: step + 1]
        switches = dict(change for done in steps for change in done.switches)
        learning = dict(change for done in steps for change in done.learning)
        learned = Learning(**{"wishes": (), **dict(self.learning), **learning})
        return replace(
            self.request,
            switches=replace(self.request.switches, **switches),
            learning=learned if learned.wishes else None,
        )

    def places_at(self, step: int) -> dict[str, str | int]:
        """What a step shows, by the name of the place."""
        return dict(place for done in self.steps[: step + 1] for place in done.places)


def bundled_paths() -> dict[str, Path]:
    """The files of the lessons that come with the program, by name, in order.

    A file is called ``NN-name.toml``.
    """
    files = sorted(data_path("lessons").glob("*.toml"))
    return {file.stem.partition("-")[2]: file for file in files}


def bundled_lessons() -> Iterator[Lesson]:
    """The lessons that come with the program, in order."""
    return map(open_lesson, bundled_paths())


@cache
def open_lesson(name: str) -> Lesson:
    """Read a lesson of the program by its name, or anybody's by the path of its file.

    Raises
    ------
    LessonError
        There is no such lesson, or its file says something that cannot be, or promises numbers
        that are not those computed.
    """
    from core.lesson_file import read_lesson  # which need the classes of this module
    from core.lesson_numbers import check_expected

    bundled = bundled_paths()
    if not name:
        raise LessonError(
            _("the name of the lesson is empty"),
            _("choose one of {names}").format(names=", ".join(bundled)),
        )
    if name in bundled:
        return read_lesson(bundled[name])
    if os.sep in name or name.endswith(".toml") or os.path.lexists(name):
        lesson = read_lesson(Path(name))
        check_expected(lesson)  # tests do it for those of the program
        return lesson
    raise LessonError(
        _("there is no lesson {name}").format(name=brief(name, 40)),
        _("choose one of {names}, or the path of a lesson's file").format(names=", ".join(bundled)),
    )
