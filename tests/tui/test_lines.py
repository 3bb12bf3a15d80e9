"""Lines: exact widths, repaints of what changed only, frames; no app."""

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from tests.tui.helpers import line_text
from tui.theme import DARK, make_palette
from tui.widgets.lines import changes, fit, line_cells, to_strip
from tui.widgets.pane import frame, window

quiet = settings(derandomize=True, deadline=None, max_examples=300)
PALETTE = make_palette(DARK, "truecolor")
STYLES = [Style(color="red"), Style(bold=True), Style(bgcolor="blue")]
FAMILY, HEART = "👩‍👩‍👧", "❤️"
CHINA, SWITZERLAND = "🇨🇳", "🇨🇭"
LONG = ("e\u0301", FAMILY, CHINA, SWITZERLAND, HEART)
graphemes = st.sampled_from([*"ab █▏…", "我", "想", *LONG])
parts = st.lists(st.tuples(graphemes, st.sampled_from(STYLES)), max_size=30)


def cells(line):
    """(grapheme, style, part) of each cell, found in another way than the code does."""
    found = []
    for text, style in line:
        rest = text
        while rest:
            longest = max(
                (each for each in (*LONG, rest[0]) if rest.startswith(each)),
                key=len,
            )
            found += [(longest, style, part) for part in range(cell_len(longest))]
            rest = rest[len(longest) :]
    return found


def line_of(made, width):
    line = []
    for text, style in made:
        if line_cells(line) + cell_len(text) <= width:
            line.append((text, style))
    return fit(line, width, PALETTE.base)


def texts_of(lines):
    return [line_text(line) for line in lines]


@quiet
@given(parts, parts, st.integers(1, 40))
def test_the_changes_turn_the_old_line_into_the_new(before, after, width):
    old, new = line_of(before, width), line_of(after, width)
    found = changes(old, new)
    patched, target = cells(old), cells(new)
    assert len(patched) == len(target) == width
    for start, end, made in found:
        assert line_cells(made) == end - start
        patched[start:end] = cells(made)
    assert patched == target
    for (_, end, _), (start, _, _) in itertools.pairwise(found):
        assert end < start


@quiet
@given(parts, parts, st.integers(1, 40))
@example([("我", STYLES[0])], [("a", STYLES[0]), ("b", STYLES[0])], 4)
@example([("a", STYLES[0]), ("我", STYLES[0])], [("我", STYLES[0]), ("a", STYLES[0])], 4)
@example([(CHINA, STYLES[0])], [(SWITZERLAND, STYLES[0])], 4)
def test_a_change_never_cuts_a_wide_character(before, after, width):
    old, new = line_of(before, width), line_of(after, width)
    for start, end, _ in changes(old, new):
        for line in (old, new):
            inside = cells(line)
            assert inside[start][2] == 0
            assert end == width or inside[end][2] == 0


def test_equal_lines_have_no_change():
    line, again = (fit([("我 milk", STYLES[0])], 12, PALETTE.base) for _ in range(2))
    assert changes(line, line) == changes(line, again) == []


def test_only_the_changed_cells_are_named():
    old = [("0.123 0.456" + " " * 30 + "x", STYLES[0])]
    new = [("0.129 0.456" + " " * 30 + "y", STYLES[0])]
    assert changes(old, new) == [(4, 5, [("9", STYLES[0])]), (41, 42, [("y", STYLES[0])])]


def test_what_lies_close_together_is_one_change():
    old = [("0.123 ", STYLES[0]), ("█  ", STYLES[1]), ("x", STYLES[0])]
    new = [("0.129 ", STYLES[0]), ("█  ", STYLES[1]), ("y", STYLES[0])]
    parts = [("9", STYLES[0]), (" ", STYLES[0]), ("█  ", STYLES[1]), ("y", STYLES[0])]
    assert changes(old, new) == [(4, 10, parts)]


def test_a_change_of_style_alone_is_a_change():
    old = [("abc", STYLES[0])]
    new = [("ab", STYLES[0]), ("c", STYLES[1])]
    assert changes(old, new) == [(2, 3, [("c", STYLES[1])])]


