"""Shrinks what goes to the terminal: colours are sent when they change, not with every word.

A styled piece of text arrives as ``ESC[1;38;2;…;48;2;…m`` text ``ESC[0m``, so a row of cells of
one colour repeats that colour in every cell. The compressor follows the state of the terminal and
sends only the difference. What the terminal shows is the same, cell by cell.
"""

import re
from functools import cache
from typing import Any, Final, NamedTuple

# One alternative for each kind of thing in a stream; their order is their priority.
_KINDS: Final = (
    r"\x1b\[([0-9;]{0,99})m"  # 1: a style that this module may understand
    r"|(\x1b\[[0-9;]*[A-Hd`f]|\x1b\[\?(?:25|2026)[hl]|\r+)"  # 2: shows and colours nothing
    r"|([^\x00-\x1f\x7f-\x9f]+)"  # 3: text
    r"|(\x1b\[[0-9;]*[JKLMPXSTbr@]|\n+|\t+|\x07+"  # 4: takes colours over and leaves them so
    r"|\x1b\[\?(?:7|9|10\d\d|2004|2048)[hl](?<!104[789][hl])"
    r"|\x1b\[[<>][0-9;]*u|\x1b\[\?[0-9;]*\$p"
    r"|\x1b\][^\x07\x18\x1a\x1b\x9c]*(?:\x07|\x1b\\))"
    r"|(\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x18\x1a\x1b\x9c]*\x1b?"  # 5: broken off, more may follow
    r"|[PX^_](?:[^\x1b]|\x1b[^\\])*\x1b?|[ -/]*)\Z)"
    r"|(\x1b\[[0-?]*[ -/]*[@-~]|\x1b[PX^_](?:[^\x1b]|\x1b[^\\])*\x1b\\"  # 6: anything else
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]|[\x00-\x1f\x7f-\x9f])"
)
_STYLE, _MOVE, _TEXT, _KEEPING, _BROKEN_OFF = 1, 2, 3, 4, 5

# Attributes that a terminal has under the same number everywhere, one bit each.
_BITS: Final = {number: 1 << bit for bit, number in enumerate((1, 2, 3, 4, 5, 7, 8, 9, 53))}
_ALL_BITS: Final = (1 << len(_BITS)) - 1
_OFF_BITS: Final = {
    22: _BITS[1] | _BITS[2],
    23: _BITS[3],
    24: _BITS[4],
    25: _BITS[5],
    27: _BITS[7],
    28: _BITS[8],
    29: _BITS[9],
    55: _BITS[53],
}
# On a blank cell nothing else can be seen but its background.
_SEEN_ON_BLANK: Final = _BITS[4] | _BITS[5] | _BITS[7] | _BITS[9] | _BITS[53]
_CACHE_LIMIT: Final = 8192


@cache
def _tokens() -> re.Pattern[str]:
    """Compiled when the first output comes, which is in the thread that writes: not at import."""
    return re.compile(_KINDS)


class Style(NamedTuple):
    """The attributes that the terminal gives to the next character."""

    fg: str = ""
    bg: str = ""
    bits: int = 0


class _Change(NamedTuple):
    """What one style sequence does: None leaves a colour as it is."""

    fg: str | None
    bg: str | None
    on: int
    off: int
    resets: bool

    def applied_to(self, style: Style) -> Style:
        """Return the style after this change."""
        return Style(
            style.fg if self.fg is None else self.fg,
            style.bg if self.bg is None else self.bg,
            style.bits & ~self.off | self.on,
        )


