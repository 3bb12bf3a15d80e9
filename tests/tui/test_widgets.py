"""What the panes draw, called with no app: widths, digits, masks, windows, hostile labels."""

import functools
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

import tui.widgets.matrix as matrix
import tui.widgets.weights as weights
from core.explain import entropy_bits, norm
from core.runner import run
from core.text import is_unseen, label
from core.types import Mask
from tests.tui.helpers import HOSTILE, make_view
from tui.choices import VECTORS, ZOOMS
from tui.labels import MASKED, signed, weight
from tui.scene import Scene
from tui.theme import DARK, RAMP_STEPS, make_palette
from tui.widgets.lines import line_cells
from tui.widgets.matrix import grid, matrix_lines
from tui.widgets.tokens import Cursor, TokensPane, shares, token_lines
from tui.widgets.tokens import table as tokens_table
from tui.widgets.vectors import table, vector_lines
from tui.widgets.weights import columns, full_bar, weight_lines

PALETTE = make_palette(DARK, "truecolor")
# Inside the frames of the narrowest panes of the wide screen, of 60, 80, 120 and 200 columns.
WIDTHS = (29, 31, 34, 44, 58, 78, 198)
LONG = " ".join(f"word{i}" for i in range(512))
TEXTS = {
    "words": "The black cat drank the milk",
    "one token": "milk",
    "chinese": "我想吃酸菜鱼",
    "emoji": "👩‍👩‍👧 🇨🇳 👍🏽 ❤️ each",
    "hostile": " ".join(HOSTILE),
    "long word": "Donaudampfschifffahrtsgesellschaftskapitän " * 3,
    "mixed widths": "a 我 bb 想想 cafe\u0301 👍🏽👍🏽👍🏽 " + "x" * 40,
}
MASKS = {"none": Mask(), "causal": Mask(True), "one": Mask(window=0, blocked=frozenset({0}))}


@functools.cache
def scene_of(text, mask=Mask(), heads=4, **fields):  # noqa: B008
    """A scene from one trace a request; tests only read."""
    d_model = 16 if heads == 4 else 2 * heads
    view = make_view(
        text, tokenizer="spaces", mask=mask, model={"heads": heads, "d_model": d_model}, **fields
    )
    return Scene(view, run(view.request))


def text_of(line):
    return "".join(text for text, _ in line)


def tokens_of(scene, width, height=20, top=0):
    shown = tokens_table(scene.queries, width, height, top)
    cursor = Cursor(scene.view.query, "▶", scene.attention.rule.blocked)
    return token_lines(scene.queries, cursor, PALETTE, shown)


def weights_of(scene, width, height=20, top=0):
    return weight_lines(scene, PALETTE, columns(scene, width, 0), height, top)


def matrix_of(scene, width, height=20, top=0, full=1.0):
    return matrix_lines(scene, PALETTE, grid(scene, width, height, top, 0), full)


def vectors_of(scene, width, height=30, top=0):
    return vector_lines(scene, PALETTE, table(scene, width), height, top)


DRAWN = {
    "tokens": tokens_of,
    "weights": weights_of,
    "matrix": matrix_of,
    "vectors": vectors_of,
}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("pane", DRAWN)
def test_no_line_is_wider_than_its_pane(pane, text, width):
    for precision in (1, 3, 12):
        for zoom in ZOOMS[1:]:  # the whole pattern is drawn in test_pairs.py
            for heads in (1, 4, 12):
                scene = scene_of(text, heads=heads, precision=precision, zoom=zoom, head=heads - 1)
                for line in DRAWN[pane](scene, width):
                    assert line_cells(line) <= width


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("pane", DRAWN)
def test_columns_line_up(pane, mask):
    """U02: rows with wide, joined and combining characters are as wide as the others."""
    scene = scene_of(TEXTS["mixed widths"], mask=mask, query=3, head=1)
    lines = DRAWN[pane](scene, 60)
    rows = lines if pane == "tokens" else lines[1:-1] if len(lines) > 2 else lines
    assert len({line_cells(line) for line in rows}) == 1


