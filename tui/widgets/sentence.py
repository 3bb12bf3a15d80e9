"""The sentence, edited in place; controls stand as visible marks, the text keeps the true ones."""

from __future__ import annotations

from unicodedata import category

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.geometry import Offset, Region
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.widgets import Static, TextArea

from core.language import _
from tui.terminal.controls import conceal, draw, reveal


class Sentence(TextArea):
    """The editor of one text."""

    edits: var[int] = var(0)

    def __init__(self, text: str, *, id: str) -> None:
        super().__init__(
            conceal(text),
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            tab_behavior="focus",
            compact=True,
            placeholder=_("Type a sentence"),
            id=id,
        )
        self.cursor_blink = False
        self._styled_for: tuple[str, bool] | None = None
        self.move_cursor(self.document.end)

    @property
    def gutter_width(self) -> int:
        """No line numbers, which TextArea asks its attributes about again and again."""
        return 0

    @property
    def true_text(self) -> str:
        return reveal(self.text)

    def set_true_text(self, text: str) -> None:
        """Replace the whole sentence; undo brings the old one back."""
        self.replace(conceal(text), (0, 0), self.document.end)
        self.move_cursor(self.document.end)

    def get_line(self, line_index: int) -> Text:
        return Text(draw(self.document.get_line(line_index)), end="", no_wrap=True)

    def render_lines(self, crop: Region) -> list[Strip]:
        styled_for = (self.app.theme, self.has_focus)
        if styled_for != self._styled_for:
            self._styled_for = styled_for
            return super().render_lines(crop)
        # TextArea looks its component styles up again for each paint; they are still right.
        if self.get_line_filters()[1:]:
            return super(TextArea, self).render_lines(crop)
        # No border, padding or tint is to be added, and the colours are true ones.
        return [self.render_line(y).crop(*crop.column_span) for y in crop.line_range]

    def on_focus(self) -> None:
        self._place_terminal_cursor()

    def on_resize(self, event: events.Resize) -> None:
        self._place_terminal_cursor()

    def _place_terminal_cursor(self) -> None:
        """Input methods open their window at the terminal's own cursor."""
        self.scroll_cursor_visible()  # computes where the caret is; Textual waits for a key
        self.app.cursor_position = self.cursor_screen_offset

    def post_message(self, message: Message) -> bool:
        """Tell of an edit at once, so that one frame shows the letter and its weights."""
        if isinstance(message, TextArea.Changed):
            self.edits += 1
            return True
        return super().post_message(message)

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """Textual asks before it has moved the caret off lines that undo or redo took away."""
        if self.cursor_location[0] >= self.document.line_count:
            return Offset()
        return super().scroll_cursor_visible(center, animate)

    async def _on_key(self, event: events.Key) -> None:
        # Textual leaves out what Python calls unprintable: wide and hard spaces, joiners, and
        # emoji that are newer than Python.
        if event.character and not event.is_printable and _is_typed(event.character):
            event.prevent_default()
            event.stop()
            self._replace_via_keyboard(conceal(event.character), *self.selection)

    async def _on_paste(self, event: events.Paste) -> None:
        # Terminals send the line ends of a paste as carriage returns.
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        event.prevent_default()
        event.stop()
        result = self.replace(conceal(text), *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)


def _is_typed(text: str) -> bool:
    """Whether keys of letters make it: no control, and no private character of a key."""
    return all(category(char) not in ("Cc", "Co", "Cs") for char in text)


class CaptionedLine(Horizontal):
    """A sentence after a word that says what it is for, which is seen where there are two."""

    def __init__(self, caption: str, text: str, *, id: str) -> None:
        super().__init__(id=f"{id}-line", classes="captioned")
        self._caption = caption
        self.sentence = Sentence(text, id=id)

    def compose(self) -> ComposeResult:
        if self._caption:
            yield self._said(self._caption)
        yield self.sentence

    def say(self, caption: str) -> None:
        """Put another word before the sentence."""
        for shown in self.query(Static):
            shown.update(caption)
        if not self._caption:
            self.mount(self._said(caption), before=self.sentence)
        self._caption = caption

    def _said(self, caption: str) -> Static:
        return Static(caption, markup=False, classes="caption")
