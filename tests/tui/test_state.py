"""Explorer and View: selecting, following an edit, switching, refusing; no screen."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BudgetError, SettingError, TextError
from core.names import ATTENTIONS
from core.runner import run
from core.tokenization import open_tokenizer
from core.types import Mask, ModelSpec, Request, Switches
from tests.tui.helpers import make_view
from tui.choices import MAX_PRECISION, PANES, VECTORS, ZOOMS
from tui.following import follow
from tui.places import check_view
from tui.quick import is_quick
from tui.scene import Scene
from tui.state import TEMPERATURES, Explorer
from tui.wording import switches_in_words

quiet = settings(derandomize=True, deadline=None, max_examples=150)
words = st.lists(st.sampled_from(["a", "b", "c", "d", "我", "想"]), min_size=1, max_size=9)


def cut(text, tokenizer="spaces"):
    return open_tokenizer(tokenizer).encode(text)


def explorer(text="a b c d", **fields):
    model = fields.pop("model", None)
    made = Explorer(make_view(text, tokenizer="spaces", model=model, **fields))
    made.run(made.view.request)
    return made


def test_following_a_token_before_behind_and_in_the_edit():
    before, after = cut("a b c d"), cut("a X Y c d")
    assert [follow(before, after, i) for i in range(4)] == [0, None, 3, 4]


def test_following_through_no_edit_stays():
    tokens = cut("a a a")
    assert [follow(tokens, tokens, i) for i in range(3)] == [0, 1, 2]


def test_a_repeated_word_is_not_counted_from_both_ends():
    """Of "a a" nothing is left over for an end once the start has taken both."""
    assert [follow(cut("a a a"), cut("a a"), i) for i in range(3)] == [0, 1, None]
    assert [follow(cut("a a"), cut("a a a"), i) for i in range(2)] == [0, 1]


@quiet
@given(words, words)
def test_a_followed_token_keeps_its_piece_and_its_order(old, new):
    before, after = cut(" ".join(old)), cut(" ".join(new))
    places = [follow(before, after, i) for i in range(len(before))]
    kept = [place for place in places if place is not None]
    assert kept == sorted(set(kept))
    for index, place in enumerate(places):
        assert place is None or after[place].piece == before[index].piece


@quiet
@given(words, words, words, st.data())
def test_a_token_outside_an_edit_is_always_found(start, removed, end, data):
    added = data.draw(words)
    before, after = cut(" ".join(start + removed + end)), cut(" ".join(start + added + end))
    for index in range(len(start)):
        assert follow(before, after, index) is not None
    for index in range(len(start) + len(removed), len(before)):
        assert follow(before, after, index) is not None


@quiet
@given(st.lists(words, min_size=2, max_size=5), st.data())
def test_the_selection_and_the_blocked_keys_are_always_in_the_text(texts, data):
    made = explorer(" ".join(texts[0]))
    for text in texts[1:]:
        count = len(made.trace.tokens)
        made.select(query=data.draw(st.integers(0, count - 1)))
        made.run(made.toggle_blocked([data.draw(st.integers(0, count - 1))]))
        blocked = made.view.request.switches.mask.blocked
        before = made.trace.tokens
        made.run(made.with_text(" ".join(text)))
        assert made.error is None
        after = made.trace.tokens
        check_view(made.view, after)
        found = {follow(before, after, index) for index in blocked} - {None}
        assert made.view.request.switches.mask.blocked == found


def test_the_selection_stays_on_its_token_else_at_its_place():
    made = explorer(query=2, key=3)
    made.run(made.with_text("X a b c d"))
    assert (made.view.query, made.view.key) == (3, 4)
    made.run(made.with_text("X a b CHANGED d"))
    assert (made.view.query, made.view.key) == (3, 4)
    made.run(made.with_text("X"))
    assert (made.view.query, made.view.key) == (0, 0)


def test_the_selection_survives_a_refused_text():
    made = explorer(query=2)
    made.run(made.with_text("  "))
    assert isinstance(made.error, TextError)
    assert made.scene is None
    made.run(made.with_text("0 a b c d"))
    assert made.error is None
    assert made.scene.query_token.piece == "c"


def test_blocked_keys_survive_a_text_that_was_refused_after_it_was_cut():
    made = explorer("a b c d", model={"heads": 16})
    made.run(made.toggle_blocked([3]))
    request = made.with_text("e " * 2040 + "a b c d")
    made.run(request)
    assert isinstance(made.error, BudgetError)
    made.run(made.with_text("0 a b c d"))
    assert made.view.request.switches.mask.blocked == {4}


def test_what_is_switched_next_builds_on_what_was_asked_last():
    made = explorer()
    made.asked = made.with_text("asked but not yet there")
    assert made.next_mask().text == made.with_switch(scale=False).text == made.asked.text
    assert made.view.request.text == "a b c d"


def test_refusing_keeps_the_request_and_why():
    made = explorer()
    request = made.with_text("")
    error = TextError("nothing", "type")
    made.refuse(request, error)
    assert (made.view.request, made.trace, made.error, made.scene) == (request, None, error, None)


def test_the_first_view_must_exist():
    made = Explorer(make_view("a b", query=2))
    with pytest.raises(SettingError, match=r"query 2 is out of range: choose 0 to 1"):
        made.accept(run(made.view.request))
    made.run(made.view.request)
    assert isinstance(made.error, SettingError)


@pytest.mark.parametrize(
    ("place", "last"), [("layer", 1), ("head", 2), ("query", 1), ("key", 1), ("query", -1)]
)
def test_checking_a_view_names_what_is_out_of_range(place, last):
    view = make_view("a b", model={"layers": 2, "heads": 3, "d_model": 6})
    bad = last + 1 if last > 0 else -1
    made = Explorer(view)
    made.run(view.request)
    view = make_view("a b", model={"layers": 2, "heads": 3, "d_model": 6}, **{place: bad})
    with pytest.raises(SettingError, match=f"{place} {bad} is out of range"):
        check_view(view, made.trace.tokens)


@pytest.mark.parametrize(("place", "last"), [("layer", 1), ("head", 3), ("query", 3), ("key", 3)])
def test_selecting_and_stepping_are_clamped(place, last):
    made = explorer(model={"layers": 2})
    for value, found in ((99, last), (-5, 0), (1, 1)):
        made.select(**{place: value})
        assert getattr(made.view, place) == found
    made.step(place, -1)
    made.step(place, -1)
    assert getattr(made.view, place) == 0
    for _ in range(9):
        made.step(place, 1)
    assert getattr(made.view, place) == last


def test_digits_are_clamped():
    made = explorer(precision=1)
    made.step("precision", -1)
    assert made.view.precision == 1
    for _ in range(20):
        made.step("precision", 1)
    assert made.view.precision == MAX_PRECISION


@pytest.mark.parametrize(
    ("name", "values"), [("pane", set(PANES) - {"predictions"}), ("vector", VECTORS)]
)
def test_panes_and_vectors_go_round(name, values):
    made = explorer(compare="a b")
    first = getattr(made.view, name)
    seen = []
    for _ in values:
        made.cycle(name, 1)
        seen.append(getattr(made.view, name))
    assert sorted(seen) == sorted(values)
    assert seen[-1] == first
    made.cycle(name, -1)
    assert getattr(made.view, name) == seen[-2]


def test_zoom_stops_at_both_ends():
    made = explorer(zoom=ZOOMS[0])
    seen = [made.view.zoom]
    for _ in range(len(ZOOMS)):
        made.cycle("zoom", 1)
        seen.append(made.view.zoom)
    assert seen == [*ZOOMS, ZOOMS[-1]]
    for _ in range(len(ZOOMS)):
        made.cycle("zoom", -1)
    assert made.view.zoom == ZOOMS[0]


@pytest.mark.parametrize(
    ("mask", "names"),
    [
        (Mask(), ["causal", "window:2", "none"]),
        (Mask(causal=True), ["window:2", "none", "causal"]),
        (Mask(window=5), ["none", "causal", "window:5"]),
        (Mask(causal=True, window=5), ["none", "causal", "window:5"]),
        (Mask(window=0), ["none", "causal", "window:0"]),
    ],
)
def test_masks_go_round_and_keep_the_blocked_keys(mask, names):
    made = explorer(mask=Mask(mask.causal, mask.window, frozenset({1})))
    seen = []
    for _ in names:
        made.run(made.next_mask())
        seen.append(made.view.request.switches.mask.name)
        assert made.view.request.switches.mask.blocked == {1}
    assert seen == names


@pytest.mark.parametrize(
    ("now", "hotter", "colder"),
    [(1.0, 2.0, 0.5), (0.7, 1.0, 0.5), (0.1, 0.2, 0.1), (10.0, 10.0, 5.0), (99.0, 99.0, 10.0)],
)
def test_temperature_goes_to_the_next_step(now, hotter, colder):
    made = explorer(switches={"temperature": now})
    assert made.next_temperature(1).switches.temperature == hotter
    assert made.next_temperature(-1).switches.temperature == colder


def test_every_temperature_is_reached_both_ways():
    made = explorer(switches={"temperature": TEMPERATURES[0]})
    for way, steps in ((1, TEMPERATURES[1:]), (-1, TEMPERATURES[-2::-1])):
        for step in steps:
            made.run(made.next_temperature(way))
            assert made.view.request.switches.temperature == step


def translating(text="a b c d", target="x y", **fields):
    view = make_view(text, tokenizer="spaces")
    made = Explorer(replace(view, request=replace(view.request, target=target), **fields))
    made.run(made.view.request)
    assert made.error is None
    return made


def test_going_round_the_attentions_keeps_to_what_exists():
    made = translating(query=3, key=2)
    found = []
    for _ in range(3):
        made.cycle("attention", 1)
        found.append((made.view.attention, made.view.query, made.view.key))
    assert found == [("decoder", 1, 1), ("cross", 1, 1), ("encoder", 1, 1)]


@pytest.mark.parametrize("name", ["decoder", "cross"])
@pytest.mark.parametrize("by", [1, -1])
def test_a_target_that_was_refused_from_the_start_leaves_the_encoder(name, by):
    view = make_view("")
    request = replace(view.request, target="x y")
    made = Explorer(replace(view, request=request, attention=name))
    made.run(made.view.request)
    assert made.error is not None
    made.cycle("attention", by)
    assert made.view.attention == "encoder"


def test_without_a_target_there_is_only_the_encoder():
    made = explorer()
    made.cycle("attention", 1)
    assert made.view.attention == "encoder"
    made.select(attention="cross")
    assert made.view.attention == "encoder"


@quiet
@given(words, words, words, words, st.sampled_from(ATTENTIONS), st.data())
def test_the_selection_follows_the_tokens_of_its_own_text(text, target, front, more, name, data):
    made = translating(" ".join(text), " ".join(target), attention=name)
    made.select(query=data.draw(st.integers(0, 8)), key=data.draw(st.integers(0, 8)))
    scene = made.scene
    before = scene.query_token.piece, scene.key_token.piece
    made.run(made.with_text(" ".join(["X", *front, *text])))
    made.run(made.with_target(" ".join([*more, "Y", *target])))
    check_view(made.view, made.trace.tokens, made.trace.target_tokens)
    after = made.scene.query_token.piece, made.scene.key_token.piece
    assert after == before


def test_taking_the_target_away_goes_back_to_the_encoder():
    made = translating("a b", "x y z", attention="cross", query=2, key=1)
    made.run(made.with_target(None))
    assert (made.view.attention, made.view.query, made.view.key) == ("encoder", 1, 1)


def test_an_edit_of_the_target_forgets_the_switches_before_it():
    made = translating()
    made.run(made.with_switch(scale=False))
    assert made.before is not None
    made.run(made.with_target("x z"))
    assert made.before is made.undone() is None


def test_blocked_words_of_the_source_stay_through_an_edit_of_the_target():
    made = translating(attention="cross")
    made.run(made.toggle_blocked([3]))
    made.run(made.with_target("new words here"))
    assert made.view.request.switches.mask.blocked == {3}


def test_a_view_of_a_target_that_is_not_there_is_refused():
    view = make_view("a b", attention="cross")
    with pytest.raises(SettingError, match="there is no cross without a target"):
        check_view(view, cut("a b"))
    view = replace(view, query=2, key=1)
    check_view(view, cut("a b"), cut("x y z"))
    with pytest.raises(SettingError, match="query 2 is out of range: choose 0 to 1"):
        check_view(view, cut("a b c"), cut("x y"))


def test_a_key_is_blocked_and_freed():
    made = explorer()
    made.run(made.toggle_blocked([2]))
    assert not made.trace.layers[0].pattern[:, :, 2].any()
    made.run(made.toggle_blocked([2]))
    assert made.view.request.switches.mask == Mask()


def test_preparing_the_same_text_does_not_cut_it_again(monkeypatch):
    made = explorer()
    monkeypatch.setattr("tui.state.cut", None)
    request, tokens, _ = made.prepare(made.with_switch(scale=False))
    assert tokens is made.trace.tokens
    assert request.switches.scale is False


@pytest.mark.parametrize(
    ("tokens", "model", "quick"),
    [
        (6, ModelSpec(), True),
        (480, ModelSpec(), True),
        (512, ModelSpec(), False),
        (512, ModelSpec(heads=1), True),
        (6, ModelSpec(layers=12, heads=12, d_model=768), False),
        (6, ModelSpec(layers=4, heads=4, d_model=100), True),
        (6, ModelSpec(layers=6, heads=4, d_model=100), False),
        (400, ModelSpec(heads=1, d_model=220), True),
        (420, ModelSpec(heads=1, d_model=220), False),
    ],
)
def test_quick_is_what_fits_into_a_frame(tokens, model, quick):
    made = cut(" ".join(["a"] * tokens))
    assert is_quick(Request(made.text, "spaces", model), made) is quick


def test_a_target_counts_for_what_is_quick():
    short, long_ = cut("a"), cut(" ".join(["a"] * 600))
    assert is_quick(Request(""), short, short)
    assert not is_quick(Request(""), short, long_)


@pytest.mark.parametrize("layer", range(3))
def test_a_scene_gives_the_selected_layer(layer):
    made = explorer(layer=layer, model={"layers": 3})
    assert made.scene.layer is made.trace.layers[layer]


@pytest.mark.parametrize("name", VECTORS)
def test_a_scene_gives_the_vector_of_the_query_and_head(name):
    made = explorer(query=2, head=3)
    layer = made.trace.layers[0]
    expected = {
        "input": layer.resid_pre[2],
        "attn_out": layer.attn_out[2],
    }.get(name)
    if expected is None:
        expected = getattr(layer, name)[3, 2]
    assert (Scene(made.view, made.trace).vector(name) == expected).all()


def test_the_switches_in_words():
    switches = Switches(Mask(causal=True, blocked=frozenset({1, 2})), False, False, 0.5)
    assert switches_in_words(switches, 4) == [
        "mask causal +2 blocked",
        "÷√4 off",
        "temperature 0.5",
        "positions off",
    ]