@pytest.mark.parametrize("pane", DRAWN)
def test_one_token_is_drawn(pane):
    scene = scene_of("milk")
    shown = "\n".join(text_of(line) for line in DRAWN[pane](scene, 58))
    assert {"tokens": "milk", "weights": "1.000", "matrix": "1.0", "vectors": "input"}[
        pane
    ] in shown


@pytest.mark.parametrize("pane", ["tokens", "weights", "matrix"])
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_labels_are_literal_and_free_of_controls(pane, text):
    """U04, U05, U06, X01, X10: markup is shown as it is typed, controls as marks."""
    scene = scene_of(f"{text} other")
    assert label(scene.queries[0]) in text_of(DRAWN["tokens"](scene, 78)[0])
    for line in DRAWN[pane](scene, 78):
        shown = text_of(line)
        assert not any(is_unseen(char) for char in shown)
    if text.isprintable() and pane != "matrix":
        assert any(text in text_of(line) for line in DRAWN[pane](scene, 120))


# Two texts.


def crossing(source, target, mask=Mask(), **fields):  # noqa: B008
    view = make_view(source, tokenizer="spaces", mask=mask)
    request = replace(view.request, target=target)
    return Scene(replace(view, request=request, attention="cross", **fields), run(request))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("target", TEXTS.values(), ids=TEXTS)
def test_no_line_of_two_texts_is_wider_than_its_pane(target, width):
    for source in ("a", TEXTS["mixed widths"]):
        scene = crossing(source, target)
        pane = TokensPane("tokens")
        drawn = [DRAWN[name](scene, width) for name in ("weights", "matrix", "vectors")]
        drawn.append(pane.body(scene, PALETTE, width, 20))
        for lines in drawn:
            assert len(lines) <= 30
            assert all(line_cells(line) <= width for line in lines)


def test_rows_are_queries_and_columns_are_keys():
    scene = crossing("a b c", "x y", mask=Mask(blocked=frozenset({1})), query=1, key=2)
    header, *rows = map(text_of, matrix_of(scene, 78))
    assert header.split() == ["a", "b", "c"]
    assert [row.split()[0] for row in rows] == ["x", "▶"]
    assert [row.split()[-2] for row in rows] == ["·", "·"]
    keys = [text_of(line)[2:].split()[0] for line in weights_of(scene, 78)[1:-1]]
    assert keys == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("rows", "queries", "keys", "expected"),
    [
        (20, 5, 4, (5, 4)),
        (20, 50, 4, (16, 4)),
        (20, 4, 50, (4, 16)),
        (20, 50, 50, (10, 10)),
        (2, 50, 50, (1, 1)),
    ],
)
def test_two_lists_share_the_rows(rows, queries, keys, expected):
    assert shares(rows, queries, keys) == expected


# Tokens.


def test_a_token_row_has_index_label_id_and_span():
    scene = scene_of(TEXTS["words"], query=2)
    for i, line in enumerate(tokens_of(scene, 60, 20, 0)):
        token = scene.queries[i]
        mark = "▶" if i == 2 else " "
        cells = text_of(line).split()
        assert text_of(line).startswith(mark)
        assert cells[-4:] == [str(i), token.piece, str(token.id), f"{token.start}–{token.end}"]


def test_facts_that_do_not_fit_leave_the_list_and_labels_stay():
    scene = scene_of(TEXTS["words"])
    shown = [text_of(tokens_of(scene, width, 20, 0)[1]) for width in (44, 28, 18)]
    assert [("–" in text, str(scene.queries[1].id) in text) for text in shown] == [
        (True, True),
        (False, True),
        (True, False),
    ]
    assert [tokens_table(scene.queries, width, 20, 0).columns for width in (44, 28, 18)] == [
        " · id · characters",
        " · id",
        " · characters",
    ]
    assert all("black" in text for text in shown)


def test_token_rows_start_at_the_top_given():
    scene = scene_of(TEXTS["words"])
    lines = tokens_of(scene, 58, 3, 2)
    assert [text_of(line).split()[1] for line in lines] == ["cat", "drank", "the"]


