"""A pattern as it is read, against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import Metaspace

from core.errors import SettingError
from core.hiding import hide
from core.reading import (
    Read,
    Reading,
    Rows,
    average_queries,
    checked,
    columns,
    cut_columns,
    merged,
    sum_keys,
    words_of,
)
from core.text import label
from core.tokenization import open_tokenizer
from core.types import Token, Tokens
from tests.core.small_tokenizers import (
    bert_tokenizer,
    byte_level_tokenizer,
    unigram_tokenizer,
)
from tests.core.test_properties import CORE, TEXTS


@st.composite
def patterns(draw, heads=2):
    """Rows of shares [head, query, key], some cells and some whole rows masked, and the mask."""
    count = draw(st.integers(1, 6))
    numbers = st.floats(1e-3, 1, allow_nan=False)
    cells = heads * count * count
    raw = np.array(draw(st.lists(numbers, min_size=cells, max_size=cells)))
    allowed = draw(st.lists(st.booleans(), min_size=count * count, max_size=count * count))
    mask = np.array(allowed).reshape(count, count)
    pattern = raw.reshape(heads, count, count) * mask
    sums = pattern.sum(axis=-1, keepdims=True)
    return np.divide(pattern, sums, where=sums > 0, out=np.zeros_like(pattern)), mask


@st.composite
def runs(draw, count):
    """Numbers cut into runs."""
    ends = [*sorted(draw(st.sets(st.integers(1, count - 1)))), count] if count > 1 else [1]
    return tuple(range(a, b) for a, b in zip([0, *ends], ends, strict=False))


def cut_by_hand(row, chosen, cap):
    """One row: what is left of it, and what was taken away."""
    taken = {key: row[key] - min(row[key], cap) for key in chosen}
    removed = sum(taken.values())
    rest = sum(value for key, value in enumerate(row) if key not in taken)
    if rest == 0 and cap > 0:
        return list(row), 0.0
    left = []
    for key, value in enumerate(row):
        if key in taken:
            left.append(value - taken[key])
        else:
            left.append(value + removed * value / rest if rest else 0.0)
    return left, removed


@CORE
@given(st.data())
def test_columns_are_cut_as_by_hand(data):
    pattern, mask = data.draw(patterns())
    count = len(mask)
    chosen = data.draw(st.lists(st.integers(0, count - 1), unique=True))
    cap = data.draw(st.sampled_from([0.0, 0.05, 0.3, 0.9]))
    rows = cut_columns(pattern, chosen, cap)
    for head in range(len(pattern)):
        for query in range(count):
            left, removed = cut_by_hand(pattern[head, query].tolist(), chosen, cap)
            np.testing.assert_allclose(rows.weights[head, query], left, atol=1e-12)
            np.testing.assert_allclose(rows.removed[head, query], removed, atol=1e-12)


@CORE
@given(st.data())
def test_cut_rows_sum_to_1_where_anything_is_left(data):
    pattern, mask = data.draw(patterns())
    count = len(mask)
    chosen = data.draw(st.lists(st.integers(0, count - 1), unique=True))
    cap = data.draw(st.sampled_from([0.0, 0.2]))
    weights, removed = cut_columns(pattern, chosen, cap)
    sums = weights.sum(axis=-1)
    others = [key for key in range(count) if key not in chosen]
    for head, query in np.ndindex(sums.shape):
        something = pattern[head, query, others].any() or (cap and pattern[head, query].any())
        assert sums[head, query] == pytest.approx(1 if something else 0)
    assert np.isfinite(weights).all()
    assert (weights[:, ~mask] == 0).all()
    assert (removed >= 0).all()
    assert (removed <= 1 + 1e-12).all()
    if not cap:
        assert (weights[..., chosen] == 0).all()
    elif others:
        capped = pattern[..., others].any(axis=-1)
        assert (weights[..., chosen][capped] <= cap).all()


@CORE
@given(patterns())
def test_nothing_chosen_changes_no_bit(found):
    pattern, _mask = found
    weights, removed = cut_columns(pattern, [])
    assert (weights == pattern).all()
    assert not removed.any()


def test_a_cap_above_every_weight_changes_no_bit():
    pattern = np.array([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2]])
    weights, removed = cut_columns(pattern, [0, 2], 0.6)
    assert (weights == pattern).all()
    assert not removed.any()


def test_a_row_on_dropped_columns_alone_is_all_dropped():
    weights, removed = cut_columns(np.array([[1.0, 0.0], [0.4, 0.6]]), [0])
    assert weights.tolist() == [[0, 0], [0, 1]]
    assert removed.tolist() == [1, 0.4]


def test_a_row_on_capped_columns_alone_stays_as_it_is():
    weights, removed = cut_columns(np.array([[1.0, 0.0], [0.4, 0.6]]), [0], 0.1)
    np.testing.assert_allclose(weights, [[1, 0], [0.1, 0.9]])
    np.testing.assert_allclose(removed, [0, 0.3])


def test_the_pattern_itself_is_left_alone():
    pattern = np.array([[0.5, 0.5]])
    cut_columns(pattern, [0])
    assert pattern.tolist() == [[0.5, 0.5]]


@CORE
@given(st.data())
def test_words_are_merged_as_by_hand(data):
    pattern, mask = data.draw(patterns())
    count = len(mask)
    words = data.draw(runs(count))
    chosen = data.draw(st.lists(st.integers(0, count - 1), unique=True))
    rows = cut_columns(pattern, chosen)
    keyed = Rows(sum_keys(rows.weights, words), rows.removed)
    weights, removed = average_queries(keyed, words)
    for head, (i, asking) in ((h, each) for h in range(2) for each in enumerate(words)):
        left = [query for query in asking if rows.weights[head, query].sum() > 0]
        some = [query for query in asking if pattern[head, query].sum() > 0]
        share = [rows.removed[head, query] for query in some]
        assert removed[head, i] == pytest.approx(sum(share) / len(share) if share else 0)
        for j, answering in enumerate(words):
            cells = [rows.weights[head, query, key] for query in left for key in answering]
            expected = sum(cells) / len(left) if left else 0
            assert weights[head, i, j] == pytest.approx(expected)
        assert weights[head, i].sum() == pytest.approx(1 if left else 0)


PIECES = ("mil", "##king", ",")


def tokens_of(tokenizer, saved, text):
    return open_tokenizer(saved(tokenizer)).encode(text)


def shown(tokens):
    return [label(token) for token in merged(tokens, words_of(tokens))]


def test_pieces_of_wordpiece(saved):
    made = bert_tokenizer(PIECES)
    tokens = tokens_of(made, saved, "Hello milking, リハ b")
    assert len(tokens) == 9
    assert shown(tokens) == ["[CLS]", "Hello", "milking", ",", "リ", "ハ", "b", "[SEP]"]


def test_bytes_of_words_and_white_space_apart(saved):
    tokens = tokens_of(byte_level_tokenizer(trim_offsets=False), saved, "hi, we'll 我爱 3.5")
    assert shown(tokens) == ["hi", ",", "␠", "we'll", "␠", "我", "爱", "␠", "3.5"]


def test_pieces_of_one_character_are_merged(saved):
    tokens = tokens_of(byte_level_tokenizer(), saved, "我 é👩‍👩‍👧")
    assert len(tokens) > 20
    assert shown(tokens) == ["我", "é", "👩‍👩‍👧"]
    assert len(words_of(tokens)) == 3


def test_a_masked_piece_stays_apart(saved):
    tokens = tokens_of(bert_tokenizer(PIECES), saved, "milking b")
    mask = Token("", "[MASK]", 3, 0, 0)
    assert shown(hide(tokens, frozenset({2}), mask)) == ["[CLS]", "mil", "[MASK]", "b", "[SEP]"]


def test_a_space_put_before_a_word_belongs_to_it(saved):
    tokens = tokens_of(unigram_tokenizer("▁ a ▁a 我"), saved, "我 a aa")
    assert tokens[0].start == tokens[0].end
    assert shown(tokens) == ["我", "a", "aa"]


def test_a_token_over_two_words_takes_them_with_it():
    parts = [("ice", 0, 3), ("-cre", 3, 7), ("am", 7, 9), ("s", 10, 11)]
    items = tuple(Token(text, text, 0, a, b) for text, a, b in parts)
    tokens = Tokens("ice-cream s", items, 4)
    assert words_of(tokens) == (range(1), range(1, 3), range(3, 4))


@CORE
@given(TEXTS)
def test_every_token_is_in_one_word(byte_level, text):
    if not text.strip():
        return
    tokens = byte_level.encode(text)
    words = words_of(tokens)
    assert [index for word in words for index in word] == list(range(len(tokens)))
    both = merged(tokens, words)
    assert len(both) == len(words)
    for word, whole in zip(words, both, strict=True):
        assert whole.text == tokens.text[whole.start : whole.end]
        assert label(whole)
        for index in word:  # what is left out is white space at the ends
            token = tokens[index]
            inside = tokens.text[max(token.start, whole.start) : min(token.end, whole.end)]
            assert inside.strip() == token.text.strip() or token.part
    for before, after in zip(tokens, tokens.items[1:], strict=False):
        if before.part and after.part and after.start < before.end:
            assert any(
                tokens.items.index(before) in word and tokens.items.index(after) in word
                for word in words
            )


@pytest.fixture(scope="module")
def byte_level(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    byte_level_tokenizer().save(str(path))
    return open_tokenizer(str(path))


def softmaxed(heads, count, mask):
    scores = np.sin(np.arange(heads * count * count).reshape(heads, count, count) * 1.7) * 3
    weights = np.exp(scores) * mask
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("drop", [None, "specials", "first"])
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("cap", [0.0, 0.1])
def test_a_row_is_a_row_of_the_matrix(saved, drop, words, cap):
    tokens = tokens_of(bert_tokenizer(PIECES), saved, "hello milking b world")
    count = len(tokens)
    mask = np.tril(np.ones((count, count), dtype=bool))
    pattern = softmaxed(3, count, mask)
    reading = Reading(words, drop, frozenset({2}), cap)
    read = Read(reading, pattern, mask, tokens, tokens)
    assert len(read.queries) == len(read.keys) == (6 if words else count)
    assert read.mask.shape == (len(read.queries), len(read.keys))
    for query in range(len(read.queries)):
        row = read.row(query)
        for head in range(3):
            matrix = read.rows(head, 0, count)
            np.testing.assert_allclose(row.weights[head], matrix.weights[query], atol=1e-12)
            np.testing.assert_allclose(row.removed[head], matrix.removed[query], atol=1e-12)
            one = read.rows(head, query, query + 1)
            assert (one.weights == matrix.weights[[query]]).all()
            assert (one.removed == matrix.removed[[query]]).all()
            assert (matrix.weights[~read.mask] == 0).all()
            assert (matrix.weights[:, read.dropped] == 0).all()
            sums = matrix.weights.sum(axis=-1)
            np.testing.assert_allclose(sums[sums > 0], 1, atol=1e-6)


def test_words_have_no_white_space_around_them(saved):
    made = byte_level_tokenizer(trim_offsets=False)
    made.pre_tokenizer = Metaspace(replacement="Ġ", prepend_scheme="never")
    made.add_tokens([" the", " cat"])
    tokens = tokens_of(made, saved, "see the cat")
    assert [token.text for token in tokens][-2:] == [" the", " cat"]
    assert shown(tokens) == ["see", "the", "cat"]


def test_lines_are_rows_however_many_are_made_at_once(saved):
    tokens = tokens_of(bert_tokenizer(PIECES), saved, "hello milking b world")
    mask = np.ones((len(tokens), len(tokens)), dtype=bool)
    read = Read(Reading(True, "specials"), softmaxed(1, len(tokens), mask), mask, tokens, tokens)
    whole = read.rows(0, 0, len(tokens))
    for at_once in (1, 2, 256):
        lines = list(read.lines(0, at_once))
        np.testing.assert_allclose([weights for weights, _ in lines], whole.weights)
        np.testing.assert_allclose([removed for _, removed in lines], whole.removed)


def test_a_word_may_be_attended_where_any_of_its_tokens_may():
    parts = [("ab", 0, 2), ("c", 2, 3), ("d", 4, 5), ("ef", 6, 8), ("g", 8, 9)]
    tokens = Tokens("abc d efg", tuple(Token(t, t, 0, a, b) for t, a, b in parts), 5)
    mask = np.tril(np.ones((5, 5), dtype=bool), -1)  # a token does not attend to itself
    mask[:, 2] = False
    read = Read(
        Reading(words=True), softmaxed(1, 5, mask | np.eye(5, dtype=bool)), mask, tokens, tokens
    )
    words = (range(2), range(2, 3), range(3, 5))
    assert read.query_words == words
    expected = [[mask[np.ix_(asks, keys)].any() for keys in words] for asks in words]
    assert (
        read.mask.tolist()
        == expected
        == [[True, False, False], [True, False, False], [True, False, True]]
    )


def test_read_without_a_cut_is_the_pattern():
    tokens = Tokens("a b", tuple(Token(c, c, 0, i, i + 1) for c, i in (("a", 0), ("b", 2))), 2)
    pattern = softmaxed(1, 2, np.ones((2, 2), dtype=bool))
    read = Read(Reading(words=True), pattern, np.ones((2, 2), dtype=bool), tokens, tokens)
    np.testing.assert_allclose(read.rows(0, 0, 2).weights, pattern[0])
    assert not read.rows(0, 0, 2).removed.any()


def test_which_columns(saved):
    tokens = tokens_of(bert_tokenizer(), saved, "hello world")
    assert columns(Reading(drop="specials"), tokens) == [0, 3]
    assert columns(Reading(drop="first", keys=frozenset({2})), tokens) == [0, 2]
    assert columns(Reading(keys=frozenset({2})), tokens, own=False) == []


@pytest.mark.parametrize(
    ("reading", "word"),
    [
        (Reading(drop="first", cap=1.0), "cap 1"),
        (Reading(drop="first", cap=-0.1), "cap -0.1"),
        (Reading(drop="first", cap=float("nan")), "cap nan"),
        (Reading(cap=0.1), "no column"),
        (Reading(keys=frozenset({4})), "column 4"),
        (Reading(keys=frozenset({-1})), "column -1"),
    ],
)
def test_what_is_refused(reading, word):
    with pytest.raises(SettingError, match=word) as found:
        checked(reading, 4)
    assert found.value.hint
