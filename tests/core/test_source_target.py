"""Encoder and decoder: against plain loops, and by what must hold whatever the weights are."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import GivenModel, Mask, ModelSpec, Request, Switches, run
from core.compare import compare
from core.errors import BudgetError, SettingError, TextError
from core.learning_types import Learning, Wish
from core.runner import cut, needed_bytes, trace
from core.types import Edit, LayerTrace
from core.weights import decoder_weights, seeded_weights
from tests.core.small_tokenizers import bert_tokenizer
from tests.core.test_run import arrays_of

SOURCE, TARGET = "The ball is blue", "La bola es azul ahora"
QUICK = settings(derandomize=True, deadline=None, max_examples=60, database=None)
WORDS = st.lists(st.sampled_from(["a", "b", "la", "我"]), min_size=1, max_size=6).map(" ".join)


def ask(source=SOURCE, target=TARGET, model=None, tokenizer="mixed", **switches):
    return run(
        Request(source, tokenizer, ModelSpec(**(model or {})), Switches(**switches), target=target)
    )


# The same in lists and loops, after the paper's figure 1 without its feed-forward parts.


def times(rows, matrix):
    return [
        [sum(row[i] * matrix[i][j] for i in range(len(row))) for j in range(len(matrix[0]))]
        for row in rows
    ]


def normed(row):
    mean = sum(row) / len(row)
    variance = sum((x - mean) ** 2 for x in row) / len(row)
    return [(x - mean) / math.sqrt(variance + 1e-5) for x in row]


def loops(asking, answering, weights, heads, causal):
    """Patterns by head and the rows after Add & Norm."""
    w_q, w_k, w_v, w_o = (getattr(weights, name).tolist() for name in ("w_q", "w_k", "w_v", "w_o"))
    q, k, v = times(asking, w_q), times(answering, w_k), times(answering, w_v)
    size = len(q[0]) // heads
    patterns, merged = [], [[] for _ in asking]
    for head in range(heads):
        dims = range(head * size, (head + 1) * size)
        pattern = []
        for i, row in enumerate(q):
            last = i + 1 if causal else len(k)
            powers = [
                math.exp(sum(row[d] * k[j][d] for d in dims) / math.sqrt(size)) for j in range(last)
            ]
            share = [power / sum(powers) for power in powers] + [0.0] * (len(k) - last)
            pattern.append(share)
            merged[i] += [sum(share[j] * v[j][d] for j in range(len(k))) for d in dims]
        patterns.append(pattern)
    added = [
        [x + y for x, y in zip(one, other, strict=True)]
        for one, other in zip(asking, times(merged, w_o), strict=True)
    ]
    return patterns, [normed(row) for row in added]


@pytest.mark.parametrize(("layers", "heads", "seed"), [(1, 4, 0), (3, 2, 7), (2, 1, 2**64 - 1)])
def test_the_whole_stack_against_plain_loops(layers, heads, seed):
    made = ask(model={"layers": layers, "heads": heads, "d_model": 8, "seed": seed})

    def entering(side):
        return (side.embed + side.pos_embed).tolist()

    x = entering(made.encoder.queries)
    for layer in made.layers:
        pattern, x = loops(x, x, layer.weights, heads, causal=False)
        np.testing.assert_allclose(layer.pattern, pattern, atol=1e-9)
    source, y = x, entering(made.decoder.queries)
    for own, cross in zip(made.decoder.layers, made.cross.layers, strict=True):
        pattern, y = loops(y, y, own.weights, heads, causal=True)
        np.testing.assert_allclose(own.pattern, pattern, atol=1e-9)
        np.testing.assert_allclose(own.resid_post, y, atol=1e-9)
        pattern, y = loops(y, source, cross.weights, heads, causal=False)
        np.testing.assert_allclose(cross.pattern, pattern, atol=1e-9)
        np.testing.assert_allclose(cross.resid_post, y, atol=1e-9)


def test_the_ways_through_the_stacks():
    """What each layer is fed, by identity."""
    made = ask(model={"layers": 2})
    left = made.layers[-1].resid_post
    (first, second), (one, two) = made.decoder.layers, made.cross.layers
    assert one.resid_pre is first.resid_post
    assert second.resid_pre is one.resid_post
    assert two.resid_pre is second.resid_post
    assert one.source is two.source is left
    assert first.source is None is made.layers[0].source
    assert (made.cross.queries, made.cross.keys) == (made.decoder.queries, made.encoder.queries)


def test_shapes_of_texts_of_different_lengths():
    made = ask(model={"heads": 2, "d_model": 6})
    assert made.encoder.layers[0].pattern.shape == (2, 4, 4)
    assert made.decoder.layers[0].pattern.shape == (2, 5, 5)
    cross = made.cross.layers[0]
    assert cross.pattern.shape == cross.dot.shape == (2, 5, 4)
    assert (cross.q.shape, cross.k.shape, cross.v.shape) == ((2, 5, 3), (2, 4, 3), (2, 4, 3))
    assert cross.attn_out.shape == (5, 6)
    assert made.cross.mask.shape == (5, 4)
    assert made.target_tokens.text == TARGET


@QUICK
@given(WORDS, WORDS, st.integers(1, 3), st.booleans(), st.sampled_from(["softmax", "linear"]))
def test_rows_sum_to_one_and_the_future_is_exactly_nothing(source, target, layers, on, normalizer):
    made = ask(source, target, {"layers": layers}, "spaces", positions=on, normalizer=normalizer)
    for attention in made.attentions.values():
        for layer in attention.layers:
            np.testing.assert_allclose(layer.pattern.sum(axis=-1), 1, atol=1e-12)
    for layer in made.decoder.layers:
        assert not np.triu(layer.pattern, 1).any()


@QUICK
@given(WORDS, WORDS, WORDS)
def test_what_comes_later_in_the_target_changes_nothing_before(source, start, end):
    short = ask(source, start, {"layers": 2}, "spaces")
    longer = ask(source, f"{start} {end}", {"layers": 2}, "spaces")
    count = len(short.target_tokens)
    for name in ("decoder", "cross"):
        pairs = zip(short.attentions[name].layers, longer.attentions[name].layers, strict=True)
        for one, two in pairs:
            np.testing.assert_allclose(two.resid_post[:count], one.resid_post, atol=1e-9)


@QUICK
@given(WORDS, WORDS)
def test_the_encoder_knows_nothing_of_the_target(source, target):
    with_it, without = ask(source, target), ask(source, None)
    assert without.decoder is without.cross is without.target_tokens is None
    for one, two in zip(without.layers, with_it.layers, strict=True):
        for a, b in zip(arrays_of(one), arrays_of(two), strict=True):
            assert a.tobytes() == b.tobytes()


def test_the_source_changes_cross_attention_and_not_the_first_masked_one():
    one, two = ask("The ball is blue"), ask("The ball is red")
    assert one.decoder.layers[0].pattern.tobytes() == two.decoder.layers[0].pattern.tobytes()
    assert np.abs(one.cross.layers[0].pattern - two.cross.layers[0].pattern).max() > 1e-3


def test_the_mask_is_the_encoders_and_blocked_words_are_so_in_both():
    made = ask(mask=Mask(causal=True, window=1, blocked=frozenset({2})))
    assert made.encoder.rule == Mask(True, 1, frozenset({2}))
    assert made.decoder.rule == Mask(causal=True)
    assert made.cross.rule == Mask(blocked=frozenset({2}))
    assert not made.cross.layers[0].pattern[:, :, 2].any()
    assert made.cross.mask[:, [0, 1, 3]].all()
    assert made.decoder.layers[0].pattern[:, 4].all()


def test_what_pads_is_blocked_on_its_side(saved):
    made = bert_tokenizer()
    made.enable_padding(length=6, pad_id=0, pad_token="[PAD]")
    request = Request("a a", saved(made), as_saved=True, target="a a a")
    found = trace(request, *cut(request))
    assert found.encoder.rule.blocked == found.cross.rule.blocked == {4, 5}
    assert found.decoder.rule.blocked == {5}
    assert not found.decoder.layers[0].pattern[:, :, 5].any()


def test_without_projections_the_three_are_their_own_inputs():
    made = ask(projections="identity", model={"heads": 1})
    cross = made.cross.layers[0]
    np.testing.assert_array_equal(cross.q[0], cross.resid_pre)
    np.testing.assert_array_equal(cross.k[0], made.layers[-1].resid_post)


def test_weights_of_the_decoder():
    """Other numbers than the encoder's, and the same whatever the depth but for W_O."""
    ((own, cross),) = decoder_weights(0, 1, 16)
    (encoder,) = seeded_weights(0, 1, 16)
    firsts = {float(each.w_q[0, 0]) for each in (own, cross, encoder)}
    assert len(firsts) == 3
    deep = decoder_weights(0, 4, 16)[0]
    assert deep[1].w_v.tobytes() == cross.w_v.tobytes()
    np.testing.assert_allclose(deep[0].w_o, own.w_o / 2, rtol=1e-15)