def test_a_blocked_token_says_so():
    scene = scene_of(TEXTS["words"], mask=Mask(blocked=frozenset({1})))
    shown = [text_of(line) for line in tokens_of(scene, 58, 20, 0)]
    assert ["×" in text for text in shown] == [False, True, False, False, False, False]


# Weights.


@pytest.mark.parametrize("precision", [1, 3, 6])
@pytest.mark.parametrize("head", range(4))
def test_weights_are_those_of_the_query_and_the_head(head, precision):
    scene = scene_of(TEXTS["words"], head=head, query=4, precision=precision)
    expected = scene.trace.layers[0].pattern[head, 4]
    for line, value in zip(weights_of(scene, 78)[1:-1], expected, strict=True):
        assert weight(float(value), precision) in text_of(line)


def test_bars_are_as_long_as_the_weights_of_every_head():
    scene = scene_of(TEXTS["words"], head=2, query=1)
    cols, full = columns(scene, 78, 0), full_bar(scene)
    pattern = scene.trace.layers[0].pattern
    for key, line in enumerate(weight_lines(scene, PALETTE, cols, 20, 0)[1:-1]):
        mark, _, left, before, chosen, right = (text for text, _ in line)
        assert before == ""
        assert mark == ("› " if key == 0 else "  ")
        bars = [*(left[i : i + cols.small] for i in range(0, len(left), cols.small + 1))]
        bars.append(chosen[cols.digits + 1 :])
        bars += [right[i : i + cols.small] for i in range(1, len(right), cols.small + 1)]
        for head, shown in enumerate(bars):
            cells = cols.wide if head == 2 else cols.small
            eighths = sum(" ▏▎▍▌▋▊▉█".index(char) for char in shown)
            exact = float(pattern[head, 1, key]) / full * cells * 8
            assert abs(eighths - exact) <= 1


def test_entropies_are_those_of_the_heads():
    scene = scene_of(TEXTS["words"], head=1, query=3)
    bits = entropy_bits(scene.trace.layers[0].pattern[:, 3])
    last = text_of(weights_of(scene, 78)[-1])
    assert last.split() == [
        "bits",
        *(f"{value:.{3 if head == 1 else 2}f}" for head, value in enumerate(bits)),
    ]


def test_a_masked_key_is_a_dash_and_has_no_bar():
    scene = scene_of(TEXTS["words"], mask=Mask(causal=True), query=2)
    for key, line in enumerate(weights_of(scene, 78)[1:-1]):
        assert (MASKED in text_of(line)) == (key > 2)
        assert any(char in text_of(line) for char in "▏▎▍▌▋▊▉█") == (key <= 2)


def test_a_query_without_any_key_says_so():
    scene = scene_of(TEXTS["words"], mask=Mask(window=0, blocked=frozenset({2})), query=2)
    assert [text_of(line).strip() for line in weights_of(scene, 58)] == [
        "masked: this query may attend to no key"
    ]


def test_tiny_weights_are_never_shown_as_0():
    scene = scene_of(LONG, precision=2)
    for line in weights_of(scene, 78, height=100)[1:-1]:
        assert re.search(r"<0\.01|0\.0[1-9]|0\.[1-9]", text_of(line))
        assert any(char in text_of(line) for char in "▏▎▍▌▋▊▉█")


@pytest.mark.parametrize("head", range(12))
def test_the_selected_head_is_always_among_those_shown(head):
    scene = scene_of(TEXTS["words"], heads=12, head=head)
    for width in WIDTHS:
        for first in (0, 5, 11):
            cols = columns(scene, width, first)
            assert head in cols.heads
            assert 0 <= cols.heads.start < cols.heads.stop <= 12
            header = text_of(weight_lines(scene, PALETTE, cols, 20, 0)[0])
            assert re.findall(r"\d+", header) == [str(i) for i in cols.heads]


def test_every_head_is_shown_where_there_is_room():
    assert columns(scene_of(TEXTS["words"], heads=12, head=3), 198, 0).heads == range(12)


def test_weight_rows_start_at_the_top_given():
    scene = scene_of(LONG, key=102)
    rows = [text_of(line).split() for line in weights_of(scene, 58, 6, 100)[1:-1]]
    assert [next(cell for cell in row if cell.startswith("word")) for row in rows] == [
        f"word{i}" for i in range(100, 104)
    ]
    assert rows[2][0] == "›"


