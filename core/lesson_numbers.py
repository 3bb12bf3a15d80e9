"""The numbers that a lesson promises against those that are computed."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from core.compare import compare
from core.comparison import Comparison
from core.errors import AttnError, LessonError
from core.language import _
from core.lessons import Expected, Lesson
from core.runner import run
from core.text import visible
from core.types import Array, Trace

CHANGE = "change"  # not an array of a trace: how far each head moves to the text compared with


def check_expected(lesson: Lesson) -> None:
    """Compute what a lesson promises numbers of, and compare.

    Raises
    ------
    LessonError
        A step cannot be computed, or a promised number is not the one computed.
    """
    for step in sorted({expected.step for expected in lesson.expected}):
        try:
            trace = run(lesson.request_at(step))
            compared = None if lesson.compare is None else compare(trace, lesson.compare)
        except AttnError as error:
            place = f"steps {step + 1}" if step >= 0 else "switches"
            fault = _("{key} cannot be computed: {reason}")
            _refuse(lesson, fault.format(key=place, reason=error.message), error.hint)
        for number, expected in enumerate(lesson.expected, 1):
            if expected.step == step:
                _check(lesson, number, expected, found_values(trace, expected, compared))


def found_values(trace: Trace, expected: Expected, compared: Comparison | None = None) -> Array:
    """What is computed where a lesson expects numbers, as rows.

    The rows of `CHANGE` are one: the change of each head of the layer.

    Raises
    ------
    ValueError
        The numbers are those of a comparison, and there is none.
    """
    if expected.array == CHANGE or expected.compared:
        if compared is None:
            raise ValueError("the lesson compares with no text")
        if expected.array == CHANGE:
            heads: Array = compared.rows[expected.layer].mean(axis=-1)
            return heads[np.newaxis]
        trace = compared.other
    layers = trace.attentions[expected.attention].layers
    array: Array = getattr(layers[expected.layer], expected.array)
    if array.ndim == 3:
        array = array[expected.head]
    return array if expected.query is None else array[expected.query : expected.query + 1]


def _check(lesson: Lesson, number: int, expected: Expected, found: Array) -> None:
    key, digits = f"expected {number}.values", expected.digits
    shape = [len(row) for row in expected.values]
    if shape != [found.shape[1]] * len(found):
        fault = _("{key} has rows of {given} numbers but {array} has {rows} of {columns}")
        given = ", ".join(map(str, shape)) or "0"
        rows, columns = found.shape
        fault = fault.format(key=key, given=given, array=expected.array, rows=rows, columns=columns)
        _refuse(lesson, fault, _("give one row, with query, or all of them"))
    differences = np.abs(found - np.array(expected.values))
    if differences.max() <= 0.5 * 10.0**-digits * (1 + 1e-9):
        return
    row, column = np.unravel_index(differences.argmax(), found.shape)
    fault = _("{key} row {row}, column {column} is {expected} but {array} is {found} there")
    fault = fault.format(
        key=key,
        row=row,
        expected=f"{expected.values[row][column]:.{digits}f}",
        column=column,
        array=expected.array,
        found=f"{found[row, column]:.{digits + 2}f}",
    )
    _refuse(lesson, fault, _("correct the number, or the model and switches that it comes from"))


def _refuse(lesson: Lesson, fault: str, hint: str) -> NoReturn:
    message = _("lesson {file}: {fault}").format(file=visible(lesson.path), fault=fault)
    raise LessonError(message, hint)
