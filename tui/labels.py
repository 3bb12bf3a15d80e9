"""Text by terminal cells and numbers by digits: the one way to clip, pad and format."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len, split_graphemes

ELLIPSIS = "…"
MASKED = "–"
MASKED_CELL = "·"  # the same in a matrix
DROPPED = "×"
IN_PART = "/"  # a word with some of its tokens blocked or dropped
ONLY_THIS, ONLY_OTHER = "-", "+"  # tokens of one of two texts, as in a list of changes
# What stays together in a line: a word, a list of numbers, or one Chinese character, with the
# marks around it.
_WIDE = "\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_OPENING, _CLOSING = "（「『“《", "，。、；：？！）」』”》"
_NUMBERS = r"[\[(][-+.,\d ]+[\])]"
_ATOM = (
    rf"\s+|[{_OPENING}]*(?:{_NUMBERS}[^\s{_WIDE}{_OPENING}{_CLOSING}]*"
    rf"|[^\s{_WIDE}{_OPENING}{_CLOSING}]+|[{_WIDE}])?[{_CLOSING}]*"
)


def clip(text: str, cells: int) -> str:
    """Cut `text` to at most `cells` terminal cells, between graphemes, with a sign of the cut."""
    if cell_len(text) <= cells:
        return text
    if cells < 1:
        return ""
    used, end = 0, 0
    for start, stop in graphemes(text):
        used += cell_len(text[start:stop])
        if used > cells - 1:
            break
        end = stop
    return text[:end] + ELLIPSIS


def clip_start(text: str, cells: int) -> str:
    """As `clip`, but what is left is the end of the text."""
    if cell_len(text) <= cells:
        return text
    if cells < 1:
        return ""
    used, begin = 0, len(text)
    for start, stop in reversed(graphemes(text)):
        used += cell_len(text[start:stop])
        if used > cells - 1:
            break
        begin = start
    return ELLIPSIS + text[begin:]


def pad(text: str, cells: int, align: str = "<") -> str:
    """Clip or fill `text` to exactly `cells` terminal cells; `align` is ``<`` or ``>``."""
    shown = clip(text, cells)
    space = " " * (cells - cell_len(shown))
    return space + shown if align == ">" else shown + space


def weight(value: float, precision: int) -> str:
    """A weight with `precision` digits after the point; a tiny one is ``<0.001``, never 0."""
    text = f"{value:.{precision}f}"
    if value > 0 and not text.strip("0."):
        return f"<{10.0**-precision:.{precision}f}"
    return text


def weight_cells(precision: int) -> int:
    """Cells that `weight` needs at most."""
    return precision + 3


def short_weight(value: float, digits: int) -> str:
    """A weight for a narrow cell, without the leading zero: ``.46``, ``<.01``, ``1.0``."""
    text = weight(value, digits).replace("0.", ".", 1)
    return f"1.{'0' * (digits - 1)}" if text.startswith("1") else text


def short_signed(value: float, digits: int, cells: int) -> str:
    """A number with its sign, and as many of `digits` digits after the point as fit."""
    texts = (f"{value:+.{count}f}" for count in range(digits, -1, -1))
    return next((text for text in texts if len(text) <= cells), ELLIPSIS)


def signed(value: float, precision: int) -> str:
    """A number with its sign and `precision` digits after the point; 0 has no sign."""
    text = f"{value:+.{precision}f}"
    return " " + text[1:] if not text.strip("+-0.") else text


def wrap(text: str, cells: int) -> Iterator[str]:
    """Lines of at most `cells` cells, broken at spaces and between Chinese characters."""
    line = ""
    for atom in _atoms(text, cells):
        if line and cell_len(line) + cell_len(atom.rstrip()) > cells:
            yield line.rstrip()
            line = atom.lstrip()
        else:
            line += atom
    yield line.rstrip()


def _atoms(text: str, cells: int) -> Iterator[str]:
    for atom in filter(None, re.findall(_ATOM, text)):
        if cell_len(atom) <= cells:
            yield atom
            continue
        for word in re.findall(r"\s+|\S+", atom):  # a list of numbers longer than a line
            yield from (word,) if cell_len(word) <= cells else word


def graphemes(text: str) -> list[tuple[int, int]]:
    """Spans of graphemes as drawn; pairs of regional indicators (flags) stay together."""
    spans: list[tuple[int, int]] = []
    flag_open = False
    for start, stop, _ in split_graphemes(text)[0]:
        indicator = "\U0001f1e6" <= text[start] <= "\U0001f1ff"
        if indicator and flag_open:
            spans[-1] = (spans[-1][0], stop)
        else:
            spans.append((start, stop))
        flag_open = indicator and not flag_open
    return spans


def run_of(word: range) -> str:
    """Which tokens a word has: ``3``, ``3–5``."""
    return f"{word.start}" if len(word) == 1 else f"{word.start}–{word[-1]}"


def capitalized(words: str) -> str:
    """Words with a capital at their start, as a sentence has it; a refusal begins without."""
    return words[:1].upper() + words[1:]
