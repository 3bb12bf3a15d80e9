"""What is selected and switched, and the trace that belongs to it. Plain Python, no textual."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from core.edits import check_edits, with_edit, without_edit
from core.errors import AttnError, BudgetError
from core.explain import original
from core.language import _
from core.names import ATTENTIONS, EDITABLE, NORMALIZERS, POOLS, PROJECTIONS, SCALES
from core.runner import check_request, cut, trace
from core.text import visible
from core.types import Edit, Mask, Request, Tokens, Trace
from tui.choices import CELLS, MAX_PRECISION, ORDERS, SHOWN, VECTORS, ZOOMS, beside
from tui.following import cut_alike, follow, followed, followed_reading, moved_wishes
from tui.places import check_view, clamped, sides
from tui.quick import QUICK_CHARACTERS, goes_on, is_quick
from tui.scene import READ_PANES, Scene, View, column_of, cursor, panes, stages

if TYPE_CHECKING:
    from core.comparison import Comparison
    from core.predictions import Prediction
    from core.reading import Read

Result = TypeVar("Result")

TEMPERATURES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
DEFAULT_WINDOW = 2


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """What a request gives: a trace, and beside it that of the other text, or why there is none."""

    trace: Trace
    compared: Comparison | AttnError | None = None


def _toggled(now: frozenset[int], chosen: Iterable[int]) -> frozenset[int]:
    """With all of the chosen places; without them where all are there."""
    those = frozenset(chosen)
    return now - those if those <= now else now | those


class Explorer:
    """The state of one explorer: a view, and its trace once there is one."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.asked = view.request  # may still be on its way; what is switched next builds on it
        self.trace: Trace | None = None
        self.before: Trace | None = None  # the last switch
        self.compared: Comparison | AttnError | None = None
        self._predicted: dict[int, Prediction | AttnError] = {}  # of the trace, by place
        self._undo: list[Request] = []
        self.error: AttnError | None = None
        window = view.request.switches.mask.window
        self._window = DEFAULT_WINDOW if window is None else window  # the last N of window:N
        # The last that were good, to follow the selection.
        self._tokens: Tokens | None = None
        self._target: Tokens | None = None
        self._read: tuple[tuple[object, ...], list[Read]] | None = None

    @property
    def scene(self) -> Scene | None:
        trace = self.trace
        if trace is None or self.lacks_layer:
            return None
        predicted = self._predicted.get(self.view.query)
        return Scene(self.view, trace, self.before, self.compared, prediction=predicted)

    @property
    def lacks_layer(self) -> bool:
        """Whether there is a trace, and the selected layer of it is still on its way."""
        if self.trace is None or self.trace.whole:
            return False
        return self.view.layer >= len(self.trace.layers)

    def as_read(self, scene: Scene) -> Scene:
        """The scene with its layer as the view reads it; itself where that is as it is."""
        view = scene.view
        if view.reading is None or scene.signed:  # scores have no sum that could be 1 again
            self._read = None  # which keeps a pattern alive
            return scene
        from core.reading import read_layer  # most sessions read patterns as they are

        shown = [scene.attention]
        if scene.before is not None and scene.before.request.switches.normalizer != "none":
            shown.append(scene.before.attentions[view.attention])
        key = (view.reading, view.layer, *shown)
        if self._read is None or self._read[0] != key:
            self._read = key, [read_layer(view.reading, each, view.layer) for each in shown]
        read, before = (*self._read[1], None)[:2]
        return replace(scene, read=read, read_before=before)

    # The way of a change: prepare (tokens), is it quick?, answer, accept or refuse.

    def prepare(self, request: Request) -> tuple[Request, Tokens, Tokens | None]:
        """Cut text and target into tokens; blocked keys and numbers typed over follow theirs.

        Raises
        ------
        AttnError
            The request is refused.
        """
        check_request(request)
        before = self.trace
        if before and cut_alike(before.request, request):
            return request, before.tokens, before.target_tokens
        tokens, target = cut(request)
        if self._tokens is not None:
            request = followed(request, self._tokens, tokens)
        return request, tokens, target

    def is_quick(self, request: Request, tokens: Tokens, target: Tokens | None = None) -> bool:
        """Whether the answer takes about a frame or less."""
        text = self.view.compare
        if text is None or not is_quick(request, tokens, target):
            return is_quick(request, tokens, target)
        if len(text) > QUICK_CHARACTERS:
            return False

        from core.compare import compared_tokens  # most sessions compare nothing

        other = attempt(lambda: compared_tokens(request, tokens, text))
        return isinstance(other, AttnError) or is_quick(request, other)

    def answer(
        self, request: Request, tokens: Tokens, target: Tokens | None, text: str | None
    ) -> Answer:
        """Compute what belongs to a request and to another text; may be called in a thread.

        Raises
        ------
        AttnError
            The request is refused. A refusal of the other text is part of the answer.
        """
        shown = self.trace
        known = shown if shown and shown.whole and shown.request == request else None
        result = known or trace(request, tokens, target)
        if text is None:
            return Answer(result)

        from core.compare import compare

        return Answer(result, attempt(lambda: compare(result, text)))

    def accept(self, result: Trace, compared: Comparison | AttnError | None = None) -> None:
        """Take a trace, whole or so far; the selection stays on its token, or else at its place."""
        view = replace(self.view, request=result.request)
        tokens, target = result.tokens, result.target_tokens
        if self._tokens is None:
            check_view(view, tokens, target)
        else:
            view = self._followed(view, self._tokens, tokens, target)
            if self._target is None and target is not None:  # what a target is added for
                view = replace(view, attention="cross")
        self._remember(result)
        if result is not self.trace:
            self._predicted.clear()
        self.compared = None if self.view.compare is None else compared
        self.error = None
        self.asked = result.request
        self.trace = result
        self._tokens, self._target = tokens, target
        self.view = clamped(view, tokens, target)

    def _followed(self, view: View, before: Tokens, tokens: Tokens, target: Tokens | None) -> View:
        """The view with its query and key where their tokens are now."""
        old = sides(view.attention, before, self._target)
        new = sides(view.attention, tokens, target)
        places: dict[str, Any] = {}
        for name, was, now in zip(("query", "key"), old, new, strict=True):
            found = follow(was, now, getattr(view, name))
            if found is not None:
                places[name] = found
        places["reading"] = followed_reading(view.reading, before, tokens)
        return replace(view, **places)

    def _remember(self, result: Trace) -> None:
        """Keep what a switch changes, to show both and to go back; an edit begins anew."""
        old = self.trace
        if old is None or not cut_alike(old.request, result.request):
            self.before = None
            self._undo.clear()
        elif self._undo and goes_on(self._undo[-1], old.request, result.request):
            pass  # a run counts as one change
        elif old.request != result.request:
            # A large trace is not kept: it would be the third in memory during the next change.
            quick = is_quick(old.request, old.tokens, old.target_tokens)
            self.before = old if quick else None
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
        self._predicted.clear()
        self.error = error

    def run(self, request: Request) -> None:
        """Do the whole way of a change at once."""
        try:
            answer = self.answer(*self.prepare(request), self.view.compare)
            self.accept(answer.trace, answer.compared)
        except AttnError as error:
            self.refuse(request, error)

    # Predictions: what the model expects where the selection is.

    def to_predict(self) -> int | None:
        """The place whose prediction is wanted and not there yet."""
        if self.trace is None:
            return None
        from core.predictions import predicted_at  # of real models alone

        place = predicted_at(self.trace, self.view.attention, self.view.query)
        return None if place in self._predicted else place

    def take_prediction(self, trace: Trace, place: int, made: Prediction | AttnError) -> None:
        """Keep a prediction, if it is still the trace's that is shown."""
        if trace is self.trace:
            self._predicted[place] = made

    # Selecting: nothing is computed.

    def select(self, **places: Any) -> None:
        """Set fields of the view, each clamped to what exists."""
        if "precision" in places:
            places["precision"] = max(1, min(places["precision"], MAX_PRECISION))
        if self._tokens is None:  # none are known yet
            places = {name: places[name] for name in places if name not in ("query", "key")}
        self.view = clamped(replace(self.view, **places), self._tokens, self._target)

    def step(self, name: str, by: int) -> None:
        """Move layer, head, query, key, dim, component or precision by `by`, clamped."""
        place = getattr(self.view, name) + by
        scene = self.scene if self.view.reading is not None and name in ("query", "key") else None
        if scene is not None and self.view.pane in READ_PANES:  # from word to word
            place = self.as_read(scene).moved(name, by)
        self.select(**{name: place})

    def move(self, down: int, across: int) -> None:
        """Move the cursor of the active pane."""
        for name, by in zip(cursor(self.view), (down, across), strict=True):
            if name == "component" and by:  # inside the head's columns
                last = self.view.request.model.d_head - 1
                self.select(component=max(0, min(column_of(self.view) + by, last)))
            elif by:
                self.step(name, by)

    def cycle(self, name: str, by: int) -> None:
        """Go round the values of a field of the view, or along the zooms."""
        values: Sequence[Any] = {
            "pane": panes(self.view),
            "vector": VECTORS,
            "array": tuple(EDITABLE),
            "stage": stages(self.view.request.model),
            "zoom": ZOOMS,
            "colours": SCALES,
            "pool": POOLS,
            "statistic": SHOWN,
            "cell": CELLS,
            "order": ORDERS,
            "attention": ATTENTIONS if self._target else ATTENTIONS[:1],
        }[name]
        now = getattr(self.view, name)  # before the first trace it may be none of them
        place = values.index(now) + by if now in values else 0
        place = max(0, min(place, len(values) - 1)) if name == "zoom" else place % len(values)
        self.select(**{name: values[place]})

    def compare_with(self, text: str | None) -> None:
        """Choose the other text, or none; what belongs to it comes with the next answer."""
        self.view = replace(self.view, compare=text)
        if text is None:
            self.compared = None
            self.view = clamped(self.view, self._tokens, self._target)

    # Switching: requests for another trace.

    def with_text(self, text: str) -> Request:
        return self._cut_anew(replace(self.asked, text=text))

    def with_tokenizer(self, name: str) -> Request:
        return self._cut_anew(replace(self.asked, tokenizer=name))

    def _cut_anew(self, request: Request) -> Request:
        """The request with its wishes where their tokens are now."""
        return replace(request, learning=moved_wishes(self.asked, request))

    def with_target(self, target: str | None) -> Request:
        return replace(self.asked, target=target)

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

    def toggle_blocked(self, chosen: Iterable[int]) -> Request:
        """Block all of the chosen tokens as keys, or free them where all are."""
        mask = self.asked.switches.mask
        return self.with_switch(mask=replace(mask, blocked=_toggled(mask.blocked, chosen)))

    def toggle_masked(self, chosen: Iterable[int]) -> Request:
        """Mask all of the chosen tokens, or show them where all are."""
        return self.with_switch(masked=_toggled(self.asked.switches.masked, chosen))

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
        return self.with_switch(temperature=beside(TEMPERATURES, now, by))


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
