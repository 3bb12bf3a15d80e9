"""The part of a demo that presents, or follows a presenter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from click import ClickException
from textual.binding import Binding

from core.errors import AttnError
from core.language import N_, _
from tui.asked import PLACES
from tui.keys import Hint
from tui.screens.explorer import ExplorerScreen
from tui.serve.allowed import action_name
from tui.serve.live import Follower, Leader, shown
from tui.widgets.bars import KeyBar
from tui.widgets.sentence import Sentence

if TYPE_CHECKING:
    from core.types import Request
    from tui.serve.allowed import Allowed

_ALONE = Hint("E", N_("explore alone"), "E")
# What a viewer can do while following: everything else is done by the presenter. `lesson` turns the
# pages of a step's words, `page` those of a pane that is longer than this screen.
_WHILE_FOLLOWING = frozenset(
    ("follow", "help", "help_quit", "quit", "command_palette", "lesson", "page")
)


class FollowingScreen(ExplorerScreen):
    """An explorer that others follow, or that follows another one until a key is pressed."""

    BINDINGS: ClassVar = [Binding("E", "follow", "follow", show=False)]
    allowed: Allowed
    leader: Leader | None = None
    _follower: Follower | None = None
    _heard: list[str] | None = None
    _presented = False  # by somebody who is still there

    def lead(self, pipe: int) -> None:
        self.leader = Leader(pipe)

    def follow(self, pipe: int, watched: Callable[[], None]) -> None:
        """Hear a presenter; `watched` is told when something new is looked at."""
        self._watched = watched
        self._follower = Follower(pipe, self._hear)
        self.following = True
        self._pipe = pipe

    def on_mount(self) -> None:  # Textual calls those of the other classes too
        if self._follower is not None:
            asyncio.get_running_loop().add_reader(self._pipe, self._read, self._follower)
        self._show_following()

    def may(self, action: str) -> bool:
        """Whether an action can be taken by who follows or does not."""
        name = action_name(action)
        if name == "follow":
            return self._follower is not None
        return not self.following or name in _WHILE_FOLLOWING

    def select(self, **places: object) -> None:
        if self.following:  # a click: the presenter's place stays
            self.set_focus(self._pane(self.state.view.pane))
        else:
            super().select(**places)

    def action_follow(self) -> None:
        """Explore alone, or catch up with the presenter."""
        self.following = not self.following
        self._show_following()
        if self.following and self._heard is not None:
            self._show(self._heard)

    def _update_keys(self) -> None:
        super()._update_keys()
        if self.following:
            bar = self.query_one(KeyBar)
            hints, last = bar.hints
            bar.hints = ((_ALONE, *hints), last)

    def _show_following(self) -> None:
        self._lock()
        if self.following and isinstance(self.focused, Sentence):
            self.action_focus_pane()
        self.show_lesson()
        self._update_keys()

    def show_texts(self, request: Request) -> None:
        super().show_texts(request)
        self._lock()

    def _lock(self) -> None:
        """Take keys and clicks from the texts of who follows; say over them how things are."""
        for sentence in self.query(Sentence):
            sentence.can_focus = not self.following
            sentence.read_only = self.following
        self.query_one("#sentence-box").border_title = self._badge()

    def _badge(self) -> str:
        demo = _("Sentence · demo, at most {most:,} tokens").format(most=self.allowed.most_tokens)
        if self.leader is not None:
            return _("Sentence · you present: all who follow see this")
        if self._follower is None:
            return demo
        if self.following and self._presented:
            return _("Sentence · following the presenter · E to explore alone")
        if self.following and self._heard is None:
            return _("Sentence · nobody presents yet · E to explore alone")
        if self.following:
            return _("Sentence · the presenter has left · E to explore alone")
        return demo + _(" · alone · E to follow")

    def _read(self, follower: Follower) -> None:
        if not follower.read():
            asyncio.get_running_loop().remove_reader(self._pipe)

    def _hear(self, words: list[str] | None, present: bool) -> None:
        self._presented = present
        self._heard = words or self._heard
        if self.following and words is not None:
            self._watched()
            self._show(words)
        self._lock()

    def _show(self, words: list[str]) -> None:
        """Show what the presenter shows."""
        try:
            found = shown(words)
        except (AttnError, ClickException):
            return  # the presenter's own screen says why; what was shown before stays
        self.guide = found.guide
        names = (name for name in PLACES if name != "compare")
        self.show_view(found.view, {name: getattr(found.view, name) for name in names})

    def _publish(self) -> None:
        super()._publish()
        if self.leader is not None:
            self.leader.tell(self.state.view, self.guide)
