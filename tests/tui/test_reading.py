"""Patterns as they are read: columns dropped or capped, words, colours."""

import subprocess
import sys

import numpy as np
import pytest

from core.reading import Reading, cut_columns
from core.runner import run
from core.types import Mask, ModelSpec, Request
from tests.core.small_tokenizers import bert_tokenizer
from tests.tui.helpers import (
    WORDS,
    click_on,
    explorer_of,
    find,
    make_view,
    open_app,
    press,
    real_view,
    says,
    screen_lines,
    screen_text,
    sentence_of,
    settle,
    view_of,
)
from tui import cli
from tui.asked import build_view
from tui.command import command_line
from tui.scene import View
from tui.state import Explorer
from tui.theme import DARK, make_palette
from tui.widgets.matrix import grid, matrix_lines

TEXT = "hello milking a world"  # [CLS] hello mil ##king a world [SEP]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    bert_tokenizer(("mil", "##king")).save(str(path))
    return str(path)


@pytest.fixture
def view(tokenizer):
    model = ModelSpec(layers=2)
    return View(Request(TEXT, tokenizer, model), query=2, key=3, head=1)


def pattern_of(pilot, layer=0):
    return explorer_of(pilot.app).scene.trace.layers[layer].pattern


def status(pilot):
    return screen_lines(pilot.app)[-2].strip()


async def test_special_tokens_are_dropped_and_it_is_said_first(view):
    async with open_app(view) as pilot:
        await press(pilot, "f")
        assert view_of(pilot).reading == Reading(drop="specials")
        assert status(pilot).startswith("specials dropped · layer 0")
        rows = cut_columns(pattern_of(pilot)[1], [0, 6])
        lines = screen_lines(pilot.app)
        x, y = find(pilot, "hello", "#pane-weights")
        assert f"{rows.weights[2, 1]:.3f}" in lines[y][x:]
        assert lines[y - 1][x:].split()[1] == "×"
        x, y = find(pilot, "removed", "#pane-weights")
        assert f"{rows.removed[2]:.3f}" in lines[y]
        x, y = find(pilot, "removed", "#pane-matrix")
        assert [lines[y + 1 + i][x : x + 7].strip() for i in range(7)] == [
            f"{each:.3f}" for each in rows.removed
        ]


async def test_every_head_says_what_was_removed(view):
    async with open_app(view, (200, 60)) as pilot:
        await press(pilot, "f")
        removed = cut_columns(pattern_of(pilot)[:, 2], [0, 6]).removed
        _x, y = find(pilot, "removed", "#pane-weights")
        said = screen_lines(pilot.app)[y]
        for head, each in enumerate(removed):
            assert f"{each:.{3 if head == 1 else 2}f}" in said


async def test_what_is_dropped_goes_round(view):
    async with open_app(view) as pilot:
        seen = []
        for _ in range(3):
            await press(pilot, "f")
            seen.append(view_of(pilot).reading)
        assert seen == [Reading(drop="specials"), Reading(drop="first"), None]


async def test_without_special_tokens_the_first_key_is_next():
    async with open_app(make_view()) as pilot:
        await press(pilot, "f")
        assert view_of(pilot).reading == Reading(drop="first")
        await press(pilot, "f")
        assert view_of(pilot).reading is None


async def test_one_column_more_and_one_less(view):
    async with open_app(view) as pilot:
        await press(pilot, "f", "F")
        assert view_of(pilot).reading == Reading(drop="specials", keys=frozenset({3}))
        assert status(pilot).startswith("specials + 1 key dropped")
        await press(pilot, "3", "home", "left", "left", "left", "F")  # [CLS] comes back
        assert view_of(pilot).reading == Reading(keys=frozenset({3, 6}))
        await press(pilot, "1", "F")  # in the list it is the token under the cursor
        assert view_of(pilot).reading == Reading(keys=frozenset({0, 3, 6}))


async def test_columns_are_capped(view):
    async with open_app(view) as pilot:
        await press(pilot, "L")
        assert says(pilot, "first choose the columns to cap")
        await press(pilot, "f", "L", "L")
        assert view_of(pilot).reading == Reading(drop="specials", cap=0.1)
        assert status(pilot).startswith("specials capped at 0.1")
        rows = cut_columns(pattern_of(pilot)[1], [0, 6], 0.1)
        x, y = find(pilot, "[CLS]", "#pane-weights")
        assert screen_lines(pilot.app)[y][x:].split()[2] == f"{rows.weights[2, 0]:.3f}"
        for _ in range(3):
            await press(pilot, "L")
        assert view_of(pilot).reading == Reading(drop="specials")


