"""Every key of the explorer: bindings and help are made from one table, the footer hints at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from textual.actions import parse
from textual.binding import Binding

from core.language import N_
from core.stacks import stack_of
from core.types import CheckpointModel
from tui.choices import ORDERS
from tui.scene import READ_PANES, heads_of, panes, translates

if TYPE_CHECKING:
    from tui.scene import View


@dataclass(frozen=True, slots=True)
class Key:
    """One action with its keys.

    Attributes
    ----------
    keys : str
        Textual's names, joined with commas.
    shown : str
        How a person reads the keys.
    action : str
    help : str
        What it does, for the help and the palette; in English, as are the words of `Hint`.
    """

    keys: str
    shown: str
    action: str
    help: str

    def binding(self) -> Binding:
        return Binding(self.keys, self.action, self.help, show=False, key_display=self.shown)


SELECT = (
    Key("up,k", "↑ k", "move(-1,0)", N_("the token above becomes the query")),
    Key("down,j", "↓ j", "move(1,0)", N_("the token below becomes the query")),
    Key("left,h", "← h", "move(0,-1)", N_("head before (in the matrix: key before)")),
    Key("right,l", "→ l", "move(0,1)", N_("head after (in the matrix: key after)")),
    Key("comma", ",", "step('head',-1)", N_("head before, from any pane")),
    Key("full_stop", ".", "step('head',1)", N_("head after, from any pane")),
    Key("a", "a", "attention", N_("attention: encoder, decoder, cross")),
    Key("left_square_bracket", "[", "step('layer',-1)", N_("layer before")),
    Key("right_square_bracket", "]", "step('layer',1)", N_("layer after")),
    Key("shift+up,K", "⇧↑ K", "step('key',-1)", N_("key before")),
    Key("shift+down,J", "⇧↓ J", "step('key',1)", N_("key after")),
    Key("home,g", "home g", "jump(0)", N_("first token")),
    Key("end,G", "end G", "jump(-1)", N_("last token")),
    Key("S", "S", "pair(1)", N_("next strongest pair of the head")),
    Key("B", "B", "pair(-1)", N_("strongest pair before")),
    Key("pageup", "pgup", "page(-1)", N_("a page up")),
    Key("pagedown", "pgdn", "page(1)", N_("a page down")),
)
LOOK = (
    Key("tab", "tab", "next_pane(1)", N_("next pane")),
    Key("shift+tab", "⇧tab", "next_pane(-1)", N_("pane before")),
    Key("1", "1", "pane('tokens')", N_("tokens")),
    Key("2", "2", "pane('weights')", N_("weights of the query, head beside head")),
    Key("3", "3", "pane('matrix')", N_("matrix of the head, queries × keys")),
    Key("4", "4", "pane('vectors')", N_("vectors of the query")),
    Key("5,d", "5 d", "pane('derivation')", N_("derivation: every number by hand")),
    Key("6", "6", "pane('numbers')", N_("numbers to type over: scores, X, matrices")),
    Key("7", "7", "pane('learning')", N_("learning: wish for weights, see them come")),
    Key("8", "8", "pane('compare')", N_("compare: what another text changes")),
    Key("9", "9", "pane('grid')", N_("grid: every head, by a statistic")),
    Key("0", "0", "pane('predictions')", N_("predictions: the next token, or a masked one")),
    Key("space", "space", "stage(1)", N_("next stage of the derivation, or the first")),
    Key("b", "b", "stage(-1)", N_("stage before")),
    Key("r", "r", "guess", N_("hide this stage's results, or show the next")),
    Key("R", "R", "show_results", N_("show all results of the stage")),
    Key("right_curly_bracket", "}", "step('component',1)", N_("next component, term by term")),
    Key("left_curly_bracket", "{", "step('component',-1)", N_("component before")),
    Key("v", "v", "next_shown(1)", N_("next vector; beside the numbers, next array")),
    Key("V", "V", "next_shown(-1)", N_("vector before; or array before")),
    Key("z", "z", "cycle('zoom',1)", N_("wider matrix cells, more digits")),
    Key("Z", "Z", "cycle('zoom',-1)", N_("narrower matrix cells, more of the pattern")),
    Key("P", "P", "cycle('pool',1)", N_("pooled cells: largest weight, or mean")),
    Key("plus,equals_sign", "+", "step('precision',1)", N_("more digits")),
    Key("minus", "-", "step('precision',-1)", N_("fewer digits")),
    Key("W", "W", "read('words')", N_("words: merge their pieces, or not")),
    Key("f", "f", "read('drop')", N_("drop special tokens, the first key, none")),
    Key("F", "F", "read('key')", N_("drop the selected key's column, or keep it")),
    Key("L", "L", "read('cap')", N_("limit: cap them in place of dropping them")),
    Key("C", "C", "cycle('colours',1)", N_("colours by matrix, by row, logarithmic")),
    Key("greater_than_sign", ">", "lesson(1)", N_("next step of a lesson")),
    Key("less_than_sign", "<", "lesson(-1)", N_("step of a lesson before")),
)
CHANGE = (
    Key("e,i", "e i", "edit", N_("edit the sentence")),
    Key("A", "A", "edit_target", N_("edit the target, or add one")),
    Key("o", "o", "other", N_("compare: edit the other text")),
    Key("escape", "esc", "leave", N_("leave the sentence; cancel what takes long")),
    Key("ctrl+r,f5", "^r F5", "again", N_("compute again what was cancelled")),
    Key("m", "m", "mask", N_("mask: none, causal, window")),
    Key("x", "x", "block", N_("block the query's token as a key, or free it")),
    Key("M", "M", "mask_token", N_("mask the query's token, or show it again")),
    Key("s", "s", "switch('scale')", N_("÷√d_head on or off")),
    Key("p", "p", "switch('positions')", N_("positions on or off")),
    Key("w", "w", "word('projections')", N_("projections seeded, or none: Q = K = V = X")),
    Key("n", "n", "word('normalizer')", N_("normalizer: softmax, linear attention, none")),
    Key("enter", "enter", "type_over", N_("to the numbers; there, type one over")),
    Key("delete,backspace", "del", "put_back", N_("there, put the original number back")),
    Key("u", "u", "undo", N_("undo the last switch")),
    Key("t", "t", "temperature(1)", N_("hotter: flatter weights")),
    Key("T", "T", "temperature(-1)", N_("colder: sharper weights")),
)
PROGRAM = (
    Key("y", "y", "copy", N_("copy the command; in the derivation, its text")),
    Key("Y", "Y", "copy_derivation('markdown')", N_("copy the derivation as Markdown")),
    Key("c", "c", "copy_command", N_("copy the command that reopens this view")),
    Key("question_mark,f1", "? F1", "help", N_("this help")),
    Key("ctrl+p", "^p", "app.command_palette", N_("search heads, layers, tokens, examples")),
    Key("q,ctrl+q", "q ^q", "app.quit", N_("quit")),
)
GROUPS = {
    N_("Select"): SELECT,
    N_("Look"): LOOK,
    N_("Change"): CHANGE,
    N_("Program"): PROGRAM,
}
BINDINGS: list[Binding] = [key.binding() for group in GROUPS.values() for key in group]
# While the pane has the focus, in place of what the keys do elsewhere.
LEARNING_KEYS = (
    Key("space", "space", "screen.run_learning", N_("learn, or pause")),
    Key("n", "n", "screen.learn(1)", N_("one step of learning")),
    Key("b", "b", "screen.learn(-1)", N_("one step back")),
    Key("r", "r", "screen.reset_learning", N_("forget what was learned")),
    Key("up,k", "↑ k", "screen.step('key',-1)", N_("the key above")),
    Key("down,j", "↓ j", "screen.step('key',1)", N_("the key below")),
    Key("shift+up,K", "⇧↑ K", "screen.step('query',-1)", N_("the row of the token above")),
    Key("shift+down,J", "⇧↓ J", "screen.step('query',1)", N_("the row of the token below")),
    Key("left,h", "← h", "screen.paint(-1)", N_("wish less for the key")),
    Key("right,l", "→ l", "screen.paint(1)", N_("wish more for the key")),
    Key("enter", "enter", "screen.type_wish", N_("type the wish for the row")),
    Key("delete,backspace", "del", "screen.drop_wish", N_("take the wish for the row back")),
    Key("plus,equals_sign", "+", "screen.rate(1)", N_("larger learning rate")),
    Key("minus", "-", "screen.rate(-1)", N_("smaller learning rate")),
)
LEARNING_BINDINGS: list[Binding] = [key.binding() for key in LEARNING_KEYS]


GRID_KEYS = (
    Key("up,k", "↑ k", "screen.move(-1,0)", N_("the layer above, or the row")),
    Key("down,j", "↓ j", "screen.move(1,0)", N_("the layer below, or the row")),
    Key("left,h", "← h", "screen.move(0,-1)", N_("the head before")),
    Key("right,l", "→ l", "screen.move(0,1)", N_("the head after")),
    Key("enter", "enter", "screen.open_head", N_("open the head in the matrix")),
    Key("v", "v", "screen.cycle('statistic',1)", N_("next statistic")),
    Key("V", "V", "screen.cycle('statistic',-1)", N_("statistic before")),
    Key("O", "O", "screen.cycle('order',1)", N_("heads by layer, or by the statistic")),
    Key("z,Z", "z Z", "screen.cycle('cell',1)", N_("heads as values, or as small matrices")),
)
GRID_BINDINGS: list[Binding] = [key.binding() for key in GRID_KEYS]


def pane_key(pane: str) -> str:
    """The key that shows a pane."""
    return next(key.keys[0] for key in LOOK if key.action == f"pane('{pane}')")


class Hint(NamedTuple):
    """What the footer says: keys and a word, and the key that a click presses."""

    shown: str
    word: str
    key: str


# Most important first. In the matrix, left and right go from key to key.
_ALL = (
    Hint("a", N_("attention"), "a"),
    Hint("[ ]", N_("layer"), "right_square_bracket"),
    Hint("e", N_("edit"), "e"),
    Hint("A", N_("target"), "A"),
    Hint("tab", N_("pane"), "tab"),
    Hint("0", N_("predict"), "0"),
    Hint("M", N_("mask token"), "M"),
    Hint("d", N_("derive"), "d"),
    Hint("m", N_("mask"), "m"),
    Hint("s", N_("scale"), "s"),
    Hint("p", N_("positions"), "p"),
    Hint("t", N_("temperature"), "t"),
    Hint("w", N_("projections"), "w"),
    Hint("n", N_("normalizer"), "n"),
    Hint("7", N_("learn"), "7"),
    Hint("9", N_("grid"), "9"),
    Hint("v", N_("vector"), "v"),
    Hint("z", N_("zoom"), "z"),
    Hint("f", N_("drop"), "f"),
    Hint("W", N_("words"), "W"),
    Hint("C", N_("colours"), "C"),
    Hint("+-", N_("digits"), "plus"),
    Hint("x", N_("block"), "x"),
    Hint("u", N_("undo"), "u"),
    Hint("y", N_("copy"), "y"),
    Hint("^p", N_("palette"), "ctrl+p"),
    Hint("o", N_("compare"), "o"),
)
BROWSING = (Hint("↑↓", N_("token"), "down"), Hint("←→", N_("head"), "right"), *_ALL)
MATRIX = (
    Hint("↑↓", N_("query"), "down"),
    Hint("←→", N_("key"), "right"),
    Hint(", .", N_("head"), "full_stop"),
    Hint("z", N_("zoom"), "z"),
    Hint("S", N_("strongest"), "S"),
    Hint("P", N_("pool"), "P"),
    *(hint for hint in _ALL if hint.key != "z"),
)
DERIVATION = (
    Hint("space", N_("next stage"), "space"),
    Hint("b", N_("back"), "b"),
    Hint("r", N_("guess"), "r"),
    Hint("↑↓", N_("query"), "down"),
    Hint("←→", N_("key"), "right"),
    Hint(", .", N_("head"), "full_stop"),
    Hint("y", N_("copy"), "y"),
    Hint("{ }", N_("component"), "right_curly_bracket"),
    *(hint for hint in _ALL if hint.key not in ("d", "v", "z", "x", "y", "o")),
)
PREDICTING = (
    Hint("↑↓", N_("token"), "down"),
    Hint("M", N_("mask token"), "M"),
    *(hint for hint in _ALL if hint.key not in ("0", "M", "v", "z")),
)
COMPARE = (
    Hint("↑↓", N_("token"), "down"),
    Hint("←→", N_("by change"), "right"),
    Hint(", .", N_("head"), "full_stop"),
    Hint("o", N_("other text"), "o"),
    *(hint for hint in _ALL if hint.key not in ("o", "v", "z")),
)
LEARNING = (
    Hint("space", N_("run/pause"), "space"),
    Hint("n", N_("one step"), "n"),
    Hint("r", N_("reset"), "r"),
    Hint("↑↓", N_("key"), "down"),
    Hint("←→", N_("wish"), "right"),
    Hint("enter", N_("type"), "enter"),
    Hint("+-", N_("rate"), "plus"),
    Hint("⇧↑⇧↓", N_("row"), "shift+down"),
    *(hint for hint in _ALL if hint.key not in ("7", "n", "v", "plus")),
)
GRID = (
    Hint("↑↓", N_("layer"), "down"),
    Hint("←→", N_("head"), "right"),
    Hint("↑↓←→", N_("rank"), "l"),  # in place of the two before, where heads are sorted
    Hint("enter", N_("open"), "enter"),
    Hint("v", N_("statistic"), "v"),
    Hint("O", N_("order"), "O"),
    Hint("z", N_("cell"), "z"),
    *(hint for hint in _ALL if hint.key not in ("right_square_bracket", "v", "z", "y", "plus")),
    *(hint for hint in _ALL if hint.key in ("y", "plus")),
)
NUMBERS = (
    Hint("enter", N_("type over"), "enter"),
    Hint("del", N_("original"), "delete"),
    Hint("↑↓", N_("row"), "down"),
    Hint("←→", N_("column"), "right"),
    Hint("v", N_("array"), "v"),
    Hint("u", N_("undo"), "u"),
    Hint(", .", N_("head"), "full_stop"),
    *(hint for hint in _ALL if hint.key not in ("v", "z", "u")),
)
# Of the panes that have hints of their own; the others have `BROWSING`.
OF_PANE = {
    "matrix": MATRIX,
    "derivation": DERIVATION,
    "numbers": NUMBERS,
    "learning": LEARNING,
    "compare": COMPARE,
    "predictions": PREDICTING,
    "grid": GRID,
}
# In every pane while the selected layer is on its way: another one can be chosen.
_WITHOUT_LAYER = ("right_square_bracket", "e", "y", "ctrl+p")
AWAITING = tuple(hint for hint in _ALL if hint.key in _WITHOUT_LAYER)
EDITING = (
    Hint("esc", N_("done"), "escape"),
    Hint("enter", N_("new line"), "enter"),
    Hint("^z", N_("undo"), "ctrl+z"),
    Hint("^p", N_("palette"), "ctrl+p"),
)
BROWSING_LAST = (Hint("?", N_("help"), "question_mark"), Hint("q", N_("quit"), "q"))
EDITING_LAST = (Hint("F1", N_("help"), "f1"), Hint("^q", N_("quit"), "ctrl+q"))


_SEEDED_KEYS = ("m", "s", "p", "t", "w", "n", "7")  # hints for `_OF_SEEDED`
# Actions that switch the seeded model.
_OF_SEEDED = (
    *("mask", "switch", "word", "temperature"),
    *("type_over", "put_back"),
)
_OF_TARGET = ("edit_target", "attention")


def parsed(key: Key) -> tuple[str, tuple[object, ...]]:
    """The name of a key's action, and what it is called with."""
    _namespace, name, arguments = parse(key.action)
    return name, arguments


