"""What is selected and switched, and the trace that belongs to it. Plain Python, no textual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from core.edits import check_edits, with_edit, without_edit
from core.errors import AttnError, BudgetError, SettingError
from core.explain import original
from core.language import _
from core.learning import check_learning
from core.names import EDITABLE, NORMALIZERS, PROJECTIONS, STAGES
from core.runner import check_model, check_switches, trace
from core.text import visible
from core.tokenization import open_tokenizer
from core.types import Edit, Learning, Mask, Request, Tokens, Trace
from core.wishes import moved
from tui.choices import MAX_PRECISION, VECTORS, ZOOMS
from tui.scene import Scene, View, column_of, cursor, panes

if TYPE_CHECKING:
    from core.comparison import Comparison

Result = TypeVar("Result")

TEMPERATURES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
DEFAULT_WINDOW = 2
# Up to here a trace takes about a frame (16 ms), so it is made at once.
QUICK_CHARACTERS = 20_000
QUICK_CELLS = 1_000_000
QUICK_WEIGHTS = 50_000  # of one kind; those of a new model are drawn first
QUICK_PRODUCTS = 20_000_000
QUICK_STEPS = 200  # of learning


def check_view(view: View, tokens: Tokens) -> None:
    """Raise SettingError unless layer, head, query and key exist."""
    model = view.request.model
    for name, value, count in (
        ("dim", view.dim, model.d_model),
        ("component", view.component, max(model.d_model, model.d_head)),
        ("layer", view.layer, model.layers),
        ("head", view.head, model.heads),
        ("query", view.query, len(tokens)),
        ("key", view.key, len(tokens)),
    ):
        if not 0 <= value < count:
            raise SettingError(
                _("{name} {value} is out of range").format(name=name, value=value),
                _("choose {low} to {high}").format(low=0, high=count - 1),
            )


def follow(before: Tokens, after: Tokens, index: int) -> int | None:
    """Where the token at `index` is after an edit; None when the edit changed it.

    The edit is taken to be between the longest common start and the longest common end.
    """
    old = [token.piece for token in before]
    new = [token.piece for token in after]
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    if index < start:
        return index
    from_end = len(old) - index
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return len(new) - from_end if from_end <= end else None


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """What a request gives: a trace, and beside it that of the other text, or why there is none."""

    trace: Trace
    compared: Comparison | AttnError | None = None


class Explorer:
    """The state of one explorer: a view, and its trace once there is one."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.asked = view.request  # may still be on its way; what is switched next builds on it
        self.trace: Trace | None = None
        self.before: Trace | None = None  # the last switch
        self.compared: Comparison | AttnError | None = None
        self._undo: list[Request] = []
        self.error: AttnError | None = None
        window = view.request.switches.mask.window
        self._window = DEFAULT_WINDOW if window is None else window  # the last N of window:N
        self._tokens: Tokens | None = None  # the last that were good, to follow the selection

    @property
    def scene(self) -> Scene | None:
        return (
            None if self.trace is None else Scene(self.view, self.trace, self.before, self.compared)
        )

    # The way of a change: prepare (tokens), is it quick?, answer, accept or refuse.

    def prepare(self, request: Request) -> tuple[Request, Tokens]:
        """Cut the text into tokens; blocked keys and numbers typed over follow their tokens.

        Raises
        ------
        AttnError
            The request is refused.
        """
        check_model(request.model)
        check_switches(request.switches)
        check_learning(request)
        before = self.trace
        if before and _cut_alike(before.request, request):
            return request, before.tokens
        tokens = open_tokenizer(request.tokenizer, request.as_saved).encode(request.text)
        if self._tokens is not None:
            request = _followed(request, self._tokens, tokens)
        return request, tokens

    def is_quick(self, request: Request, tokens: Tokens) -> bool:
        """Whether the answer takes about a frame or less."""
        text = self.view.compare
        if text is None or not is_quick(request, tokens):
            return is_quick(request, tokens)
        if len(text) > QUICK_CHARACTERS:
            return False

        from core.compare import compared_tokens  # most sessions compare nothing

        other = attempt(lambda: compared_tokens(request, tokens, text))
        return isinstance(other, AttnError) or is_quick(request, other)

    def answer(self, request: Request, tokens: Tokens, text: str | None) -> Answer:
        """Compute what belongs to a request and to another text; may be called in a thread.

        Raises
        ------
        AttnError
            The request is refused. A refusal of the other text is part of the answer.
        """
        shown = self.trace
        result = shown if shown and shown.request == request else trace(request, tokens)
        if text is None:
            return Answer(result)

        from core.compare import compare

        return Answer(result, attempt(lambda: compare(result, text)))

    def accept(self, result: Trace, compared: Comparison | AttnError | None = None) -> None:
        """Take a finished trace; the selection stays on its token, or else at its place."""
        before, tokens = self._tokens, result.tokens
        if before is None:
            check_view(replace(self.view, request=result.request), tokens)
        self._remember(result)
        self.compared = None if self.view.compare is None else compared
        self.error = None
        self.asked = result.request
        self.trace = result
        self._tokens = tokens

        def place(index: int) -> int:
            found = index if before is None else follow(before, tokens, index)
            return min(index if found is None else found, len(tokens) - 1)

        model = result.request.model
        self.view = replace(
            self.view,
            request=result.request,
            layer=min(self.view.layer, model.layers - 1),
            head=min(self.view.head, model.heads - 1),
            dim=min(self.view.dim, model.d_model - 1),
            component=min(self.view.component, max(model.d_model, model.d_head) - 1),
            query=place(self.view.query),
            key=place(self.view.key),
        )

    def _remember(self, result: Trace) -> None:
        """Keep what a switch changes, to show both and to go back; an edit begins anew."""
        old = self.trace
        if old is None or not _cut_alike(old.request, result.request):
            self.before = None
            self._undo.clear()
        elif self._undo and goes_on(self._undo[-1], old.request, result.request):
            pass  # a run counts as one change
        elif old.request != result.request:
            # A large trace is not kept: it would be the third in memory during the next change.
            self.before = old if is_quick(old.request, old.tokens) else None
            if self._undo and self._undo[-1] == result.request:
                self._undo.pop()  # that was a step back
            else:
                self._undo.append(old.request)

    def undone(self) -> Request | None:
        """The request before the last switch, None when there is none."""
        return self._undo[-1] if self._undo else None

    def refuse(self, request: Request, error: AttnError) -> None:
        """Keep the request that was refused, and why; nothing stale stays on screen."""
        self.view = replace(self.view, request=request)
        self.asked = request
        self.trace = self.compared = None
        self.error = error

    def run(self, request: Request) -> None:
        """Do the whole way of a change at once."""
        try:
            answer = self.answer(*self.prepare(request), self.view.compare)
            self.accept(answer.trace, answer.compared)
        except AttnError as error:
            self.refuse(request, error)

    # Selecting: nothing is computed.

    def select(self, **places: Any) -> None:
        """Set fields of the view, each clamped to what exists."""
        model = self.view.request.model
        count = len(self._tokens) if self._tokens else None
        limits = {"layer": model.layers, "head": model.heads, "query": count, "key": count}
        limits |= {"dim": model.d_model, "component": max(model.d_model, model.d_head)}
        for name, limit in limits.items():
            if name in places and limit is not None:
                places[name] = max(0, min(places[name], limit - 1))
            elif name in places:
                del places[name]  # no tokens are known yet
        if "precision" in places:
            places["precision"] = max(1, min(places["precision"], MAX_PRECISION))
        self.view = replace(self.view, **places)

    def step(self, name: str, by: int) -> None:
        """Move layer, head, query, key, dim, component or precision by `by`, clamped."""
        self.select(**{name: getattr(self.view, name) + by})

    def move(self, down: int, across: int) -> None:
        """Move the cursor of the active pane."""
        for name, by in zip(cursor(self.view), (down, across), strict=True):
            if name == "component" and by:  # inside the head's columns
                last = self.view.request.model.d_head - 1
                self.select(component=max(0, min(column_of(self.view) + by, last)))
            elif by:
                self.step(name, by)

    def cycle(self, name: str, by: int) -> None:
        """Go round the panes, vectors, arrays or stages, or along the zooms."""
        values = {
            "pane": panes(self.view),
            "vector": VECTORS,
            "array": tuple(EDITABLE),
            "stage": STAGES,
            "zoom": ZOOMS,
        }[name]
        place = values.index(getattr(self.view, name)) + by
        place = max(0, min(place, len(values) - 1)) if name == "zoom" else place % len(values)
        self.select(**{name: values[place]})

    def compare_with(self, text: str | None) -> None:
        """Choose the other text, or none; what belongs to it comes with the next answer."""
        self.view = replace(self.view, compare=text)
        if text is None:
            self.compared = None
            if self.view.pane not in panes(self.view):
                self.view = replace(self.view, pane=View().pane)

    # Switching: requests for another trace.

    def with_text(self, text: str) -> Request:
        return self._cut_anew(replace(self.asked, text=text))

    def with_tokenizer(self, name: str) -> Request:
        return self._cut_anew(replace(self.asked, tokenizer=name))

    def _cut_anew(self, request: Request) -> Request:
        """The request with its wishes where their tokens are now."""
        return replace(request, learning=_moved_wishes(self.asked, request))

    def with_switch(self, **changes: Any) -> Request:
        request = self.asked
        return replace(request, switches=replace(request.switches, **changes))

    def next_mask(self) -> Request:
        """None, causal, window, none …; the blocked keys stay."""
        mask = self.asked.switches.mask
        if mask.window is not None:
            self._window = mask.window
        rounds = {
            "none": Mask(causal=True),
            "causal": Mask(window=self._window),
        }
        following = rounds.get(mask.name, Mask())
        return self.with_switch(mask=replace(following, blocked=mask.blocked))

    def toggle_blocked(self, index: int) -> Request:
        mask = self.asked.switches.mask
        return self.with_switch(mask=replace(mask, blocked=mask.blocked ^ {index}))

    def toggled(self, name: str) -> Request:
        """The other value of a switch that is on or off."""
        return self.with_switch(**{name: not getattr(self.asked.switches, name)})

    def next_word(self, name: str, by: int = 1) -> Request:
        """The next word of a switch that has words, or the one after it."""
        words = {"projections": PROJECTIONS, "normalizer": NORMALIZERS}[name]
        now = words.index(getattr(self.asked.switches, name))
        return self.with_switch(**{name: words[(now + by) % len(words)]})

    def refused_edits(self, request: Request) -> AttnError | None:
        """Why the numbers typed over do not go with a request; None when they do."""
        count = len(self._tokens) if self._tokens else 0
        return attempt(lambda: check_edits(request, count))

    def typed(self, array: str, place: tuple[int, ...], value: float) -> Request:
        """A number typed over another; the original itself types nothing over."""
        if self.trace is not None and original(self.trace, array, place) == value:
            return self.put_back(array, place)
        edits = with_edit(self.asked.switches.edits, Edit(array, place, value))
        return self.with_switch(edits=edits)

    def put_back(self, array: str, place: tuple[int, ...]) -> Request:
        """The original number in its place."""
        return self.with_switch(edits=without_edit(self.asked.switches.edits, array, place))

    def next_temperature(self, by: int) -> Request:
        """The next step of `TEMPERATURES` above (by = 1) or below (by = -1) today's."""
        now = self.asked.switches.temperature
        if by > 0:
            steps = [step for step in TEMPERATURES if step > now] or [now]
        else:
            steps = [step for step in reversed(TEMPERATURES) if step < now] or [now]
        return self.with_switch(temperature=steps[0])