@quiet
@given(parts, st.integers(1, 30))
def test_a_line_is_exactly_as_wide_as_asked(made, width):
    line = fit(made, width, PALETTE.base)
    assert line_cells(line) == width
    assert to_strip(line, width).cell_length == cell_len(line_text(line)) == width


def test_empty_parts_leave_no_segment():
    strip = to_strip([("", STYLES[0]), ("a", STYLES[1]), ("", STYLES[2])], 1)
    assert [text for text, _, _ in strip] == ["a"]


@quiet
@given(
    st.lists(parts, max_size=4),
    parts,
    st.lists(graphemes, max_size=12).map("".join),
    st.integers(8, 50),
    st.integers(3, 9),
    st.booleans(),
)
def test_a_frame_is_exactly_as_wide_and_high_as_asked(lines, title, foot, width, height, active):
    texts = texts_of(frame(lines, title, [foot], width, height, PALETTE, active))
    assert len(texts) == height
    for text in texts:
        assert cell_len(text) == width
    assert (texts[0][0], texts[0][-1]) == ("╭", "╮")
    assert (texts[-1][0], texts[-1][-1]) == ("╰", "╯")
    for text in texts[1:-1]:
        assert (text[0], text[-1]) == ("│", "│")


@pytest.mark.parametrize(
    ("title", "top"),
    [
        ("", "╭──────────────────╮"),
        ("Tokens", "╭─ Tokens ─────────╮"),
        ("我想吃酸菜鱼", "╭─ 我想吃酸菜鱼 ───╮"),
        ("我想吃酸菜鱼好吃", "╭─ 我想吃酸菜鱼… ──╮"),
        (CHINA * 9, f"╭─ {CHINA * 6}… ──╮"),
    ],
)
def test_a_title_in_the_edge_is_cut_with_a_sign(title, top):
    line = [(title, PALETTE.strong)] if title else []
    assert texts_of(frame([], line, [], 20, 3, PALETTE, False))[0] == top


def test_a_foot_stands_at_the_right_and_is_cut_with_a_sign():
    foot = texts_of(frame([], [], ["6 tokens"], 20, 3, PALETTE, False))[-1]
    assert foot == "╰─────── 6 tokens ─╯"
    cut = texts_of(frame([], [], ["a foot that is too long"], 20, 3, PALETTE, False))[-1]
    assert cut == "╰─ a foot that i… ─╯"


def test_facts_of_a_foot_are_left_out_whole():
    facts = ["full bar 1", "keys 0–9 of 40", "heads 0–3 of 12"]
    frames = [frame([], [], facts, width, 3, PALETTE, False) for width in (20, 34, 60)]
    feet = [texts_of(made)[-1] for made in frames]
    assert [foot.strip("╰╯─ ") for foot in feet] == [
        "full bar 1",
        "full bar 1 · keys 0–9 of 40",
        "full bar 1 · keys 0–9 of 40 · heads 0–3 of 12",
    ]


def test_rows_below_the_last_are_left_out():
    lines = [[(str(i), PALETTE.base)] for i in range(9)]
    texts = texts_of(frame(lines, [], "", 8, 5, PALETTE, True))
    assert [text.strip("│ ") for text in texts[1:-1]] == ["0", "1", "2"]


def test_an_active_frame_has_the_accent():
    for active, style in ((True, PALETTE.selected), (False, PALETTE.dim)):
        top = frame([], [], "", 8, 3, PALETTE, active)[0]
        assert {each for _, each in top} == {style}


@quiet
@given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 59), st.integers(-5, 80))
def test_a_window_shows_the_cursor_and_moves_no_more_than_it_must(count, size, cursor, top):
    cursor = min(cursor, count - 1)
    first = window(count, size, cursor, top)
    assert first <= cursor < first + size
    assert 0 <= first <= max(0, count - size)
    if 0 <= top <= max(0, count - size) and top <= cursor < top + size:
        assert first == top
