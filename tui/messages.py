"""What widgets say."""

from __future__ import annotations

from typing import Any

from textual.message import Message


class Selected(Message):
    """The person chose a place: fields of a `View` with their new values."""

    def __init__(self, **places: Any) -> None:
        super().__init__()
        self.places = places


class Missing(Message):
    """The grid shows heads that nobody has looked at yet."""


class Pressed(Message):
    """A key was pressed with the mouse, in the key bar."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key


class Painted(Message):
    """The person painted how much a key should weigh for the selected query, from 0 to 1."""

    def __init__(self, key: int, weight: float) -> None:
        super().__init__()
        self.key = key
        self.weight = weight
