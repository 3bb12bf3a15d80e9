"""The lines around the panes: what is run, what is switched, which pane, which keys."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual import events
from textual.reactive import reactive

from core import counts
from core.language import N_, _
from core.stacks import mask_of, rules_of, stack_of
from core.types import Attention, CheckpointModel, Mask
from tui.choices import PANES
from tui.keys import Hint, pane_key
from tui.labels import clip
from tui.messages import Pressed, Selected
from tui.scene import View, lacks_target, panes
from tui.theme import Palette
from tui.widgets.lines import Line, Lines, fit, line_cells
from tui.wording import (
    RANDOM,
    TRAINED,
    caveat,
    honest,
    model_name,
    request_in_words,
    shape_words,
    steps_in_words,
)

# What is to be said of weights, and how where there is less room.
_SHORTER_CAVEATS = {
    RANDOM: (N_("random: the mechanism, not meaning"), N_("random: no meaning")),
    TRAINED: (N_("trained: attention is not explanation"), N_("trained: where, not why")),
}
# Step after step, until all fits. Translated too; a short form may equal the long one.
_SHORTER = (
    {N_("temperature"): N_("temp")},
    {N_("positions"): N_("pos")},
    {N_(" token masked"): N_(" hidden"), N_(" tokens masked"): N_(" hidden")},
    {N_("mask none"): N_("no mask")},
    {" · ": "  "},
    {N_("no mask +"): "+", N_("  mask "): "  "},
    {N_("layer "): N_("L"), N_("head "): N_("H")},
    {" × ": "×"},
    {N_(" tokens"): ""},
)


# Of tabs; the key bar has these words, too.
_SHORTER_TABS = {
    N_("derivation"): N_("derive"),
    N_("learning"): N_("learn"),
    N_("predictions"): N_("predict"),
}
_SHORTEST_TAB = 5  # cells of a name, the sign of the cut among them


class ViewLine(Lines):
    """A line about the view, which is there even where no trace is.

    It is drawn with the next scene, so the view is to be given first.
    """

    view: View | None = None


class Header(ViewLine):
    """The model, and the truth about it."""

    def draw(self, palette: Palette, width: int, height: int) -> list[Line]:
        return [fit(header_line(self.view, palette, width), width, palette.base)]


def header_line(view: View | None, palette: Palette, width: int) -> Line:
    """Name and model at the left, the warning at the right, as long as both fit."""
    name: Line = [(" attn-tui", palette.selected)]
    if view is None:
        return name
    model = view.request.model
    shape = counts.shape(stack_of(model, view.attention))
    seed = "" if model.seed is None else _("seed {seed}").format(seed=model.seed) + " · "
    facts = f"  {seed}{shape}"
    stacks = shape_words(view.request)
    shape = f"{stacks} · {shape}" if stacks else shape
    writes = model.writes if isinstance(model, CheckpointModel) else None
    whole = shape
    if writes is not None:
        stack = _("encoder") if view.attention == "encoder" else _("decoder")
        whole, shape = counts.shapes(model, writes), f"{stack} {shape}"
    longer = f"  {model_name(model)} · {seed}{whole} · d_model {model.d_model}"
    said = caveat(model)
    warnings = list(map(_, (said, *_SHORTER_CAVEATS.get(said, ()))))
    learning = view.request.learning
    if learning is not None and learning.steps:
        warnings = [honest(learning), _("learned on one sentence"), _("learned: no meaning")]
    shorter = [f"  {seed}{shape}", facts]
    if said == TRAINED:
        named = [f"{name} · {shape}" for name in (model_name(model), model.name)]
        only = [f"  {model.name}", facts]  # of two stacks it is news which is seen
        shorter = [f"  {left}" for left in named] + (only if writes is None else only[::-1])
    for left in (longer, *shorter):
        for warning in warnings[:1] if left is longer else warnings:
            gap = width - line_cells(name) - cell_len(left) - cell_len(warning) - 1
            if gap >= 2:
                return [*name, (left + " " * gap, palette.base), (warning, palette.dim)]
    return [*name, (clip(facts, width - line_cells(name)), palette.base)]


class Status(ViewLine):
    """Where we are, and what is switched."""

    work: reactive[str] = reactive("", repaint=False)  # what is said of a long computation

    def watch_work(self) -> None:
        self.redraw()

    def draw(self, palette: Palette, width: int, height: int) -> list[Line]:
        attention = self.scene.attention if self.scene else None
        line = status_line(self.view, attention, palette, width, self.work)
        return [fit(line, width, palette.base)]


def status_line(
    view: View | None, attention: Attention | None, palette: Palette, width: int, work: str = ""
) -> Line:
    """Layer, head, switches and tokens, in shorter words where the width is short; or the work."""
    if work:
        return [(" " + clip(work, width - 2), palette.selected)]
    if view is None:
        return []
    request, learning = view.request, view.request.learning
    rule = attention.rules[view.layer] if attention else _rule_of(view)
    words = [
        *_reading(view),
        *([_(view.attention)] if request.target is not None else []),
        _("layer {n}").format(n=view.layer),
        _("head {n}").format(n=view.head),
        *request_in_words(request, rule, view.attention),
        *([] if learning is None else [steps_in_words(learning)]),
        _("no tokens") if attention is None else _counts(attention),
        *([_("A: a target for the decoder")] if lacks_target(request) else []),
    ]
    text = " · ".join(words)
    for step in _SHORTER:
        if cell_len(text) > width - 2:
            for long, short in step.items():
                text = text.replace(_(long), short and _(short))
    return [(" " + clip(text, width - 2), palette.base)]


def _reading(view: View) -> list[str]:
    """How patterns are read, first of all: a number made 1 again is not the model's."""
    if view.reading is None:
        return []
    if view.request.switches.normalizer == "none":
        return [_("nothing merged or dropped: scores do not sum to 1")]
    from tui.reading import reading_in_words

    return reading_in_words(view.reading, own=view.attention != "decoder")


