"""The palette of a demo: of all that the explorer can do, what the host allowed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain

from core import counts
from core.language import _
from core.lessons import Lesson
from core.text import visible
from core.types import CheckpointModel, ModelSpec
from tui.palette import Command, ExplorerCommands
from tui.serve.allowed import PALETTE_FUNCTIONS
from tui.serve.screen import DemoScreen
from tui.wording import RANDOM


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
        commands = chain(self._models(), super()._commands())
        return (command for command in commands if self._may(command.run))

    def _models(self) -> Iterator[Command]:
        """The models that the host allowed, but for the one that is shown."""
        shown = self.demo.state.asked.model
        for model in self.demo.allowed.models:
            shape = f"{model.family} · {counts.layers(model.layers)} × {counts.heads(model.heads)}"
            if model != shown:
                name = _("Model: {name}").format(name=model.name)
                yield Command(name, shape, partial(self.demo.use_model, model))
        if isinstance(shown, CheckpointModel):
            name = _("Model: {name}").format(name=_("seeded"))
            yield Command(name, _(RANDOM), partial(self.demo.use_model, ModelSpec()))

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