async def test_a_row_that_is_all_dropped_says_so():
    view = make_view(mask=Mask(causal=True), pane="matrix", reading=Reading(drop="first"))
    async with open_app(view) as pilot:
        assert says(pilot, "“The” → “The” all dropped")
        await press(pilot, "right")
        assert says(pilot, "“The” → “black” masked")
        await press(pilot, "left", "down")
        assert says(pilot, "“black” → “The” dropped")
        await press(pilot, "up")
        x, y = find(pilot, "removed", "#pane-matrix")
        assert "1.000" in screen_lines(pilot.app)[y + 1][x:]
        assert "nan" not in screen_text(pilot.app)
        row = explorer_of(pilot.app)._pane("weights").scene.row
        assert not row.any()


async def test_words_take_the_place_of_tokens(view):
    async with open_app(view) as pilot:
        await press(pilot, "W")
        assert status(pilot).startswith("words · layer 0")
        pattern = pattern_of(pilot)[1]
        mine = pattern[2:4].mean(axis=0)
        lines = screen_lines(pilot.app)
        x, y = find(pilot, "› milking", "#pane-weights")
        assert f"{mine[2] + mine[3]:.3f}" in lines[y][x:]
        assert f"{mine[1]:.3f}" in lines[y - 1][x:]
        assert not any("##king" in line for line in lines[5:-3] if "2 tokens" not in line)
        assert says(pilot, "2 tokens: mil king")


async def test_the_cursor_goes_from_word_to_word(view):
    async with open_app(view) as pilot:
        await press(pilot, "W", "down")
        assert view_of(pilot).query == 4
        await press(pilot, "up", "up")
        assert view_of(pilot).query == 1
        await press(pilot, "J")
        assert view_of(pilot).key == 4
        await press(pilot, "end")
        assert says(pilot, "What “[SEP]” attends to")
        await press(pilot, "1", "pageup")
        assert view_of(pilot).query == 0
        await click_on(pilot, "milking", "#pane-tokens")
        assert view_of(pilot).query == 2
        await click_on(pilot, "  milking", "#pane-weights", dx=2)
        assert view_of(pilot).key == 2
        await click_on(pilot, "│  world", "#pane-matrix", dx=3)
        assert view_of(pilot).query == 5
        await press(pilot, "5", "up", "W")  # the derivation goes by tokens
        assert view_of(pilot).query == 4


async def test_the_column_of_a_word_is_dropped_whole(view):
    async with open_app(view) as pilot:
        await press(pilot, "W", "F")
        assert view_of(pilot).reading == Reading(True, keys=frozenset({2, 3}))
        await press(pilot, "F")
        assert view_of(pilot).reading == Reading(True)


async def test_a_word_is_blocked_whole(view):
    async with open_app(view) as pilot:

        def blocked():
            return view_of(pilot).request.switches.mask.blocked

        await press(pilot, "W", "x")
        assert blocked() == {2, 3}
        assert (pattern_of(pilot)[:, :, 2:4] == 0).all()
        assert says(pilot, "blocked as a key")
        await press(pilot, "down")
        assert find(pilot, "× 2", "#pane-tokens")
        await press(pilot, "up", "x")
        assert blocked() == frozenset()
        await press(pilot, "x", "u")
        assert blocked() == frozenset()


async def test_of_a_word_blocked_in_part_the_rest_is_blocked_too(view):
    async with open_app(view) as pilot:
        await press(pilot, "x", "W")
        assert view_of(pilot).request.switches.mask.blocked == {2}
        assert says(pilot, "1 of 2 tokens blocked")
        await press(pilot, "down")
        assert find(pilot, "/ 2", "#pane-tokens")
        await press(pilot, "up", "x")
        assert view_of(pilot).request.switches.mask.blocked == {2, 3}


@pytest.mark.parametrize(("cap", "said"), [(0.0, "dropped"), (0.2, "capped")])
async def test_a_word_says_how_many_of_its_tokens_are_cut(view, cap, said):
    from dataclasses import replace

    reading = Reading(True, keys=frozenset({3}), cap=cap)
    async with open_app(replace(view, reading=reading)) as pilot:
        assert says(pilot, f"1 of 2 tokens {said}")
        await press(pilot, "down")
        assert find(pilot, "  2" if cap else "/ 2", "#pane-tokens")


async def test_where_tokens_are_worked_out_one_is_blocked(view):
    async with open_app(view) as pilot:
        await press(pilot, "W", "5", "x")
        assert view_of(pilot).request.switches.mask.blocked == {2}


