"""What a causal model takes over from an earlier run is what a whole run would give."""

import gc
from concurrent.futures import ThreadPoolExecutor
from weakref import ref

import numpy as np
import pytest

from core import reuse, transformer
from core.checkpoints.model import open_model
from core.reuse import common_start
from tests.core.small_checkpoints import REFERENCE
from tests.reference.checkpoint_cases import CASES

BEFORE = [5, 17, 3, 29, 11, 8, 17, 6, 30, 12, 4, 21]
EDITS = {
    "a token more at the end": [*BEFORE, 9],
    "four tokens more": [*BEFORE, 9, 14, 5, 2],
    "another last token": [*BEFORE[:-1], 9],
    "a token in the middle": [*BEFORE[:5], 9, *BEFORE[5:]],
    "the end taken away": BEFORE[:7],
    "another first token": [9, *BEFORE[1:]],
}
PARTS = ("q", "k", "v", "dot", "attn_scores", "pattern", "z", "attn_out")
ROWS = ("resid_pre", "resid_post")


def model_of(name):
    file = REFERENCE / name / "model.gguf"
    return open_model(file if file.exists() else REFERENCE / name)


CAUSAL = [
    name
    for name, case in CASES.items()
    if "target" not in case and model_of(name).facts.causal and model_of(name).facts.limit > 15
]


@pytest.fixture
def counted(monkeypatch):
    """How many rows each layer was run for."""
    rows = []

    def run_block(x, weights, facts, scoring, *arguments):
        rows.append(len(x) - scoring.first)
        return block(x, weights, facts, scoring, *arguments)

    block = transformer.run_block
    monkeypatch.setattr(transformer, "run_block", run_block)
    return rows


def assert_same(found, expected):
    assert found.ids == expected.ids
    np.testing.assert_allclose(found.final, expected.final, atol=1e-5)
    for ours, whole in zip(found.blocks, expected.blocks, strict=True):
        for name in (*PARTS, *ROWS):
            array, other = np.asarray(getattr(ours, name)), np.asarray(getattr(whole, name))
            near = 1e-5 * max(1.0, float(np.abs(other).max()))
            np.testing.assert_allclose(array, other, atol=near, err_msg=name)
    for window, mask in expected.masks.items():
        np.testing.assert_array_equal(found.masks[window], mask)


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("name", CAUSAL)
def test_what_is_taken_over_is_what_a_whole_run_gives(name, edit, counted):
    """Every causal family: windows, rotations of every kind, tables and offsets of positions."""
    model = model_of(name)
    held = model.run(BEFORE).last
    counted.clear()
    found = model.run(EDITS[edit]).last
    expected_rows = len(EDITS[edit]) - common_start(model.facts, held, EDITS[edit], frozenset())
    assert counted == [expected_rows] * len(model.facts.layers)
    assert_same(found, model_of(name).run(EDITS[edit]).last)


def test_there_are_causal_families():
    families = {model_of(name).family for name in CAUSAL}
    assert len(families) >= 10, families
    assert {"OPT", "GPT-2", "Llama"} <= families


def test_many_edits_in_a_row_stay_near(counted):
    """What is taken over is taken over again; nothing adds up."""
    model = model_of("llama-shards")
    ids, held = [5], None
    for token in (17, 3, 29, 11, 8, 17, 6, 30, 12, 4, 21, 9, 14, 5, 2) * 3:
        ids = [*ids, token]
        held = model.run(ids).last
    assert counted[-1] == 1
    assert_same(held, model_of("llama-shards").run(ids).last)


@pytest.mark.parametrize(
    ("blocked", "again", "rows"),
    [
        ({2}, {2}, 1),
        ({2}, {2, 12}, 1),
        ({2}, set(), 11),
        (set(), {0}, 13),
        ({2}, {2, 3}, 10),
        ({2, 11}, {2, 11}, 1),
    ],
)
@pytest.mark.parametrize("name", ["mistral-window", "opt-after"])
def test_blocked_keys_count_as_well(name, blocked, again, rows, counted):
    """From the first key that is blocked in one run only, all is run: OPT's positions move too."""
    model, edited = model_of(name), [*BEFORE, 9]
    held = model.run(BEFORE, frozenset(blocked)).last
    counted.clear()
    found = model.run(edited, frozenset(again)).last
    assert counted == [rows] * len(model.facts.layers)
    assert held.blocked == blocked
    assert_same(found, model_of(name).run(edited, frozenset(again)).last)


