"""The sentence, edited in place; controls stand as visible marks, the text keeps the true ones."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.widgets import TextArea

from core.text import is_unseen, mark
from tui.messages import SentenceChanged

# Controls, bidirectional controls and separators would be obeyed by the terminal or split the
# document's lines. In the document each stands as one private-use character, one cell wide,
# which is drawn as a mark and turned back when the text is read.
_PRIVATE = 0xF0000
_LIMIT = 0x10000
_KEPT = "\n\t\u200c\u200d"
MAX_LINES = 3


def to_document(text: str) -> str:
    """True text to what the editor holds."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        chr(_PRIVATE + ord(char))
        if ord(char) < _LIMIT and char not in _KEPT and is_unseen(char)
        else char
        for char in text
    )


def from_document(text: str) -> str:
    """What the editor holds to true text."""
    if text.isascii():
        return text
    return "".join(
        chr(ord(char) - _PRIVATE) if _PRIVATE <= ord(char) < _PRIVATE + _LIMIT else char
        for char in text
    )


def drawn(text: str) -> str:
    """What the editor holds to what is drawn, one cell for each private-use character."""
    if text.isascii():
        return text
    return "".join(
        _one_cell(chr(ord(char) - _PRIVATE)) if _PRIVATE <= ord(char) < _PRIVATE + _LIMIT else char
        for char in text
    )


def _one_cell(char: str) -> str:
    shown = mark(char)
    return shown if len(shown) == 1 else "\ufffd"


class Sentence(TextArea):
    """The editor of the sentence."""

    def __init__(self, text: str) -> None:
        super().__init__(
            to_document(text),
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            tab_behavior="focus",
            compact=True,
            placeholder="Type a sentence",
            id="sentence",
        )
        self.cursor_blink = False
        self.move_cursor(self.document.end)

    @property
    def true_text(self) -> str:
        return from_document(self.text)

    def set_true_text(self, text: str) -> None:
        """Replace the whole sentence; undo brings the old one back."""
        self.replace(to_document(text), (0, 0), self.document.end)
        self.move_cursor(self.document.end)

    def get_line(self, line_index: int) -> Text:
        return Text(drawn(self.document.get_line(line_index)), end="", no_wrap=True)

    def on_focus(self) -> None:
        self._place_terminal_cursor()

    def on_resize(self, event: events.Resize) -> None:
        self._place_terminal_cursor()

    def _place_terminal_cursor(self) -> None:
        """Input methods open their window at the terminal's own cursor."""
        self.scroll_cursor_visible()  # computes where the caret is; Textual waits for a key
        self.app.cursor_position = self.cursor_screen_offset

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(SentenceChanged(self.true_text))

    async def _on_paste(self, event: events.Paste) -> None:
        # Terminals send the line ends of a paste as carriage returns.
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        event.prevent_default()
        event.stop()
        result = self.replace(to_document(text), *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)
