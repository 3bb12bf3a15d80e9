"""Drawing with ASCII alone, where a terminal takes two cells for what should have one.

Terminals for East Asian languages may draw lines, blocks, arrows and quotation marks twice as wide
as the program reckons. Each sign stands for one of one cell; they are exchanged on the way out, so
those of the text are shown as their stand-ins too. Letters stay as they are.
"""

from __future__ import annotations

from typing import Any

_STAND_INS = {
    "#": "█▉▊▋▌▐▀▆▇■",
    "=": "▄▅",
    ":": "▍▎▏▕░▒▓",
    "_": "▁▂▃",
    "-": "─━╌═▔–—−⎯",
    "|": "│┃╎║‖∣",
    "+": "┌┐└┘├┤┬┴┼╭╮╯╰╷╵╶╴┏┓┗┛",
    ">": "▶▸→›»▷",
    "<": "←‹«⌫",
    "^": "↑⇧▲",
    "v": "↓▼√",
    "*": "×•●★",
    ".": "·…‥∙",
    "/": "÷½",
    "~": "≈∼",
    '"': "“”„",
    "'": "‘’",
    "!": "≠",
    "d": "∂",
    "S": "Σ∑",
    "f": "φ",
    "T": "ᵀ",
    "?": "␛␠␡",
}
TABLE = {ord(sign): stand_in for stand_in, signs in _STAND_INS.items() for sign in signs}
_wanted = False


def draw_in_ascii(_ctx: object = None, _param: object = None, wanted: Any = True) -> None:
    """Draw with ASCII from now on, if that is wanted; the callback of an option."""
    global _wanted
    _wanted = bool(wanted)


def table() -> dict[int, str] | None:
    """What to exchange on the way out, None for nothing."""
    return TABLE if _wanted else None
