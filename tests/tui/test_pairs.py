"""Long texts: the pooled matrix, exact when zoomed, and the strongest pairs."""

import re
from dataclasses import replace

import numpy as np
import pytest

from core.explain import shades
from core.names import SCALES
from core.pooling import edges, pooled
from core.types import Mask, Request
from tests.tui.helpers import (
    explorer_of,
    find,
    make_view,
    open_app,
    press,
    says,
    screen_lines,
    view_of,
)
from tui.command import command_line
from tui.scene import Scene, View
from tui.theme import COLUMN, DARK, make_palette, ramp_step
from tui.widgets.lines import line_cells
from tui.widgets.pooled import bins, pooled_lines

PALETTE = make_palette(DARK, "truecolor")
LONG = " ".join(f"word{i}" for i in range(300))
SHORT = "The black cat drank the milk"


def start(text=LONG, **fields):
    return make_view(text, **{"pane": "matrix", "zoom": 0, **fields})


def scene_of(view):
    from core.runner import run

    return Scene(view, run(view.request))


def text_of(line):
    return "".join(text for text, _ in line)


# Drawing.


@pytest.mark.parametrize("mask", [Mask(), Mask(causal=True)])
@pytest.mark.parametrize("pool", ["max", "mean"])
@pytest.mark.parametrize(("width", "height"), [(46, 13), (58, 9), (198, 49)])
def test_a_cell_is_its_bin(width, height, pool, mask):
    scene = scene_of(start(pool=pool, mask=mask, query=200, key=150))
    shown = bins(scene, width, height)
    found = pooled(scene.rows, scene.mask, *shown.shape, pool)
    full = float(found.values.max())
    header, *rows = pooled_lines(scene, PALETTE, shown, found, full)
    assert len(rows) == shown.shape[0] == min(height - 1, 300)
    assert all(line_cells(line) <= width for line in (header, *rows))
    assert shown.queries == tuple(edges(300, height - 1))
    place = shown.of(200, 150)
    for y, row in enumerate(rows):
        cells = text_of(row)[shown.left :]
        styles = [style for text, style in row for _ in text]
        assert len(cells) == shown.shape[1]
        assert text_of(row)[2 : shown.left].strip() == str(shown.queries[y])
        assert text_of(row).startswith("▶") == (y == place[0])
        for x, cell in enumerate(cells):
            if not found.allowed[y, x]:
                assert cell == "·"
                continue
            fraction = float(found.values[y, x]) / full
            assert cell == COLUMN[min(round(fraction * 8), 8)]
            style = PALETTE.cursor_glyph if (y, x) == place else PALETTE.ink[ramp_step(fraction)]
            assert styles[shown.left + x] is style
    assert header[2] == ("▼", PALETTE.selected)
    assert text_of(header).index("▼") == shown.left + place[1]


def test_numbers_over_columns_are_where_they_begin():
    scene = scene_of(start(query=0, key=299))
    shown = bins(scene, 78, 20)
    found = pooled(scene.rows, scene.mask, *shown.shape, "max")
    header = text_of(pooled_lines(scene, PALETTE, shown, found, 1.0)[0])
    for x in range(0, shown.shape[1] - 5, 10):
        number = str(shown.keys[x])
        assert header[shown.left + x :].startswith(number)


@pytest.mark.parametrize("key", range(0, 300, 7))
def test_a_mark_leaves_no_other_number_over_a_column(key):
    scene = scene_of(start(query=0, key=key))
    shown = bins(scene, 78, 20)
    found = pooled(scene.rows, scene.mask, *shown.shape, "max")
    header = text_of(pooled_lines(scene, PALETTE, shown, found, 1.0)[0])[shown.left :]
    assert header.index("▼") == shown.of(0, key)[1]
    for match in re.finditer(r"\d+", header):
        assert int(match[0]) == shown.keys[match.start()]


def test_a_text_that_fits_is_not_pooled():
    scene = scene_of(start(SHORT))
    shown = bins(scene, 46, 13)
    assert shown.exact
    assert shown.shape == (6, 6)


# On screen.


@pytest.mark.parametrize("pool", ["max", "mean"])
async def test_what_a_cell_stands_for_is_said(pool):
    async with open_app(start(pool=pool, query=250, key=120), (120, 36)) as pilot:
        assert says(pilot, f"Pattern · layer 0 · head 0 · pooled: {pool}")
        pane = pilot.app.screen.query_one("#pane-matrix")
        shown, scene = pane._bins, explorer_of(pilot.app).scene
        queries, keys = shown.ranges(*shown.of(250, 120))
        part = scene.layer.pattern[0][queries.start : queries.stop, keys.start : keys.stop]
        value = part.max() if pool == "max" else part.mean()
        said = f"queries {queries.start}–{queries.stop - 1} × keys {keys.start}–{keys.stop - 1}"
        assert says(pilot, f"{said}: {pool} {value:.3f}")