def test_rows_are_put_together_when_they_are_looked_at(monkeypatch):
    """A letter makes one row of a hundred arrays, of which people look at a few."""
    made = []

    def join(*arguments):
        made.append(reuse_join(*arguments))
        return made[-1]

    reuse_join = reuse.join
    monkeypatch.setattr(reuse, "join", join)
    model = model_of("llama-shards")
    held = model.run(BEFORE).last
    q = held.blocks[1].q.copy()
    found = model.run([*BEFORE[:-1], 14]).last
    del held  # so that the next one goes on from that
    found = model.run([*BEFORE[:-1], 9]).last
    assert made == []
    block = found.blocks[1]
    assert block.attn_out.shape == (12, model.facts.d_model)
    assert len(block.q) == len(list(block.q)) == model.facts.heads
    assert len(made) == 1
    np.testing.assert_array_equal(block.q[1, :11], q[1, :11])
    np.testing.assert_array_equal(np.asarray(block.q)[:, 11], block.q.new[:, 0])
    assert np.asarray(block.q, np.float64).dtype == np.float64
    assert len(made) == 1
    with pytest.raises(ValueError, match="read-only"):
        block.q[0][0, 0] = 1.0


def test_joined_rows_are_used_like_an_array():
    model = model_of("llama-shards")
    held = model.run(BEFORE).last
    rows, array = model.run([*BEFORE, 9]).last.blocks[0].attn_out, held.blocks[0].attn_out
    assert not isinstance(rows, np.ndarray)
    plain = np.asarray(rows)
    np.testing.assert_array_equal(plain[:-1], array)
    assert (rows.ndim, rows.T.shape, rows.mean()) == (2, plain.T.shape, plain.mean())
    for made, expected in [
        (rows + rows, plain + plain),
        (plain - rows, plain - plain),
        (rows @ rows.T, plain @ plain.T),
        (np.abs(rows), np.abs(plain)),
        (np.linalg.norm(rows, axis=-1), np.linalg.norm(plain, axis=-1)),
        (rows[-1:], plain[-1:]),
        (np.array(rows, copy=True), plain),
    ]:
        np.testing.assert_array_equal(made, expected)
    with pytest.raises(AttributeError):
        rows.nothing_like_it  # noqa: B018
    with pytest.raises(ValueError, match="read-only"):  # it is part of the later run, too
        array[0] = 0


def test_who_has_looked_at_rows_needs_the_run_before_no_more():
    model = model_of("llama-shards")
    held = model.run(BEFORE).last
    found = model.run([*BEFORE, 9]).last
    known = [ref(held.blocks[0].attn_out), ref(held.blocks[1].resid_post)]
    del held
    gc.collect()
    assert all(array() is not None for array in known)
    for block in found.blocks:
        for name in ("q", "attn_out", "resid_pre", "resid_post"):
            np.asarray(getattr(block, name))
    assert all(array() is None for array in known)


def test_a_short_text_does_not_keep_a_long_one():
    model = model_of("llama-shards")
    held = model.run(BEFORE).last
    found = model.run(BEFORE[:4]).last
    known = ref(held.blocks[0].attn_out)
    del held
    gc.collect()
    assert known() is None
    assert_same(found, model_of("llama-shards").run(BEFORE[:4]).last)


@pytest.mark.parametrize("looked_at", [False, True])
def test_no_chain_of_runs_is_kept_alive(looked_at):
    """Letters change the last token, a token more is begun, and so on."""
    model, ids, seen = model_of("llama-shards"), BEFORE[:4], []
    held = model.run(ids).last
    for letter in range(30):
        ids = [*ids[:-1], 5 + letter] if letter % 4 else [*ids, 3]
        held = model.run(ids).last
        arrays = [held.blocks[1].q, held.blocks[1].attn_out, held.blocks[0].resid_post]
        if looked_at:
            assert all(np.isfinite(array).all() for array in arrays)
        seen += map(ref, arrays)
    del arrays
    gc.collect()
    assert sum(array() is not None for array in seen) <= 3 * 2  # the last, and what it begins with
    assert_same(held, model_of("llama-shards").run(ids).last)


def test_encoder_runs_all(counted):
    model = model_of("bert-plain")
    held = model.run(BEFORE).last
    counted.clear()
    found = model.run([*BEFORE, 9]).last
    assert counted == [13] * len(model.facts.layers)
    assert len(held.ids) == 12
    assert_same(found, model_of("bert-plain").run([*BEFORE, 9]).last)


