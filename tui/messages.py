"""What widgets say."""

from __future__ import annotations

from typing import Any

from textual.message import Message


class Selected(Message):
    """The person chose a place: fields of a `View` with their new values."""

    def __init__(self, **places: Any) -> None:
        super().__init__()
        self.places = places


class Pressed(Message):
    """A key was pressed with the mouse, in the key bar."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key