def goes_with(action: str, arguments: Sequence[object], view: View) -> bool:
    """Whether an action means anything to the model of a view; a real one is not switched."""
    if not isinstance(view.request.model, CheckpointModel):
        return True
    if action == "pane":  # the one for another text comes with it; some models predict nothing
        return arguments[0] in (*panes(view), "compare", "predictions")
    if action in _OF_TARGET:
        return translates(view.request.model)
    return action not in _OF_SEEDED


def _typed_over(view: View) -> bool:
    """Whether something is typed over under the cursor of the numbers."""
    from tui.numbers import edit_of  # most sessions type no number

    return edit_of(view) is not None


def works(key: str, view: View, seen: bool, beside: str | None, switched: bool) -> bool:
    """Whether a key of the footer would change anything now.

    Parameters
    ----------
    key : str
    view : View
    seen : bool
        There is a trace to look at.
    beside : str, optional
        The pane beside those of the middle, where there is room for all.
    switched : bool
        There is a switch to take back.
    """
    model = view.request.model
    if key in _SEEDED_KEYS and isinstance(model, CheckpointModel):
        return False
    targeted = view.request.target is not None
    wide = beside is not None
    if not seen:
        return key in ("e", "y", "ctrl+p") or (key == "A" and targeted)
    if view.pane == "learning" and key in ("space", "n", "r", "plus"):
        return view.request.learning is not None
    if view.pane == "grid" and key in ("v", "z", "enter"):
        return True
    by_rank = view.pane == "grid" and view.order != ORDERS[0]
    in_numbers = view.pane == "numbers"
    editable = view.attention == "encoder"
    in_matrix = view.pane in ("matrix", "derivation")
    divided = view.request.switches.normalizer != "linear"
    reads = (wide or view.pane in READ_PANES) and view.request.switches.normalizer != "none"
    hides = isinstance(model, CheckpointModel) and model.mask_token is not None
    return {
        "0": "predictions" in panes(view),
        "M": hides,
        "a": targeted,
        "A": targeted or (isinstance(model, CheckpointModel) and translates(model)),
        "o": not targeted,
        "7": not targeted,
        "m": view.attention == "encoder",
        "s": divided,
        "t": divided,
        "x": view.attention != "decoder",
        "enter": not in_numbers or editable,
        "down": not by_rank,
        "right": not by_rank
        and (heads_of(view) > 1 or in_matrix or view.pane in ("numbers", "learning")),
        "l": by_rank,
        "full_stop": heads_of(view) > 1,
        "right_square_bracket": stack_of(model, view.attention).layers > 1,
        "v": editable if in_numbers else bool({"vectors", "numbers"} & {beside, view.pane}),
        "P": view.zoom == 0,
        "9": view.pane != "grid",
        "delete": in_numbers and _typed_over(view),
        "z": wide or in_matrix,
        "C": wide or view.pane == "matrix",
        "f": reads,
        "W": reads,
        "u": switched,
    }.get(key, True)
