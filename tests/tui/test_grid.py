"""The grid of heads: what stands where, what it says, keys, mouse and threads."""

import itertools
import threading
from dataclasses import replace

import numpy as np
import pytest
from rich.cells import cell_len

from core.head_statistics import HeadFacts, layer_facts, meant
from core.names import BADGES, STATISTICS
from core.pooling import pooled
from core.reading import Reading, read_layer
from core.trained import describe
from core.types import Mask, Request
from tests.core.small_checkpoints import speaking
from tests.tui.helpers import (
    click_on,
    explorer_of,
    find,
    make_view,
    open_app,
    press,
    says,
    screen_lines,
    settle,
    view_of,
)
from tui.choices import CELLS, ORDERS, SHOWN
from tui.command import command_line
from tui.grid import SHORT, layout, moved, ordered
from tui.scene import View, cursor
from tui.survey import Survey, Wanted
from tui.theme import DARK, make_palette
from tui.widgets.grid import filled, matrix_lines, number, pixel_rows, value_texts

COLOURS, FEW = (make_palette(DARK, system) for system in ("truecolor", None))
TEXT = "the black cat saw the dog and the black cat ran"
MODEL = {"layers": 12, "heads": 12, "d_model": 24}


def start(text=TEXT, model=None, **fields):
    return make_view(text, model=model or MODEL, **{"pane": "grid", **fields})


def grid_of(pilot):
    return pilot.app.screen.query_one("#pane-grid")


def facts_of(pilot):
    """The statistics of every head, worked out anew."""
    scene = explorer_of(pilot.app).scene
    about = meant(scene.attention)
    return {
        (layer, each.head): each
        for layer in range(len(scene.attention.layers))
        for each in layer_facts(scene.trace, scene.attention, layer, about)
    }


# The layout.


@pytest.mark.parametrize("matrices", [False, True])
@pytest.mark.parametrize("by_layer", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (12, 12), (30, 9), (32, 32), (100, 2)])
@pytest.mark.parametrize(("width", "height"), [(58, 5), (78, 12), (118, 25), (198, 49)])
def test_whole_heads_fill_the_pane_and_no_more(width, height, shape, by_layer, matrices):
    shown = layout(shape, by_layer, matrices, width, height)
    assert shown.label + shown.wide * shown.cell <= width
    assert shown.high * shown.lines <= height or shown.high == 1
    assert shown.wide <= shown.columns
    assert shown.high <= shown.rows
    assert (shown.rows - 1) * shown.columns < shape[0] * shape[1] <= shown.rows * shown.columns
    if by_layer:
        assert (shown.rows, shown.columns) == shape
    else:
        assert shown.wide == shown.columns
    if shown.high < shown.rows:
        assert (shown.high + 1) * shown.lines > height
    if shown.wide < shown.columns:
        assert shown.label + (shown.wide + 1) * shown.cell > width


@pytest.mark.parametrize("matrices", [False, True])
def test_12_by_12_is_seen_whole_at_120_by_36(matrices):
    shown = layout((12, 12), True, matrices, 118, 36 - 8 - 3)
    assert (shown.high, shown.wide) == (12, 12)
    assert shown.lines == 2


def test_the_next_head_stops_at_the_ends():
    places = list(itertools.product(range(2), range(3)))
    assert moved(places, (0, 1), 1) == (0, 2)
    assert moved(places, (0, 1), 9) == (1, 2)
    assert moved(places, (0, 1), -9) == (0, 0)


# What a head says.


def facts(badge="previous", number=0.813, **values):
    return HeadFacts(0, 0, {**dict.fromkeys(STATISTICS), **values}, badge, number)


def test_a_number_and_a_word_and_what_is_left_out_where_it_is_narrow():
    found = facts(entropy=1.5)
    assert value_texts(found, "badge", "", 8, 2) == [".81", "previous"]
    assert value_texts(found, "badge", "", 7, 2) == [".81", "prev"]
    assert value_texts(found, "entropy", "", 8, 2) == ["1.50", "previous"]
    assert value_texts(found, "first", "", 8, 2) == ["–", "previous"]
    assert value_texts(found, "badge", "", 10, 1) == [".81 prev"]
    assert value_texts(found, "badge", "", 5, 1) == ["prev"]
    assert value_texts(found, "entropy", "", 5, 1) == ["1.50"]
    assert value_texts(found, "badge", "3·4", 12, 2) == ["3·4 .81", "previous"]
    assert value_texts(facts(None, None), "badge", "", 8, 2) == ["–", "–"]


