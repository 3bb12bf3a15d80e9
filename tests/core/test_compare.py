"""Two texts under one model: the alignment against trying everything, changes by their laws."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.compare import compare, compared_tokens
from core.comparison import align, row_change, row_changes, shared_pairs
from core.errors import BudgetError, SettingError, TextError
from core.learning_types import Learning, Wish
from core.runner import run
from core.tokenization import open_tokenizer
from core.types import GivenModel, Mask, ModelSpec, Request, Switches

quiet = settings(derandomize=True, deadline=None, max_examples=150)
words = st.lists(st.sampled_from("abcd"), min_size=1, max_size=7)
SEVERAL = ModelSpec(2, 3, 12)


def cut(pieces):
    return open_tokenizer("spaces").encode(" ".join(pieces))


def pair(one, other, model=SEVERAL, **switches):
    """Traces of two lists of words, and what is found between them."""
    first = run(Request(" ".join(one), "spaces", model, Switches(**switches)))
    return first, compare(first, " ".join(other))


def longest_by_trying_all(one, other):
    """Length of the longest list of words that both have in order."""
    for size in range(min(len(one), len(other)), 0, -1):
        if set(combinations(one, size)) & set(combinations(other, size)):
            return size
    return 0


@quiet
@given(words, words)
def test_the_alignment_is_a_longest_common_subsequence(one, other):
    pairs = shared_pairs(align(cut(one), cut(other)))
    assert all(one[i] == other[j] for i, j in pairs)
    assert [i for i, _ in pairs] == sorted({i for i, _ in pairs})
    assert [j for _, j in pairs] == sorted({j for _, j in pairs})
    assert len(pairs) == longest_by_trying_all(one, other)


@quiet
@given(words, words)
def test_every_token_of_both_texts_is_there_once_and_in_order(one, other):
    alignment = align(cut(one), cut(other))
    assert [i for i, _ in alignment if i is not None] == list(range(len(one)))
    assert [j for _, j in alignment if j is not None] == list(range(len(other)))


@quiet
@given(words, words)
def test_exchanged_texts_have_exchanged_pairs(one, other):
    there = shared_pairs(align(cut(one), cut(other)))
    back = shared_pairs(align(cut(other), cut(one)))
    assert tuple((i, j) for j, i in back) == there


def test_tokens_of_one_text_stand_before_those_of_the_other():
    assert align(cut("abc"), cut("axxc")) == ((0, 0), (1, None), (None, 1), (None, 2), (2, 3))


def test_two_texts_as_long_as_the_cap():
    """The lengths of the subsequence are those of the textbook's recursion."""
    rng = np.random.default_rng(0)
    one, other = (["abcdefgh"[i] for i in rng.integers(8, size=2048)] for _ in range(2))
    before = [0] * (len(other) + 1)
    for left in one:
        row = [0]
        for j, right in enumerate(other):
            row.append(before[j] + 1 if left == right else max(row[j], before[j + 1]))
        before = row
    assert len(shared_pairs(align(cut(one), cut(other)))) == before[-1]


def test_a_change_worked_out_by_hand():
    """Half of |.5 − .2| + |.2 − .1| + .3 (only in the first) + .7 (only in the other)."""
    alignment = ((0, 0), (1, None), (None, 1), (2, 2))
    change = row_change(np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.7, 0.1]), alignment)
    assert change == pytest.approx(0.7)


@quiet
@given(words)
def test_a_text_does_not_differ_from_itself(one):
    first, found = pair(one, one)
    assert not found.rows.any()
    assert found.rows.shape == (2, 3, len(one))
    assert [(each.layer, each.head) for each in found.ranking] == list(np.ndindex(2, 3))
    assert np.array_equal(found.other.layers[1].pattern, first.layers[1].pattern)


