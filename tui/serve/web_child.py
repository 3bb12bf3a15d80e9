"""What a session in a browser runs: the explorer between two pipes."""

from __future__ import annotations

import os
import sys
from typing import Any

from tui.terminal.size import bounded

COMMAND = (sys.executable, "-I", "-c", "from tui.serve.web_child import main; main()")


def main() -> None:
    """Explore as the words say; textual-serve draws, so there is no terminal to check."""
    import tui.cli
    from core.language import set_language
    from tui.serve.isolate import lock
    from tui.serve.start import demo_of
    from tui.terminal.checks import prepare_environment
    from tui.usage import take_language

    words, language = take_language(sys.argv[1:])
    set_language(language or "en")
    size = _size()
    prepare_environment()
    with tui.cli.parse(words) as ctx:
        app = demo_of(ctx.params).app()

    from textual.drivers import web_driver

    from tui.terminal.keyboard import KeyboardParser

    web_driver.XTermParser = KeyboardParser  # type: ignore[attr-defined]

    class BoundedDriver(web_driver.WebDriver):
        """A page may ask for any size, and for what is none; without a keyboard there is no end."""

        def on_meta(self, packet_type: str, payload: dict[str, Any]) -> None:
            if packet_type == "resize":
                try:
                    columns, lines = bounded(payload["width"], payload["height"])
                except (TypeError, ValueError, OverflowError):
                    return
                payload = {**payload, "width": columns, "height": lines}
            super().on_meta(packet_type, payload)

        def run_input_thread(self) -> None:
            super().run_input_thread()
            if not self.exit_event.is_set():  # the server is gone
                self._loop.call_soon_threadsafe(self._app.exit)

    lock()
    app.driver_class = BoundedDriver
    app.run(size=size)
    sys.exit(app.return_code)


def _size() -> tuple[int, int]:
    return bounded(os.environ.get("COLUMNS", "80"), os.environ.get("ROWS", "24"))
