"""Traces of real models, against transformers on small checkpoints, and what they refuse."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core import tokenization, transformer
from core.checkpoints import budget
from core.compare import compare
from core.errors import BudgetError, ModelError, SettingError
from core.learning_types import Learning, Wish
from core.runner import run
from core.trained import describe, trained_bytes
from core.types import Edit, Mask, Request, Switches
from tests.core.small_checkpoints import copied, edit_config, expected_of, speaking
from tests.reference.checkpoint_cases import CASES

# OPT's positions depend on what is blocked, which is refused.
NAMES = [name for name, case in CASES.items() if "target" not in case and name != "opt-before"]
WRITING = [name for name, case in CASES.items() if "target" in case]


def traced(name, tmp_path, **changes):
    """A trace of a reference's text, what was expected, and the rows that do not pad."""
    expected, text = expected_of(name)
    pads = frozenset(expected["pads"].tolist())
    model = describe(speaking(name, tmp_path))
    trace = run(Request(text, model=model, switches=Switches(Mask(blocked=pads)), **changes))
    kept = [i for i in range(len(expected["ids"])) if i not in pads]
    return trace, expected, kept


@pytest.mark.parametrize("name", NAMES)
def test_arrays_are_those_of_transformers(name, tmp_path):
    trace, expected, kept = traced(name, tmp_path)
    model, count = trace.request.model, len(expected["ids"])
    assert [token.id for token in trace.tokens] == expected["ids"].tolist()
    assert len(trace.layers) == model.layers == len(expected["attentions"])
    for index, layer in enumerate(trace.layers):
        np.testing.assert_allclose(
            layer.pattern[:, kept], expected["attentions"][index][:, kept], atol=1e-4
        )
        np.testing.assert_allclose(
            layer.resid_pre[kept], expected["hidden"][index][kept], atol=1e-4
        )
        assert layer.dot.shape == layer.attn_scores.shape == (model.heads, count, count)
        assert layer.q.shape == layer.k.shape == layer.v.shape == layer.z.shape
        assert layer.q.shape == (model.heads, count, model.d_head)
        assert layer.attn_out.shape == layer.resid_post.shape == (count, model.d_model)
        for array in (layer.q, layer.dot, layer.attn_scores, layer.pattern, layer.resid_post):
            assert array.dtype == np.float32
            assert not array[0].flags.writeable
        np.testing.assert_allclose(layer.dot, layer.q @ np.transpose(layer.k, (0, 2, 1)), atol=1e-4)
        np.testing.assert_allclose(layer.z, np.matmul(layer.pattern, layer.v), atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_every_layer_has_its_own_mask(name, tmp_path):
    """The mask allows exactly the keys that transformers gives a weight."""
    trace, expected, kept = traced(name, tmp_path)
    queries = np.arange(len(trace.tokens))[:, None]
    keys = queries.T
    for index, (mask, rule) in enumerate(
        zip(trace.encoder.masks, trace.encoder.rules, strict=True)
    ):
        assert not mask.flags.writeable
        used = (expected["attentions"][index] > 0).any(axis=0)
        np.testing.assert_array_equal(mask[kept], used[kept])
        allowed = np.ones(mask.shape, dtype=bool)
        if rule.causal:
            allowed &= keys <= queries
        if rule.window is not None:
            allowed &= abs(keys - queries) <= rule.window
        allowed[:, sorted(rule.blocked)] = False
        np.testing.assert_array_equal(mask, allowed)


def written(name, tmp_path, **changes):
    """A trace of a reference's text and target, what was expected, and the rows of no padding."""
    expected, text = expected_of(name)
    pads = frozenset(expected["pads"].tolist())
    path = speaking(name, tmp_path)
    start = int(expected["target"][0])  # which not every configuration names
    edit_config(tmp_path / name, decoder_start_token_id=start)
    model = describe(path)
    target = " ".join(f"t{i}" for i in expected["target"][1:])
    request = Request(text, model=model, switches=Switches(Mask(blocked=pads)), target=target)
    kept = [i for i in range(len(expected["ids"])) if i not in pads]
    return run(replace(request, **changes)), expected, kept


@pytest.mark.parametrize("name", WRITING)
def test_three_attentions_are_those_of_transformers(name, tmp_path):
    trace, expected, kept = written(name, tmp_path)
    model = trace.request.model
    ids, count = expected["target"].tolist(), len(expected["ids"])
    assert [token.id for token in trace.target_tokens] == ids
    rows = {"encoder": kept, "decoder": list(range(len(ids))), "cross": list(range(len(ids)))}
    assert list(trace.attentions) == list(rows)
    for kind, attention in trace.attentions.items():
        stack = model.stack(kind)
        patterns = expected[f"{kind}_attentions"]
        assert len(attention.layers) == len(attention.masks) == stack.layers == len(patterns)
        for index, layer in enumerate(attention.layers):
            found, allowed = layer.pattern[:, rows[kind]], attention.masks[index]
            np.testing.assert_allclose(found, patterns[index][:, rows[kind]], atol=1e-4)
            sees = np.tri(len(ids)) if kind == "decoder" else np.isin(range(count), kept)
            np.testing.assert_array_equal(allowed, np.broadcast_to(sees, allowed.shape))
            pads = frozenset() if kind == "decoder" else trace.request.switches.mask.blocked
            assert attention.rules[index] == Mask(kind == "decoder", None, pads)
            assert (patterns[index][:, rows[kind]][:, ~allowed[rows[kind]]] == 0).all()
            assert found.shape[0] == stack.heads
            assert layer.q.shape[2] == layer.z.shape[2] == stack.d_head
            answers = layer.resid_pre if layer.source is None else layer.source
            assert layer.k.shape[1] == layer.v.shape[1] == len(answers) == patterns.shape[3]
            np.testing.assert_allclose(
                layer.dot, layer.q @ np.asarray(layer.k).transpose(0, 2, 1), atol=1e-4
            )
            np.testing.assert_allclose(layer.z, np.asarray(layer.pattern) @ layer.v, atol=1e-4)
            assert not layer.pattern[0].flags.writeable
    for kind, attention in (("encoder", trace.encoder), ("decoder", trace.decoder)):
        for index, layer in enumerate(attention.layers):
            hidden = expected[f"{kind}_hidden"][index][rows[kind]]
            np.testing.assert_allclose(layer.resid_pre[rows[kind]], hidden, atol=1e-4)
    for cross in trace.cross.layers:
        np.testing.assert_allclose(cross.source[kept], expected["encoder_final"][kept], atol=1e-4)


@pytest.mark.parametrize("name", ["t5-relu", "bart-head"])
def test_cross_attention_stands_between_self_attention_and_mlp(name, tmp_path):
    """What the decoder's self-attention leaves asks; what the MLP leaves enters the next layer."""
    trace, _expected, _kept = written(name, tmp_path)
    for index, (own, cross) in enumerate(
        zip(trace.decoder.layers, trace.cross.layers, strict=True)
    ):
        np.testing.assert_array_equal(own.resid_post, cross.resid_pre)
        if index + 1 < len(trace.decoder.layers):
            following = trace.decoder.layers[index + 1].resid_pre
            np.testing.assert_array_equal(cross.resid_post, following)
        if name == "t5-relu":  # pre-norm: parts are added
            np.testing.assert_allclose(
                own.resid_post, own.resid_pre + own.attn_out, rtol=1e-5, atol=1e-5
            )


def test_without_a_target_the_encoder_is_the_same_alone(tmp_path):
    both, _expected, _kept = written("t5-relu", tmp_path)
    alone = run(replace(both.request, target=None))
    assert list(alone.attentions) == ["encoder"]
    for one, other in zip(both.layers, alone.layers, strict=True):
        np.testing.assert_array_equal(one.pattern, other.pattern)


@pytest.mark.parametrize("target", ["", "  \n"])
def test_blank_target_is_what_starts_every_target(target, tmp_path):
    """The decoder before its first word: the numbers of the first row of a longer target."""
    longer, _expected, _kept = written("bart-head", tmp_path)
    trace = run(replace(longer.request, target=target))
    (start,) = trace.target_tokens
    assert (start.id, start.special, start.piece, start.text) == (2, True, "t2", "")
    for one, other in zip(trace.cross.layers, longer.cross.layers, strict=True):
        np.testing.assert_allclose(one.pattern, other.pattern[:, :1], atol=1e-5)


def test_target_is_cut_to_the_models_limit(tmp_path):
    model = describe(speaking("bart-head", tmp_path))
    trace = run(Request("t5", model=model, target=" ".join(["t6"] * 40)))
    assert len(trace.target_tokens) == 21
    assert trace.target_tokens.notices == ("first 21 of 40 tokens",)


def test_budget_counts_the_target(tmp_path):
    from core.runner import needed_bytes

    trace, _expected, _kept = written("bart-head", tmp_path)
    blocks = (*trace.run.encoder.blocks, *trace.run.decoder.blocks)
    arrays = [array for each in blocks for array in (each.resid_mid, each.resid_post)]
    for each in filter(None, (*blocks, *(block.cross for block in blocks))):
        arrays += [each.q, *each.own_kv, each.attn_out]
    kept = sum(array.nbytes for array in arrays if array is not None)
    needed = needed_bytes(trace.request.model, 13, 7)
    assert 0.9 < needed / kept < 1.25


def test_masks_differ_where_windows_do(tmp_path):
    trace, _expected, _kept = traced("gemma3-kinds", tmp_path)
    assert len(set(trace.encoder.rules)) == 2
    assert len({mask.sum() for mask in trace.encoder.masks}) == 2


def test_what_a_model_is(tmp_path):
    model = describe(speaking("bert-plain", tmp_path))
    assert (model.name, model.family, model.layers, model.heads) == ("bert-plain", "BERT", 3, 4)
    assert (model.d_model, model.d_head, model.seed, model.causal) == (24, 6, None, False)
    assert model.writes is None
    assert model == describe(model.path)
    assert hash(model) == hash(describe(model.path))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("hub/models--openai-community--gpt2/snapshots/607a30d783", "openai-community/gpt2"),
        ("packages/some_model/model", "some_model"),
        ("llm/Small.Q4_1.gguf", "Small.Q4_1"),
        ("bad\x1b[2J", "bad␛[2J"),
        (f"blobs/sha256-{'0123456789abcdef' * 4}", "sha256-0123456789ab…"),
    ],
)
def test_name_is_what_people_call_it(path, name, tmp_path):
    from core.trained import name_of

    assert name_of(str(tmp_path / path)) == name


