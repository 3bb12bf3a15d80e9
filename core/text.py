"""The one sanitizer: text from people, files and models made safe and visible for display.

The analysis always uses the true text; only what is drawn or printed comes through here.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from core.language import N_, _
from core.types import Token

_DOTTED_CIRCLE = "\u25cc"
# Unseen characters that people meet; all others keep the name that Unicode gives them.
_NAMED = (
    N_("space"),
    N_("no-break space"),
    N_("narrow no-break space"),
    N_("ideographic space"),
    N_("en space"),
    N_("em space"),
    N_("thin space"),
    N_("hair space"),
    N_("zero width space"),
    N_("zero width no-break space"),
    N_("zero width joiner"),
    N_("zero width non-joiner"),
    N_("word joiner"),
    N_("soft hyphen"),
    N_("line separator"),
    N_("paragraph separator"),
    N_("left-to-right mark"),
    N_("right-to-left mark"),
    N_("left-to-right embedding"),
    N_("right-to-left embedding"),
    N_("left-to-right override"),
    N_("right-to-left override"),
    N_("left-to-right isolate"),
    N_("right-to-left isolate"),
    N_("first strong isolate"),
    N_("pop directional formatting"),
    N_("pop directional isolate"),
    N_("variation selector-15"),
    N_("variation selector-16"),
)
# Bidirectional controls reorder what stands around them; U+2028/2029 break lines.
_NAMED_SEPARATORS = {"\u2028", "\u2029"}
# Drawn as nothing although no category says so: fillers, the blank of braille, joiners and
# selectors, planes kept for more of them (Unicode 16, Default_Ignorable_Code_Point; U+2800).
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
# Invisible alone, but part of the visible character that they follow, in this order: a variation
# selector or grapheme joiner, then ZWNJ or ZWJ. More of them in a row could hide a text.
_SELECTOR = re.compile("[\u034f\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_JOINERS = "\u200c\u200d"
_EMOJI_SELECTOR = "\ufe0f"
_FLAG, _FIRST_TAG, _LAST_TAG = "\U0001f3f4", "\U000e0020", "\U000e007f"  # 🏴 and its region


def _joins(char: str, before: str) -> bool:
    """Whether an invisible character may stay, for what it does to the one before it."""
    if char in _JOINERS:
        return before not in _JOINERS
    if _FIRST_TAG <= char <= _LAST_TAG:
        return before == _FLAG or _FIRST_TAG <= before < _LAST_TAG
    return bool(_SELECTOR.match(char)) and not is_unseen(before)


def is_unseen(char: str) -> bool:
    """Whether a terminal would obey, hide or misplace the character instead of drawing it."""
    if char.isascii():
        return char < " " or char == "\x7f"
    if char in _NAMED_SEPARATORS or _BLANK.match(char):
        return True
    category = unicodedata.category(char)
    return category in ("Cc", "Cf", "Co", "Cs") or (ord(char) & 0xFFFE) == 0xFFFE


def mark(char: str) -> str:
    """A visible mark for one unseen character: ␛ for a control, ‹U+202E› for the rest."""
    if char < " ":
        return chr(0x2400 + ord(char))
    if char == "\x7f":
        return "\u2421"
    return f"\u2039U+{ord(char):04X}\u203a"


def brief(text: str, most: int) -> str:
    """The first characters of a text, `visible`, with a sign where there are more."""
    return visible(text if len(text) <= most else text[:most] + "…")


def visible(text: str) -> str:
    """Make every character of `text` visible and harmless, in one line.

    Controls, bidirectional overrides and zero-width characters become marks; joiners inside
    an emoji or a word stay; a combining mark with nothing to sit on gets a dotted circle. The
    selector U+FE0F, which asks for the colourful form of ❤ or ☀, and skin tones are left out:
    terminals disagree about how many cells they take, so rows would not line up.
    """
    if text.isascii() and text.isprintable():
        return text
    out: list[str] = []
    base = False  # does the next combining character have something to sit on?
    for before, char in zip(" " + text, text, strict=False):
        if base and _joins(char, before):
            if char != _EMOJI_SELECTOR:
                out.append(char)
        elif base and "\U0001f3fb" <= char <= "\U0001f3ff":
            continue  # a skin tone
        elif is_unseen(char):
            out.append(mark(char))
            base = False
        elif unicodedata.category(char) in ("Mn", "Me", "Mc"):
            out.append(char if base else _DOTTED_CIRCLE + char)
            base = True
        else:
            out.append(char)
            base = not char.isspace()
    return "".join(out)


@lru_cache(maxsize=8192)  # a screen asks for the same few labels again and again
def label(token: Token) -> str:
    """How a token is shown: ``milk``, ``␠the``, ``我 1/3``, ``[CLS]``, ``U+200D``, ``💩 [UNK]``."""
    source = token.piece if token.special or token.hides else token.text
    if not source:
        source = token.piece.replace("\u0120", " ").replace("\u2581", " ")
    shown = _show_spaces(source)
    if len(source) == 1 and len(shown) > 1 and shown[0] == "\u2039":
        shown = shown[1:-1]
    if token.unknown:
        shown += f" {visible(token.piece)}"
    if token.part:
        shown += f" {token.part[0]}/{token.part[1]}"
    return shown


def full_label(token: Token) -> str:
    """The label, with what a mask token hides: ``[MASK] (milk)``."""
    return f"{label(token)} ({label(token.hides)})" if token.hides else label(token)


def describe(token: Token) -> str:
    """A token in words, with what its label leaves out."""
    if token.special:
        return _("special token {piece}").format(piece=visible(token.piece))
    if token.hides:
        return _("hides “{text}”").format(text=label(token.hides))
    facts = []
    if token.unknown:
        facts.append(
            _("unknown: {piece} stands for “{text}”").format(
                piece=visible(token.piece), text=visible(token.text)
            )
        )
    elif token.piece != token.text:
        facts.append(_("piece {piece}").format(piece=visible(token.piece)))
    if token.part:
        facts.append(_("part {i} of {n}").format(i=token.part[0], n=token.part[1]))
    if len(token.text) == 1 and (is_unseen(token.text) or token.text.isspace()):
        facts.append(_name(token.text))
    return " · ".join(facts)


def _name(char: str) -> str:
    """What an unseen character is called: one of `_NAMED`, or Unicode's own name."""
    name = unicodedata.name(char, "").lower()
    return _(name) if name else _("control {code}").format(code=f"U+{ord(char):04X}")


def _show_spaces(source: str) -> str:
    """`visible`, with the spaces at both ends (all of them, if nothing else is there) marked."""
    core = source.strip()
    if not core:
        return "".join(_mark_space(char) for char in source)
    lead = source[: source.index(core)]
    trail = source[len(lead) + len(core) :]
    return _show_spaces(lead) + visible(core) + _show_spaces(trail)


def _mark_space(char: str) -> str:
    if char == " ":
        return "\u2420"
    if char == "\n":
        return "\u2424"
    return mark(char)
