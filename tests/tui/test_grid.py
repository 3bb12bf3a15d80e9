"""The grid of heads on screen: keys, mouse and threads."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from core.head_statistics import layer_facts, meant
from core.names import STATISTICS
from core.pooling import pooled
from core.reading import Reading, read_layer
from core.types import Mask, Request
from tests.tui.helpers import (
    click_on,
    explorer_of,
    find,
    make_view,
    open_app,
    press,
    real_view,
    says,
    screen_lines,
    settle,
    view_of,
)
from tui.choices import CELLS, ORDERS, SHOWN
from tui.command import command_line
from tui.grid import SHORT
from tui.scene import cursor
from tui.survey import Survey, Wanted
from tui.terminal import plain
from tui.widgets.grid import number, statistic_words

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
            at = pooled(
                lambda start, stop, weights=weights: (weights[start:stop], None),
                *(read.mask, *bins, read.dropped),
            )
            for mine, theirs in zip(drawn[:3], at[:3], strict=True):
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


@pytest.mark.parametrize("precision", [3, 5, 12])
@pytest.mark.parametrize("cell", CELLS)
async def test_every_statistic_of_the_head_is_read_on_the_smallest_screen(cell, precision):
    view = start(mask=Mask(causal=True), precision=precision, cell=cell)
    async with open_app(view, (60, 18)) as pilot:
        for place in ((0, 0), (11, 11)):
            explorer_of(pilot.app).select(layer=place[0], head=place[1])
            await settle(pilot)
            values = facts_of(pilot)[place].values
            either = zip(
                *(statistic_words(values, precision, short) for short in (False, True)), strict=True
            )
            assert not [words for words in either if not any(says(pilot, word) for word in words)]
            assert any(line.startswith(f"│{place[0]:>2}") for line in screen_lines(pilot.app))


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_statistics_are_in_full_words_where_there_is_room(size):
    async with open_app(start(mask=Mask(causal=True)), size) as pilot:
        words = statistic_words(facts_of(pilot)[0, 0].values, 3)
        assert all(says(pilot, word) for word in words)
        assert grid_of(pilot)._details_height(explorer_of(pilot.app).scene, size[0] - 2) == 2


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


async def test_in_ascii_small_matrices_differ(monkeypatch):
    monkeypatch.setattr(plain, "_wanted", True)
    async with open_app(start(cell="matrix", mask=Mask(causal=True)), (80, 24)) as pilot:
        top = next(line for line in screen_lines(pilot.app) if line.startswith("│ 0 "))
        assert top[5] == "|"  # the selected head's mark is no cell of a matrix
        heads = {top[left : left + 6] for left in range(6, 76, 7)}
        assert "▀" not in "".join(screen_lines(pilot.app))
        assert len(heads) > 1
        assert all(head.endswith("·") for head in heads)  # what is masked


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


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("statistic", ["special", "self"])
async def test_the_title_says_where_no_head_has_what_they_are_sorted_by(statistic, cell):
    view = start(order="statistic", statistic=statistic, cell=cell)
    async with open_app(view, (80, 24)) as pilot:
        expected = "which no head has" if statistic == "special" else "the largest first"
        assert says(pilot, f"by {statistic}, {expected}")


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 36)])
async def test_the_statistic_chosen_stands_out_in_every_grid(size, order, cell):
    """Matrices in the order of layers show no other sign of it."""
    async with open_app(start(cell=cell, order=order), size) as pilot:
        pane = grid_of(pilot)
        for statistic in SHOWN:
            assert view_of(pilot).statistic == statistic
            words = [
                text.split()[0]
                for line in pane._details(explorer_of(pilot.app).scene, pane.palette, size[0] - 2)
                for text, style in line
                if style == pane.palette.selected
            ]
            expected = SHORT.get(statistic, statistic) if size == (60, 18) else statistic
            assert words == ([] if statistic == "badge" else [expected])
            before = pilot.app.export_screenshot()
            await press(pilot, "v")
            assert pilot.app.export_screenshot() != before


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
    view = real_view("bert-legacy", tmp_path, pane="grid")
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
    view = real_view("bert-legacy", tmp_path, pane="grid")
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
    view = real_view("bert-legacy", tmp_path, pane="grid", layer=1, head=2)
    async with open_app(view) as pilot:
        await press(pilot, "v", "O", "z", "z", "O")
        await press(pilot, "enter")
        assert (view_of(pilot).pane, view_of(pilot).layer, view_of(pilot).head) == ("matrix", 1, 2)
        assert not pilot.app._notifications