async def test_a_word_of_the_source_is_blocked_whole_in_cross_attention(tokenizer):
    request = Request(TEXT, tokenizer, target="milking a")
    async with open_app(View(request, attention="cross", query=0, key=3)) as pilot:
        await press(pilot, "W", "x")
        assert view_of(pilot).request.switches.mask.blocked == {2, 3}


async def test_vectors_of_a_word_are_averages(view):
    async with open_app(view) as pilot:
        await press(pilot, "W", "4")
        layer = explorer_of(pilot.app).scene.layer
        scene = explorer_of(pilot.app)._pane("vectors").scene
        for name, array in (("z", layer.z[1]), ("q", layer.q[1]), ("attn_out", layer.attn_out)):
            np.testing.assert_allclose(scene.vector(name), (array[2] + array[3]) / 2)
        np.testing.assert_allclose(scene.vector("input"), layer.resid_pre[2:4].mean(axis=0))
        assert says(pilot, "Average of “milking” · head 1")
        await press(pilot, "2", "up")
        assert says(pilot, "Vectors of “hello” · head 1")


async def test_what_is_computed_stays_as_it_is_and_says_so(view):
    async with open_app(view) as pilot:
        plain = explorer_of(pilot.app).scene.trace
        await press(pilot, "f", "W", "6")
        assert explorer_of(pilot.app).scene.trace is plain
        assert says(pilot, "nothing merged or dropped here")
        await press(pilot, "5")
        assert says(pilot, "nothing merged or dropped here")
        scene = explorer_of(pilot.app)._pane("derivation").scene
        assert scene.read is None
        assert scene.keys is plain.tokens


async def test_the_row_before_a_switch_is_read_too(view):
    async with open_app(view) as pilot:
        before = cut_columns(pattern_of(pilot)[1], [0, 6])
        await press(pilot, "f", "s")
        lines = screen_lines(pilot.app)
        x, y = find(pilot, "  hello", "#pane-weights")
        numbers = [word for word in lines[y][x : x + 40].split() if word[0].isdigit()]
        now = cut_columns(pattern_of(pilot)[1], [0, 6])
        assert numbers == [f"{each.weights[2, 1]:.3f}" for each in (before, now)]
        assert lines[y - 1][x : x + 40].split()[1:] == ["×", "×"]
        assert says(pilot, "before")
        await press(pilot, "n", "n", "n")  # before it there was no normalizer
        assert not says(pilot, " before ")


async def test_scores_are_read_as_they_are(view):
    async with open_app(view) as pilot:
        await press(pilot, "f", "n", "n")
        assert status(pilot).startswith("nothing merged or dropped: scores do not sum to 1")
        assert says(pilot, "nothing merged or dropped here")
        await press(pilot, "W")
        assert says(pilot, "without a normalizer weights do not sum to 1")
        assert view_of(pilot).reading == Reading(drop="specials")
        await press(pilot, "n")
        assert status(pilot).startswith("specials dropped")


async def test_columns_follow_their_tokens(view):
    async with open_app(view) as pilot:
        await press(pilot, "F")
        sentence_of(pilot).set_true_text("a " + TEXT)
        await settle(pilot)
        assert view_of(pilot).reading == Reading(keys=frozenset({4}))
        sentence_of(pilot).set_true_text("a b")
        await settle(pilot)
        assert view_of(pilot).reading is None


async def test_the_decoders_keys_are_not_the_texts():
    view = View(Request("a b", target="c d"), attention="decoder", query=1)
    async with open_app(view) as pilot:
        await press(pilot, "F")
        assert says(pilot, "single keys are dropped in the encoder and in cross")
        await press(pilot, "f")
        assert view_of(pilot).reading == Reading(drop="first")
        assert explorer_of(pilot.app)._pane("weights").scene.read.columns == [0]


def test_single_keys_are_those_of_the_text():
    view = View(Request("a b", target="c d"), reading=Reading(keys=frozenset({1})))
    state = Explorer(view)
    state.run(view.request)
    columns = {}
    for name in ("encoder", "decoder", "cross"):
        state.select(attention=name)
        columns[name] = state.as_read(state.scene).read.columns
    assert columns == {"encoder": [1], "decoder": [], "cross": [1]}


async def test_a_key_of_the_text_is_not_said_to_be_dropped_in_the_decoder():
    view = View(Request("a b", target="c d"), reading=Reading(keys=frozenset({1})))
    async with open_app(view) as pilot:
        assert status(pilot).startswith("1 key dropped · encoder")
        await press(pilot, "a")
        assert status(pilot).startswith("decoder")


