"""The numbers that can be typed over, as a sheet of rows and columns with a cursor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.edits import current, typed_over
from core.explain import original
from core.language import N_, _
from core.names import ATTENTIONS
from core.text import label
from core.types import Array, Edit
from tui.labels import signed
from tui.scene import Scene, View, column_of

MOST_CELLS = 14  # of a number
ELSEWHERE = N_("numbers can be typed over in the encoder: a leads there")
NAMES = {"attn_scores": N_("scores"), "x": "X", "w_q": "W_Q", "w_k": "W_K", "w_v": "W_V"}


@dataclass(frozen=True, eq=False, slots=True)
class Sheet:
    """What is shown of an array: a head's scores, all of X, or a head's columns of a matrix.

    Attributes
    ----------
    values : ndarray [row, column]
    row, column : int
        The cursor.
    first_column : int
        What the first column is called, where columns have numbers.
    tokens : tuple of bool
        Whether rows are tokens, and whether columns are.
    typed : frozenset of (row, column)
        Which are typed over.
    """

    values: Array
    row: int
    column: int
    first_column: int
    tokens: tuple[bool, bool]
    typed: frozenset[tuple[int, ...]]


def sheet(scene: Scene) -> Sheet:
    """The sheet of a view's array."""
    view, switches = scene.view, scene.trace.request.switches
    if view.array == "x":
        typed = frozenset(typed_over(switches, "x"))
        values = np.asarray(scene.trace.layers[0].resid_pre)
        return Sheet(values, view.query, view.dim, 0, (True, False), typed)
    if view.array == "attn_scores":
        typed = frozenset(typed_over(switches, "attn_scores", view.layer, view.head))
        values = scene.layer.attn_scores[view.head]
        return Sheet(values, view.query, view.key, 0, (True, True), typed)
    d_head = view.request.model.d_head
    first = view.head * d_head
    places = typed_over(switches, view.array, view.layer)
    typed = frozenset((row, at - first) for row, at in places if first <= at < first + d_head)
    values = getattr(scene.layer.weights, view.array)[:, first : first + d_head]
    return Sheet(values, view.dim, column_of(view), first, (False, False), typed)


def place_of(view: View) -> tuple[int, ...]:
    """Indexes of the number under the cursor, in its array."""
    if view.array == "x":
        return view.query, view.dim
    if view.array == "attn_scores":
        return view.layer, view.head, view.query, view.key
    return view.layer, view.dim, view.head * view.request.model.d_head + column_of(view)


def edit_of(view: View) -> Edit | None:
    """What is typed over under the cursor, None where that is nothing."""
    if view.attention != ATTENTIONS[0]:
        return None
    place = place_of(view)
    found = (e for e in view.request.switches.edits if (e.array, e.place) == (view.array, place))
    return next(found, None)


def in_words(scene: Scene) -> str:
    """What the cursor is on."""
    view, tokens = scene.view, scene.trace.tokens
    query = label(tokens[view.query])
    if view.array == "attn_scores":
        key = label(tokens[view.key])
        return f"“{query}” → “{key}”"
    if view.array == "x":
        return _("X of “{token}”, dim {dim}").format(token=query, dim=view.dim)
    _layer, row, column = place_of(view)
    words = _("{matrix} row {row}, column {column}")
    return words.format(matrix=NAMES[view.array], row=row, column=column)


def written(value: float, precision: int, cells: int) -> str:
    """A number with its sign; with fewer digits or an exponent where there are too few cells."""
    text = signed(value, precision)
    if len(text) <= cells:
        return text
    shorter = (f"{value:+.{digits}e}" for digits in range(precision, -1, -1))
    return next((text for text in shorter if len(text) <= cells), f"{value:+.0e}")


def question(scene: Scene) -> str:
    """What a prompt asks before a number is typed."""
    words = _("{place}, now {number}:")
    if scene.view.array == "attn_scores":
        words = _("score of {place}, now {number}:")
    number = written(now(scene), scene.view.precision, MOST_CELLS).strip()
    return words.format(place=in_words(scene), number=number)


def now(scene: Scene) -> float:
    """The number under the cursor."""
    return current(scene.trace, scene.view.array, place_of(scene.view))


def before(scene: Scene) -> float:
    """The number that stood there before anything was typed over it."""
    return original(scene.trace, scene.view.array, place_of(scene.view))


def unused(scene: Scene) -> str:
    """Why the array's numbers are not used now, empty where they are."""
    switches, array = scene.trace.request.switches, scene.view.array
    if array == "attn_scores" and switches.normalizer == "linear":
        return _("linear attention: not used")
    if array in ("w_q", "w_k", "w_v") and switches.projections == "identity":
        return _("Q = K = V = X: not used")
    return ""
