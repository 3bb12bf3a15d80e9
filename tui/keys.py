"""Every key of the explorer: bindings and help are made from one table, the footer hints at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from textual.binding import Binding

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
        What it does, for the help and the palette.
    """

    keys: str
    shown: str
    action: str
    help: str

    def binding(self) -> Binding:
        return Binding(self.keys, self.action, self.help, show=False, key_display=self.shown)


SELECT = (
    Key("up,k", "↑ k", "step('query',-1)", "the token above becomes the query"),
    Key("down,j", "↓ j", "step('query',1)", "the token below becomes the query"),
    Key("left,h", "← h", "sideways(-1)", "head before (in the matrix: key before)"),
    Key("right,l", "→ l", "sideways(1)", "head after (in the matrix: key after)"),
    Key("comma", ",", "step('head',-1)", "head before, from any pane"),
    Key("full_stop", ".", "step('head',1)", "head after, from any pane"),
    Key("left_square_bracket", "[", "step('layer',-1)", "layer before"),
    Key("right_square_bracket", "]", "step('layer',1)", "layer after"),
    Key("shift+up,K", "⇧↑ K", "step('key',-1)", "key before"),
    Key("shift+down,J", "⇧↓ J", "step('key',1)", "key after"),
    Key("home,g", "home g", "jump(0)", "first token"),
    Key("end,G", "end G", "jump(-1)", "last token"),
    Key("pageup", "pgup", "page(-1)", "a page up"),
    Key("pagedown", "pgdn", "page(1)", "a page down"),
)
LOOK = (
    Key("tab", "tab", "next_pane(1)", "next pane"),
    Key("shift+tab", "⇧tab", "next_pane(-1)", "pane before"),
    Key("1", "1", "pane('tokens')", "tokens"),
    Key("2", "2", "pane('weights')", "weights of the query, head beside head"),
    Key("3", "3", "pane('matrix')", "matrix of the head, queries × keys"),
    Key("4", "4", "pane('vectors')", "vectors of the query"),
    Key("5,d", "5 d", "pane('derivation')", "derivation: every number by hand"),
    Key("space", "space", "stage(1)", "next stage of the derivation, or the first"),
    Key("b", "b", "stage(-1)", "stage before"),
    Key("r", "r", "guess", "hide this stage's results, or show the next"),
    Key("R", "R", "show_results", "show all results of the stage"),
    Key("v", "v", "cycle('vector',1)", "next vector"),
    Key("V", "V", "cycle('vector',-1)", "vector before"),
    Key("z", "z", "cycle('zoom',1)", "wider matrix cells, more digits"),
    Key("Z", "Z", "cycle('zoom',-1)", "narrower matrix cells, more of the pattern"),
    Key("plus,equals_sign", "+", "step('precision',1)", "more digits"),
    Key("minus", "-", "step('precision',-1)", "fewer digits"),
    Key("greater_than_sign", ">", "lesson(1)", "next step of a lesson"),
    Key("less_than_sign", "<", "lesson(-1)", "step of a lesson before"),
)
CHANGE = (
    Key("e,i", "e i", "edit", "edit the sentence"),
    Key("escape", "esc", "focus_pane", "leave the sentence, back to the panes"),
    Key("m", "m", "mask", "mask: none, causal, window"),
    Key("x", "x", "block", "block the query's token as a key, or free it"),
    Key("s", "s", "switch('scale')", "÷√d_head on or off"),
    Key("p", "p", "switch('positions')", "positions on or off"),
    Key("w", "w", "word('projections')", "projections seeded, or none: Q = K = V = X"),
    Key("n", "n", "word('normalizer')", "normalizer: softmax, linear attention, none"),
    Key("u", "u", "undo", "take the last switch back"),
    Key("t", "t", "temperature(1)", "hotter: flatter weights"),
    Key("T", "T", "temperature(-1)", "colder: sharper weights"),
)
PROGRAM = (
    Key("y", "y", "copy", "copy the command that reopens this view"),
    Key("c", "c", "copy_derivation('text')", "copy the derivation as text"),
    Key("C", "C", "copy_derivation('markdown')", "copy the derivation as Markdown"),
    Key("question_mark,f1", "? F1", "help", "this help"),
    Key("ctrl+p", "^p", "app.command_palette", "search heads, layers, tokens, examples"),
    Key("q,ctrl+q", "q ^q", "app.quit", "quit"),
)
GROUPS = {"Select": SELECT, "Look": LOOK, "Change": CHANGE, "Program": PROGRAM}
BINDINGS: list[Binding] = [key.binding() for group in GROUPS.values() for key in group]


class Hint(NamedTuple):
    """What the footer says: keys and a word, and the key that a click presses."""

    shown: str
    word: str
    key: str


# Most important first. In the matrix, left and right go from key to key.
_ALL = (
    Hint("[ ]", "layer", "right_square_bracket"),
    Hint("e", "edit", "e"),
    Hint("tab", "pane", "tab"),
    Hint("d", "derive", "d"),
    Hint("m", "mask", "m"),
    Hint("s", "scale", "s"),
    Hint("p", "positions", "p"),
    Hint("t", "temperature", "t"),
    Hint("w", "projections", "w"),
    Hint("n", "normalizer", "n"),
    Hint("v", "vector", "v"),
    Hint("z", "zoom", "z"),
    Hint("+-", "digits", "plus"),
    Hint("x", "block", "x"),
    Hint("u", "undo", "u"),
    Hint("y", "copy", "y"),
    Hint("^p", "palette", "ctrl+p"),
)
BROWSING = (Hint("↑↓", "token", "down"), Hint("←→", "head", "right"), *_ALL)
MATRIX = (
    Hint("↑↓", "query", "down"),
    Hint("←→", "key", "right"),
    Hint(", .", "head", "full_stop"),
    Hint("z", "zoom", "z"),
    *(hint for hint in _ALL if hint.key != "z"),
)
DERIVATION = (
    Hint("space", "next stage", "space"),
    Hint("b", "back", "b"),
    Hint("r", "guess", "r"),
    Hint("↑↓", "query", "down"),
    Hint("←→", "key", "right"),
    Hint(", .", "head", "full_stop"),
    Hint("c", "copy", "c"),
    *(hint for hint in _ALL if hint.key not in ("d", "v", "z", "x", "y")),
)
EDITING = (
    Hint("esc", "done", "escape"),
    Hint("enter", "new line", "enter"),
    Hint("^z", "undo", "ctrl+z"),
    Hint("^p", "palette", "ctrl+p"),
)
BROWSING_LAST = (Hint("?", "help", "question_mark"), Hint("q", "quit", "q"))
EDITING_LAST = (Hint("F1", "help", "f1"), Hint("^q", "quit", "ctrl+q"))


def works(key: str, view: View, seen: bool, wide: bool, switched: bool) -> bool:
    """Whether a key of the footer would change anything now.

    Parameters
    ----------
    key : str
    view : View
    seen : bool
        There is a trace to look at.
    wide : bool
        All panes are shown.
    switched : bool
        There is a switch to take back.
    """
    model = view.request.model
    if not seen:
        return key in ("e", "y", "ctrl+p")
    in_matrix = view.pane in ("matrix", "derivation")
    return {
        "right": model.heads > 1 or in_matrix,
        "full_stop": model.heads > 1,
        "right_square_bracket": model.layers > 1,
        "v": wide or view.pane == "vectors",
        "z": wide or in_matrix,
        "u": switched,
    }.get(key, True)