def test_an_undefined_number_is_never_0():
    assert number(None, "induction") == "–"
    assert number(0.0, "induction") == ".00"
    assert number(0.001, "induction") == "<.01"
    assert number(1.0, "induction") == "1.0"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_badge_fits_the_narrowest_cell(language):
    from core.language import _, set_language

    set_language(language)
    try:
        for name in BADGES:
            assert cell_len(_(SHORT.get(name, name))) <= 5
    finally:
        set_language("en")


def test_words_fill_lines_whole():
    assert filled(["one 1", "two 2", "three 3"], 14, 2) == ["one 1  two 2", "three 3"]
    assert filled(["one 1", "two 2", "three 3"], 7, 2) == ["one 1", "two 2 …"]
    assert filled(["much too long"], 6, 2) == ["much …"]


# Small matrices.


def matrix_of(pattern, mask=None, bins=(8, 8)):
    mask = np.ones(pattern.shape, bool) if mask is None else mask
    return pooled(pattern[None], 0, mask, *bins, "max")


def test_pixels_are_the_bins():
    found = matrix_of(np.eye(4))
    rows = pixel_rows(found, 8, 4)
    assert rows == [[9 if x // 2 == y else 0 for x in range(8)] for y in range(4)]


def test_two_pixels_a_cell_with_a_gap_below():
    lines = matrix_lines(matrix_of(np.eye(3), bins=(3, 3)), COLOURS, 3, 2)
    full, empty = COLOURS.ramp[-1].bgcolor, COLOURS.ramp[0].bgcolor
    cells = [[(style.color, style.bgcolor) for text, style in line for _ in text] for line in lines]
    assert cells == [
        [(full, empty), (empty, full), (empty, empty)],
        [(empty, empty), (empty, empty), (full, empty)],
    ]
    assert {text for line in lines for text, _ in line} == {"▀", "▀▀"}


def test_without_colours_a_glyph_a_cell_and_a_dot_where_it_is_masked():
    found = matrix_of(np.diag([1, 0.5, 0.25]), np.tri(3, dtype=bool), (3, 3))
    lines = matrix_lines(found, FEW, 3, 3)
    assert ["".join(text for text, _ in line) for line in lines] == ["█··", " ▄·", "  ▂"]


def test_scores_below_0_have_their_own_colour():
    found = matrix_of(np.array([[1.0, -0.9]]))
    (line,) = matrix_lines(found, COLOURS, 2, 1)
    assert [style.color for _, style in line] == [
        COLOURS.ramp[-1].bgcolor,
        COLOURS.negative.color,
    ]


# Order.


def test_heads_by_a_statistic_and_by_badge():
    view = start(model={"layers": 2, "heads": 3, "d_model": 6})
    from core.runner import run

    survey = Survey(run(view.request), "encoder")
    shape = (2, 3)
    in_layers = list(itertools.product(range(2), range(3)))
    assert ordered(None, shape, "first") == ordered(survey, shape, "first") == in_layers
    survey.facts[1] = [
        facts("first", 0.6, first=0.6),
        facts("induction", 0.5, first=0.9),
        facts(None, None),
    ]
    # Layer 0 is not known yet.
    assert ordered(survey, shape, "first")[:2] == [(1, 1), (1, 0)]
    assert ordered(survey, shape, "badge")[:2] == [(1, 1), (1, 0)]
    survey.facts[0] = [facts("first", 0.8, first=0.8)] * 3
    assert ordered(survey, shape, "first") == [(1, 1), (0, 0), (0, 1), (0, 2), (1, 0), (1, 2)]
    assert ordered(survey, shape, "badge") == [(1, 1), (0, 0), (0, 1), (0, 2), (1, 0), (1, 2)]


# On screen.


@pytest.mark.parametrize("keys", ["f", "fW", "W", "fL"])
async def test_heads_are_those_that_are_read(keys):
    """N13: with the sink dropped, colours and badges are those of what is left."""
    view = start("ab cd ab cd", cell="matrix", mask=Mask(causal=True))
    view = replace(view, request=replace(view.request, tokenizer="chars"))
    async with open_app(view) as pilot:
        plain = facts_of(pilot)
        await press(pilot, *keys)
        assert not says(pilot, "nothing merged or dropped here")
        pane, scene = grid_of(pilot), explorer_of(pilot.app).scene
        bins = pane.wanted(scene).bins
        for layer, head in plain:
            read = read_layer(scene.view.reading, scene.attention, layer)
            about = meant(scene.attention, read)
            expected = layer_facts(scene.trace, scene.attention, layer, about, read)[head]
            assert pane.survey.of_head(layer, head) == expected
            drawn = pane.survey.matrix(layer, head, bins)
            weights = read.rows(head, 0, len(read.queries)).weights
            at = pooled(weights[None], 0, read.mask, *bins, read.dropped)
            for mine, theirs in zip(drawn, at, strict=True):
                np.testing.assert_array_equal(mine, theirs)
        place = scene.view.layer, scene.view.head
        assert pane.survey.of_head(*place) != plain[place]
        explorer_of(pilot.app).select(reading=None)
        await settle(pilot)
        assert pane.survey.of_head(*place) == plain[place]


@pytest.mark.parametrize("key", ["9"])
@pytest.mark.parametrize("pane", ["tokens", "weights", "matrix", "vectors", "derivation"])
async def test_one_key_from_any_view(pane, key):
    async with open_app(start(pane=pane)) as pilot:
        await press(pilot, key)
        assert view_of(pilot).pane == "grid"
        assert explorer_of(pilot.app).focused is grid_of(pilot)
        assert grid_of(pilot).region.width == 120
        await press(pilot, "2")
        assert explorer_of(pilot.app).focused.pane == "weights"
        assert not grid_of(pilot).region.area


async def test_all_144_heads_with_their_badges_and_numbers():
    async with open_app(start()) as pilot:
        expected = facts_of(pilot)
        lines = screen_lines(pilot.app)
        top = next(at for at, line in enumerate(lines) if line.startswith("│ 0 "))
        for (layer, head), each in expected.items():
            left = 1 + 4 + head * 9 + 1
            number_line, word_line = lines[top + 2 * layer], lines[top + 2 * layer + 1]
            assert number_line[left : left + 8].strip() == number(each.number, "badge")
            word = word_line[left : left + 8].strip()
            assert word == (each.badge if len(each.badge) <= 8 else SHORT[each.badge])


@pytest.mark.parametrize("statistic", STATISTICS)
async def test_the_statistic_of_every_head(statistic):
    view = start(statistic=statistic, mask=Mask(causal=True), precision=4)
    async with open_app(view, (80, 24)) as pilot:
        expected = facts_of(pilot)
        lines = screen_lines(pilot.app)
        top = next(at for at, line in enumerate(lines) if line.startswith("│ 0 "))
        for (layer, head), each in expected.items():
            left = 1 + 4 + head * 6 + 1
            shown = lines[top + layer][left : left + 5].strip()
            assert shown == number(each.values[statistic], statistic)
        value = expected[0, 0].values[statistic]
        assert says(pilot, f"{statistic} {'–' if value is None else format(value, '.4f')}")


async def test_arrows_move_over_layers_and_heads_and_stop():
    async with open_app(start(layer=5, head=5)) as pilot:
        for key, place in (
            ("down", (6, 5)),
            ("right", (6, 6)),
            ("k", (5, 6)),
            ("h", (5, 5)),
            ("home", (0, 0)),
            ("up", (0, 0)),
            ("left", (0, 0)),
            ("end", (11, 11)),
            ("right", (11, 11)),
            ("pageup", (0, 11)),
            ("full_stop", (0, 11)),
            ("comma", (0, 10)),
            ("right_square_bracket", (1, 10)),
        ):
            await press(pilot, key)
            assert (view_of(pilot).layer, view_of(pilot).head) == place, key


async def test_arrows_follow_the_order():
    view = start(order="statistic", statistic="entropy")
    async with open_app(view) as pilot:
        found = facts_of(pilot)
        by_entropy = sorted(found, key=lambda place: -found[place].values["entropy"])
        await press(pilot, "home")
        for key, place in (("right", 1), ("down", 10), ("left", 9), ("up", 0), ("end", 143)):
            await press(pilot, key)
            assert (view_of(pilot).layer, view_of(pilot).head) == by_entropy[place]
        await press(pilot, "home")
        shown = [f"{layer}·{head}" for layer, head in by_entropy[:9]]
        assert [find(pilot, f"{name} ", "#pane-grid")[1] for name in shown] == [
            find(pilot, shown[0], "#pane-grid")[1]
        ] * 9


async def test_keys_of_the_grid():
    async with open_app(start()) as pilot:
        for key, field, value in (
            ("v", "statistic", "entropy"),
            ("V", "statistic", "badge"),
            ("V", "statistic", "induction"),
            ("z", "cell", "matrix"),
            ("Z", "cell", "value"),
            ("O", "order", "statistic"),
            ("O", "order", "layers"),
        ):
            before = view_of(pilot)
            await press(pilot, key)
            assert view_of(pilot) == replace(before, **{field: value}), key


async def test_enter_opens_the_head():
    async with open_app(start(layer=3, head=7)) as pilot:
        await press(pilot, "enter")
        assert (view_of(pilot).pane, view_of(pilot).layer, view_of(pilot).head) == ("matrix", 3, 7)
        assert explorer_of(pilot.app).focused.pane == "matrix"


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("cell", CELLS)
async def test_a_click_selects_and_a_second_one_opens(cell, order):
    async with open_app(start(cell=cell, order=order)) as pilot:
        pane = grid_of(pilot)
        shown, places = pane._layout(pilot.app.screen.scene), pane._places(pilot.app.screen.scene)
        column, row = 4, 2
        at = (
            pane.region.x + 1 + shown.label + column * shown.cell + 1,
            pane.region.y + 1 + (order == "layers") + row * shown.lines,
        )
        await pilot.click(offset=at)
        await settle(pilot)
        wanted = places[(pane.top + row) * shown.columns + column]
        assert (view_of(pilot).layer, view_of(pilot).head) == wanted
        assert view_of(pilot).pane == "grid"
        await pilot.click(offset=at)
        await settle(pilot)
        assert (view_of(pilot).layer, view_of(pilot).head) == wanted
        assert view_of(pilot).pane == "matrix"


async def test_a_click_beside_the_heads_selects_nothing():
    async with open_app(start(model={"layers": 2, "heads": 2, "d_model": 4})) as pilot:
        before, region = view_of(pilot), grid_of(pilot).region
        for x, y in ((1, 2), (100, 3), (20, 20)):
            await pilot.click(offset=(region.x + x, region.y + y))
            await settle(pilot)
            assert view_of(pilot) == before


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 36)])
@pytest.mark.parametrize("cell", CELLS)
async def test_32_by_32_scrolls_to_the_selected_head(cell, size):
    big = {"layers": 32, "heads": 32, "d_model": 64}
    async with open_app(start(model=big, cell=cell), size) as pilot:
        assert says(pilot, "layers 0–")
        await press(pilot, "end")
        assert says(pilot, "–31 of 32")
        for place in ((20, 7), (31, 0), (0, 31)):
            explorer_of(pilot.app).select(layer=place[0], head=place[1])
            await settle(pilot)
            marked = [line for line in screen_lines(pilot.app) if "▌" in line]
            assert marked
            assert marked[0][1:].split()[0] == str(place[0])


