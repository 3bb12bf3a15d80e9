"""From the options of a demo to its app."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from core.tokenization import set_most_tokens
from tui.asked import build_view
from tui.checking import check
from tui.serve.options import allowed, take_allowances
from tui.text_given import one_text

if TYPE_CHECKING:
    from tui.scene import View
    from tui.serve.allowed import Allowed
    from tui.serve.demo import DemoApp


@dataclass(frozen=True)
class Demo:
    """A demo, everything about it checked: it can be begun any number of times.

    Attributes
    ----------
    view : View
    theme : str, optional
    allowed : Allowed
    """

    view: View
    theme: str | None
    allowed: Allowed

    def app(self, lead: int | None = None, follow: int | None = None) -> DemoApp:
        """Its app, which may lead or follow through a pipe."""
        from tui.serve.demo import DemoApp

        return DemoApp(self.view, self.theme, allowed=self.allowed, lead=lead, follow=follow)


def demo_of(options: dict[str, Any]) -> Demo:
    """The demo that options make, checked.

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
    return Demo(view, options["theme"], found)


def open_demo(demo: Demo, **pipes: int | None) -> NoReturn:
    """Give up all that a demo does not need, then explore."""
    from tui.serve.isolate import lock
    from tui.terminal.driver import run_app

    app = demo.app(**pipes)
    lock()
    sys.exit(run_app(app))