def test_long_text_is_cut_and_said(tmp_path):
    model = describe(speaking("bert-plain", tmp_path))
    trace = run(Request(" ".join(["t5"] * 40), model=model))
    assert len(trace.tokens) == 19
    assert trace.tokens.notices == ("first 19 of 40 tokens",)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"switches": Switches(Mask(causal=True))}, "trained weights go with the attention"),
        ({"switches": Switches(positions=False)}, "trained weights go with the attention"),
        ({"switches": Switches(edits=(Edit("x", (0, 0), 1.0),))}, "trained weights go with"),
        ({"learning": Learning((Wish(0, ((0, 1.0),)),))}, "a trained model learns no wishes"),
        ({"target": "t5"}, r"bert-plain \(BERT\) is no encoder–decoder, so it takes no target"),
        ({"tokenizer": "chars"}, "a trained model goes with its own tokenizer"),
        ({"switches": Switches(Mask(blocked=frozenset({9})))}, "blocked key 9 is out of range"),
    ],
)
def test_refused_with_a_model(changes, words, tmp_path):
    request = Request("t5 t6", model=describe(speaking("bert-plain", tmp_path)))
    with pytest.raises(SettingError, match=words):
        run(replace(request, **changes))


def test_block_is_refused_where_it_would_move_positions(tmp_path):
    model = describe(speaking("opt-before", tmp_path))
    with pytest.raises(SettingError, match="would move the positions of the others in OPT"):
        run(Request("t5 t6", model=model, switches=Switches(Mask(blocked=frozenset({0})))))


