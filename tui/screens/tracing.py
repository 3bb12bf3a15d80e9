"""Requests of a screen: prepared at once, run at once when quick, else in a thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.screen import Screen
from textual.worker import get_current_worker

from core.errors import AttnError
from core.types import Request
from tui.quick import QUICK_CHARACTERS, learns_quickly
from tui.scene import View
from tui.state import Answer, Explorer, attempt


class TracingScreen(Screen[None]):
    """A screen with a state; what answers its last request is handed to `answered`."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self.state = Explorer(view)
        self.generation = 0
        self._tracing = False
        self._queued: tuple[int, Request, Callable[[], Answer]] | None = None

    def answered(self) -> None:
        """The state has a new trace, or a refusal; subclasses show it."""

    def set_busy(self, busy: bool) -> None:
        """An answer takes more than a moment, or is there; subclasses say so."""

    def keeps(self, request: Request, error: AttnError) -> bool:
        """Whether a refusal leaves what is shown as it was; subclasses then say why."""
        return False

    def submit(self, request: Request) -> None:
        """Ask for a trace; whatever was asked before is stale from now on."""
        self.generation += 1
        self.state.asked = request
        state, other = self.state, self.state.view.compare
        if len(request.text) + len(request.target or "") > QUICK_CHARACTERS:
            self._run_in_thread(request, lambda: state.answer(*state.prepare(request), other))
            return
        prepared = attempt(lambda: state.prepare(request))
        if isinstance(prepared, AttnError):
            self._take(request, prepared)
        elif state.is_quick(*prepared) and learns_quickly(request, state.view.request):
            self._take(request, attempt(lambda: state.answer(*prepared, other)))
        else:
            self._run_in_thread(request, lambda: state.answer(*prepared, other))

    def _run_in_thread(self, request: Request, make: Callable[[], Answer]) -> None:
        """Run, or wait for the run under way: a thread cannot be stopped, and two would need
        the memory of two traces.
        """
        self.set_busy(True)
        job = (self.generation, request, make)
        if self._tracing:
            self._queued = job
        else:
            self._tracing = True
            self.run_worker(partial(self._work, *job), thread=True, group="trace")

    def _work(self, generation: int, request: Request, make: Callable[[], Answer]) -> None:
        """In a thread: the trace, or why there is none."""
        result = attempt(make)
        if not get_current_worker().is_cancelled:  # the screen is still there
            self.app.call_from_thread(self._arrived, generation, request, result)

    def _arrived(self, generation: int, request: Request, result: Answer | AttnError) -> None:
        """Take an answer that is still wanted; else begin with the last request that waits."""
        self._tracing = False
        if self.app.return_code is not None:  # the explorer is being taken apart
            return
        waiting, self._queued = self._queued, None
        if generation == self.generation:
            self._take(request, result)
        elif waiting is not None and waiting[0] == self.generation:
            self._run_in_thread(*waiting[1:])

    def _take(self, request: Request, result: Answer | AttnError) -> None:
        """Put the answer to a request into the state."""
        self.set_busy(False)
        if isinstance(result, AttnError):
            if self.keeps(request, result):
                return
            self.state.refuse(request, result)
        else:
            refused = attempt(lambda: self.state.accept(result.trace, result.compared))
            if refused is not None:
                self.state.refuse(request, refused)
        self.answered()