async def test_only_layers_that_are_seen_are_looked_at(monkeypatch):
    looked = []
    look = Survey.look
    monkeypatch.setattr(
        Survey,
        "look",
        lambda self, layer, wanted: looked.append(layer) or look(self, layer, wanted),
    )
    big = {"layers": 40, "heads": 2, "d_model": 4}
    async with open_app(start(model=big), (80, 24)) as pilot:
        seen = list(range(12))
        assert looked == seen
        await press(pilot, "down", "v", "z", "z")
        assert sorted(set(looked)) == seen
        looked.clear()
        await press(pilot, *["down"] * 14)
        assert looked == [12, 13, 14, 15]
        await press(pilot, "O")  # to sort them, all are needed
        assert sorted(set(looked)) == list(range(12, 40))


async def test_the_wheel_shows_other_layers_and_selects_nothing():
    big = {"layers": 40, "heads": 2, "d_model": 4}
    from textual.events import MouseScrollDown

    view = start(model=big)
    async with open_app(view, (80, 24)) as pilot:
        for _ in range(3):
            await pilot._post_mouse_events([MouseScrollDown], "#pane-grid", (9, 5), button=0)
        await settle(pilot)
        assert view_of(pilot) == view
        assert says(pilot, "layers 9–20 of 40")
        assert "…" not in "".join(screen_lines(pilot.app)[6:-3])