def _cut_alike(one: Request, other: Request) -> bool:
    """Whether two requests have the same tokens."""
    return (one.text, one.tokenizer, one.as_saved) == (other.text, other.tokenizer, other.as_saved)


def goes_on(*requests: Request) -> bool:
    """Whether each takes up learning where the one before left it."""
    return all(
        one.learning is not None
        and other.learning is not None
        and one.learning.steps < other.learning.steps
        and replace(one, learning=replace(one.learning, steps=other.learning.steps)) == other
        for one, other in pairwise(requests)
    )


def _moved_wishes(before: Request, after: Request) -> Learning | None:
    """The wishes at the places of their tokens after an edit, as far as those are still there."""
    if before.learning is None or _cut_alike(before, after):
        return before.learning
    try:
        old, new = (
            open_tokenizer(each.tokenizer, each.as_saved).encode(each.text)
            for each in (before, after)
        )
    except AttnError:  # a blank text: nothing is there any more
        return None
    return moved(before.learning, lambda index: follow(old, new, index), len(new))


def _followed(request: Request, before: Tokens, after: Tokens) -> Request:
    """The request with all that belongs to tokens moved with them, or dropped with them."""
    switches = request.switches
    allowed = (follow(before, after, index) for index in switches.mask.blocked)
    blocked = frozenset(place for place in allowed if place is not None)
    edits = []
    for edit in switches.edits:
        tokens = {"x": slice(0, 1), "attn_scores": slice(2, 4)}.get(edit.array, slice(0, 0))
        places = [follow(before, after, index) for index in edit.place[tokens]]
        kept = [index for index in places if index is not None]
        if len(kept) == len(places):
            place = (*edit.place[: tokens.start], *kept, *edit.place[tokens.stop :])
            edits.append(replace(edit, place=place))
    mask = replace(switches.mask, blocked=blocked)
    return replace(request, switches=replace(switches, mask=mask, edits=tuple(edits)))


