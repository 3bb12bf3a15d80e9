"""What the parent of sessions does before it forks: once what each of them would do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.language import LANGUAGES, set_language
from tui.terminal.checks import prepare_environment

if TYPE_CHECKING:
    from textual.pilot import Pilot

# Through the panes, the sentence, the help and the palette.
_KEYS = ("tab", "down", "right", "e", "a", "backspace", "escape", "question_mark", "escape")


def warm(words: Sequence[str]) -> None:
    """Go through a session without a terminal: modules, style sheets and caches are there then."""
    prepare_environment()
    for language in LANGUAGES:
        set_language(language)
    set_language("en")

    import tui.serve.live
    import tui.terminal.driver  # noqa: F401
    from tui.cli import parse
    from tui.serve.start import demo_app
    from tui.terminal.output import SgrCompressor

    SgrCompressor().feed("")
    app = demo_app(dict(parse(words).params))
    asyncio.run(app.run_async(headless=True, size=(120, 36), auto_pilot=_walk))


async def _walk(pilot: Pilot[Any]) -> None:
    await pilot.pause()
    for key in _KEYS:
        await pilot.press(key)
    await pilot.resize_terminal(80, 24)
    await pilot.pause()
    pilot.app.exit()