async def test_an_edit_and_a_switch_are_followed():
    async with open_app(start()) as pilot:
        await press(pilot, "m")
        assert says(pilot, f"entropy {facts_of(pilot)[0, 0].values['entropy']:.3f}")
        await press(pilot, "e", "space", "X", "escape")
        assert says(pilot, f"entropy {facts_of(pilot)[0, 0].values['entropy']:.3f}")


async def test_every_attention_has_its_grid():
    view = start()
    view = replace(view, request=replace(view.request, target="un gato negro"), attention="cross")
    async with open_app(view) as pilot:
        assert says(pilot, "Heads · cross")
        assert says(pilot, "self –")
        assert says(pilot, f"first {facts_of(pilot)[0, 0].values['first']:.3f}")
        await press(pilot, "a")
        assert says(pilot, f"self {facts_of(pilot)[0, 0].values['self']:.3f}")


async def test_scores_that_nothing_normalises_say_why_there_is_nothing():
    view = start(switches={"normalizer": "none"})
    async with open_app(view) as pilot:
        assert says(pilot, "Scores that nothing normalises are no shares of a row")
        await press(pilot, "z")
        assert says(pilot, "matrices, max of each cell")


async def test_a_real_model_is_looked_at_in_a_thread(tmp_path, monkeypatch):
    model = describe(speaking("bert-legacy", tmp_path))
    view = View(Request("t5 t17 t3 t29", model=model), pane="grid")
    threads, go_on, look = [], threading.Event(), Survey.look

    def waits(self, layer, wanted):
        threads.append(threading.current_thread() is threading.main_thread())
        go_on.wait()
        look(self, layer, wanted)

    monkeypatch.setattr(Survey, "look", waits)
    from tui.app import AttnApp

    app = AttnApp(view)
    async with app.run_test(size=(80, 24)) as pilot:
        try:
            while not threads:
                await pilot._wait_for_screen()
            assert says(pilot, "Heads")
            assert says(pilot, "0 ▌…")
        finally:
            go_on.set()
        await settle(pilot)
        assert threads == [False, False]
        assert says(pilot, f"entropy {facts_of(pilot)[0, 0].values['entropy']:.3f}")


