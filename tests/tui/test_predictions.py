"""Predictions on screen, masked tokens, and what has none."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from core import predictions as core_predictions
from core.errors import SettingError
from core.runner import run
from core.trained import describe
from core.types import Request, Switches, Token, Tokens
from tests.core.small_checkpoints import edit_tensors, expected_of, f32, speaking
from tests.tui.helpers import (
    WORDS,
    explorer_of,
    make_view,
    open_app,
    press,
    real_view,
    says,
    screen_lines,
    sentence_of,
    settle,
    view_of,
)
from tui.checking import check
from tui.command import command_line
from tui.labels import clip_start
from tui.predicted import texts_around
from tui.scene import View, panes


def view(name, tmp_path, mask=None, text=WORDS, **fields):
    return real_view(name, tmp_path, text, mask=mask, **{"pane": "predictions", **fields})


def hidden(a_view, *masked):
    switches = Switches(masked=frozenset(masked))
    return replace(a_view, request=replace(a_view.request, switches=switches))


def warned(pilot):
    """The last warning; on screen its lines stand between those of panes."""
    return list(pilot.app._notifications)[-1].message


async def test_next_token_is_that_of_transformers(tmp_path):
    expected, text = expected_of("gpt2-head")
    logits = expected["logits"][3].astype(float)
    chances = np.exp(logits - logits.max())
    chances /= chances.sum()
    best = np.argsort(-chances)[:10]
    there = expected["ids"][4]
    rank = 1 + (chances > chances[there]).sum()
    async with open_app(view("gpt2-head", tmp_path, text=text, query=3), (80, 24)) as pilot:
        assert says(pilot, "What follows “t29”")
        assert says(pilot, "after “t5 t17 t3 t29”")
        assert says(pilot, f"“t{there}” follows: {chances[there]:.3f}, rank {rank} of 37")
        for place, index in enumerate(best, 1):
            name = f"t{index}" if index else "[UNK]"
            shown = f"{chances[index]:.3f}" if chances[index] >= 0.0005 else "<0.001"
            assert says(pilot, f"{place} {name} {shown}")
        await press(pilot, "up")
        assert says(pilot, "What follows “t3”")
        assert says(pilot, "“t29” follows:")
        await press(pilot, "end")
        assert says(pilot, "The text ends here.")


async def test_a_text_that_was_cut_does_not_end_where_the_model_does(tmp_path):
    text = "t5 " * 100
    async with open_app(view("gpt2-head", tmp_path, text=text), (80, 24)) as pilot:
        tokens = explorer_of(pilot.app).scene.queries
        assert len(tokens) < tokens.total
        await press(pilot, "end")
        assert says(pilot, "The text goes on, beyond what is run.")
        assert not says(pilot, "The text ends here.")


async def test_expected_token_that_follows_is_marked(tmp_path):
    made = core_predictions.predict(run(view("gpt2-head", tmp_path).request), 0)
    text = f"t5 t{made.top[2].token.id}"
    async with open_app(view("gpt2-head", tmp_path / "again", text=text), (80, 24)) as pilot:
        (line,) = (line for line in screen_lines(pilot.app) if "›" in line)
        assert line.split()[0] == "│›"
        assert line.split()[1:3] == ["3", f"t{made.top[2].token.id}"]


async def test_prediction_follows_an_edit(tmp_path):
    async with open_app(view("gpt2-head", tmp_path, query=1)) as pilot:
        assert says(pilot, "“t3” follows")
        await press(pilot, "e")
        sentence_of(pilot).set_true_text("t5 t17 t9 t29")
        await settle(pilot)
        assert says(pilot, "“t9” follows")
        assert says(pilot, "after “t5 t17”")


async def test_prediction_is_made_once_for_a_place(tmp_path, monkeypatch):
    asked = []
    predict = core_predictions.predict

    def counts(trace, place):
        assert threading.current_thread() is not threading.main_thread()  # which draws
        asked.append(place)
        return predict(trace, place)

    monkeypatch.setattr(core_predictions, "predict", counts)
    async with open_app(view("gpt2-head", tmp_path)) as pilot:
        await press(pilot, "down", "up", "down", "1", "0", "plus")
        assert asked == [0, 1]
        await press(pilot, "2", "4", "down")  # the pane is not shown
        assert asked == [0, 1]


async def test_selection_that_moves_on_gets_its_own_prediction(tmp_path, monkeypatch):
    go_on, predict = threading.Event(), core_predictions.predict

    def waits(trace, place):
        go_on.wait()
        return predict(trace, place)

    async with open_app(view("gpt2-head", tmp_path)) as pilot:
        monkeypatch.setattr(core_predictions, "predict", waits)
        try:
            await pilot.press("down")
            await pilot._wait_for_screen()
            assert says(pilot, "computing…")
            assert not says(pilot, "probability")
            await pilot.press("down")
        finally:
            go_on.set()
        await settle(pilot)
        assert says(pilot, "What follows “t3”")
        assert says(pilot, "“t29” follows")


async def test_mask_and_undo(tmp_path):
    async with open_app(view("bert-legacy", tmp_path, mask=9, query=1), (80, 24)) as pilot:
        assert says(pilot, "“t17” can be seen, so there is nothing to guess. M masks it")
        await press(pilot, "M")
        assert view_of(pilot).request.switches.masked == {1}
        assert says(pilot, "What “[MASK]” could be")
        assert says(pilot, "in “t5 [MASK] t3 t29”")
        assert says(pilot, "“t17” is hidden: 0.")
        assert says(pilot, "1 token masked")
        assert sentence_of(pilot).true_text == WORDS
        assert explorer_of(pilot.app).scene.trace.tokens[1].id == 9
        await press(pilot, "down", "M")
        assert says(pilot, "in “t5 [MASK] [MASK] t29”")
        assert says(pilot, "2 tokens masked")
        await press(pilot, "down")
        assert says(pilot, "Masked so far: 1 [MASK] (t17), 2 [MASK] (t3).")
        await press(pilot, "1")
        assert says(pilot, "1 [MASK] (t17)")
        await press(pilot, "up")
        assert says(pilot, "hides “t3”")
        await press(pilot, "u")
        assert view_of(pilot).request.switches.masked == {1}
        await press(pilot, "up", "M")
        assert not view_of(pilot).request.switches.masked
        assert explorer_of(pilot.app).scene.trace.tokens[1].id == 17


async def test_masks_follow_their_tokens(tmp_path):
    start = hidden(view("bert-legacy", tmp_path, mask=9, query=2), 0, 2)
    async with open_app(start) as pilot:
        await press(pilot, "e")
        sentence_of(pilot).set_true_text("t5 t4 t17 t3 t29")
        await settle(pilot)
        assert view_of(pilot).request.switches.masked == {0, 3}
        assert view_of(pilot).query == 3
        sentence_of(pilot).set_true_text("t5 t4 t17 t29")  # what was masked is gone
        await settle(pilot)
        assert view_of(pilot).request.switches.masked == {0}
        tokens = explorer_of(pilot.app).scene.trace.tokens
        assert [token.id for token in tokens] == [9, 4, 17, 29]


async def test_special_token_is_refused_and_nothing_lost(tmp_path):
    from tests.core.small_checkpoints import copied
    from tests.core.small_tokenizers import bert_tokenizer

    folder = copied("bert-legacy", tmp_path)
    made = bert_tokenizer()
    made.add_special_tokens(["[MASK]"])
    made.add_tokens([f"t{i}" for i in range(25)])
    made.save(str(folder / "tokenizer.json"))
    start = View(Request("hello world", model=describe(str(folder))), pane="predictions")
    async with open_app(start) as pilot:
        assert says(pilot, "Choose a token of the text:")
        await press(pilot, "M")
        assert warned(pilot).startswith("Token 0, [CLS], is not of the text and cannot be masked")
        assert view_of(pilot) == start
        await press(pilot, "down", "M")
        assert says(pilot, "“hello” is hidden")


async def test_no_mask_and_why(tmp_path):
    async with open_app(view("gpt2-head", tmp_path, mask=9)) as pilot:
        await press(pilot, "M")
        assert warned(pilot).startswith(
            "The model gpt2-head has no mask token, since it predicts what"
        )
        assert not view_of(pilot).request.switches.masked
        assert " mask token" not in screen_lines(pilot.app)[-1]
    async with open_app(make_view()) as pilot:
        await press(pilot, "M")
        assert warned(pilot).startswith("The seeded model has no mask token, since its weights")


async def test_no_predictions_and_why(tmp_path):
    headless = view("bert-plain", tmp_path, pane="weights")
    for start, words in (
        (make_view(), "The seeded model predicts nothing, since its weights are random"),
        (headless, "The model bert-plain has no language head, so it predicts no token"),
    ):
        assert "predictions" not in panes(start)
        with pytest.raises(SettingError, match=words[1:]):
            check(replace(start, pane="predictions"))
        async with open_app(start) as pilot:
            await press(pilot, "0")
            assert warned(pilot).startswith(words)
            assert view_of(pilot) == start


async def test_head_that_fails_says_so_in_the_pane(tmp_path):
    path = speaking("gpt2-untied", tmp_path)
    edit_tensors(tmp_path / "gpt2-untied", lm_head__weight=f32(np.full((37, 20), np.nan)))
    start = View(Request(WORDS, model=describe(path)), pane="predictions")
    async with open_app(start, (80, 24)) as pilot:
        assert says(pilot, "The numbers of the language head of gpt2-untied are not finite")
        await press(pilot, "2", "down")
        assert view_of(pilot).query == 1


async def test_footer_offers_what_there_is(tmp_path):
    async with open_app(view("bert-legacy", tmp_path, mask=9), (80, 24)) as pilot:
        assert "M mask token" in screen_lines(pilot.app)[-1]
        await press(pilot, "2")
        assert "0 predict" in screen_lines(pilot.app)[-1]


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 36), (200, 60)])
async def test_lines_fit_and_a_cut_has_a_sign(tmp_path, size):
    start = view("gpt2-head", tmp_path, text="t5 " * 18, query=17)
    async with open_app(start, size) as pilot:
        assert says(pilot, "probability")
        cut = "lines 0–" in " ".join(screen_lines(pilot.app))
        assert cut == (size == (60, 18))
        if cut:
            assert not says(pilot, "the other 27 tokens together")
            await press(pilot, "pagedown")
            assert says(pilot, "the other 27 tokens together")


def test_command_opens_the_same_view(tmp_path):
    start = hidden(view("bert-legacy", tmp_path, mask=9, query=1), 1, 3)
    path = start.request.model.path
    assert command_line(start) == (
        f"attn-tui --model {path} --mask-token 1,3 --query 1 --pane predictions '{WORDS}'"
    )
    import shlex

    from tui.asked import build_view
    from tui.cli import parse

    words = shlex.split(command_line(start))[1:]
    with parse(words) as ctx:
        options = {name: value for name, value in ctx.params.items() if name != "words"}
        assert build_view(WORDS, options) == start


def test_text_around_a_place_is_what_the_model_reads(tmp_path):
    trace = run(hidden(view("bert-legacy", tmp_path, mask=9), 0, 2).request)
    found = [texts_around(trace.tokens, index) for index in range(4)]
    assert found == [
        ("[MASK]", " t17 [MASK] t29"),
        ("[MASK] t17", " [MASK] t29"),
        ("[MASK] t17 [MASK]", " t29"),
        ("[MASK] t17 [MASK] t29", ""),
    ]


def test_text_around_a_part_of_a_character_ends_in_it():
    parts = [(place, part) for place in (0, 1) for part in (1, 2)]
    items = tuple(Token("牛奶"[at], "æ", 0, at, at + 1, part=(part, 2)) for at, part in parts)
    found = [texts_around(Tokens("牛奶 x", items, 4), index) for index in range(4)]
    assert found == [("牛 1/2", "奶 x"), ("牛", "奶 x"), ("牛奶 1/2", " x"), ("牛奶", " x")]


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [("abc", 3, "abc"), ("abcd", 3, "…cd"), ("中文字", 4, "…字"), ("abc", 1, "…"), ("abc", 0, "")],
)
def test_clip_start_keeps_the_end(text, cells, shown):
    assert clip_start(text, cells) == shown


async def test_decoder_predicts_its_targets_next_token(tmp_path):
    model = describe(speaking("bart-head", tmp_path))
    start = View(Request("t5 t17 t3", model=model), pane="predictions")
    async with open_app(start, (80, 24)) as pilot:
        assert says(pilot, "The decoder predicts the next token of a target: A adds one.")
    request = Request("t5 t17 t3", model=model, target="t9 t30")
    both = replace(start, request=request, query=1)
    async with open_app(both, (80, 24)) as pilot:
        assert says(pilot, "The decoder predicts the next token of the target: a chooses")
        await press(pilot, "a")
        assert says(pilot, "What follows “t9”")
        assert says(pilot, "after “t9”")
        assert says(pilot, "“t30” follows: ")
        await press(pilot, "a", "down")
        assert says(pilot, "after “t9 t30”")
        assert says(pilot, "The text ends here.")
        made = core_predictions.predict(explorer_of(pilot.app).scene.trace, 2)
        assert says(pilot, f"1 t{made.top[0].token.id} {made.top[0].probability:.3f}")
