"""Characters that a terminal or an editor would obey, carried as harmless private-use ones.

A paste may hold an escape that would end it early, and a document splits its lines at U+2028. Each
such character travels as one private-use character, one cell wide, and is turned back where the
text is analysed.
"""

import re

_PRIVATE = 0x100000  # the last plane, where no icon font keeps its pictures
# Controls but tab and line feed, bidirectional controls, separators, lone surrogates.
_RANGES = (
    "\x00\x08",
    "\x0b\x1f",
    "\x7f\x9f",
    "\u061c\u061c",
    "\u200e\u200f",
    "\u2028\u202e",
    "\u2066\u2069",
    "\ud800\udfff",
)


def carrier(char: str) -> str:
    """The private-use character that stands for `char`."""
    return chr(_PRIVATE + ord(char))


def carried(char: str) -> str:
    """The character that a private-use one stands for."""
    return chr(ord(char) - _PRIVATE)


_OBEYED = re.compile("[" + "".join(f"{a}-{b}" for a, b in map(tuple, _RANGES)) + "]")
_CARRIED = re.compile(
    "[" + "".join(f"{carrier(a)}-{carrier(b)}" for a, b in map(tuple, _RANGES)) + "]"
)


def conceal(text: str) -> str:
    """Put a private-use character in the place of each one that would be obeyed."""
    return _OBEYED.sub(lambda found: carrier(found[0]), text)


def reveal(text: str) -> str:
    """Undo `conceal`."""
    return _CARRIED.sub(lambda found: carried(found[0]), text)


def draw(text: str) -> str:
    """Concealed text with a mark, one cell wide, for each character that is carried in it."""
    return _CARRIED.sub(lambda found: _mark(ord(carried(found[0]))), text)


def _mark(code: int) -> str:
    """The picture of a C0 control; the others have none."""
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"