def test_what_is_read_goes_to_a_thread_sooner():
    from core.runner import run

    trace = run(Request("a " * 500))
    assert Survey(trace, "encoder").is_quick([0])
    assert not Survey(trace, "encoder", Reading(words=True)).is_quick([0])


async def test_what_fails_in_the_thread_is_said_once(tmp_path, monkeypatch):
    model = describe(speaking("bert-legacy", tmp_path))
    view = View(Request("t5 t17 t3 t29", model=model), pane="grid")
    tried = []

    def fails(self, layer, wanted):
        tried.append(layer)
        raise MemoryError

    monkeypatch.setattr(Survey, "look", fails)
    async with open_app(view) as pilot:
        assert says(pilot, "no memory left")
        assert tried == [0]


async def test_leaving_the_grid_lets_go_of_the_trace():
    async with open_app(start()) as pilot:
        pane = grid_of(pilot)
        assert pane.survey is not None
        await press(pilot, "3")
        assert pane.survey is None
        assert explorer_of(pilot.app)._survey is None


def test_survey_knows_what_is_missing():
    from core.runner import run

    view = start(model={"layers": 3, "heads": 2, "d_model": 4})
    survey = Survey(run(view.request), "encoder")
    values, drawn = Wanted((0, 1)), Wanted((0, 1), (3, 5, "max"))
    assert survey.missing(values) == [0, 1]
    survey.look(0, values)
    assert survey.missing(values) == [1]
    assert survey.missing(drawn) == [0, 1]
    survey.look(0, drawn)
    assert survey.missing(drawn) == [1]
    assert survey.matrix(0, 1, (3, 5, "max")).values.shape == (3, 5)
    assert survey.matrix(0, 1, (3, 5, "mean")) is None
    assert survey.missing(Wanted((0,), (3, 5, "mean"))) == [0]


def test_the_command_reopens_the_grid():
    view = start(statistic="induction", cell="matrix", order="statistic", pool="mean")
    words = command_line(view)
    for part in ("--pane grid", "--statistic induction", "--cell matrix", "--order statistic"):
        assert part in words
    assert "--pool mean" in words


async def test_the_palette_shows_a_statistic():
    from tui.palette import ExplorerCommands

    async with open_app(start(pane="tokens")) as pilot:
        commands = {each.name: each for each in ExplorerCommands(pilot.app.screen)._commands()}
        for name in SHOWN:
            assert f"Grid of heads: {name}" in commands
        commands["Grid of heads: induction"].run()
        await settle(pilot)
        assert (view_of(pilot).pane, view_of(pilot).statistic) == ("grid", "induction")


async def test_a_hint_opens_the_head_under_the_cursor():
    async with open_app(start(layer=2)) as pilot:
        await click_on(pilot, "enter open", "KeyBar")
        assert view_of(pilot).pane == "matrix"


def test_layer_and_head_are_the_cursor():
    assert cursor(start()) == ("layer", "head")


async def test_enter_in_the_grid_of_a_real_model_opens_and_says_nothing(tmp_path):
    model = describe(speaking("bert-legacy", tmp_path))
    view = View(Request("t5 t17 t3 t29", model=model), pane="grid", layer=1, head=2)
    async with open_app(view) as pilot:
        await press(pilot, "v", "O", "z", "z", "O")
        await press(pilot, "enter")
        assert (view_of(pilot).pane, view_of(pilot).layer, view_of(pilot).head) == ("matrix", 1, 2)
        assert not pilot.app._notifications
