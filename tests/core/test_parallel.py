"""Work shared out to threads is the same work."""

import threading

import numpy as np
import pytest

from core import parallel
from core.checkpoints.model import open_model
from tests.core.small_checkpoints import REFERENCE


@pytest.fixture
def three(monkeypatch):
    """Three threads, and everything worth sharing out."""
    monkeypatch.setattr(parallel, "threads", lambda: 3)
    monkeypatch.setattr(parallel, "_WORTH", 1)
    parallel.end_threads()
    yield
    parallel.end_threads()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 10])
def test_slices_cover_everything_once(three, count):
    seen = np.zeros(count, dtype=int)

    def task(some):
        seen[some] += 1

    parallel.each(task, count, work=100)
    assert seen.tolist() == [1] * count


def test_what_each_share_made_comes_back_in_order(three):
    shares = parallel.each(lambda some: list(range(10))[some], 10, work=100)
    assert [number for share in shares for number in share] == list(range(10))
    assert len(shares) == 3


def test_the_shares_are_the_same_where_no_thread_is_free(three):
    """They may be added up, and a sum should not depend on what else is drawn or computed."""
    alone = parallel.each(lambda some: some, 10, work=100)
    with parallel._free:
        assert parallel.each(lambda some: some, 10, work=100) == alone


def test_error_in_a_thread_is_not_lost(three):
    def task(some):
        if some.start:
            raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        parallel.each(task, 9, work=100)


def test_an_error_leaves_the_threads_at_work(three):
    def task(some):
        raise KeyError(some.start)

    for _ in range(3):
        with pytest.raises(KeyError, match="0"):
            parallel.each(task, 9, work=100)
    test_slices_cover_everything_once(three, 10)


def test_work_within_shared_work_is_done_at_once(three):
    """Threads that waited for each other would wait for ever."""
    seen = np.zeros((9, 9), dtype=int)

    def task(some):
        def inner(others):
            seen[some, others] += 1

        parallel.each(inner, 9, work=100)

    parallel.each(task, 9, work=100)
    assert (seen == 1).all()


def run(name, ids, target=(), before=()):
    """A run in a model of its own, behind one of the tokens `before`."""
    model = open_model(REFERENCE / name)
    earlier = model.run(before) if before else None
    made = model.run(ids, target=target, keep_patterns=not before).last
    del earlier  # it was in use until then
    return made


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize(
    ("name", "target", "before"),
    [
        ("bert-plain", (), ()),
        ("llama-shards", (), ()),
        ("qwen3-bias", (), ()),  # its heads have norms
        ("gemma-one", (), ()),  # one head of keys
        ("t5-gated", (0, 7, 4), ()),
        ("bart-head", (2, 7, 4), ()),
        ("qwen3-bias", (), (5, 17, 3, 8)),
        ("gpt2-plain", (), (5, 17, 3, 8)),
    ],
)
def test_same_numbers_with_and_without_threads(three, monkeypatch, name, target, before, threads):
    ids = [5, 17, 3, 29, 11]
    monkeypatch.setattr(parallel, "threads", lambda: threads)
    shared = run(name, ids, target, before)
    monkeypatch.setattr(parallel, "threads", lambda: 1)
    alone = run(name, ids, target, before)
    for ours, other in zip(shared.blocks, alone.blocks, strict=True):
        for part in ("q", "k", "v", "pattern", "attn_out", "resid_post"):
            found, expected = (np.asarray(getattr(block, part)) for block in (ours, other))
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(shared.final, alone.final, rtol=1e-5, atol=1e-6)


def test_heads_come_out_even_where_no_thread_is_left_out(three):
    assert [count for count in range(1, 10) if parallel.is_even(count, work=100)] == [3, 6, 9]
    assert parallel.is_even(4, work=2)  # two threads are all that it is worth
    assert parallel.is_even(1, work=1)


def test_threads_only_where_blas_has_none(monkeypatch):
    """BLAS's own threads and ours at once would fight for the processors."""
    parallel.threads.cache_clear()
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert parallel.threads() == 1
    parallel.threads.cache_clear()
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: set(range(16)))
    assert parallel.threads() == 4
    parallel.threads.cache_clear()


def test_no_thread_is_left_for_a_fork(three):
    done = []
    parallel.each(done.append, 9, work=100)
    threads = [each for each in threading.enumerate() if each.name.startswith("numbers")]
    assert threads
    parallel.end_threads()
    assert not any(each.is_alive() for each in threads)
    parallel.each(done.append, 9, work=100)  # others begin
    assert len(done) == 6