@pytest.mark.parametrize("layers", [1, 12, 96])
def test_deep_decoders(layers):
    """Scores keep a variance near 1, so that no pattern is flat or one-hot."""
    words = "The black cat drank the milk and went to bed"
    made = [ask(words, words, {"layers": layers, "seed": seed}) for seed in range(4)]
    for name in ("decoder", "cross"):
        scores = [each.attentions[name].layers[-1].attn_scores for each in made]
        assert 0.4 < np.var(scores) < 2


@pytest.mark.parametrize("target", ["", "  \n"])
def test_an_empty_target_is_refused(target):
    with pytest.raises(TextError, match="the target is empty: type a sentence, or leave"):
        ask(target=target)


def test_a_target_of_no_known_word(saved):
    request = Request("a", saved(bert_tokenizer()), target="\u200b")
    with pytest.raises(TextError, match=r"target: tokenizer .* makes no token"):
        run(request)


def test_given_matrices_have_no_decoder():
    one = ((1.0,),)
    with pytest.raises(SettingError, match="given matrices have no decoder"):
        run(Request("a", "spaces", GivenModel("x", one, one, one, one), target="b"))


def test_nothing_is_learned_with_a_target():
    learning = Learning((Wish(0, ((0, 1.0),)),))
    with pytest.raises(SettingError, match="with a target nothing is learned: leave the target"):
        run(Request("a", learning=learning, target="b"))


