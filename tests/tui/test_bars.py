"""The lines around the panes: header, status, tabs and key bar, called with no app."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from core.checkpoint_model import CheckpointModel, Stack
from core.runner import run
from core.types import Mask, Request, Switches
from tests.tui.helpers import make_view, real_view
from tui.keys import BROWSING, BROWSING_LAST, EDITING, EDITING_LAST, MATRIX
from tui.scene import Scene, View
from tui.theme import DARK, make_palette
from tui.widgets.bars import header_line, key_line, status_line, tab_texts
from tui.widgets.lines import line_cells

PALETTE = make_palette(DARK, "truecolor")
WIDTHS = range(60, 201)


def scene_of(**options):
    view = make_view(**options)
    return Scene(view, run(view.request))


def text_of(line):
    return "".join(text for text, _ in line)


@pytest.mark.parametrize(
    "model",
    [{}, {"layers": 96, "heads": 1, "d_model": 4, "seed": 2**64 - 1}],
    ids=["usual", "long"],
)
def test_the_header_fits_and_says_that_the_weights_are_random(model):
    scene = scene_of(model=model)
    shape = f"{scene.view.request.model.layers} layer"
    for width in WIDTHS:
        text = text_of(header_line(scene.view, PALETTE, width))
        assert line_cells(header_line(scene.view, PALETTE, width)) <= width
        assert text.startswith(" attn-tui")
        if width >= 80:
            assert shape in text
            assert "random" in text
            assert "meaning" in text


def test_the_header_says_all_where_there_is_room():
    text = text_of(header_line(scene_of().view, PALETTE, 120))
    for fact in ("seeded", "seed 0", "1 layer × 4 heads", "d_model 16", "not meaning"):
        assert fact in text


@pytest.mark.parametrize("name", ["smol", "HuggingFaceTB/SmolLM2-135M-Instruct"])
def test_the_header_names_a_real_model(name):
    stack = Stack(30, 9, 64, True, (None,) * 30)
    view = View(Request("a", model=CheckpointModel("/smol", name, "Llama", 576, stack)))
    for width in range(80, 200):
        text = text_of(header_line(view, PALETTE, width))
        assert f"  {name} " in text
        assert "trained" in text
        assert "explanation" in text or "where, not why" in text
    text = text_of(header_line(view, PALETTE, 150))
    assert f"{name} · Llama · 30 layers × 9 heads · d_model 576" in text


def translating(attention="cross"):
    view = make_view(text="a b c", mask=Mask(causal=True, blocked=frozenset({1})))
    view = replace(view, request=replace(view.request, target="x y"), attention=attention)
    return Scene(view, run(view.request))


def test_the_header_says_that_there_is_a_decoder_where_there_is_room():
    scene = translating()
    for width in WIDTHS:
        text = text_of(header_line(scene.view, PALETTE, width))
        assert "random" in text
        assert "encoder–decoder" in text or width < 80


@pytest.mark.parametrize(
    ("attention", "words"),
    [
        ("encoder", "encoder · layer 0 · head 0 · mask causal +1 blocked · ÷√4 on"),
        ("decoder", "decoder · layer 0 · head 0 · mask causal · ÷√4 on"),
        ("cross", "cross · layer 0 · head 0 · mask none +1 blocked · ÷√4 on"),
    ],
)
def test_the_status_says_which_mask_holds(attention, words):
    scene = translating(attention)
    line = status_line(scene.view, scene.attention, PALETTE, 120)
    assert text_of(line).strip().startswith(words)


def test_the_decoder_is_said_to_be_causal_where_there_is_no_trace_too():
    line = status_line(translating("decoder").view, None, PALETTE, 120)
    assert "decoder · layer 0 · head 0 · mask causal · ÷√4 on" in text_of(line)


def test_the_status_of_two_texts_fits_the_smallest_screen():
    scene = translating()
    request = replace(scene.view.request, switches=Switches())
    scene = Scene(replace(scene.view, request=request), run(request))
    text = text_of(status_line(scene.view, scene.attention, PALETTE, 60))
    assert text.strip().endswith("no mask  ÷√4 on  temp 1  pos on  2×3 tokens")


def test_the_status_says_where_we_are_and_what_is_switched():
    scene = scene_of(
        text="a b c",
        mask=Mask(causal=True, blocked=frozenset({1})),
        switches={"scale": False, "positions": False, "temperature": 0.5},
        model={"layers": 2},
        layer=1,
        head=3,
    )
    assert text_of(status_line(scene.view, scene.attention, PALETTE, 120)).strip() == (
        "layer 1 · head 3 · mask causal +1 blocked · ÷√4 off · temperature 0.5 · positions off"
        " · 3 tokens"
    )


def test_the_status_uses_shorter_words_before_it_is_cut():
    scene = scene_of()
    for width in WIDTHS:
        line = status_line(scene.view, scene.attention, PALETTE, width)
        assert line_cells(line) <= width
        text = text_of(line)
        assert "…" not in text
        for fact in ("layer 0", "head 0", "÷√4 on", "6 tokens"):
            assert fact in text
        assert "mask none" in text or "no mask" in text


def test_a_count_of_tokens_is_never_a_bare_number_on_the_smallest_screen():
    mask = Mask(causal=True, window=3)
    scene = scene_of(mask=mask, model={"layers": 12, "heads": 8}, layer=11, head=7)
    text = text_of(status_line(scene.view, scene.attention, PALETTE, 60))
    assert text.strip() == "L11  H7  causal+window:3  ÷√2 on  temp 1  pos on  6 tokens"
    scene = scene_of(mask=Mask(blocked=frozenset({2})))
    text = text_of(status_line(scene.view, scene.attention, PALETTE, 60))
    assert text.strip() == "L0  H0  +1 blocked  ÷√4 on  temp 1  pos on  6 tokens"


def test_a_masked_token_is_not_said_to_have_no_mask(tmp_path):
    view = real_view("bert-legacy", tmp_path, mask=9, switches=Switches(masked=frozenset({1})))
    said = [text_of(status_line(view, None, PALETTE, width)) for width in range(30, 90)]
    assert any("1 token masked · mask none" in line for line in said)
    assert any("1 hidden" in line and "no mask" in line for line in said)
    assert not any("masked" in line and "no mask" in line for line in said)


def test_the_status_of_nothing_is_blank_and_of_work_says_so():
    assert status_line(None, None, PALETTE, 80) == []
    assert text_of(status_line(None, None, PALETTE, 80, "computing…")).strip() == "computing…"


def test_the_status_of_a_refused_text_still_says_what_is_switched():
    text = text_of(status_line(scene_of().view, None, PALETTE, 120))
    assert text.strip().startswith("layer 0 · head 0 · mask none")
    assert text.endswith("no tokens")


@pytest.mark.parametrize(
    ("hints", "last"),
    [(BROWSING, BROWSING_LAST), (MATRIX, BROWSING_LAST), (EDITING, EDITING_LAST), ((), ())],
    ids=["browsing", "matrix", "editing", "nothing"],
)
def test_the_key_bar_fits_and_every_hint_is_where_it_says(hints, last):
    for width in WIDTHS:
        line, ends = key_line(hints, last, PALETTE, width)
        text = text_of(line)
        assert line_cells(line) <= width
        shown = [hint for hint in (*hints, *last) if f"{hint[0]} {hint[1]}  " in text]
        assert shown[len(shown) - len(last) :] == list(last)
        assert ("…" in text) == (len(shown) < len(hints) + len(last))
        assert [key for _, key in ends] == [hint[2] for hint in shown]
        start = 0
        for (end, _), hint in zip(ends, shown, strict=True):
            assert f"{hint[0]} {hint[1]}" in text[start:end]
            start = end


@pytest.mark.parametrize("pane", ["weights", "numbers", "derivation", "compare"])
@pytest.mark.parametrize("width", range(60, 110))
def test_tabs_fit_and_the_active_one_has_its_name(pane, width):
    texts = tab_texts(make_view(pane=pane, compare="another text"), width)
    assert sum(cell_len(text) for _, text in texts) <= width
    assert [text[1] for _, text in texts] == list("123456789")
    assert dict(texts)[pane].strip().endswith(f" {pane}")


def test_tabs_are_clipped_only_as_far_as_they_must_be():
    """Words of the key bar come first: “derive” is read where “deriv…” was."""
    two_texts = make_view(pane="compare", compare="another text")
    assert "".join(text for _, text in tab_texts(two_texts, 80)) == (
        " 1 tokens 2 weig… 3 matrix 4 vectors 5 derive 6 numbers 7 learn▸8 compare 9 grid"
    )
    assert "".join(text for _, text in tab_texts(make_view(), 72)) == (
        " 1 tokens▸2 weights 3 matrix 4 vectors 5 derive 6 numbers 7 learn 9 grid"
    )
