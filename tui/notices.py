"""A notice whose time is never up while it is put on the screen."""

from __future__ import annotations

from textual.notifications import Notification

LEAST_SECONDS = 0.05  # a timer of Textual with less than none loops for ever


class Notice(Notification):
    """As Textual's, but what is not gone yet has some time left."""

    @property
    def time_left(self) -> float:
        return max(LEAST_SECONDS, super().time_left)

    @property
    def has_expired(self) -> bool:
        return super().time_left <= 0