def test_model_without_a_tokenizer_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        describe(str(copied("gpt2-plain", tmp_path)))


def test_two_texts_are_compared(tmp_path):
    one = run(Request("t5 t17 t3", model=describe(speaking("gpt2-plain", tmp_path))))
    found = compare(one, "t5 t17 t4")
    assert found.rows.shape == (one.request.model.layers, one.request.model.heads, 2)
    np.testing.assert_allclose(found.rows, 0, atol=1e-6)  # causal: what comes later changes nothing


@pytest.fixture
def long_llama(tmp_path):
    """A model made for 4,096 positions."""
    path = speaking("llama-shards", tmp_path)
    edit_config(Path(path), max_position_embeddings=4096)
    return describe(path)


def test_text_as_long_as_the_models_own_limit(long_llama):
    """More than the seeded model's 2,048 tokens; rows are made without the rest."""
    trace = run(Request("t5 t17 t3 " * 1000, model=long_llama))
    assert len(trace.tokens) == 3000
    assert trace.tokens.notices == ()
    for layer in trace.layers:
        np.testing.assert_allclose(layer.pattern[:, 2999].sum(axis=-1), 1, atol=1e-5)
        assert (layer.pattern[:, 1000, 1001:] == 0).all()
    longer = run(Request("t5 " * 4200, model=long_llama))
    assert len(longer.tokens) == 4096
    assert longer.tokens.notices == ("first 4,096 of 4,200 tokens",)


