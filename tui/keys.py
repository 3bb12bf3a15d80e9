"""Every key of the explorer, once: bindings, footer and help are all made from this table."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding


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
    short : str
        For the footer; empty keeps it out of there.
    help : str
        One sentence for the help.
    """

    keys: str
    shown: str
    action: str
    short: str
    help: str

    def binding(self) -> Binding:
        return Binding(
            self.keys, self.action, self.short or self.help, show=False, key_display=self.shown
        )


SELECT = (
    Key("up,k", "↑ k", "step('query',-1)", "", "the token above becomes the query"),
    Key("down,j", "↓ j", "step('query',1)", "", "the token below becomes the query"),
    Key("left,h", "← h", "sideways(-1)", "", "head before (in the matrix: key before)"),
    Key("right,l", "→ l", "sideways(1)", "", "head after (in the matrix: key after)"),
    Key("comma", ",", "step('head',-1)", "", "head before, from any pane"),
    Key("full_stop", ".", "step('head',1)", "", "head after, from any pane"),
    Key("left_square_bracket", "[", "step('layer',-1)", "", "layer before"),
    Key("right_square_bracket", "]", "step('layer',1)", "", "layer after"),
    Key("shift+up,K", "⇧↑ K", "step('key',-1)", "", "key before"),
    Key("shift+down,J", "⇧↓ J", "step('key',1)", "", "key after"),
    Key("home,g", "home g", "jump(0)", "", "first token"),
    Key("end,G", "end G", "jump(-1)", "", "last token"),
    Key("pageup", "pgup", "page(-1)", "", "a page up"),
    Key("pagedown", "pgdn", "page(1)", "", "a page down"),
)
LOOK = (
    Key("tab", "tab", "next_pane(1)", "pane", "next pane"),
    Key("shift+tab", "⇧tab", "next_pane(-1)", "", "pane before"),
    Key("1", "1", "pane('tokens')", "", "tokens"),
    Key("2", "2", "pane('weights')", "", "weights of the query, head beside head"),
    Key("3", "3", "pane('matrix')", "", "matrix of the head, queries × keys"),
    Key("4", "4", "pane('vectors')", "", "vectors of the query"),
    Key("v", "v", "cycle('vector',1)", "vector", "next vector"),
    Key("V", "V", "cycle('vector',-1)", "", "vector before"),
    Key("z", "z", "cycle('zoom',1)", "zoom", "wider matrix cells, more digits"),
    Key("Z", "Z", "cycle('zoom',-1)", "", "narrower matrix cells, more of the pattern"),
    Key("plus,equals_sign", "+", "step('precision',1)", "", "more digits"),
    Key("minus", "-", "step('precision',-1)", "", "fewer digits"),
)
CHANGE = (
    Key("e,i", "e i", "edit", "edit", "edit the sentence"),
    Key("escape", "esc", "done", "", "leave the sentence, back to the panes"),
    Key("m", "m", "mask", "mask", "mask: none, causal, window"),
    Key("x", "x", "block", "block", "block the query's token as a key, or free it"),
    Key("s", "s", "scale", "scale", "÷√d_head on or off"),
    Key("p", "p", "positions", "positions", "positions on or off"),
    Key("w", "w", "projections", "projections", "projections seeded, or none: Q = K = V = X"),
    Key("n", "n", "normalizer", "normalizer", "normalizer: softmax, linear attention, none"),
    Key("t", "t", "temperature(1)", "temp", "hotter: flatter weights"),
    Key("T", "T", "temperature(-1)", "", "colder: sharper weights"),
)
PROGRAM = (
    Key("y", "y", "copy", "copy", "copy the command that reopens this view"),
    Key("question_mark,f1", "? F1", "help", "", "this help"),
    Key("ctrl+p", "^p", "app.command_palette", "palette", "search heads, layers, tokens, examples"),
    Key("q,ctrl+q", "q ^q", "app.quit", "", "quit"),
)
GROUPS = {"Select": SELECT, "Look": LOOK, "Change": CHANGE, "Program": PROGRAM}
BINDINGS: list[Binding] = [key.binding() for group in GROUPS.values() for key in group]

# What the footer says, most important first: text, the keys that a click presses, the action
# that must be possible now.
Hint = tuple[str, str, str, str]
BROWSING: tuple[Hint, ...] = (
    ("↑↓", "token", "down", "step"),
    ("←→", "head", "right", "sideways"),
    ("[ ]", "layer", "right_square_bracket", "layers"),
    ("e", "edit", "e", "edit"),
    ("tab", "pane", "tab", "next_pane"),
    ("m", "mask", "m", "mask"),
    ("s", "scale", "s", "scale"),
    ("p", "positions", "p", "positions"),
    ("t", "temperature", "t", "temperature"),
    ("w", "projections", "w", "projections"),
    ("n", "normalizer", "n", "normalizer"),
    ("v", "vector", "v", "vector"),
    ("z", "zoom", "z", "zoom"),
    ("+-", "digits", "plus", "step"),
    ("x", "block", "x", "block"),
    ("y", "copy", "y", "copy"),
    ("^p", "palette", "ctrl+p", "palette"),
)
MATRIX: tuple[Hint, ...] = (
    ("↑↓", "query", "down", "step"),
    ("←→", "key", "right", "sideways"),
    (", .", "head", "full_stop", "step"),
    ("z", "zoom", "z", "zoom"),
    *(hint for hint in BROWSING[2:] if hint[1] != "zoom"),
)
EDITING: tuple[Hint, ...] = (
    ("esc", "done", "escape", "done"),
    ("enter", "new line", "enter", "edit"),
    ("^z", "undo", "ctrl+z", "edit"),
    ("^p", "palette", "ctrl+p", "palette"),
)
BROWSING_LAST: tuple[Hint, ...] = (
    ("?", "help", "question_mark", "help"),
    ("q", "quit", "q", "quit"),
)
EDITING_LAST: tuple[Hint, ...] = (("F1", "help", "f1", "help"), ("^q", "quit", "ctrl+q", "quit"))
