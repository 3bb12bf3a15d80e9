"""Pooled matrices and strongest pairs, against plain loops."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.lazy import KeptHeads, LazyArray
from core.pooling import BAND, RANKED, edges, pooled, strongest, strongest_in
from core.reading import Read, Reading
from core.types import Token, Tokens

RANDOM = np.random.default_rng(7)


def made(rows, columns, signed=False, kept=0.7, digits=2):
    """A matrix with many equal numbers, 0 where it is masked."""
    mask = RANDOM.random((rows, columns)) < kept
    matrix = np.round(RANDOM.normal(size=(rows, columns)), digits)
    return np.where(mask, matrix if signed else abs(matrix), 0), mask


def lines(matrix):
    """Its rows, as a pattern that is computed gives them."""
    return lambda start, stop: (matrix[start:stop], None)


@given(st.integers(1, 500), st.integers(1, 90))
def test_bins_share_all_places_evenly(count, bins):
    found = edges(count, bins).tolist()
    sizes = np.diff(found)
    assert (found[0], found[-1], len(sizes)) == (0, count, min(bins, count))
    assert set(sizes) <= {count // len(sizes), count // len(sizes) + 1}


@pytest.mark.parametrize("how", ["max", "mean"])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    ("shape", "bins"), [((7, 9), (3, 4)), ((5, 5), (8, 8)), ((64, 31), (1, 7))]
)
def test_a_bin_is_the_largest_or_the_mean_of_its_pairs(shape, bins, signed, how):
    for kept in (0.0, 0.3, 1.0):
        matrix, mask = made(*shape, signed, kept)
        found = pooled(lines(matrix), mask, *bins, how)
        rows, columns = edges(shape[0], bins[0]), edges(shape[1], bins[1])
        assert found.values.shape == found.allowed.shape == (len(rows) - 1, len(columns) - 1)
        for y, (top, bottom) in enumerate(pairwise(rows)):
            for x, (left, right) in enumerate(pairwise(columns)):
                inside = [
                    matrix[q, k]
                    for q in range(top, bottom)
                    for k in range(left, right)
                    if mask[q, k]
                ]
                assert found.allowed[y, x] == bool(inside)
                if not inside:
                    expected = 0
                elif how == "mean":
                    expected = sum(inside) / len(inside)
                else:
                    expected = max(inside, key=abs)
                assert abs(found.values[y, x]) == pytest.approx(abs(expected))
                if how == "mean" or -expected not in inside:
                    assert found.values[y, x] == pytest.approx(expected)


@pytest.mark.parametrize("cap", [0.0, 0.05])
@pytest.mark.parametrize("how", ["max", "mean"])
def test_what_is_removed_of_rows_is_pooled_as_they_are(how, cap):
    matrix, mask = made(13, 13, kept=0.6)
    mask[[4, 8, 9]] = False  # these queries may attend to nothing
    matrix = matrix * mask / np.maximum((matrix * mask).sum(axis=1), 1e-9)[:, None]
    tokens = Tokens("a" * 13, tuple(Token("a", "a", 1, i, i + 1) for i in range(13)), 13)
    read = Read(Reading(keys=frozenset({0, 5}), cap=cap), matrix[None], mask, tokens, tokens)
    found = pooled(partial(read.rows, 0), mask, 6, 5, how, read.dropped)
    for y, (top, bottom) in enumerate(pairwise(edges(13, 6))):
        asking = [query for query in range(top, bottom) if mask[query].any()]
        shares = [read.row(query).removed[0] for query in asking]
        expected = (max(shares) if how == "max" else sum(shares) / len(shares)) if shares else 0
        assert found.removed[y] == pytest.approx(expected)
    assert found.removed.any()
    assert pooled(lines(matrix), mask, 6, 5, how).removed is None


@pytest.mark.parametrize("how", ["max", "mean"])
def test_dropped_columns_and_rows_with_nothing_left_are_no_pairs(how):
    matrix, mask = made(12, 10, kept=0.6)
    dropped = np.isin(np.arange(10), (0, 4, 5, 9))
    matrix[:, dropped] = 0
    matrix[[3, 6, 7]] = 0  # all that they had was in those columns
    found = pooled(lines(matrix), mask, 6, 5, how, dropped)
    kept = mask & ~dropped & matrix.any(axis=1)[:, None]
    plain = pooled(lines(matrix), kept, 6, 5, how)
    np.testing.assert_array_equal(found.values, plain.values)
    for y, x in np.ndindex(6, 5):
        inside = np.s_[2 * y : 2 * y + 2, 2 * x : 2 * x + 2]
        assert found.allowed[y, x] == mask[inside].any()
        assert found.gone[y, x] == (mask[inside].any() and not kept[inside].any())
    assert found.gone[:, 2].any()
    assert found.gone[3].any()
    assert not plain.gone.any()


def in_order(matrix, mask, most):
    pairs = [
        (-abs(matrix[q, k]), q, k)
        for q in range(matrix.shape[0])
        for k in range(matrix.shape[1])
        if mask[q, k]
    ]
    return [(q, k, matrix[q, k]) for _size, q, k in sorted(pairs)[:most]]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (40, 5), (5, 40), (30, 30)])
@pytest.mark.parametrize("most", [1, 3, 17, 256])
def test_strongest_pairs_are_those_of_a_whole_sort(shape, signed, most):
    for kept in (0.0, 0.4, 1.0):
        for digits in (0, 2):
            matrix, mask = made(*shape, signed, kept, digits)
            assert [tuple(pair) for pair in strongest(matrix[None], 0, mask, most)] == in_order(
                matrix, mask, most
            )


def test_weights_that_underflow_are_pairs_and_masked_cells_are_not():
    matrix, mask = np.zeros((3, 3)), np.tri(3, dtype=bool)
    assert [(pair.query, pair.key) for pair in strongest(matrix[None], 0, mask)] == [
        (query, key) for query in range(3) for key in range(query + 1)
    ]


def test_so_many_are_ranked_of_a_head_among_others():
    (matrix, mask), (other, _mask) = made(300, 300, kept=1.0), made(300, 300)
    found = strongest(np.array([other, matrix]), 1, mask)
    assert len(found) == RANKED
    assert [tuple(pair) for pair in found] == in_order(matrix, mask, RANKED)


def test_a_head_that_is_made_as_it_is_looked_at_is_made_once_and_in_parts():
    matrix, mask = made(600, 50, kept=1.0)
    made_rows = []

    def make(heads, rows):
        made_rows.append(matrix[rows])
        return matrix[None][heads, rows].astype(np.float32)

    lazy = LazyArray((1, 600, 50), make, KeptHeads())
    found = pooled(lambda start, stop: (lazy[0, start:stop], None), mask, 6, 5, "max")
    np.testing.assert_array_equal(
        found.values, pooled(lines(matrix), mask, 6, 5, "max").values.astype(np.float32)
    )
    assert [len(rows) for rows in made_rows] == [100] * 6
    made_rows.clear()
    assert [pair[:2] for pair in strongest(lazy, 0, mask)] == [
        pair[:2] for pair in strongest(matrix.astype(np.float32)[None], 0, mask)
    ]
    assert max(map(len, made_rows)) == BAND


def test_the_strongest_pair_of_a_part():
    matrix, mask = made(9, 9)
    for rows in (range(2, 5), range(9)):
        for columns in (range(3, 4), range(1, 8)):
            part = mask.copy()
            part[: rows.start] = part[rows.stop :] = False
            part[:, : columns.start] = part[:, columns.stop :] = False
            found, expected = (
                strongest_in(matrix[None], 0, mask, rows, columns),
                in_order(matrix, part, 1),
            )
            assert (tuple(found) if found else None) == (expected[0] if expected else None)
