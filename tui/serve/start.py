"""From the options of a demo to its app."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

from core.tokenization import set_most_tokens
from tui.checking import check
from tui.options import build_view
from tui.serve.options import allowed, take_allowances
from tui.text_given import one_text

if TYPE_CHECKING:
    from tui.serve.demo import DemoApp


def demo_app(options: dict[str, Any]) -> DemoApp:
    """The app of a demo, everything about it checked.

    Parameters
    ----------
    options : dict
        Values by parameter name, of the explorer's command.

    Raises
    ------
    AttnError
        The view or what is allowed is refused.
    """
    options = dict(options)
    limits = take_allowances(options)
    view = build_view(one_text(options["words"]), options)
    found = allowed(limits, view.request)
    set_most_tokens(found.most_tokens)
    check(view)

    from tui.serve.demo import DemoApp

    return DemoApp(
        view, options["theme"], allowed=found, lead=options["lead"], follow=options["follow"]
    )


def open_demo(options: dict[str, Any]) -> NoReturn:
    """Check what a demo allows, give up all else, then explore."""
    from tui.serve.isolate import lock
    from tui.terminal.driver import run_app

    app = demo_app(options)
    lock()
    sys.exit(run_app(app))