def test_the_budget_counts_all_three():
    made = ask("a b " * 40, "c " * 50, {"layers": 3, "heads": 2, "d_model": 8})
    layers = [layer for each in made.attentions.values() for layer in each.layers]
    assert all(isinstance(layer, LayerTrace) for layer in layers)
    kept = {id(a): a.nbytes for layer in layers for a in arrays_of(layer)}
    needed = needed_bytes(made.request.model, 80, 50)
    assert sum(kept.values()) <= needed <= 1.3 * sum(kept.values())
    with pytest.raises(BudgetError, match="1 token and 2,048 of the target × 96 layers"):
        ask("a", "b " * 2048, {"layers": 96})


def test_a_decoder_cannot_be_written_to():
    made = ask()
    for attention in made.attentions.values():
        arrays = [attention.mask, attention.queries.embed, attention.queries.pos_embed]
        arrays += [array for layer in attention.layers for array in arrays_of(layer)]
        assert not any(array.flags.writeable for array in arrays)


def test_spans_are_those_of_their_own_text():
    """T19: both texts begin at 0, and neither says anything of the other."""
    trace = ask("我想", "吃我")
    for tokens, text in ((trace.tokens, "我想"), (trace.decoder.queries.tokens, "吃我")):
        assert [(each.start, each.end) for each in tokens] == [(0, 1), (1, 2)]
        assert [text[each.start : each.end] for each in tokens] == list(text)


def test_bola():
    """The example's cross-attention, to three digits."""
    pattern = ask(target="La bola es azul").cross.layers[0].pattern[0]
    assert pattern.round(3).tolist() == [
        [0.051, 0.335, 0.067, 0.547],
        [0.067, 0.076, 0.133, 0.724],
        [0.015, 0.457, 0.02, 0.509],
        [0.035, 0.113, 0.06, 0.792],
    ]


def test_what_is_typed_over_is_the_encoders():
    """It reaches the decoder through what leaves the encoder only."""
    edits = (Edit("x", (3, 0), 5.0), Edit("w_q", (0, 1, 2), -3.0), Edit("attn_scores", (0,) * 4, 2))
    plain, typed = ask(), ask(edits=edits)
    assert (plain.encoder.layers[0].pattern != typed.encoder.layers[0].pattern).any()
    one_layer, other_layer = plain.decoder.layers[0], typed.decoder.layers[0]
    for one, other in zip(arrays_of(one_layer), arrays_of(other_layer), strict=True):
        np.testing.assert_array_equal(one, other)
    crossed, changed = plain.cross.layers[0], typed.cross.layers[0]
    np.testing.assert_array_equal(crossed.q, changed.q)
    assert (crossed.k != changed.k).any()
    np.testing.assert_array_equal(changed.source, typed.encoder.layers[0].resid_post)
    np.testing.assert_array_equal(changed.k, attend_again(changed))


def attend_again(layer):
    """k of a cross layer, by its weights as they were drawn."""
    drawn = decoder_weights(0, 1, 16)[0][1].w_k
    made = layer.source @ drawn
    return made.reshape(len(made), 4, 4).transpose(1, 0, 2)


def test_another_text_is_refused_beside_a_target():
    with pytest.raises(SettingError, match="with a target no other text is compared"):
        compare(ask(), "The ball is red")
