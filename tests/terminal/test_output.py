"""The compressor of terminal output: shorter, and the same to look at."""

import re
from itertools import pairwise

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.terminal.output import SgrCompressor

RESET = "\x1b[0m"
SIZE = (12, 5)


def compressed(*pieces: str) -> str:
    """Compress pieces after a reset, so that the state of the terminal is known."""
    compressor = SgrCompressor()
    compressor.feed(f"{RESET}.")
    return "".join(compressor.feed(piece) for piece in pieces)


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        ("plain", "plain"),
        ("\x1b[31ma\x1b[0m\x1b[31mb\x1b[0m", "\x1b[31mab"),
        ("\x1b[1;31;42ma\x1b[0m\x1b[1;32;42mb", "\x1b[1;31;42ma\x1b[32mb"),
        ("\x1b[31;42ma\x1b[0m\x1b[31;43mb", "\x1b[31;42ma\x1b[43mb"),
        ("\x1b[31ma\x1b[0m\x1b[1;31mb", "\x1b[31ma\x1b[1mb"),
        ("\x1b[1;31ma\x1b[0m\x1b[31mb", "\x1b[1;31ma\x1b[0;31mb"),
        ("\x1b[1ma\x1b[22mb", "\x1b[1ma\x1b[0mb"),
        ("\x1b[31;42ma\x1b[0mb", "\x1b[31;42ma\x1b[0mb"),
        ("\x1b[31;42ma\x1b[39mb\x1b[49mc", "\x1b[31;42ma\x1b[39mb\x1b[0mc"),
        ("\x1b[38;2;1;2;3;48;5;9ma\x1b[0m\x1b[38;2;1;2;3mb", "\x1b[38;2;1;2;3;48;5;9ma\x1b[49mb"),
        ("\x1b[31ma\x1b[0m\x1b[2;3H\x1b[31mb", "\x1b[31ma\x1b[2;3Hb"),
        ("\x1b[31m\x1b[0ma", "a"),
        ("\x1b[;31ma", "\x1b[31ma"),
    ],
)
def test_only_differences_are_sent(raw: str, sent: str) -> None:
    assert compressed(raw) == sent


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        ("\x1b[31ma\x1b[0m   \x1b[31mb", "\x1b[31ma   b"),
        ("\x1b[31;42ma\x1b[0m\x1b[33;42m \x1b[0m", "\x1b[31;42ma "),
        ("\x1b[1;31ma\x1b[0m\x1b[42m ", "\x1b[1;31ma\x1b[42m "),
        ("\x1b[4;31ma\x1b[0m ", "\x1b[4;31ma\x1b[0m "),
        ("\x1b[31ma\x1b[0m\x1b[7;32m ", "\x1b[31ma\x1b[7;32m "),
    ],
)
def test_blanks_need_only_their_background(raw: str, sent: str) -> None:
    assert compressed(raw) == sent


@pytest.mark.parametrize("taking", ["\x1b[K", "\x1b[2J", "\n", "\x1b[1L", "\x1b[?1049h", "\x1b7"])
def test_colours_are_up_to_date_before_what_takes_them_over(taking: str) -> None:
    assert compressed(f"\x1b[42ma\x1b[0m{taking}") == f"\x1b[42ma\x1b[0m{taking}"


@pytest.mark.parametrize("restoring", ["\x1b8", "\x1b[?1049l", "\x1bc", "\x1b[!p", "\x1b[u"])
def test_nothing_is_assumed_after_a_restored_state(restoring: str) -> None:
    """The terminal brings back attributes that only it knows, so the next style goes in full."""
    assert compressed(f"\x1b[31ma{restoring}\x1b[31mb\x1b[0;31mc") == (
        f"\x1b[31ma{restoring}\x1b[31mb\x1b[0;31mc"
    )


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[58;2;1;2;3m",
        "\x1b[4:3m",
        "\x1b[38;2;1;2m",
        "\x1b[38;5;256m",
        "\x1b[>4;1m",
        "\x1b[?4m",
        "\x1b[21m",
        "\x9b31m",
        "\x1b[" + "1;" * 200 + "m",
    ],
)
def test_styles_that_are_not_understood_pass(sequence: str) -> None:
    assert compressed(f"{sequence}a\x1b[31mb") == f"{sequence}a\x1b[31mb"
    assert compressed(f"{sequence}a\x1b[0mb") == f"{sequence}a\x1b[0mb"


TEXTUAL_MODES = (
    "\x1b[?1049h\x1b[?1000h\x1b[?1003h\x1b[?1015h\x1b[?1006h\x1b[?25l\x1b[?1004h\x1b[>25u"
    "\x1b[?2026$p\x1b[?2048$p\x1b[?2004h\x1b[?7l\x1b[?2026h\x1b[?2026l\x1b[?2048h\x1b[?1016h"
    "\x1b]22;pointer\x1b\\\x1b]52;c;YQ==\x07\x07\x1b[?2004l\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h"
    "\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\\x1b[?1004l"
)


