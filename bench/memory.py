"""Memory and processor time of a process, as Linux counts them."""

import os
import re
from pathlib import Path


def private_bytes(pid: int | str = "self") -> int:
    """Memory that only this process has, pages of files that it alone maps included."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return 1024 * sum(map(int, re.findall(r"^Private_(?:Dirty|Clean):\s+(\d+)", text, re.M)))


def peak_bytes(pid: int | str = "self") -> int:
    """The most that was resident at one time."""
    text = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(re.findall(r"^VmHWM:\s+(\d+)", text, re.M)[0])


def cpu_seconds(pid: int) -> float:
    """Processor time of all its threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
