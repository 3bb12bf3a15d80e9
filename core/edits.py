"""Numbers that a person typed over: how they are written, checked and put into arrays."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from core.errors import SettingError, choose_from
from core.language import _
from core.names import ATTENTIONS, EDITABLE
from core.text import brief, visible
from core.types import Array, Edit, LayerWeights, Request, Switches, Trace

Place = tuple[int, ...]
_SHOWN = 40
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)
_FORM = re.compile(r"([a-z_]+)\[([0-9]{1,9}(?:,[0-9]{1,9})*)\]=(.*)", re.ASCII | re.DOTALL)
_MATRICES = ("w_q", "w_k", "w_v")


def read_value(text: str) -> float:
    """Read a number as a person types it.

    Raises
    ------
    SettingError
        It is no number, or not a finite one.
    """
    words = text.strip()
    if not words:
        raise SettingError(_("nothing is typed"), _("type a number such as 1.5"))
    hint = _("type a number such as -0.5, 2 or 1e-3")
    if not _NUMBER.fullmatch(words):
        raise SettingError(_("“{text}” is no number").format(text=brief(words, _SHOWN)), hint)
    value = float(words)
    if not math.isfinite(value):
        raise SettingError(_("“{text}” is too large").format(text=brief(words, _SHOWN)), hint)
    return value


def read_edit(text: str) -> Edit:
    """Read ``attn_scores[0,1,5,2]=1.5``; `check_edits` tells whether there is such a place.

    Raises
    ------
    SettingError
        It is written otherwise, or the value is no number.
    """
    found = _FORM.fullmatch(re.sub(r"\s", "", text))
    if not found or found[1] not in EDITABLE:
        raise SettingError(
            _("“{text}” does not say what to type over").format(text=brief(text, _SHOWN)),
            _("write it as attn_scores[0,1,5,2]=1.5; the arrays are {names}").format(
                names=_arrays()
            ),
        )
    return Edit(found[1], tuple(map(int, found[2].split(","))), read_value(found[3]))


def read_edits(texts: Iterable[str]) -> tuple[Edit, ...]:
    """Read several; of two at one place the later one holds."""
    found: tuple[Edit, ...] = ()
    for text in texts:
        found = with_edit(found, read_edit(text))
    return found


def written(edit: Edit) -> str:
    """What `read_edit` reads, with the fewest digits that give the number back."""
    short = f"{edit.value:g}"
    value = short if float(short) == edit.value else repr(edit.value)
    return f"{edit.array}[{','.join(map(str, edit.place))}]={value}"


def with_edit(edits: Sequence[Edit], edit: Edit) -> tuple[Edit, ...]:
    """Edits with one more, in place of an older one there; always in the same order."""
    kept = [*without_edit(edits, edit.array, edit.place), edit]
    return tuple(sorted(kept, key=lambda one: (list(EDITABLE).index(one.array), one.place)))


def without_edit(edits: Sequence[Edit], array: str, place: Place) -> tuple[Edit, ...]:
    """Edits without the one at a place."""
    return tuple(edit for edit in edits if (edit.array, edit.place) != (array, place))


def check_edits(request: Request, count: int) -> None:
    """Check the numbers typed over.

    Parameters
    ----------
    request : Request
    count : int
        Tokens of its text.

    Raises
    ------
    SettingError
        A place is not there or not used, or a value is no finite number.
    """
    model, switches = request.model, request.switches
    matrix = (model.layers, model.d_model, model.heads * model.d_head)
    limits = {
        "attn_scores": (model.layers, model.heads, count, count),
        "x": (count, model.d_model),
        **dict.fromkeys(_MATRICES, matrix),
    }
    for edit in switches.edits:
        if edit.array not in limits:
            raise SettingError(
                _("{name} cannot be typed over").format(name=visible(edit.array)),
                _("choose one of {names}").format(names=_arrays()),
            )
        names = EDITABLE[edit.array]
        if len(edit.place) != len(names):
            raise SettingError(
                _("{array} has {count} indexes and not {found}").format(
                    array=edit.array, count=len(names), found=len(edit.place)
                ),
                _("give {names}").format(names=", ".join(map(_, names))),
            )
        for name, index, limit in zip(names, edit.place, limits[edit.array], strict=True):
            if not 0 <= index < limit:
                raise SettingError(
                    _("{name} {index} of {array} is out of range").format(
                        name=_(name), index=index, array=edit.array
                    ),
                    choose_from(0, limit - 1),
                )
        if not math.isfinite(edit.value):
            raise SettingError(
                _("{array} cannot be {value}").format(array=edit.array, value=edit.value),
                _("use finite numbers"),
            )
        check_used(request, edit.array, edit.place[0])


def check_used(request: Request, array: str, layer: int) -> None:
    """Check that what is typed over in an array changes something, and that learning allows it.

    Raises
    ------
    SettingError
        The array is not used, or the layer learns, from the model's own numbers.
    """
    switches = request.switches
    if array == "attn_scores" and switches.normalizer == "linear":
        raise SettingError(
            _("linear attention takes no scores, and a score is typed over"),
            _("put the score back, or choose another normalizer"),
        )
    if array in _MATRICES and switches.projections == "identity":
        raise SettingError(
            _("Q = K = V = X has no matrices, and {array} is typed over").format(array=array),
            _("put the original back, or keep the projections"),
        )
    if request.learning is not None and layer == 0 and array in ("attn_scores", "w_q", "w_k"):
        raise SettingError(
            _("layer 0 learns, and {array} is typed over there").format(array=array),
            _("put the original back, or take the wishes back"),
        )


def switches_of(attention: str, switches: Switches) -> Switches:
    """The switches as they hold in one of `ATTENTIONS`: what is typed over is the encoder's."""
    return switches if attention == ATTENTIONS[0] else replace(switches, edits=())


def typed_over(switches: Switches, array: str, *first: int) -> dict[Place, float]:
    """What is typed over in an array, by place; `first` are leading indexes, which are left out."""
    return {
        edit.place[len(first) :]: edit.value
        for edit in switches.edits
        if edit.array == array and edit.place[: len(first)] == first
    }


def edited(array: Array, typed: Mapping[Place, float]) -> Array:
    """A copy with what is typed over; the array itself when that is nothing."""
    if not typed:
        return array
    made = array.copy()
    for place, value in typed.items():
        made[place] = value
    made.setflags(write=False)
    return made


def edited_weights(weights: LayerWeights, switches: Switches, layer: int) -> LayerWeights:
    """The matrices of a layer with what is typed over; the given ones stay as they are."""
    if not any(edit.array in _MATRICES for edit in switches.edits):
        return weights
    changes = {
        name: edited(getattr(weights, name), typed_over(switches, name, layer))
        for name in _MATRICES
    }
    return replace(weights, **changes)


def current(trace: Trace, array: str, place: Place) -> float:
    """The number at a place of a trace."""
    if array == "x":
        return float(trace.layers[0].resid_pre[place])
    layer = trace.layers[place[0]]
    holder = layer if array == "attn_scores" else layer.weights
    return float(getattr(holder, array)[place[1:]])


def _arrays() -> str:
    return ", ".join(EDITABLE)
