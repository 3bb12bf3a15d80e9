"""What the parent of sessions does before it forks: once what each of them would do."""

from __future__ import annotations

import asyncio
import pkgutil
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from core.language import LANGUAGES, set_language
from tui.terminal.checks import prepare_environment

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from core.types import CheckpointModel
    from tui.serve.start import Demo

# Through a pane, the sentence, the help and the palette.
_KEYS = ("down", "right", "e", "a", "backspace", "escape", "question_mark", "escape", "ctrl+p")
_PACKAGES = ("core", "tui.screens", "tui.widgets", "tui.terminal")
_MODULES = (
    "tui.commands.lesson",
    "tui.palette",
    "tui.serve.isolate",
    "tui.serve.live",
    "tui.serve.palette",
)


def prepared(words: Sequence[str]) -> Demo:
    """The demo of a command line, after one session of it without a terminal.

    Modules, catalogues, style sheets, caches and the weights of models are there then.

    Raises
    ------
    AttnError
        The view or what is allowed is refused.
    """
    prepare_environment()
    for language in LANGUAGES:
        set_language(language)
    set_language("en")
    for name in (*_MODULES, *(name for package in _PACKAGES for name in _inside(package))):
        import_module(name)

    from core.parallel import end_threads
    from tui.cli import parse
    from tui.serve.start import demo_of

    with parse(words) as ctx:
        demo = demo_of(ctx.params)
    read_models(demo.allowed.models)
    asyncio.run(demo.app().run_async(headless=True, size=(120, 36), auto_pilot=_walk))
    end_threads()
    return demo


def read_models(models: Sequence[CheckpointModel]) -> None:
    """Run every model once: weights that had to be made float32 are then there for all."""
    from core.errors import AttnError
    from core.runner import run
    from core.types import Request

    for model in models:
        with suppress(AttnError):  # a session says why
            run(Request("a", model=model, target=None if model.writes is None else "a"))


def _inside(package: str) -> list[str]:
    path = import_module(package).__path__
    return [each.name for each in pkgutil.walk_packages(path, f"{package}.")]


async def _walk(pilot: Pilot[Any]) -> None:
    await pilot.pause()
    for key in _KEYS:
        await pilot.press(key)
    await pilot.resize_terminal(80, 24)
    await pilot.pause()
    pilot.app.exit()
