"""Strips: exact widths, repaints of what changed only, frames; no app."""

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.theme import DARK, make_palette
from tui.widgets.lines import changed_spans, line_cells, to_strip
from tui.widgets.pane import frame, window

quiet = settings(derandomize=True, deadline=None, max_examples=300)
PALETTE = make_palette(DARK, "truecolor")
STYLES = [Style(color="red"), Style(bold=True), Style(bgcolor="blue")]
FAMILY, CHINA, HEART = "👩‍👩‍👧", "🇨🇳", "❤️"
graphemes = st.sampled_from([*"ab █▏…", "我", "想", "e\u0301", FAMILY, CHINA, HEART])
parts = st.lists(st.tuples(graphemes, st.sampled_from(STYLES)), max_size=30)


def cells(strip):
    """(grapheme, style, part) of each cell, found in another way than the code does."""
    found = []
    for text, style, _ in strip:
        rest = text
        while rest:
            longest = max(
                (g for g in ("e\u0301", FAMILY, CHINA, HEART, rest[0]) if rest.startswith(g)),
                key=len,
            )
            found += [(longest, style, part) for part in range(cell_len(longest))]
            rest = rest[len(longest) :]
    return found


def strip_of(made, width):
    line = []
    for text, style in made:
        if line_cells(line) + cell_len(text) <= width:
            line.append((text, style))
    return to_strip(line, width, PALETTE.base)


@quiet
@given(parts, parts, st.integers(1, 40))
def test_the_changed_spans_turn_the_old_strip_into_the_new(before, after, width):
    old, new = strip_of(before, width), strip_of(after, width)
    spans = changed_spans(old, new)
    patched, target = cells(old), cells(new)
    assert len(patched) == len(target) == width
    for start, end in spans:
        patched[start:end] = target[start:end]
    assert patched == target
    for (_, end), (start, _) in itertools.pairwise(spans):
        assert end < start


@quiet
@given(parts, parts, st.integers(1, 40))
@example([("我", STYLES[0])], [("a", STYLES[0]), ("b", STYLES[0])], 4)
@example([("a", STYLES[0]), ("我", STYLES[0])], [("我", STYLES[0]), ("a", STYLES[0])], 4)
def test_a_span_never_cuts_a_wide_character(before, after, width):
    old, new = strip_of(before, width), strip_of(after, width)
    for start, end in changed_spans(old, new):
        for strip in (old, new):
            inside = cells(strip)
            assert inside[start][2] == 0
            assert end == width or inside[end][2] == 0


def test_equal_strips_have_no_changed_span():
    strip = to_strip([("我 milk", STYLES[0])], 12, PALETTE.base)
    assert changed_spans(strip, strip) == []
    again = to_strip([("我 milk", STYLES[0])], 12, PALETTE.base)
    assert changed_spans(strip, again) == []


def test_only_the_changed_cells_are_named():
    old = Strip([Segment("0.123 0.456" + " " * 30 + "x", STYLES[0])])
    new = Strip([Segment("0.129 0.456" + " " * 30 + "y", STYLES[0])])
    assert changed_spans(old, new) == [(4, 5), (41, 42)]


def test_a_change_of_style_alone_is_a_change():
    old = to_strip([("abc", STYLES[0])], 3, PALETTE.base)
    new = to_strip([("ab", STYLES[0]), ("c", STYLES[1])], 3, PALETTE.base)
    assert changed_spans(old, new) == [(2, 3)]


@quiet
@given(parts, st.integers(1, 30))
def test_a_strip_is_exactly_as_wide_as_asked(made, width):
    strip = to_strip(made, width, PALETTE.base)
    assert strip.cell_length == width
    assert cell_len(strip.text) == width


def test_empty_parts_leave_no_segment():
    strip = to_strip([("", STYLES[0]), ("a", STYLES[1]), ("", STYLES[2])], 1, PALETTE.base)
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
    strips = frame(lines, title, [foot], width, height, PALETTE, active)
    assert len(strips) == height
    for strip in strips:
        assert strip.cell_length == width
        assert cell_len(strip.text) == width
    assert (strips[0].text[0], strips[0].text[-1]) == ("╭", "╮")
    assert (strips[-1].text[0], strips[-1].text[-1]) == ("╰", "╯")
    for strip in strips[1:-1]:
        assert (strip.text[0], strip.text[-1]) == ("│", "│")


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
    assert frame([], line, [], 20, 3, PALETTE, False)[0].text == top


def test_a_foot_stands_at_the_right_and_is_cut_with_a_sign():
    assert frame([], [], ["6 tokens"], 20, 3, PALETTE, False)[-1].text == "╰─────── 6 tokens ─╯"
    cut = frame([], [], ["a foot that is too long"], 20, 3, PALETTE, False)[-1].text
    assert cut == "╰─ a foot that i… ─╯"


def test_facts_of_a_foot_are_left_out_whole():
    facts = ["full bar 1", "keys 0–9 of 40", "heads 0–3 of 12"]
    feet = [frame([], [], facts, width, 3, PALETTE, False)[-1].text for width in (20, 34, 60)]
    assert [foot.strip("╰╯─ ") for foot in feet] == [
        "full bar 1",
        "full bar 1 · keys 0–9 of 40",
        "full bar 1 · keys 0–9 of 40 · heads 0–3 of 12",
    ]


def test_rows_below_the_last_are_left_out():
    lines = [[(str(i), PALETTE.base)] for i in range(9)]
    texts = [strip.text for strip in frame(lines, [], "", 8, 5, PALETTE, True)]
    assert [text.strip("│ ") for text in texts[1:-1]] == ["0", "1", "2"]


def test_an_active_frame_has_the_accent():
    for active, style in ((True, PALETTE.selected), (False, PALETTE.dim)):
        strip = frame([], [], "", 8, 3, PALETTE, active)[0]
        assert {each for _, each, _ in strip} == {style}


@quiet
@given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 59), st.integers(-5, 80))
def test_a_window_shows_the_cursor_and_moves_no_more_than_it_must(count, size, cursor, top):
    cursor = min(cursor, count - 1)
    first = window(count, size, cursor, top)
    assert first <= cursor < first + size
    assert 0 <= first <= max(0, count - size)
    if 0 <= top <= max(0, count - size) and top <= cursor < top + size:
        assert first == top
