"""The places of a view: which there are for a text and a target, and the nearest one to another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.errors import SettingError, choose_from
from core.language import _
from core.names import ATTENTIONS
from core.stacks import stack_of
from core.types import Tokens
from tui.scene import View, panes, stages


def check_view(view: View, tokens: Tokens, target: Tokens | None = None) -> None:
    """Raise SettingError unless all that `limits` counts exists, and the attention."""
    if view.attention != ATTENTIONS[0] and target is None:
        raise SettingError(
            _("there is no {attention} without a target").format(attention=_(view.attention)),
            _("give a target, or choose encoder"),
        )
    for name, count in limits(view, tokens, target).items():
        value = getattr(view, name)
        if not 0 <= value < count:
            raise SettingError(
                _("{name} {value} is out of range").format(name=name, value=value),
                choose_from(0, count - 1),
            )


def sides(attention: str, tokens: Tokens, target: Tokens | None) -> tuple[Tokens, Tokens]:
    """The tokens that ask and those that answer in one of `ATTENTIONS`."""
    other = tokens if target is None else target
    return (
        tokens if attention == "encoder" else other,
        other if attention == "decoder" else tokens,
    )


def limits(view: View, tokens: Tokens | None, target: Tokens | None) -> dict[str, int]:
    """How many there are of what a place counts; of tokens only when they are known."""
    model = view.request.model
    stack = stack_of(model, view.attention)
    found = {"layer": stack.layers, "head": stack.heads}
    found |= {"dim": model.d_model, "component": max(model.d_model, model.d_head)}
    if tokens is not None:
        queries, keys = sides(view.attention, tokens, target)
        found |= {"query": len(queries), "key": len(keys)}
    return found


def clamped(view: View, tokens: Tokens | None, target: Tokens | None) -> View:
    """The view at the nearest place that exists."""
    if view.pane not in panes(view):
        view = replace(view, pane="weights")
    if view.stage not in stages(view.request.model):
        view = replace(view, stage=stages(view.request.model)[0])
    if tokens is not None and target is None:
        view = replace(view, attention=ATTENTIONS[0])
    places: dict[str, Any] = {
        name: max(0, min(getattr(view, name), limit - 1))
        for name, limit in limits(view, tokens, target).items()
    }
    return replace(view, **places)
