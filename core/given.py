"""Models whose numbers are written down: their checks, and their arrays."""

from __future__ import annotations

import math

import numpy as np

from core import counts
from core.errors import SettingError
from core.language import _
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
            raise _unfit(name, counts.rows(count), "x", counts.columns(width))
    merged = len(model.w_q[0])
    for name in ("w_k", "w_v"):
        count = len(getattr(model, name)[0])
        if count != merged:
            raise _unfit(name, counts.columns(count), "w_q", counts.columns(merged))
    if isinstance(model.heads, bool) or not isinstance(model.heads, int) or model.heads < 1:
        raise SettingError(
            _("heads {value!r} is no count").format(value=model.heads),
            _("choose a whole number from 1 on"),
        )
    if merged % model.heads:
        raise SettingError(
            _("{heads} heads cannot share the {columns} of w_q evenly").format(
                heads=model.heads, columns=counts.columns(merged)
            ),
            _("give each head as many columns"),
        )
    _check_output(model, width, merged)


def _check_output(model: GivenModel, width: int, merged: int) -> None:
    if model.w_o is None:
        if merged != width:
            raise SettingError(
                _("w_v has {columns} but x has {width}, and there is no w_o").format(
                    columns=counts.columns(merged), width=width
                ),
                _("give a w_o that leads back to the width of x"),
            )
        return
    if len(model.w_o) != merged:
        raise _unfit("w_o", counts.rows(len(model.w_o)), "w_v", counts.columns(merged))
    if len(model.w_o[0]) != width:
        raise _unfit("w_o", counts.columns(len(model.w_o[0])), "x", counts.columns(width))


def _check_rows(name: str, rows: Rows) -> None:
    if not rows or not rows[0]:
        raise SettingError(_("{name} is empty").format(name=name), _("give it rows of numbers"))
    for index, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise SettingError(
                _("row {index} of {name} has {numbers} but row 0 has {other}").format(
                    index=index, name=name, numbers=counts.numbers(len(row)), other=len(rows[0])
                ),
                _("make all rows equally long"),
            )
        for value in row:
            if not math.isfinite(value):
                raise SettingError(
                    _("row {index} of {name} holds {value}").format(
                        index=index, name=name, value=value
                    ),
                    _("use finite numbers"),
                )


def _unfit(name: str, count: str, other: str, wanted: str) -> Exception:
    return SettingError(
        _("{name} has {count} but {other} has {wanted}").format(
            name=name, count=count, other=other, wanted=wanted
        ),
        _("make the two agree"),
    )


def check_identity(model: ModelSpec | GivenModel) -> None:
    """Raise SettingError where Q = K = V = X would have heads of another size than the model."""
    if model.d_head * model.heads != model.d_model:
        raise SettingError(
            _(
                "Q = K = V = X needs heads that share the {d_model} numbers of a row, and these"
                " have {d_head} each"
            ).format(d_model=model.d_model, d_head=model.d_head),
            _("use the given projections"),
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
            _("x has {rows} but the text has {tokens}").format(
                rows=counts.rows(len(model.x)), tokens=counts.tokens(count)
            ),
            _("use as many tokens as x has rows"),
        )
    return np.array(model.x, dtype=np.float64)


def given_weights(model: GivenModel) -> tuple[LayerWeights, ...]:
    """The one layer's matrices; without a w_o the identity in its place."""
    w_o = np.eye(model.d_model) if model.w_o is None else np.array(model.w_o, dtype=np.float64)
    w_q, w_k, w_v = (np.array(m, dtype=np.float64) for m in (model.w_q, model.w_k, model.w_v))
    for matrix in (w_q, w_k, w_v, w_o):
        matrix.setflags(write=False)
    return (LayerWeights(w_q, w_k, w_v, w_o),)