def _rule_of(view: View) -> Mask:
    """The mask that will hold, before there is a trace."""
    model, mask = view.request.model, view.request.switches.mask
    if isinstance(model, CheckpointModel):
        return rules_of(model, mask.blocked, view.attention)[view.layer]
    return mask_of(view.attention, mask)


def _counts(attention: Attention) -> str:
    """How many tokens attend, and to how many others."""
    queries, keys = len(attention.queries.tokens), len(attention.keys.tokens)
    words = counts.tokens(keys)
    return f"{queries} × {words}" if attention.queries is not attention.keys else words


class Tabs(ViewLine):
    """Which pane is shown where there is room for one only."""

    def draw(self, palette: Palette, width: int, height: int) -> list[Line]:
        line: Line = []
        for pane, text in tab_texts(self.view, width):
            active = self.view is not None and self.view.pane == pane
            line.append((text, palette.selected if active else palette.dim))
        return [fit(line, width, palette.base)]

    def on_click(self, event: events.Click) -> None:
        x = event.x
        for pane, text in tab_texts(self.view, self.size.width):
            x -= cell_len(text)
            if x < 0:
                self.post_message(Selected(pane=pane))
                return


def tab_texts(view: View | None, width: int) -> list[tuple[str, str]]:
    """Panes and what stands for them: key and name, closer where there is less room, and of all but
    the active one a shorter name, some clipped, or only the key where there is least.
    """
    active = None if view is None else view.pane
    shown = PANES if view is None else panes(view)

    def texts(names: dict[str, str], end: str = "") -> list[tuple[str, str]]:
        return [
            (pane, f"{'▸' if pane == active else ' '}{pane_key(pane)} {name}".rstrip() + end)
            for pane, name in names.items()
        ]

    def over(found: list[tuple[str, str]]) -> int:
        return sum(cell_len(text) for _, text in found) - width

    whole = {pane: _(pane) for pane in shown}
    short = {pane: _(pane if pane == active else _SHORTER_TABS.get(pane, pane)) for pane in shown}
    clipped = _clipped(short, active, over(texts(short)))
    for found in (texts(whole, " "), texts(whole), texts(short), texts(clipped)):
        if over(found) <= 0:
            return found
    return texts({pane: _(pane) if pane == active else "" for pane in shown}, " ")


def _clipped(names: dict[str, str], active: str | None, cells: int) -> dict[str, str]:
    """Names with as many cells less, the longest clipped first and the active one not at all."""
    for pane in sorted(names, key=lambda pane: -cell_len(names[pane])):
        long = cell_len(names[pane])
        if pane != active and cells > 0 and long > _SHORTEST_TAB:
            names = {**names, pane: clip(names[pane], max(_SHORTEST_TAB, long - cells))}
            cells -= long - cell_len(names[pane])
    return names


class KeyBar(Lines):
    """The keys that work now, as many as fit; a click presses one."""

    draws_scene = False

    hints: reactive[tuple[Sequence[Hint], Sequence[Hint]]] = reactive(((), ()), repaint=False)

    def __init__(self) -> None:
        super().__init__()
        self._shown: list[tuple[int, str]] = []  # end of each hint, and its key

    def watch_hints(self) -> None:
        self.redraw()

    def draw(self, palette: Palette, width: int, height: int) -> list[Line]:
        line, self._shown = key_line(*self.hints, palette, width)
        return [fit(line, width, palette.base)]

    def on_click(self, event: events.Click) -> None:
        start = 0
        for end, key in self._shown:
            if start <= event.x < end:
                self.post_message(Pressed(key))
                return
            start = end


def key_line(
    hints: Sequence[Hint], last: Sequence[Hint], palette: Palette, width: int
) -> tuple[Line, list[tuple[int, str]]]:
    """The line, and where each hint ends; `last` is always there, `…` stands for what is not."""
    kept = [" ", *(f"{hint.shown} {_(hint.word)}  " for hint in last)]
    room = width - sum(cell_len(text) for text in kept) - 2
    fitting: list[Hint] = []
    for hint in hints:
        room -= cell_len(f"{hint.shown} {_(hint.word)}  ")
        if room < 0:
            break
        fitting.append(hint)
    line: Line = [(" ", palette.base)]
    ends: list[tuple[int, str]] = []
    for shown, word, key in fitting:
        line += [(shown, palette.selected), (f" {_(word)}  ", palette.dim)]
        ends.append((line_cells(line), key))
    if len(fitting) < len(hints):
        line.append(("… ", palette.dim))
    for shown, word, key in last:
        line += [(shown, palette.selected), (f" {_(word)}  ", palette.dim)]
        ends.append((line_cells(line), key))
    return line, ends
