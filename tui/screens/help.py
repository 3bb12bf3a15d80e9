"""The help: every key, and how to read the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from core.language import N_, _
from core.types import AnyModel, CheckpointModel
from tui.keys import GRID_KEYS, GROUPS, LEARNING_KEYS
from tui.labels import pad, wrap
from tui.scene import translates

_IN_LEARNING = N_("In the pane of learning")
_IN_GRID = N_("In the grid of heads")
_EVERYWHERE = (
    N_("In the sentence, letters are text; F1, ^p and ^q work there too."),
    N_("Mouse: click a token, a row, a head, a cell or a key; the wheel scrolls."),
)
_WIDTH, _AROUND = 118, 8  # cells of the box, and those of frame, padding and scrollbar
_TWO_COLUMNS = 110  # cells; below, the groups stand one under the other
_MEANING, _TARGET = N_("What it means"), N_("A target")
_LEARNS, _LAYERS = N_("What it learns"), N_("Several layers")
READING = (
    (
        N_("What you see"),
        N_(
            "Each token asks with its query q and is found by its key k. q·k, divided by √d_head"
            " and the temperature, gives a score for each key; softmax turns the scores of one"
            " query into weights that add up to 1. z is the mix of the values v by these weights;"
            " the heads' z side by side, times W_O, are attn_out."
        ),
    ),
    (
        _MEANING,
        N_(
            "The weights of this model are random numbers from a seed. They show the mechanism"
            " exactly, and no meaning: that one word attends to another here says nothing about"
            " language. A lesson may give its matrices instead; the first line then says so."
        ),
    ),
    (
        _TARGET,
        N_(
            "The encoder's self-attention reads the source. The decoder's reads the target and is"
            " always causal: a word sees itself and those before it. In cross-attention the target"
            " asks and the source answers, with keys and values. The mask that is switched is the"
            " encoder's; words that are blocked are so in cross-attention too."
        ),
    ),
    (
        _LEARNS,
        N_(
            "With wishes for the weights of rows, W_Q and W_K of one head of layer 0 are found by"
            " gradient descent on the cross-entropy, -Σ wish · ln weight. Real models learn in that"
            " way too, and it is all that they have in common with this: a few weights learned on"
            " one sentence are no language."
        ),
    ),
    (
        N_("Signs"),
        N_(
            "× a blocked token, or a dropped column · / a word with some of its tokens blocked or"
            " dropped · – or · a masked cell, exactly 0 · * a number typed over · <0.001 a weight"
            " that is not 0 but rounds to it · full bar: the weight that a whole bar stands for ·"
            " bits: entropy of the row, from 0 (one key) to log2 of the number of keys (all alike)."
        ),
    ),
    (
        N_("The grid of heads"),
        N_(
            "A badge names where at least half of a head's weight lies: induction, the token after"
            " an earlier occurrence of the query's token; duplicate, that occurrence; previous,"
            " next, self, first, special. Else it says how evenly the weight is spread, as entropy"
            " ÷ its largest value: focused to 0.5, broad from 0.9, mixed between. Each number is a"
            " mean over the rows whose weight could have gone elsewhere; – where there is no such"
            " row. Dropped columns and merged words count as they are read."
        ),
    ),
    (
        N_("Two texts"),
        N_(
            "Both are run in the same way; tokens that both have, in the same order, are paired."
            " change is other − this; - stands before a token that only this text has, + before one"
            " of the other. ½ Σ |change| is 0 for the same row and 1 where nothing is shared; heads"
            " are ranked by its mean over the rows that both have."
        ),
    ),
    (
        _LAYERS,
        N_("resid_post = LayerNorm(resid_pre + attn_out) enters the next layer. There is no MLP."),
    ),
)
# Of a real model, in place of those with the same titles.
REAL = {
    _MEANING: N_(
        "These weights were learned from much text, and a row shows where a head looks. It does not"
        " show what the model's answer depends on: attention is not explanation (Jain and Wallace"
        " 2019)."
    ),
    _LAYERS: N_(
        "Around attention, each layer has norms and an MLP; they are computed, and not shown. Where"
        " heads share keys and values, each head shows its own copy."
    ),
    _TARGET: N_(
        "A adds one, which begins empty; a goes from encoder to decoder to cross-attention. The"
        " decoder reads a token that starts every target, then the target without its end: a row"
        " is the state from which the next token is predicted. Blocked words of the source are"
        " blocked in cross-attention too."
    ),
}
PREDICTIONS = (
    N_("Predictions"),
    N_(
        "The language head turns what leaves the last layer into a probability for each token of"
        " the vocabulary. A causal model says at every token what follows it, a decoder what"
        " follows in its target. A model with a mask token, such as BERT, says what could stand"
        " where M has put one. › is what stands there really; its rank counts how many tokens are"
        " more probable, from 1."
    ),
)


def keys_content(*titles: str, usable: Callable[[str], bool]) -> Content:
    """The keys of some groups, as far as their actions are usable."""
    parts: list[str | tuple[str, str]] = []
    for title in titles:
        parts.append((f"{_(title)}\n", "bold $accent"))
        keys = {**GROUPS, _IN_LEARNING: LEARNING_KEYS, _IN_GRID: GRID_KEYS}[title]
        for key in (key for key in keys if usable(key.action)):
            parts.append((f"  {pad(key.shown, 8)}", "bold"))
            parts.append(f"{_(key.help)}\n")
        parts.append("\n")
    return Content.assemble(*parts)


def reading_content(width: int, model: AnyModel) -> Content:
    """Where keys and mouse work, then how to read a model's numbers, in lines of so many cells.

    Textual breaks lines at spaces, of which Chinese has none.
    """

    def lines(text: str) -> str:
        return "\n".join(wrap(_(text), width)) + "\n"

    real = isinstance(model, CheckpointModel)
    parts: list[str | tuple[str, str]] = [lines(text) for text in _EVERYWHERE]
    for title, usual in (*READING, PREDICTIONS) if real else READING:
        if real and (title == _LEARNS or (title == _TARGET and not translates(model))):
            continue
        text = REAL.get(title, usual) if real else usual
        parts += ["\n", (f"{_(title)}\n", "bold $accent"), lines(text)]
    return Content.assemble(*parts, "\n")


class HelpScreen(ModalScreen[None]):
    """Shown over the explorer until esc, ? or q."""

    BINDINGS: ClassVar = [Binding("escape,question_mark,f1,q", "dismiss", "close", show=False)]
    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        & > VerticalScroll {
            width: 118;
            max-width: 100%;
            height: 100%;
            border: round $accent;
            border-title-color: $accent;
            border-subtitle-color: $foreground 60%;
            background: $background;
            padding: 0 2;
        }
        & Horizontal, & Static { height: auto; }
        & Horizontal > Static { width: 1fr; }
        &.-narrow Horizontal { layout: vertical; }
    }
    """

    def __init__(
        self, model: AnyModel, usable: Callable[[str], bool] = lambda _action: True
    ) -> None:
        super().__init__()
        self._model = model
        self._usable = usable

    def compose(self) -> ComposeResult:
        with VerticalScroll() as scroll:
            scroll.border_title = _("Help")
            scroll.border_subtitle = _("↑↓ scroll · esc close")
            with Horizontal():
                yield Static(keys_content("Select", "Change", _IN_LEARNING, usable=self._usable))
                yield Static(keys_content("Look", "Program", _IN_GRID, usable=self._usable))
            yield Static(id="reading")

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < _TWO_COLUMNS, "-narrow")
        width = min(event.size.width, _WIDTH) - _AROUND
        self.query_one("#reading", Static).update(reading_content(width, self._model))
