"""The floor: a Textual app with one Input and nothing else, on Textual's own driver."""

import sys

from textual.app import App, ComposeResult
from textual.widgets import Input


class Floor(App[None]):
    """One Input that holds a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield Input(self._text)


if __name__ == "__main__":
    Floor(sys.argv[1]).run()
