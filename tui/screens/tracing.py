"""Requests of a screen: prepared at once, run at once when quick, else in a thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.screen import Screen
from textual.timer import Timer
from textual.worker import get_current_worker

from core.errors import AttnError
from core.language import _
from core.progress import Cancelled, Taker, watched
from core.types import Request, Trace
from tui.quick import QUICK_CHARACTERS, learns_quickly
from tui.scene import View
from tui.state import Answer, Explorer, attempt
from tui.wording import step_in_words

TELL_SECONDS = 0.25  # what is done sooner is not announced


@dataclass(eq=False, slots=True)
class Job:
    """A request on its way to a thread, and in it.

    Attributes
    ----------
    request : Request
    make : function
        Gives the answer.
    take : function, optional
        Called in the thread with how many steps are done, and with what gives the result so far.
    wanted : bool
        It ends at its next step where nobody waits for it any more.
    at : tuple of str, int and int
        What it does, how many steps are done, and of how many.
    shown : int
        Of how many steps the result is shown.
    """

    request: Request
    make: Callable[[], Answer]
    take: Taker | None = None
    wanted: bool = True
    at: tuple[str, int, int] | None = None
    shown: int = 0

    def run(self) -> Answer | AttnError | None:
        """In the thread: the answer, or why there is none; None where it was cancelled."""
        worker = get_current_worker()

        def watch(what: str, done: int, total: int) -> None:
            if worker.is_cancelled or not self.wanted:
                raise Cancelled
            self.at = what, done, total

        try:
            with watched(watch, self.take):
                return attempt(self.make)
        except Cancelled:
            return None


class TracingScreen(Screen[None]):
    """A screen with a state; what answers its last request is handed to `answered`."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self.state = Explorer(view)
        self._job: Job | None = None  # in the thread, wanted or not
        self._waiting: Job | None = None
        self._telling: Timer | None = None
        self._announced = self._cancelled = False

    @property
    def leaving(self) -> bool:
        """Whether the explorer is being taken apart: nothing may be made or shown any more."""
        return self.app.return_code is not None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key does anything; none does that came behind the one that ends all."""
        return not self.leaving and super().check_action(action, parameters)

    def answered(self) -> None:
        """The state has a new trace, or a refusal; subclasses show it."""

    def say_work(self, words: str) -> None:
        """What is to be said of the work that is done; subclasses show it, and nothing for none."""

    def cancels(self) -> str:
        """Which keys cancel, in words; subclasses know."""
        return ""

    def awaited(self) -> int | None:
        """The layer that is enough for what is shown, None where all are needed; subclasses know.

        Called in a thread.
        """
        return None

    def keeps(self, request: Request, error: AttnError) -> bool:
        """Whether a refusal leaves what is shown as it was; subclasses then say why."""
        return False

    @property
    def busy(self) -> bool:
        """Whether an answer is on its way."""
        return self._waiting is not None or (self._job is not None and self._job.wanted)

    def submit(self, request: Request) -> None:
        """Ask for a trace; whatever was asked before is stale from now on."""
        self._forget()
        self._cancelled = False
        self.state.asked = request
        state, other = self.state, self.state.view.compare
        if len(request.text) + len(request.target or "") > QUICK_CHARACTERS:
            self._run_in_thread(
                request, lambda: state.answer(*state.prepare(request), other), other
            )
            return
        prepared = attempt(lambda: state.prepare(request))
        if isinstance(prepared, AttnError):
            self._take(request, prepared)
        elif state.is_quick(*prepared) and learns_quickly(request, state.view.request):
            self._take(request, attempt(lambda: state.answer(*prepared, other)))
        else:
            self._run_in_thread(request, lambda: state.answer(*prepared, other), other)

    def again(self) -> None:
        """Ask once more for what was asked last, where it was cancelled or refused."""
        if self._cancelled or self.state.error is not None:
            self.submit(self.state.asked)

    def cancel(self) -> bool:
        """Let go of what is computed; whether there was anything. What is shown stays, be it the
        first layers of the new.
        """
        if not self.busy:
            return False
        job = self._waiting or self._job
        layers = 0 if job is None else job.shown
        self._forget()
        self._done()
        self._cancelled = True
        if layers:
            said = _("cancelled: layers from {n} on are missing · ^r computes them")
            self.say_work(said.format(n=layers))
        elif self.state.trace is None:
            self.say_work(_("cancelled · ^r computes it"))
        else:
            self.say_work(_("cancelled: what is shown is from before · ^r computes it"))
        return True

    def _forget(self) -> None:
        """Nobody waits any more for what was asked."""
        self._waiting = None
        if self._job is not None:
            self._job.wanted = False

    def _run_in_thread(
        self, request: Request, make: Callable[[], Answer], other: str | None
    ) -> None:
        """Compute an answer in a thread, and show what there is of it before it is whole; not with
        another text, whose layers would come too.
        """
        job = Job(request, make)
        if other is None:
            job.take = lambda done, part: self._offered(job, done, part)
        self._start(job)

    def _start(self, job: Job) -> None:
        """Run a job, or let it wait for the one that runs: that ends at its next step, and two at
        once would need the memory of two traces.
        """
        if self._telling is None:
            self._announced = False
            self._telling = self.set_interval(TELL_SECONDS, self.tell)
            # A frame that only said so would hold up the next one, with what was computed.
            self.say_work(_("computing…") if self.state.trace is None else "")
        if self._job is not None:
            self._waiting = job
        else:
            self._job = job
            self.run_worker(lambda: self._work(job), thread=True, group="trace")

    def tell(self) -> None:
        """Say how far the work is, and how to end it."""
        if not self.busy:
            return
        self._announced = True
        job = self._waiting or self._job
        at = None if job is None else job.at
        self.say_work(
            " · ".join((_("computing…") if at is None else step_in_words(*at), self.cancels()))
        )

    def _work(self, job: Job) -> None:
        """In a thread: the trace, or why there is none."""
        result = job.run()
        if not get_current_worker().is_cancelled:  # the screen is still there
            self.app.call_from_thread(self._arrived, job, result)

    def _offered(self, job: Job, done: int, part: Callable[[], Trace]) -> None:
        """In a thread: hand over the trace so far, once it has the layer that is looked at."""
        layer = self.awaited()
        ended = self.leaving or get_current_worker().is_cancelled or not job.wanted
        if layer is not None and job.shown <= layer < done and not ended:
            self.app.call_from_thread(self._arrived_in_part, job, part())

    def _arrived_in_part(self, job: Job, part: Trace) -> None:
        """Show a trace of which more layers are on their way, if it is still wanted."""
        if job.wanted and not self.leaving and attempt(lambda: self.state.accept(part)) is None:
            job.shown = len(part.layers)
            self.answered()
            self._draw()

    def _draw(self) -> None:
        """Draw now, while the other thread waits: Textual would do it with its next frame, and be
        slowed down by what is computed then. The lines have told the screen that they changed.
        """
        self._on_timer_update()

    def _arrived(self, job: Job, result: Answer | AttnError | None) -> None:
        """Take an answer that is still wanted; else begin with the last request that waits."""
        self._job = None
        if self.leaving:
            return
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._start(waiting)
        elif job.wanted and result is not None:
            self._take(job.request, result)
            self._draw()

    def _done(self) -> None:
        """Nothing is on its way."""
        if self._telling is not None:
            self._telling.stop()
            self._telling = None
        self._announced = False
        self.say_work("")

    def _take(self, request: Request, result: Answer | AttnError) -> None:
        """Put the answer to a request into the state."""
        self._done()
        if isinstance(result, AttnError):
            before = self.state.trace  # or the first layers of what is refused
            if (before is None or before.whole) and self.keeps(request, result):
                return
            self.state.refuse(request, result)
        else:
            refused = attempt(lambda: self.state.accept(result.trace, result.compared))
            if refused is not None:
                self.state.refuse(request, refused)
        self.answered()


# A part of the explorer is a screen only together with the others: for each class of screens
# Textual takes a quarter of a millisecond of the start.
if TYPE_CHECKING:
    Part = TracingScreen
else:
    Part = object
