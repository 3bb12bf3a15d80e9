"""Pages of mapped files that this process needs no longer."""

from __future__ import annotations

import mmap


def let_go(mapped: mmap.mmap, start: int, end: int) -> None:
    """Give back the whole pages between two places; read again, they come from the file.

    What a process has read of a mapped file counts as its memory, beside the float32 copy.
    """
    first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    length = end // mmap.PAGESIZE * mmap.PAGESIZE - first
    if length > 0 and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED, first, length)
