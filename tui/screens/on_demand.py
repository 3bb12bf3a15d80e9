"""Panes that are not in the first frame of most sessions: imported and made when first shown."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.widgets.pane import Pane

# Name of the pane: the class in the module of that name in tui.widgets, and where it is mounted.
ON_DEMAND = {
    "numbers": ("NumbersPane", "#side"),
    "learning": ("LearningPane", "#side"),
    "compare": ("ComparePane", "#side"),
    "predictions": ("PredictionsPane", "#side"),
    "derivation": ("DerivationPane", "#body"),
    "grid": ("GridPane", "#body"),
}


def make_pane(name: str) -> tuple[Pane, str]:
    """A new pane of `ON_DEMAND`, and where it belongs."""
    kind, place = ON_DEMAND[name]
    made: Pane = getattr(import_module(f"tui.widgets.{name}"), kind)(name)
    return made, place
