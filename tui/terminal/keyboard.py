"""Keys, clicks and reports out of a terminal's text, whatever it holds."""

from collections.abc import Callable, Generator, Iterable
from typing import Any

from textual import events
from textual._xterm_parser import XTermParser
from textual.keys import Keys
from textual.message import Message

from tui.terminal.size import bounded


class KeyboardParser(XTermParser):
    """Textual's parser, which numbers that mean nothing do not end.

    It is one generator: an error in it would be the end of the keyboard.
    """

    def feed(self, data: str) -> Iterable[Message]:
        # No text may be half a letter; to Textual it is the end.
        return super().feed(data) if data else ()

    def parse(self, token_callback: Callable[[Message], None]) -> Generator[Any, str, None]:
        return super().parse(lambda token: token_callback(_drawable(token)))

    def parse_mouse_code(self, code: str) -> Message | None:
        try:
            return super().parse_mouse_code(code)
        except ArithmeticError:  # in a window of no pixels
            return None

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        try:
            keys = list(super()._sequence_to_key_events(sequence, alt))
        except (ValueError, OverflowError):  # the number of no character
            keys = []
        else:
            if all(_is_text(key.character or "") for key in keys):
                return keys
        return [events.Key(Keys.Ignore, sequence)]


def _drawable(token: Message) -> Message:
    """A message as it is, and a window's size within bounds."""
    if isinstance(token, events.Resize):
        return events.Resize.from_dimensions(bounded(*token.size), token.pixel_size)
    return token


def _is_text(character: str) -> bool:
    """Whether it is no half of a surrogate pair, which no encoding has."""
    return not any("\ud800" <= each <= "\udfff" for each in character)
