"""A run's arrays share allocations, and nothing else."""

import weakref

import numpy as np
import pytest

from core import room as module
from core.checkpoints.model import open_model
from core.room import columns, empty, lent, room
from tests.core.small_checkpoints import REFERENCE

LARGE = (3, 100, 100)


def test_arrays_do_not_overlap():
    with room():
        found = [empty(*LARGE), columns(*LARGE), empty(7), columns(200, 101), empty(*LARGE)]
    for number, array in enumerate(found):
        array[...] = number
    for number, array in enumerate(found):
        assert (array == number).all()
        assert array.dtype == np.float32
    assert found[1].shape == LARGE
    assert found[1].swapaxes(1, 2).flags.c_contiguous


@pytest.fixture(autouse=True)
def nothing_spare(monkeypatch):
    monkeypatch.setattr(module, "_spare", [])


def test_a_chunk_ends_with_its_last_array():
    with room():
        first, second = empty(*LARGE), empty(*LARGE)
    assert first.base is second.base
    chunk = weakref.ref(first.base)
    del first
    assert chunk() is not None
    del second
    assert chunk() is None


def test_the_memory_of_a_chunk_that_ended_serves_another_run():
    with room():
        first = empty(*LARGE)
    place = first.ctypes.data
    with room():
        second = empty(*LARGE)
    assert second.ctypes.data != place  # the first is still in use
    del first
    with room():
        assert empty(*LARGE).ctypes.data == place


def test_little_memory_is_kept_for_the_next_run():
    with room():
        held = [empty(module._CHUNK) for _ in range(4)]
        large = empty(module._CHUNK + 1)
    del held, large
    assert len(module._spare) == module._SPARES


def test_what_does_not_fit_starts_another_chunk(monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 50_000)
    monkeypatch.setattr(module, "_PAGE", 64)
    with room():
        first, second, third = empty(*LARGE), empty(*LARGE), empty(60_000)
    assert len({id(array.base) for array in (first, second, third)}) == 3
    assert third.shape == (60_000,)


def test_a_chunk_begins_with_a_large_page():
    with room():
        assert empty(*LARGE).ctypes.data % 2**21 == 0


def test_runs_share_no_chunk_and_nothing_outside_a_run():
    with room():
        first = empty(*LARGE)
    with room():
        second = empty(*LARGE)
    assert first.base is not second.base
    assert empty(*LARGE).base is not second.base


def test_lent_memory_is_lent_again():
    with room():
        hidden, up = lent("hidden", 30, 40), lent("up", 30, 40)
        assert lent("hidden", 30, 40) is hidden
        assert not np.shares_memory(hidden, up)
        assert lent("hidden", 31, 40).shape == (31, 40)
    assert lent("hidden", 30, 40) is not hidden


def test_what_is_lent_ends_with_the_run():
    with room():
        kept, passing = empty(*LARGE), lent("hidden", 200, 200)
    assert passing.base is not kept.base
    del passing
    assert len(module._spare) == 1


def test_a_trace_holds_nothing_that_was_lent(monkeypatch):
    """What a layer works in is not what it leaves, for a gated MLP or another."""
    lent_arrays, names = [], set()

    def noted(name, rows, width):
        names.add(name)
        lent_arrays.append(lent(name, rows, width))
        return lent_arrays[-1]

    for module_name in ("transformer", "heads", "norms"):
        monkeypatch.setattr(f"core.{module_name}.lent", noted)
    for name in ("llama-shards", "bert-plain"):
        trace = open_model(REFERENCE / name).run([5, 17, 3]).last
        for block in trace.blocks:
            for field in ("q", "attn_out", "resid_pre", "resid_post"):
                array = getattr(block, field)
                assert not any(np.shares_memory(array, each) for each in lent_arrays)
    assert names >= {"entered", "resid_mid", "merged", "hidden", "raised", "mlp_out", "squares"}
