"""Models whose numbers are written down: their checks, and their arrays."""

from __future__ import annotations

import math

import numpy as np

from core.errors import SettingError
from core.types import Array, GivenModel, LayerWeights, ModelSpec, Rows

MATRICES = ("x", "w_q", "w_k", "w_v", "w_o")


def check_given(model: GivenModel) -> None:
    """Raise SettingError unless the matrices are finite and fit each other."""
    for name in MATRICES:
        rows = getattr(model, name)
        if rows is not None:
            _check_rows(name, rows)
    width = model.d_model
    for name in ("w_q", "w_k", "w_v"):
        count = len(getattr(model, name))
        if count != width:
            raise _unfit(name, "row", count, "x", "column", width)
    merged = len(model.w_q[0])
    for name in ("w_k", "w_v"):
        count = len(getattr(model, name)[0])
        if count != merged:
            raise _unfit(name, "column", count, "w_q", "column", merged)
    if isinstance(model.heads, bool) or not isinstance(model.heads, int) or model.heads < 1:
        raise SettingError(f"heads {model.heads!r} is no count", "choose a whole number from 1 on")
    if merged % model.heads:
        raise SettingError(
            f"{model.heads} heads cannot share the {_count(merged, 'column')} of w_q evenly",
            "give each head as many columns",
        )
    _check_output(model, width, merged)


def _check_output(model: GivenModel, width: int, merged: int) -> None:
    if model.w_o is None:
        if merged != width:
            raise SettingError(
                f"w_v has {_count(merged, 'column')} but x has {width}, and there is no w_o",
                "give a w_o that leads back to the width of x",
            )
        return
    if len(model.w_o) != merged:
        raise _unfit("w_o", "row", len(model.w_o), "w_v", "column", merged)
    if len(model.w_o[0]) != width:
        raise _unfit("w_o", "column", len(model.w_o[0]), "x", "column", width)


def _check_rows(name: str, rows: Rows) -> None:
    if not rows or not rows[0]:
        raise SettingError(f"{name} is empty", "give it rows of numbers")
    for index, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise SettingError(
                f"row {index} of {name} has {_count(len(row), 'number')}"
                f" but row 0 has {len(rows[0])}",
                "make all rows equally long",
            )
        for value in row:
            if not math.isfinite(value):
                raise SettingError(f"row {index} of {name} holds {value}", "use finite numbers")


def _unfit(name: str, side: str, count: int, other: str, other_side: str, wanted: int) -> Exception:
    return SettingError(
        f"{name} has {_count(count, side)} but {other} has {_count(wanted, other_side)}",
        "make the two agree",
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def check_identity(model: ModelSpec | GivenModel) -> None:
    """Raise SettingError where Q = K = V = X would have heads of another size than the model."""
    if model.d_head * model.heads != model.d_model:
        raise SettingError(
            f"Q = K = V = X needs heads that share the {model.d_model} numbers of a row, and these"
            f" have {model.d_head} each",
            "use the given projections",
        )


def given_rows(model: GivenModel, count: int) -> Array:
    """The rows of x, one for each of `count` tokens: [pos, d_model].

    Raises
    ------
    SettingError
        There are more or fewer tokens than rows.
    """
    if len(model.x) != count:
        raise SettingError(
            f"x has {_count(len(model.x), 'row')} but the text has {_count(count, 'token')}",
            "use as many tokens as x has rows",
        )
    return np.array(model.x, dtype=np.float64)


def given_weights(model: GivenModel) -> tuple[LayerWeights, ...]:
    """The one layer's matrices; without a w_o the identity in its place."""
    w_o = np.eye(model.d_model) if model.w_o is None else np.array(model.w_o, dtype=np.float64)
    w_q, w_k, w_v = (np.array(m, dtype=np.float64) for m in (model.w_q, model.w_k, model.w_v))
    for matrix in (w_q, w_k, w_v, w_o):
        matrix.setflags(write=False)
    return (LayerWeights(w_q, w_k, w_v, w_o),)