async def test_a_text_that_fits_says_that_every_cell_is_exact():
    async with open_app(start(SHORT)) as pilot:
        assert says(pilot, "every cell exact")
        assert not says(pilot, "pooled")


async def test_zooming_goes_from_all_to_exact_and_back():
    async with open_app(start(zoom=2)) as pilot:
        await press(pilot, "Z", "Z")
        assert view_of(pilot).zoom == 0
        assert says(pilot, "pooled: max")
        await press(pilot, "P")
        assert says(pilot, "pooled: mean")
        await press(pilot, "z")
        assert view_of(pilot).zoom == 1
        assert not says(pilot, "pooled")
        assert says(pilot, "keys ")


async def test_arrows_go_from_cell_to_cell_to_its_strongest_pair():
    async with open_app(start(query=100, key=100, mask=Mask(causal=True))) as pilot:
        pane = pilot.app.screen.query_one("#pane-matrix")
        scene = explorer_of(pilot.app).scene
        pattern = scene.layer.pattern[0]
        for key, (down, across) in (
            ("down", (1, 0)),
            ("l", (0, 1)),
            ("k", (-1, 0)),
            ("left", (0, -1)),
        ):
            row, column = pane._bins.of(view_of(pilot).query, view_of(pilot).key)
            await press(pilot, key)
            here = view_of(pilot).query, view_of(pilot).key
            assert pane._bins.of(*here) == (row + down, column + across)
            queries, keys = pane._bins.ranges(row + down, column + across)
            part = pattern[queries.start : queries.stop, keys.start : keys.stop]
            if part.any():
                assert pattern[here] == part.max()
        await press(pilot, "home", *["up"] * 2, *["left"] * 30)
        assert pane._bins.of(view_of(pilot).query, view_of(pilot).key) == (0, 0)


async def test_a_click_selects_the_strongest_pair_of_a_cell():
    async with open_app(start()) as pilot:
        pane = pilot.app.screen.query_one("#pane-matrix")
        shown, region = pane._bins, pane.region
        await pilot.click(offset=(region.x + 1 + shown.left + 7, region.y + 2 + 5))
        from tests.tui.helpers import settle

        await settle(pilot)
        queries, keys = shown.ranges(5, 7)
        part = explorer_of(pilot.app).scene.layer.pattern[0][
            queries.start : queries.stop, keys.start : keys.stop
        ]
        at = np.unravel_index(part.argmax(), part.shape)
        assert (view_of(pilot).query, view_of(pilot).key) == (
            queries.start + at[0],
            keys.start + at[1],
        )


async def test_a_head_is_pooled_once_as_long_as_nothing_changes(monkeypatch):
    import core.pooling

    count, real = [], core.pooling.pooled
    monkeypatch.setattr("core.pooling.pooled", lambda *a: count.append(1) or real(*a))
    async with open_app(start()) as pilot:
        count.clear()
        await press(pilot, "down", "right", "up", "tab")
        assert count == []
        await press(pilot, "full_stop")
        assert count == [1]


def test_the_command_reopens_it():
    view = View(Request(SHORT), pane="matrix", zoom=0, pool="mean")
    assert command_line(view) == f"attn-tui --pane matrix --zoom 0 --pool mean '{SHORT}'"


# Strongest pairs.


def by_weight(pilot, head=0):
    """Every allowed pair of a head, by a plain sort."""
    scene = explorer_of(pilot.app).scene
    pattern, mask = scene.layer.pattern[head], scene.mask
    pairs = [(-pattern[q, k], q, k) for q, k in np.argwhere(mask).tolist()]
    return [(q, k) for _weight, q, k in sorted(pairs)]


async def test_from_pair_to_pair_and_back():
    async with open_app(make_view(SHORT)) as pilot:
        expected = by_weight(pilot)
        for place in (0, 1, 2):
            await press(pilot, "S")
            assert (view_of(pilot).query, view_of(pilot).key) == expected[place]
            assert view_of(pilot).pane == "matrix"
            value = explorer_of(pilot.app).scene.layer.pattern[0][expected[place]]
            assert says(pilot, f" {value:.3f} · pair {place + 1} by weight")
        await press(pilot, "B")
        assert says(pilot, "pair 2 by weight")
        await press(pilot, "B", "B", "B")
        assert (view_of(pilot).query, view_of(pilot).key) == expected[0]
        await press(pilot, "down")
        assert not says(pilot, "by weight")


