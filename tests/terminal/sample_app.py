"""A small app to run on a pseudo-terminal; its argument chooses what it does besides."""

import sys
import time

from tui.terminal.checks import check_terminal, prepare_environment

if __name__ == "__main__":
    trouble = check_terminal()
    if trouble:
        print(trouble, file=sys.stderr)
        sys.exit(2)
    prepare_environment()

from textual.app import App, ComposeResult
from textual.content import Content
from textual.events import Resize
from textual.widgets import Input, Static

from tui.terminal import driver


class SampleApp(App[None]):
    """Shows what is typed, with its size and the number of changes."""

    CSS = "Static { height: 1; } #echo { color: yellow; background: blue; }"

    def compose(self) -> ComposeResult:
        self.changes = 0
        yield Input(id="line")
        yield Static(id="echo", markup=False)
        yield Static(id="state")

    def on_mount(self) -> None:
        mode = sys.argv[1] if len(sys.argv) > 1 else ""
        if mode == "crash":
            self.set_timer(0.01, lambda: 1 / 0)
        elif mode == "system-exit":
            self.set_timer(0.01, lambda: sys.exit(7))
        elif mode == "thread":
            self.run_worker(self.compute_long, thread=True)
        elif mode == "busy":
            self.set_timer(0.01, self.compute_long)
        elif mode == "flood":
            self.set_interval(0.001, self.flood)
        elif mode == "slow-line":
            driver.QUIET, driver.QUIET_LIMIT = 2.0, 10.0

    def on_resize(self, event: Resize) -> None:
        self.query_one("#state", Static).update(f"size {event.size.width}x{event.size.height}")

    def on_input_changed(self, event: Input.Changed) -> None:
        self.changes += 1
        self.query_one("#echo", Static).update(Content(f"{self.changes}={event.value}|"))

    def compute_long(self) -> None:
        assert self._driver is not None
        self._driver.write("\x1b]2;computing\x07")
        time.sleep(600)

    def flood(self) -> None:
        assert self._driver is not None
        self._driver.write("\x1b]2;" + "x" * 4000 + "\x07")


if __name__ == "__main__":
    sys.exit(driver.run_app(SampleApp()))
