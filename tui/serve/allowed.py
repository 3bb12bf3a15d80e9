"""What a host allows in a demo: lessons, tokenizers, actions, and how long a session lasts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.checkpoint_model import CheckpointModel
    from core.lessons import Lesson

# Seconds before an end at which it is announced.
WARNING = 60.0
# Names of actions. What is not among them cannot be reached: a new action has to be weighed first.
SCREEN_ACTIONS = frozenset(
    (
        "again", "attention", "block", "cycle", "drop_wish", "edit", "edit_target",
        "follow", "guess", "help", "jump", "learn", "leave", "lesson", "mask", "move", "next_pane",
        "next_shown", "other", "page", "paint", "pane", "put_back", "rate", "read",
        "reset_learning", "run_learning", "show_results", "stage", "step", "switch",
        "temperature", "type_over", "type_wish", "undo", "word",
    )
)  # fmt: skip
APP_ACTIONS = frozenset(("command_palette", "focus_next", "focus_previous", "help_quit", "quit"))
# What can be chosen in the palette beside actions, by the name of the function that does it.
PALETTE_FUNCTIONS = frozenset(
    (
        "_mask", "_theme", "_tokenize", "action_pane", "add_target", "compare_with", "explore",
        "leave_lesson", "open_lesson", "remove_target", "run_action", "select", "stop_comparing",
        "use_model", "wish_whole",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Allowed:
    """What a host allows.

    Attributes
    ----------
    lessons : tuple of Lesson
    tokenizers : tuple of str
        Names and paths.
    most_tokens : int
        What is longer is cut, and the cut is said.
    idle, total : float
        Seconds without a key, and altogether, after which a session ends; 0 is no limit.
    models : tuple of CheckpointModel
        Beside the seeded one.
    """

    lessons: tuple[Lesson, ...]
    tokenizers: tuple[str, ...]
    most_tokens: int
    idle: float = 0.0
    total: float = 0.0
    models: tuple[CheckpointModel, ...] = ()

    def without_paths(self, text: str) -> str:
        """A message with names in the place of the host's paths."""
        paths = (*(lesson.path for lesson in self.lessons), *self.tokenizers)
        names = {path: os.path.basename(path) for path in paths}
        return _without(text, names | {model.path: model.name for model in self.models})


def _without(text: str, names: Mapping[str, str]) -> str:
    from core.text import visible

    for path in sorted(filter(os.path.dirname, names), key=len, reverse=True):
        for form in (os.path.abspath(path), path):
            text = text.replace(visible(form), visible(names[path]))
    return text


def action_name(action: str) -> str:
    """The name of an action without its namespace and its parameters."""
    return action.partition("(")[0].rpartition(".")[2]


@dataclass
class Limits:
    """How long a session may go on.

    Attributes
    ----------
    idle, total : float
        Seconds; 0 is no limit.
    started, touched : float
        When the session began and when its last key came, on one clock that never jumps.
    """

    idle: float
    total: float
    started: float
    touched: float

    def left(self, now: float) -> float | None:
        """Seconds until the end, None where there is no limit."""
        ends = [self.touched + self.idle] * bool(self.idle)
        ends += [self.started + self.total] * bool(self.total)
        return min(ends) - now if ends else None

    def idles(self) -> bool:
        """Whether it is the missing keys that end the session first."""
        total = self.started + self.total if self.total else float("inf")
        return bool(self.idle) and self.touched + self.idle < total
