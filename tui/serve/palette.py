"""The palette of a demo: of all that the explorer can do, what the host allowed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from core.lessons import Lesson
from core.text import visible
from tui.palette import Command, ExplorerCommands
from tui.serve.allowed import PALETTE_FUNCTIONS
from tui.serve.screen import DemoScreen


class DemoCommands(ExplorerCommands):
    """Everything that can be done in a demo, to search."""

    @property
    def demo(self) -> DemoScreen:
        return next(s for s in self.app.screen_stack if isinstance(s, DemoScreen))

    def lessons(self) -> Iterable[Lesson]:
        return self.demo.allowed.lessons

    def tokenizers(self) -> Iterable[tuple[str, str]]:
        for name in self.demo.allowed.tokenizers:
            yield visible(os.path.basename(name)), name

    def _commands(self) -> Iterator[Command]:
        return (command for command in super()._commands() if self._may(command.run))

    def _may(self, run: Callable[[], object]) -> bool:
        """Whether a command is of a known kind, and its action is allowed."""
        if self.demo.following and getattr(run, "func", None) not in (
            self._theme,
            self.demo.run_action,
        ):
            return False
        if not isinstance(run, partial):
            return getattr(run, "__name__", "") in PALETTE_FUNCTIONS
        name = run.func.__name__
        return name in PALETTE_FUNCTIONS and (name != "run_action" or self.demo.allows(run.args[0]))