def test_modes_of_textual_pass_untouched() -> None:
    assert SgrCompressor().feed(TEXTUAL_MODES) == TEXTUAL_MODES
    assert compressed(TEXTUAL_MODES) == TEXTUAL_MODES


@pytest.mark.parametrize("cut", range(1, len(TEXTUAL_MODES)))
def test_a_cut_anywhere_changes_nothing(cut: int) -> None:
    assert compressed(TEXTUAL_MODES[:cut], TEXTUAL_MODES[cut:]) == TEXTUAL_MODES


def test_state_is_kept_between_feeds() -> None:
    assert compressed("\x1b[31ma\x1b[0m", "\x1b[31mb\x1b[0m", "\x1b[0mc") == "\x1b[31mab\x1b[0mc"


COLOURS = st.sampled_from(
    ["30", "37", "90", "97", "40", "47", "100", "107", "39", "49", "38;5;1", "48;5;200", "38"]
) | st.sampled_from(["38;2;1;2;3", "48;2;200;1;0", "38;5", "48;2;1;2"])
NUMBERS = [0, 1, 2, 3, 4, 5, 7, 9, 22, 23, 24, 25, 27, 29, 10, 53]
ATTRIBUTES = st.sampled_from(["", *map(str, NUMBERS)])
STYLES = st.lists(COLOURS | ATTRIBUTES, max_size=4).map(lambda parts: f"\x1b[{';'.join(parts)}m")
# As rich writes it: a style, a text, a reset.
SEGMENTS = st.tuples(STYLES, st.text("ab ", min_size=1, max_size=4)).map(
    lambda pair: f"{pair[0]}{pair[1]}{RESET}"
)
MOVES = st.builds("\x1b[{};{}H".format, st.integers(1, SIZE[1]), st.integers(1, SIZE[0]))
ERASING = "\x1b[K \x1b[1K \x1b[2J \x1b[J \x1b[2X \x1b[1L \x1b[1M \x1b[2P \x1b[1@ \x1bM \x1bD \x1bc"
MODES = "\x1b[?25l \x1b[?2026h \x1b[?7l \x1b[?7h \x1b[4h \x1b[4l \x1b[?5h \x1b[?5l \x1b[!p \x1b(B"
PLACES = "\x1b7 \x1b8 \x1b[2;4r \x1b[r \x1b[A \x1b[2C \x1b[3d \x1b[2G \x1b[?1049h \x1b[?1049l"
STRINGS = "\x1b]0;title\x07 \x1b]8;;http://x\x1b\\"
CONTROLS = ["\r", "\n", "\r\n", "\t", "\x08", "\x07"]
OTHERS = st.sampled_from([*f"{ERASING} {MODES} {PLACES} {STRINGS}".split(" "), *CONTROLS])
TEXTS = st.text("ab 语é─", max_size=5) | st.just("  ")
STREAMS = st.lists(SEGMENTS | MOVES | STYLES | TEXTS | OTHERS, max_size=40)


def cells(screen: pyte.Screen) -> list[list[tuple]]:
    """Return every cell as it looks: a blank without lines or reversal is only its background."""
    return [
        [looks(screen.buffer[row][column]) for column in range(screen.columns)]
        for row in range(screen.lines)
    ]


def looks(cell: pyte.screens.Char) -> tuple:
    is_plain_blank = cell.data == " " and not (
        cell.reverse or cell.underscore or cell.strikethrough or cell.blink
    )
    return (" ", cell.bg) if is_plain_blank else tuple(cell)


def shown(pieces: list[str]) -> pyte.Screen:
    screen = pyte.Screen(*SIZE)
    stream = pyte.Stream(screen)
    for piece in pieces:
        stream.feed(piece)
    return screen


@settings(max_examples=600, deadline=None, derandomize=True)
@given(STREAMS, st.lists(st.integers(0, 300), max_size=4))
def test_a_terminal_shows_the_same(parts: list[str], cuts: list[int]) -> None:
    raw = "".join(parts)
    ends = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    pieces = [raw[start:end] for start, end in pairwise(ends)]
    compressor = SgrCompressor()
    one, other = shown([raw]), shown([compressor.feed(piece) for piece in pieces])
    assert cells(one) == cells(other)
    assert (one.cursor.x, one.cursor.y) == (other.cursor.x, other.cursor.y)
    assert one.title == other.title


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(SEGMENTS | MOVES, max_size=40))
def test_frames_as_rich_writes_them_never_grow(parts: list[str]) -> None:
    """The first style of a frame may cost a reset; after it nothing is longer than it was."""
    raw = "".join(parts)
    assert len(compressed(raw)) <= len(raw) + len("0;")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(STREAMS)
def test_what_is_no_style_is_kept(parts: list[str]) -> None:
    raw = "".join(parts)
    style = re.compile(r"\x1b\[[0-9;]*m")
    assert style.sub("", compressed(raw)) == style.sub("", raw)