def test_long_text_of_a_demo_is_cut_as_any(long_llama, monkeypatch):
    monkeypatch.setattr(tokenization, "_most", 8)
    assert len(run(Request("t5 " * 100, model=long_llama)).tokens) == 8


def test_memory_that_is_not_there_is_said_before_it_is_taken(long_llama, monkeypatch):
    text = "t5 " * 4096
    needed = trained_bytes(long_llama, 4096)
    monkeypatch.setattr(transformer, "run_stack", None)  # nothing is computed
    monkeypatch.setattr(budget, "BUDGET_BYTES", needed - 1)
    with pytest.raises(BudgetError, match=r"^4,096 tokens need 0\.0 GiB, and the budget is 0 GiB"):
        run(Request(text, model=long_llama))
    monkeypatch.undo()
    monkeypatch.setattr(budget, "free_bytes", lambda: needed - 1)
    with pytest.raises(BudgetError, match=r"the model and 4,096 tokens need .* are free"):
        run(Request(text, model=long_llama))


def test_two_long_texts_share_the_budget_of_real_models(long_llama, monkeypatch):
    one = run(Request("t5 " * 2000, model=long_llama))
    monkeypatch.setattr(budget, "BUDGET_BYTES", 2**30)
    monkeypatch.setattr("core.compare.needed_bytes", lambda *_: 2**29 + 2**26)
    with pytest.raises(
        BudgetError, match=r"two texts together need 1\.1 GiB, and the budget is 1 GiB"
    ):
        compare(one, "t5 " * 2000)


def test_memory_grows_with_the_text_not_with_its_square(long_llama):
    """Apart from a byte a cell of the mask."""
    kept = [trained_bytes(long_llama, count) - count**2 for count in (1000, 2000, 4000)]
    assert kept[2] == 2 * kept[1] == 4 * kept[0]