@pytest.mark.parametrize("name", ["bert-plain", "gpt2-head"])
def test_same_tokens_give_the_same_run(name, counted):
    """As the other text of two that are compared, and the text of a target that is edited."""
    model = model_of(name)
    held = model.run(BEFORE).last
    counted.clear()
    assert model.run(BEFORE).last is held
    assert counted == []
    assert model.run(BEFORE, frozenset({3})).last is not held


def test_text_is_run_once_for_all_its_targets(counted):
    model = model_of("t5-relu")
    held = model.run(BEFORE, target=[3, 4, 5])
    found = model.run(BEFORE, target=[3, 4, 5, 6])
    assert found.encoder is held.encoder
    assert_same(found.decoder, model_of("t5-relu").run(BEFORE, target=[3, 4, 5, 6]).decoder)


def test_decoder_of_an_encoder_runs_all(counted):
    """What it has taken over would belong to another text."""
    model, fresh = model_of("t5-relu"), model_of("t5-relu")
    held = model.run(BEFORE, target=[3, 4, 5])
    found = model.run([*BEFORE, 9], target=[3, 4, 5])
    expected = fresh.run([*BEFORE, 9], target=[3, 4, 5])
    assert held.decoder is not None
    assert_same(found.decoder, expected.decoder)


def test_what_nobody_holds_is_not_kept(counted):
    """The model outlives the screen that showed a run, so it must not hold the run."""
    model = model_of("gpt2-head")
    model.run(BEFORE)
    counted.clear()
    model.run([*BEFORE, 9])
    assert counted == [13] * len(model.facts.layers)


def test_runs_that_nobody_holds_push_none_out(counted):
    model = model_of("gpt2-head")
    held = model.run(BEFORE).last
    for token in (9, 14, 5):
        model.run([*BEFORE, token])
        assert counted[-1] == 1
    assert len(held.ids) == 12


def test_of_two_runs_the_one_with_more_in_common_is_taken(counted):
    """As when two texts are compared, and one is edited."""
    model = model_of("gpt2-head")
    one, other = model.run(BEFORE).last, model.run([9, 14, 5, 2]).last
    counted.clear()
    model.run([*BEFORE, 9])
    assert counted == [1] * len(model.facts.layers)
    assert len(one.ids) > len(other.ids)


def test_earlier_run_stays_as_it_was():
    model = model_of("llama-shards")
    held = model.run(BEFORE).last
    before = [np.array(block.k) for block in held.blocks]
    model.run([*BEFORE[:3], 9, 9])
    for block, k in zip(held.blocks, before, strict=True):
        np.testing.assert_array_equal(block.k, k)


def test_a_trace_holds_its_run(tmp_path, counted):
    """So what the screen shows is what the next run begins with."""
    from core.runner import run
    from core.trained import describe
    from core.types import Request
    from tests.core.small_checkpoints import speaking

    model = describe(speaking("gpt2-head", tmp_path))
    shown = run(Request("t5 t17 t3 t29", model=model))
    counted.clear()
    found = run(Request("t5 t17 t3 t29 t11", model=model))
    assert counted == [1] * model.layers
    whole = model_of("gpt2-head").run([token.id for token in found.tokens]).last
    for layer, block in zip(found.layers, whole.blocks, strict=True):
        np.testing.assert_allclose(layer.pattern, block.pattern, atol=1e-5)
    assert shown.run.last.final.shape == (4, shown.request.model.d_model)


def test_run_is_freed_with_its_last_holder():
    """At once, not when the garbage is collected: a long text's run has gigabytes."""
    model = model_of("llama-shards")
    run = model.run(BEFORE)
    run.last.blocks[0].pattern[0]
    held = ref(run.last)
    gc.disable()
    try:
        del run
        assert held() is None
    finally:
        gc.enable()


def test_threads_may_run_one_model():
    """Each gets what belongs to its text, whatever the others leave behind."""
    model = model_of("mistral-window")
    texts = [[*BEFORE[:i], 9, *BEFORE[i:]] for i in range(len(BEFORE))]
    expected = [model_of("mistral-window").run(ids).last for ids in texts]
    held = []  # so that there is something to take over
    with ThreadPoolExecutor(4) as pool:
        for _again in range(3):
            held.append(list(pool.map(lambda ids: model.run(ids).last, texts)))
            for found, whole in zip(held[-1], expected, strict=True):
                assert_same(found, whole)
