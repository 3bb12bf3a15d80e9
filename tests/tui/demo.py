"""A demo on a view, and what its palette offers."""

from contextlib import asynccontextmanager

from core.lessons import bundled_lessons
from core.tokenization import PATTERNS
from tests.tui.helpers import make_view, settle
from tui.serve.allowed import Allowed
from tui.serve.demo import DemoApp
from tui.serve.options import MOST_TOKENS
from tui.serve.palette import DemoCommands


def everything(**options):
    return Allowed(
        tuple(bundled_lessons()), tuple(PATTERNS), **{"most_tokens": MOST_TOKENS, **options}
    )


@asynccontextmanager
async def open_demo(view=None, size=(120, 36), allowed=None, **options):
    """As `open_app`, with what the driver is told to write to the terminal in `pilot.sent`."""
    app = DemoApp(view or make_view(), allowed=allowed or everything(), **options)
    async with app.run_test(size=size, notifications=True) as pilot:
        pilot.sent = []
        app._driver.write = pilot.sent.append
        await settle(pilot)
        yield pilot


def commands(pilot, provider=DemoCommands):
    return list(provider(pilot.app.screen, match_style=None)._commands())