@quiet
@given(words, words, st.sampled_from(["softmax", "linear"]), st.booleans())
def test_changes_are_between_0_and_1_and_the_same_from_both_sides(one, other, normalizer, causal):
    first, found = pair(one, other, normalizer=normalizer, mask=Mask(causal=causal))
    back = compare(found.other, " ".join(one))
    assert ((found.rows >= 0) & (found.rows <= 1 + 1e-12)).all()
    assert np.allclose(found.rows, back.rows, rtol=0, atol=1e-14)
    assert np.array_equal(back.other.layers[0].pattern, first.layers[0].pattern)


@quiet
@given(words, words)
def test_rows_against_sums_cell_by_cell(one, other):
    first, found = pair(one, other)
    for layer, head in np.ndindex(2, 3):
        for place, (i, j) in enumerate(found.shared):
            a = first.layers[layer].pattern[head, i]
            b = found.other.layers[layer].pattern[head, j]
            total = sum(
                abs((0 if k is None else a[k]) - (0 if m is None else b[m]))
                for k, m in found.alignment
            )
            assert found.rows[layer, head, place] == pytest.approx(total / 2)


def test_heads_are_ranked_by_the_mean_of_their_rows():
    _, found = pair(list("abcd"), list("abxd"))
    means = found.rows.mean(axis=-1)
    assert [each.change for each in found.ranking] == sorted(means.ravel(), reverse=True)
    for layer, head, change in found.ranking:
        assert change == means[layer, head]


def test_texts_without_a_common_token():
    _, found = pair(["a"], ["b"])
    assert found.ranking == found.shared == ()
    assert found.rows.shape == (2, 3, 0)
    assert found.partner(0) is None


def test_before_a_change_a_causal_row_without_positions_stays():
    _, found = pair(list("abc"), list("abxc"), mask=Mask(causal=True), positions=False)
    assert not found.rows[..., :2].any()
    assert found.rows[..., 2].all()


def test_a_blocked_key_is_blocked_in_both():
    first, found = pair(list("abc"), list("xabc"), mask=Mask(blocked=frozenset({0, 2})))
    assert found.other.request.switches.mask.blocked == {1, 3}
    _, found = pair(list("abc"), list("bc"), mask=Mask(blocked=frozenset({0})))
    assert found.other.request.switches.mask.blocked == frozenset()
    assert replace(found.other.request, text="a b c").model is first.request.model


def test_everything_else_is_the_same_request():
    first, found = pair(list("abc"), list("abd"), temperature=2.0, scale=False)
    assert replace(found.other.request, text=first.request.text) == first.request
    assert (found.text, found.partner(1), found.partner(2)) == ("a b d", 1, None)


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_text_is_refused(text):
    with pytest.raises(TextError, match="the text to compare with is empty: type a word or a"):
        pair(["a"], text)


def test_given_matrices_belong_to_one_text():
    rows = ((1.0,),)
    first = run(Request("a", "spaces", GivenModel("given", rows, rows, rows, rows)))
    with pytest.raises(SettingError, match="given matrices belong to the words of one text"):
        compare(first, "b")


def test_learned_weights_belong_to_one_text():
    learning = Learning((Wish(0, ((1, 0.9),)),))
    request = Request("a b", "spaces", learning=learning)
    found = compare(run(request), "a c")
    assert found.other.request == Request("a c", "spaces")
    learned = run(replace(request, learning=replace(learning, steps=3)))
    with pytest.raises(SettingError, match="the weights were learned on one text: forget what was"):
        compare(learned, "a c")


def test_two_texts_share_the_budget():
    request = Request("a " * 2000, "spaces", ModelSpec(1, 8, 16))
    tokens = cut("a" * 2000)
    with pytest.raises(
        BudgetError, match=r"^the two texts together need 1\.4 GiB, and the budget is 1 GiB"
    ):
        compared_tokens(request, tokens, "b " * 2000)
    assert len(compared_tokens(request, tokens, "b " * 500)) == 500


def test_changes_cannot_be_written_to():
    first, found = pair(["a"], ["a"])
    assert not row_changes(first, found.other, found.alignment).flags.writeable
    assert not found.rows.flags.writeable