class SgrCompressor:
    """Sends each style only as the difference to the one before it."""

    def __init__(self) -> None:
        # None is "not known": of the terminal until we set it, of the wish until a reset comes.
        # Without a known wish everything passes as it is.
        self._actual: Style | None = None
        self._wanted: Style | None = None
        self._rest = ""
        self._changes: dict[str, _Change | None] = {}
        self._steps: dict[tuple[Style | None, Style], str] = {}

    def feed(self, data: str) -> str:
        """Return what to send in place of `data`.

        A sequence that is broken off at the end waits for the next call: it shows nothing before
        it is complete.
        """
        if self._rest:
            data, self._rest = self._rest + data, ""
        out: list[str] = []
        for match in _tokens().finditer(data):
            kind = match.lastindex
            if kind == _STYLE:
                self._wish(match[1], out)
            elif kind == _TEXT:
                self._show(match[3], out)
            elif kind == _MOVE:
                out.append(match[2])
            elif kind == _BROKEN_OFF:
                self._rest = match[5]
            else:
                self._reach_wish(out)
                out.append(match[0])
                if kind != _KEEPING:
                    self._wanted = self._actual = None
        return "".join(out)

    def _wish(self, parameters: str, out: list[str]) -> None:
        """Note the style that is asked for; send it only where it cannot be followed."""
        try:
            change = self._changes[parameters]
        except KeyError:
            _make_room(self._changes)
            change = self._changes[parameters] = _parse(parameters)
        if change is not None and (self._wanted is not None or change.resets):
            self._wanted = change.applied_to(self._wanted or Style())
            return
        self._reach_wish(out)
        out.append(f"\x1b[{parameters}m")
        self._wanted = self._actual = None

    def _show(self, text: str, out: list[str]) -> None:
        """Send text in the style that is wanted, or in one that looks the same on blanks."""
        wanted, actual = self._wanted, self._actual
        if wanted is not None and wanted != actual:
            if actual is not None and not text.strip(" "):
                wanted = _on_blanks(actual, wanted)
            self._reach(wanted, out)
        out.append(text)

    def _reach_wish(self, out: list[str]) -> None:
        """Bring the terminal to the wanted style, where that is known."""
        if self._wanted is not None:
            self._reach(self._wanted, out)

    def _reach(self, style: Style, out: list[str]) -> None:
        """Bring the terminal to `style` with the shortest sequence."""
        if style == self._actual:
            return
        key = (self._actual, style)
        try:
            step = self._steps[key]
        except KeyError:
            _make_room(self._steps)
            step = self._steps[key] = _step(*key)
        out.append(step)
        self._actual = style


def _on_blanks(actual: Style, wanted: Style) -> Style:
    """Return the style nearest to `actual` in which blanks look as in `wanted`."""
    if (wanted.bits | actual.bits) & _SEEN_ON_BLANK:
        return wanted
    return Style(actual.fg, wanted.bg, actual.bits)


def _make_room(cache: dict[Any, Any]) -> None:
    """Keep a cache from growing without end; starting over is cheap."""
    if len(cache) >= _CACHE_LIMIT:
        cache.clear()


def _step(old: Style | None, new: Style) -> str:
    """Return the shortest sequence from one style to another."""
    full = ["0", *_numbers(new.bits), *filter(None, (new.fg, new.bg))]
    whole = f"\x1b[{';'.join(full)}m"
    # No attribute is switched off alone: 22 ends two of them, and old terminals differ.
    if old is None or old.bits & ~new.bits:
        return whole
    part = _numbers(new.bits & ~old.bits)
    if new.fg != old.fg:
        part.append(new.fg or "39")
    if new.bg != old.bg:
        part.append(new.bg or "49")
    return min(f"\x1b[{';'.join(part)}m", whole, key=len)


def _numbers(bits: int) -> list[str]:
    """Return the numbers that switch on a set of attributes."""
    return [str(number) for number, bit in _BITS.items() if bits & bit]


def _parse(parameters: str) -> _Change | None:
    """Read the numbers of one style sequence; None when one of them is not understood."""
    change = _Change(None, None, 0, 0, False)
    numbers = [int(part or 0) for part in parameters.split(";")]
    while numbers:
        step = _parse_one(numbers)
        if step is None:
            return None
        change = _Change(
            change.fg if step.fg is None else step.fg,
            change.bg if step.bg is None else step.bg,
            change.on & ~step.off | step.on,
            (change.off | step.off) & ~step.on,
            change.resets or step.resets,
        )
    return change


def _parse_one(numbers: list[int]) -> _Change | None:
    """Take one attribute or one colour from the front of `numbers`."""
    first = numbers.pop(0)
    if first == 0:
        return _Change("", "", 0, _ALL_BITS, True)
    if first in _BITS:
        return _Change(None, None, _BITS[first], 0, False)
    if first in _OFF_BITS:
        return _Change(None, None, 0, _OFF_BITS[first], False)
    if first in (38, 48):
        colour = _take_colour(first, numbers)
    elif 30 <= first <= 49 or 90 <= first <= 97 or 100 <= first <= 107:
        colour = "" if first in (39, 49) else str(first)
    else:
        return None
    if colour is None:
        return None
    is_background = 40 <= first <= 49 or first >= 100
    if is_background:
        return _Change(None, colour, 0, 0, False)
    return _Change(colour, None, 0, 0, False)


def _take_colour(first: int, numbers: list[int]) -> str | None:
    """Take the rest of ``38;5;n`` or ``38;2;r;g;b`` from `numbers`; None when it is incomplete."""
    length = {5: 2, 2: 4}.get(numbers[0] if numbers else 0)
    if length is None or len(numbers) < length or max(numbers[1:length]) > 255:
        return None
    taken = numbers[:length]
    del numbers[:length]
    return ";".join(map(str, [first, *taken]))