# Matrix.


@pytest.mark.parametrize("zoom", [zoom for zoom in ZOOMS if zoom >= 5])
def test_matrix_digits_are_those_of_the_pattern(zoom):
    scene = scene_of(TEXTS["words"], zoom=zoom, head=2)
    pattern, digits = scene.trace.layers[0].pattern[2], {5: 2, 7: 3, 9: 3}[zoom]
    shown = grid(scene, 78, 20, 0, 0)
    for query, line in enumerate(matrix_of(scene, 78)[1:]):
        cells = text_of(line)[shown.left :]
        for key in shown.keys:
            cell = cells[key * shown.cell : (key + 1) * shown.cell].strip()
            value = float(pattern[query, key])
            if cell.startswith("<"):
                assert 0 < value < float(cell[1:])
            else:
                assert abs(float(cell) - value) <= 0.5 * 10**-digits + 1e-9


@pytest.mark.parametrize(
    ("text", "width", "cell", "header"),
    [
        ("The black cat drank the milk", 78, 6, "The black   cat drank   the  milk"),
        ("The black cat drank the milk", 40, 5, "The bla…  cat dra…  the milk"),
        ("a unbelievable b", 78, 9, "a unbelie…        b"),  # no wider than the widest zoom
        ("a b c", 78, 5, "a    b    c"),  # no wider than the labels need
    ],
)
def test_labels_widen_cells_where_all_keys_have_the_room(text, width, cell, header):
    scene = scene_of(text)
    shown = grid(scene, width, 20, 0, 0)
    assert shown.cell == cell
    assert text_of(matrix_of(scene, width)[0]).strip() == header
    assert text_of(matrix_of(scene, width)[1])[shown.left :].count(".") == len(shown.keys)


def test_masked_cells_are_dots_and_only_those():
    scene = scene_of(TEXTS["words"], mask=Mask(causal=True))
    for query, line in enumerate(matrix_of(scene, 78)[1:]):
        assert text_of(line).count("·") == 5 - query


@pytest.mark.parametrize("zoom", [1, 2])
def test_masked_cells_are_dots_zoomed_out_too(zoom):
    scene = scene_of(TEXTS["words"], mask=Mask(causal=True), zoom=zoom)
    for query, line in enumerate(matrix_of(scene, 78)[1:]):
        assert text_of(line).count("·") == 5 - query


def test_cell_colours_follow_the_weights():
    scene = scene_of(TEXTS["words"], query=5, key=5)
    pattern, steps = scene.trace.layers[0].pattern[0], []
    cell = grid(scene, 78, 20, 0, 0).cell
    for query in range(5):
        row = matrix_of(scene, 78)[1 + query]
        cells = [style for text, style in row[2:] for _ in text[::cell]]
        steps += [
            (PALETTE.ramp.index(style), float(pattern[query, key]))
            for key, style in enumerate(cells)
        ]
    assert all(step == min(int(value * RAMP_STEPS), RAMP_STEPS - 1) for step, value in steps)


def test_the_cursor_is_one_cell_and_its_header_and_row_are_marked():
    scene = scene_of(TEXTS["words"], query=3, key=4)
    header, *rows = matrix_of(scene, 78)
    under = [
        (y, text) for y, row in enumerate(rows) for text, style in row if style is PALETTE.cursor
    ]
    assert [(y, len(text)) for y, text in under] == [(3, grid(scene, 78, 20, 0, 0).cell)]
    assert [y for y, row in enumerate(rows) if text_of(row).startswith("▶")] == [3]
    assert [text.strip() for text, style in header if style is PALETTE.selected] == ["the"]


@pytest.mark.parametrize("zoom", ZOOMS[1:])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_grid_shows_whole_cells_around_the_cursor_and_no_more(width, zoom):
    """U13: what is drawn depends on the pane, not on the number of tokens."""
    scene = scene_of(LONG, zoom=zoom, query=300, key=400)
    shown = grid(scene, width, 15, 290, 0)
    assert shown.rows == range(290, 304)
    assert 400 in shown.keys
    assert shown.left + len(shown.keys) * shown.cell <= width
    assert shown.left + (len(shown.keys) + 1) * shown.cell > width


