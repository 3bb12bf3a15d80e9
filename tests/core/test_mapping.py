"""Pages of a mapped file are given back, and come again."""

import mmap
import re
from pathlib import Path

import pytest

from core.checkpoints.mapping import let_go

SIZE = 64 * mmap.PAGESIZE


def resident(path):
    """Bytes of a mapped file that count as this process's memory."""
    parts = Path("/proc/self/smaps").read_text().split(str(path))
    return 1024 * int(re.search(r"Rss:\s+(\d+)", parts[1])[1])


@pytest.fixture
def mapped(tmp_path):
    path = tmp_path / "weights"
    path.write_bytes(bytes(range(256)) * (SIZE // 256))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as opened:
        yield path, opened


def test_pages_are_given_back_and_read_again(mapped):
    path, opened = mapped
    whole = bytes(opened)
    assert resident(path) == SIZE
    let_go(opened, 10, SIZE - 10)
    assert resident(path) == 2 * mmap.PAGESIZE  # the first and the last belong to others too
    assert bytes(opened) == whole


@pytest.mark.parametrize("places", [(0, 0), (10, 20), (mmap.PAGESIZE - 1, mmap.PAGESIZE + 1)])
def test_less_than_a_page_stays(mapped, places):
    path, opened = mapped
    bytes(opened)
    let_go(opened, *places)
    assert resident(path) == SIZE