async def test_another_head_has_other_pairs():
    async with open_app(make_view(SHORT)) as pilot:
        await press(pilot, "S", "full_stop")
        assert not says(pilot, "by weight")
        await press(pilot, "home", "S")
        pairs = by_weight(pilot, 1)
        here = (view_of(pilot).query, view_of(pilot).key)
        assert here in pairs[:2]


async def test_every_pair_is_reached_and_the_end_is_said():
    async with open_app(make_view("a b c", mask=Mask(causal=True))) as pilot:
        seen = []
        for _ in range(6):
            await press(pilot, "S")
            seen.append((view_of(pilot).query, view_of(pilot).key))
        assert seen == by_weight(pilot)
        assert not pilot.app._notifications
        await press(pilot, "S")
        assert says(pilot, "these are the 6 strongest pairs")


async def test_the_derivation_stays_and_follows():
    async with open_app(make_view(SHORT, pane="derivation")) as pilot:
        await press(pilot, "S")
        assert view_of(pilot).pane == "derivation"
        assert (view_of(pilot).query, view_of(pilot).key) == by_weight(pilot)[0]


async def test_without_a_pair_that_is_said():
    view = make_view("a b", mask=Mask(blocked=frozenset({0, 1})))
    async with open_app(view) as pilot:
        await press(pilot, "S")
        assert says(pilot, "this head has no pair")
        assert view_of(pilot) == view


async def test_before_there_is_a_trace_nothing_happens():
    async with open_app(make_view("")) as pilot:
        before = view_of(pilot)
        await press(pilot, "S", "B")
        assert view_of(pilot) == before
        assert not pilot.app._notifications


async def test_scores_are_ranked_by_size():
    async with open_app(make_view(SHORT, switches={"normalizer": "none"})) as pilot:
        await press(pilot, "S")
        pattern = explorer_of(pilot.app).scene.layer.pattern[0]
        assert abs(pattern[view_of(pilot).query, view_of(pilot).key]) == abs(pattern).max()


async def test_2000_tokens_show_only_what_is_there():
    words = " ".join(str(i % 97) for i in range(2000))
    async with open_app(start(words, switches={"mask": Mask(causal=True)})) as pilot:
        assert says(pilot, "2,000 tokens")
        shown = pilot.app.screen.query_one("#pane-matrix")._bins
        find(pilot, f" {shown.queries[-2]} ", "#pane-matrix")
        await press(pilot, "S")
        assert says(pilot, "pair 1 by weight")
        assert len(screen_lines(pilot.app)) == 36


async def test_a_pooled_cell_of_one_key_names_that_key():
    text = " ".join(f"w{i}" for i in range(100))
    async with open_app(make_view(text, zoom=0, pane="matrix"), (80, 24)) as pilot:
        shown = pilot.app.screen.query_one("#pane-matrix")._bins
        column = next(i for i in range(shown.shape[1]) if len(shown.ranges(0, i)[1]) == 1)
        key = shown.ranges(0, column)[1].start
        for _ in range(column):
            await press(pilot, "right")
        assert says(pilot, f"× keys {key}: max")


async def test_a_pooled_matrix_is_read_as_the_others_are():
    async with open_app(start(query=100, key=50)) as pilot:
        await press(pilot, "F")  # the column of the selected key is dropped
        scene = explorer_of(pilot.app).state.as_read(explorer_of(pilot.app).scene)
        shown = pilot.app.screen.query_one("#pane-matrix")._bins
        queries, keys = shown.ranges(*shown.of(100, 50))
        rows = scene.rows(queries.start, queries.stop).weights[:, keys.start : keys.stop]
        assert says(pilot, f"keys {keys.start}–{keys.stop - 1}: max {rows.max():.3f}")
        removed = scene.rows(queries.start, queries.stop).removed.max()
        (row,) = [row for row in screen_lines(pilot.app) if f"▶ {queries.start:>3} " in row]
        assert f" {removed:.3f}│" in row
        find(pilot, " removed│", "#pane-matrix")


@pytest.mark.parametrize("zoom", [0, 1])
async def test_what_is_removed_is_left_out_where_no_cell_would_be_left(zoom):
    async with open_app(start(query=100, key=50)) as pilot:
        await press(pilot, "F")
        pane = pilot.app.screen.query_one("#pane-matrix")
        scene = explorer_of(pilot.app).state.as_read(explorer_of(pilot.app).scene)
        scene = replace(scene, view=replace(scene.view, zoom=zoom))
        said = []
        for width in range(12, 40):
            lines = pane.body(scene, PALETTE, width, 12)
            assert all(line_cells(line) <= width for line in lines)
            said.append("removed" in text_of(lines[0]))
        assert said == sorted(said)  # from some width on
        assert len(set(said)) == 2