def test_512_tokens_draw_only_what_is_visible(monkeypatch):
    """U13: labels are asked for the rows and columns on screen only."""
    scene = scene_of(LONG, query=300, key=400)
    shown = grid(scene, 78, 15, 290, 0)
    asked = []
    monkeypatch.setattr(matrix, "label", lambda token: asked.append(token) or label(token))
    lines = matrix_lines(scene, PALETTE, shown, 1.0)
    assert len(lines) == 1 + len(shown.rows)
    assert len(asked) == len(shown.rows) + len(shown.keys)
    assert all(len(line) <= 3 + len(shown.keys) for line in lines)


def test_a_label_column_stops_looking_once_it_is_full(monkeypatch):
    asked = []
    monkeypatch.setattr(weights, "label", lambda token: asked.append(token) or label(token))
    assert weights.label_column(scene_of(LONG).keys, 5) == 5
    assert len(asked) == 1


def test_zoomed_out_header_points_at_the_key():
    scene = scene_of(LONG, zoom=1, key=25)
    shown = grid(scene, 78, 15, 0, 0)
    header = text_of(matrix_lines(scene, PALETTE, shown, 1.0)[0])
    assert header.index("▼") == shown.left + 25
    assert [i - shown.left for i, char in enumerate(header) if char == "╷"] == list(
        range(0, len(shown.keys), 10)
    )


# Vectors.


@pytest.mark.parametrize(
    ("width", "count", "gap"), [(32, 2, 2), (58, 4, 2), (78, 6, 1), (118, 6, 2)]
)
def test_vectors_stand_closer_where_more_are_seen_for_it(width, count, gap):
    """At 80 columns q, k and v stand beside what they are made of and what is made of them."""
    shown = table(scene_of(TEXTS["words"]), width)
    assert (len(shown.names), shown.gap) == (count, gap)
    assert shown.dim + count * shown.column <= width


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("width", [34, 58, 78, 198])
def test_the_selected_vector_is_shown_with_its_numbers(width, name):
    scene = scene_of(TEXTS["words"], vector=name, head=3, query=2)
    shown = table(scene, width)
    assert name in shown.names
    header, *rows, norms = vectors_of(scene, width)
    assert text_of(header).split() == list(shown.names)
    start = shown.dim + shown.names.index(name) * shown.column
    values = scene.vector(name)
    for value, row in zip(values, rows, strict=False):
        cell = text_of(row)[start : start + shown.column]
        assert cell.split()[0] == signed(float(value), 3).strip()
        left, right = cell[-2 * shown.half : -shown.half], cell[-shown.half :]
        assert not (right if value < 0 else left).strip()
    assert f"{norm(values):.3f}" in text_of(norms)[start : start + shown.column]


def test_input_comes_first_and_all_are_shown_where_there_is_room():
    assert table(scene_of("milk"), 198).names == VECTORS
    assert table(scene_of("milk", vector="q"), 58).names[0] == "input"


def test_short_vectors_leave_their_columns_blank():
    scene = scene_of(TEXTS["words"], vector="q")
    shown = table(scene, 198)
    start = shown.dim + VECTORS.index("q") * shown.column
    rows = vectors_of(scene, 198)[1:-1]
    assert len(rows) == 16
    assert [bool(text_of(row)[start : start + shown.column].strip()) for row in rows] == (
        [True] * 4 + [False] * 12
    )


def test_vector_rows_start_at_the_top_given_and_end_with_the_norms():
    scene = scene_of(TEXTS["words"])
    lines = vectors_of(scene, 78, 7, 9)
    assert [text_of(line).split()[0] for line in lines[1:]] == ["9", "10", "11", "12", "13", "‖x‖"]


def test_a_number_of_many_digits_keeps_its_column():
    scene = scene_of(TEXTS["words"], precision=12)
    shown = table(scene, 34)
    assert len(shown.names) == 1
    assert cell_len(text_of(vectors_of(scene, 34)[1])) <= 34