def with_mask(request: Request, mask: Mask) -> Request:
    """The same request under another mask."""
    return replace(request, switches=replace(request.switches, mask=mask))


def learns_quickly(request: Request, before: Request | None) -> bool:
    """Whether learning takes about a frame or less, after what another request has learned."""
    if request.learning is None:
        return True
    taken = 0
    if before is not None and before.learning is not None and goes_on(before, request):
        taken = before.learning.steps
    return request.learning.steps - taken <= QUICK_STEPS


def is_quick(request: Request, tokens: Tokens) -> bool:
    """Whether the trace takes about a frame or less; learning comes on top."""
    model, count = request.model, len(tokens)
    weights = model.layers * model.d_model**2
    return (
        model.layers * model.heads * count**2 <= QUICK_CELLS
        and weights <= QUICK_WEIGHTS
        and weights * count <= QUICK_PRODUCTS
    )


def attempt(work: Callable[[], Result]) -> Result | AttnError:
    """What `work` gives, or why it gives nothing."""
    try:
        return work()
    except AttnError as error:
        return error
    except MemoryError:
        return BudgetError(_("this machine has no memory left"), _("use a shorter text"))
    except Exception as error:  # a fault of ours: one sentence must not end the session
        what = _("unexpected {error}: {reason}").format(
            error=type(error).__name__, reason=visible(str(error))
        )
        return AttnError(what, _("change the sentence or a switch, and report what you did"))
