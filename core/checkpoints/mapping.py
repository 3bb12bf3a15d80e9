"""Mapped files: those that changed meanwhile, and pages that this process needs no longer."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import TypeAlias

from core.checkpoints.plain import shown
from core.errors import ModelError
from core.language import _

State: TypeAlias = tuple[int, int, int]  # inode, bytes, time of the last change


def state_of(path: Path) -> State:
    """What `check_unchanged` compares; raises OSError as `os.stat` does."""
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


def check_unchanged(path: Path, before: State) -> None:
    """Raise ModelError if a file was written to since it was mapped.

    One that was made shorter ends the process that reads it (SIGBUS), and one that is written
    anew is for a while neither. Another file in its place does no harm: the old one stays mapped.
    """
    try:
        now = state_of(path)
    except OSError:
        return
    if now[0] == before[0] and now != before:
        raise ModelError(
            _("{path} has changed since it was opened").format(path=shown(path)),
            _("start again when it is whole"),
        )


def let_go(mapped: mmap.mmap, start: int, end: int) -> None:
    """Give back the whole pages between two places; read again, they come from the file.

    What a process has read of a mapped file counts as its memory, beside the float32 copy.
    """
    first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    length = end // mmap.PAGESIZE * mmap.PAGESIZE - first
    if length > 0 and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED, first, length)
