"""Cells made when they are looked at: what an array would have, no more than is asked for."""

import numpy as np
import pytest

from core import lazy, scores
from core.checkpoints.model import open_model
from core.lazy import KeptHeads, LazyArray
from tests.core.small_checkpoints import REFERENCE

WHOLE = np.arange(4 * 5 * 6, dtype=np.float32).reshape(4, 5, 6)


def lazily(made=None):
    """`WHOLE`, made when it is looked at; `made` is told what was."""

    def make(heads, rows):
        found = WHOLE[heads][:, rows].copy()
        if made is not None:
            made.append(found.shape[:2])
        return found

    return LazyArray(WHOLE.shape, make, KeptHeads())


@pytest.mark.parametrize(
    "place",
    [
        0,
        -1,
        np.int64(2),
        slice(None),
        slice(1, 3),
        slice(3, 1),
        slice(None, None, 2),
        slice(None, None, -1),
        (1, 2),
        (-2, -3, -1),
        (slice(None), 2),
        (slice(1, 4), 2, slice(1, 3)),
        (2, slice(1, 3)),
        (2, slice(None, None, -2), slice(None, None, 2)),
        (1, [0, 3, 3]),
        (slice(None), [4, 0], 2),
        (slice(None), np.array([1, -1])),
        (slice(None), np.array([True, False, True, False, False])),
        (2, slice(None), [0, 5]),
        (slice(None), slice(None), [0, 5]),
        (2, [1, 2], [3, 4]),
        ([0, 2], 1),
        (slice(None), np.tri(5, 6, dtype=bool)),
        (slice(1, 3), [1, 2], [3, 4]),
        (slice(None), ..., 1),
        (slice(3, 1), [1, 2], [3, 4]),
        (slice(None), None, 1),
        (..., 1),
        (None, 1),
    ],
    ids=str,
)
def test_looked_at_like_an_array(place):
    found = lazily()[place]
    np.testing.assert_array_equal(found, WHOLE[place])
    assert found.shape == WHOLE[place].shape


@pytest.mark.parametrize("place", [4, -5, (0, 5), (0, -6), (0, 0, 6), (0, 0, 0, 0)])
def test_out_of_range(place):
    with pytest.raises(IndexError):
        lazily()[place]


def test_numpy_takes_it_for_an_array():
    array = lazily()
    assert (array.shape, array.ndim, array.dtype, len(array)) == ((4, 5, 6), 3, np.float32, 4)
    np.testing.assert_array_equal(np.asarray(array), WHOLE)
    np.testing.assert_array_equal(np.stack(list(array)), WHOLE)
    np.testing.assert_array_equal(np.max(array, axis=(1, 2)), WHOLE.max(axis=(1, 2)))
    assert np.asarray(array, dtype=float).dtype == float


def test_only_what_is_looked_at_is_made():
    made = []
    array = lazily(made)
    _ = array[2, 3, 1], array[:, 2], array[1:3, [0, 4]]
    assert made == [(1, 1), (4, 1), (2, 2)]


def test_pairs_are_picked_a_head_at_a_time():
    """Never is all of a layer made, and a head that was looked at is not made anew."""
    made = []
    array = lazily(made)
    for rows, columns in (([0, 1], [2, 3]), ([4, 4], [5, 0])):
        np.testing.assert_array_equal(array[:, rows, columns], WHOLE[:, rows, columns])
    assert made == [(1, 5)] * 4


def test_nothing_can_be_written_to():
    array = lazily()
    for found in (array[0], array[:, 1], array[0, [1, 2]]):
        with pytest.raises(ValueError, match="read-only"):
            found[...] = 0


def test_head_looked_at_again_is_not_made_again():
    made = []
    array = lazily(made)
    _ = array[2], array[2], array[2, 3], array[2, 1:3], array[2, [0, 1]]
    assert made == [(1, 5)]


def test_heads_kept_are_bounded(monkeypatch):
    """The one that was looked at longest ago goes first."""
    monkeypatch.setattr(lazy, "KEPT_BYTES", 2 * WHOLE[0].nbytes)
    made = []
    array = lazily(made)
    _ = array[0], array[1], array[0], array[2], array[0], array[1]
    assert len(made) == 4
    assert len(array._kept._heads) == 2


def test_head_larger_than_all_that_is_kept(monkeypatch):
    monkeypatch.setattr(lazy, "KEPT_BYTES", 1)
    array = lazily()
    np.testing.assert_array_equal(array[1], WHOLE[1])
    assert not array._kept._heads


@pytest.mark.parametrize("name", ["llama-shards", "gemma2-window", "bert-plain", "mistral-window"])
@pytest.mark.parametrize("block", [1, 7, 30, 2**18])
def test_blocks_of_the_pass_and_cells_looked_at_agree(name, block, monkeypatch):
    """What the pass mixes, in blocks of any size, is what the cells give; each way to look at them
    gives the same.
    """
    ids = [5, 17, 3, 29, 11, 8, 17, 6, 30, 12, 4]
    blocked = frozenset({0, 4})
    expected = open_model(REFERENCE / name).run(ids, blocked).last
    monkeypatch.setattr(scores, "_BLOCK", block)
    found = open_model(REFERENCE / name).run(ids, blocked).last
    np.testing.assert_allclose(found.final, expected.final, atol=1e-5)
    for made in found.blocks:
        z = np.matmul(made.pattern, made.v)
        np.testing.assert_allclose(made.z, z, atol=1e-6, rtol=1e-5)
        for array in (made.dot, made.attn_scores, made.pattern, made.z, made.k, made.v):
            whole = np.asarray(array)
            np.testing.assert_allclose(array[1], whole[1], atol=1e-6, rtol=1e-6)
            np.testing.assert_allclose(array[:, 3], whole[:, 3], atol=1e-6, rtol=1e-6)
            np.testing.assert_allclose(array[2, 1:4], whole[2, 1:4], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", ["llama-shards", "gemma2-window", "t5-relu", "bert-plain"])
def test_patterns_that_are_kept_are_those_that_are_made(name):
    """Kept by the pass or made when looked at, a pattern is the same; cross-attention's too."""
    model = open_model(REFERENCE / name)
    kept, made = (
        model.run([5, 17, 3, 29, 11], frozenset({1}), [3, 4, 9], keep_patterns=keep).last
        for keep in (True, False)
    )
    for block, other in zip(kept.blocks, made.blocks, strict=True):
        assert isinstance(block.pattern, np.ndarray)
        assert not isinstance(other.pattern, np.ndarray)
        np.testing.assert_allclose(block.pattern, np.asarray(other.pattern), atol=1e-6)
        np.testing.assert_allclose(block.z, block.pattern @ np.asarray(block.v), atol=1e-5)
        if block.cross is not None:
            cross = np.asarray(other.cross.pattern)
            np.testing.assert_allclose(block.cross.pattern, cross, atol=1e-6)