async def test_cross_attention_in_words(tokenizer):
    request = Request(TEXT, tokenizer, target="milking a")
    async with open_app(View(request, attention="cross", query=1, key=2)) as pilot:
        await press(pilot, "W")
        scene = explorer_of(pilot.app)._pane("weights").scene
        assert (len(scene.queries), len(scene.keys)) == (4, 6)
        pattern = scene.layer.pattern
        np.testing.assert_allclose(scene.row[:, 2], pattern[:, 1:3, 2:4].sum(axis=2).mean(axis=1))
        np.testing.assert_allclose(scene.vector("k"), scene.layer.k[0, 2:4].mean(axis=0))
        await press(pilot, "down")
        assert view_of(pilot).query == 3


@pytest.mark.parametrize("colours", ["matrix", "row", "log"])
async def test_colours_are_named(view, colours):
    from dataclasses import replace

    corner = {"matrix": "", "row": "by row", "log": "log"}[colours]
    fact = {"matrix": "“mil” → “king”", "row": "full colour: each", "log": "colours from 0.00"}
    async with open_app(replace(view, pane="matrix"), (80, 24)) as pilot:
        while view_of(pilot).colours != colours:
            await press(pilot, "C")
        _x, y = find(pilot, "hello   mil", "#pane-matrix")
        assert screen_lines(pilot.app)[y][1:9].strip() == corner
        assert says(pilot, fact[colours])


def test_what_colours_stand_for():
    """N13: a hot column blackens the rest by matrix, and leaves them apart on a log scale."""
    state = Explorer(make_view())
    state.run(state.view.request)
    palette = make_palette(DARK, "truecolor")
    layer = state.trace.layers[0]
    hot = np.array(layer.pattern)
    hot[0] = np.array([0.97, 0.02, 0.004, 0.003, 0.002, 0.001])
    hot[0, 1] /= 10
    object.__setattr__(layer, "pattern", hot)

    def steps(colours, query):
        state.select(colours=colours, query=5, key=5)
        scene = state.scene
        shown = grid(scene, 80, 20, 0, 0)
        found = []
        for text, style in matrix_lines(scene, palette, shown, 1.0)[1 + query][2:]:
            found += [palette.ramp.index(style)] * (len(text) // shown.cell)
        return found

    assert steps("matrix", 0) == [9, 0, 0, 0, 0, 0]
    assert steps("log", 0) == [9, 4, 2, 1, 1, 0]
    assert steps("matrix", 1) == [0, 0, 0, 0, 0, 0]
    assert steps("row", 1) == [9, 0, 0, 0, 0, 0]


READINGS = [
    None,
    Reading(words=True),
    Reading(drop="specials"),
    Reading(words=True, drop="first", keys=frozenset({2, 4}), cap=0.25),
    Reading(keys=frozenset({1})),
]


@pytest.mark.parametrize("reading", READINGS)
def test_the_copied_command_opens_it_again(view, reading):
    from dataclasses import replace
    from shlex import split

    asked = replace(view, reading=reading, colours="log")
    words = split(command_line(asked))
    params = cli.parse(words[1:]).params
    assert build_view(params["words"][0], params) == asked


def test_a_layer_is_read_once(view):
    state = Explorer(view)
    state.run(view.request)
    assert state.as_read(state.scene) is not None
    plain = state.scene
    assert state.as_read(plain) is plain
    state.select(reading=Reading(words=True))
    read = state.as_read(state.scene).read
    state.select(query=4)
    assert state.as_read(state.scene).read is read
    assert state.as_read(state.scene).row is state.as_read(state.scene).row
    state.select(layer=1)
    assert state.as_read(state.scene).read is not read
    state.select(reading=None)
    state.as_read(state.scene)
    assert state._read is None


def test_a_plain_explorer_imports_nothing_of_it():
    code = (
        "import sys\nfrom tui.scene import View\nfrom tui.app import AttnApp\n"
        "from tui.state import Explorer\nimport tui.screens.explorer\n"
        "state = Explorer(View())\nstate.run(state.view.request)\nstate.as_read(state.scene)\n"
        "print([m for m in ('core.reading', 'tui.reading') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_a_real_model(tmp_path):
    view = real_view("bert-legacy", tmp_path, query=1)
    trace = run(view.request)
    assert [token.text for token in trace.tokens] == WORDS.split()
    async with open_app(view) as pilot:
        await press(pilot, "F")
        weights = cut_columns(trace.layers[0].pattern[0], [0]).weights
        x, y = find(pilot, "t3", "#pane-weights")
        assert f"{weights[1, 2]:.3f}" in screen_lines(pilot.app)[y][x:]