async def drawn_as(pilot, colours):
    """The small matrix of a scene, exact and pooled: signs and styles of every cell, and what is
    removed of each row.
    """
    while view_of(pilot).colours != colours:
        await press(pilot, "C")
    pane = pilot.app.screen.query_one("#pane-matrix")
    scene = explorer_of(pilot.app).state.as_read(explorer_of(pilot.app).scene)
    found = []
    for zoom in (1, 0):
        shown = replace(scene, view=replace(scene.view, zoom=zoom))
        lines = pane.body(shown, PALETTE, 60, 20)[1:]
        left = pane._grid.left if zoom else pane._bins.left
        cells = [[(sign, style) for text, style in line for sign in text] for line in lines]
        found.append([line[left:] for line in cells])
    return found


@pytest.mark.parametrize("colours", SCALES)
@pytest.mark.parametrize("normalizer", ["softmax", "none"])
async def test_where_nothing_is_pooled_the_pooled_matrix_is_the_exact_one(colours, normalizer):
    view = make_view(SHORT, pane="matrix", mask=Mask(causal=True), key=1, query=2)
    async with open_app(view) as pilot:
        if normalizer == "none":
            await press(pilot, "n", "n")
        else:
            await press(pilot, "F", "f")  # row 0 has nothing left
        exact, whole = await drawn_as(pilot, colours)
        assert whole == exact
        assert ("×" in {sign for row in whole for sign, _style in row}) == (normalizer != "none")
        assert "·" in {sign for row in whole for sign, _style in row}


@pytest.mark.parametrize(("colours", "said"), [("row", "by row"), ("log", "log")])
async def test_a_pooled_matrix_says_what_its_colours_are_by(colours, said):
    async with open_app(start(colours=colours), (100, 30)) as pilot:
        find(pilot, f" {said} ", "#pane-matrix")
        scene = explorer_of(pilot.app).scene
        shown = pilot.app.screen.query_one("#pane-matrix")._bins
        found = pooled(scene.rows, scene.mask, *shown.shape, "max")
        row = pooled_lines(scene, PALETTE, shown, found, 1.0)[3]
        part = shades(found.values[2].astype(float), 1.0, colours)
        assert text_of(row)[shown.left :] == "".join(COLUMN[min(round(p * 8), 8)] for p in part)


async def test_a_cell_of_a_dropped_column_alone_says_so():
    async with open_app(start(query=100, key=0), (120, 36)) as pilot:
        pane = pilot.app.screen.query_one("#pane-matrix")
        await press(pilot, "F")  # from here on there is a column for what is removed
        for key in range(1, pane._bins.keys[1]):
            explorer_of(pilot.app).select(key=key)
            await press(pilot, "F")
        _queries, keys = pane._bins.ranges(*pane._bins.of(100, 0))
        assert says(pilot, f"× keys {keys.start}–{keys.stop - 1}: dropped")


def ranked_as_read(pilot, head=0):
    """What is left of a head, as it is read, by a plain sort; words by their first tokens."""
    scene = explorer_of(pilot.app).state.as_read(explorer_of(pilot.app).scene)
    weights = scene.rows(0, len(scene.queries)).weights
    left = scene.mask & ~scene.read.dropped & weights.any(axis=1)[:, None]
    pairs = [(-weights[q, k], q, k) for q, k in np.argwhere(left).tolist()]
    return [(scene.query_at(q), scene.key_at(k)) for _weight, q, k in sorted(pairs)]


@pytest.mark.parametrize("words", [False, True])
async def test_pairs_are_ranked_as_they_are_read(words):
    view = make_view("ab cd e f", tokenizer="chars", mask=Mask(causal=True), pane="matrix")
    async with open_app(view) as pilot:
        plain = by_weight(pilot)
        await press(pilot, "f", *["W"] * words)
        expected, seen = ranked_as_read(pilot), []
        assert expected != plain[: len(expected)]
        for place in range(len(expected)):
            await press(pilot, "S")
            seen.append((view_of(pilot).query, view_of(pilot).key))
            assert says(pilot, f"pair {place + 1} by weight")
        assert seen == expected
        await press(pilot, "S")
        assert says(pilot, f"these are the {len(expected)} strongest pairs")
        await press(pilot, "5")  # which shows the numbers themselves
        explorer_of(pilot.app).select(query=3, key=0)
        await press(pilot, "S")
        assert (view_of(pilot).query, view_of(pilot).key) == plain[0]


async def test_where_all_is_dropped_there_is_no_pair():
    async with open_app(make_view("a", pane="matrix")) as pilot:
        await press(pilot, "f", "S")
        assert says(pilot, "every key is masked or dropped")


async def test_a_pair_keeps_its_place_when_its_weight_changes():
    async with open_app(make_view(SHORT, pane="matrix")) as pilot:
        await press(pilot, "S", "s", "S", "p", "S", "B")
        assert says(pilot, "by weight")
