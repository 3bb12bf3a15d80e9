"""``python -m bench``: every figure in one table."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from importlib.util import find_spec

from bench import measure, peers
from bench.table import Row, format_table

_PARTS = ("start", "keys", "bytes", "memory", "show", "peers")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--runs", type=int, default=9, metavar="N", help="starts (default 9)")
    parser.add_argument("--keys", type=int, default=30, metavar="N", help="letters (default 30)")
    parser.add_argument("--quick", action="store_true", help="3 starts, 8 letters, no 2,048 tokens")
    parser.add_argument("--only", choices=_PARTS, nargs="+", default=_PARTS, help="some parts")
    options = parser.parse_args()
    if options.quick:
        options.runs, options.keys = 3, 8
    return options


def rows(options: argparse.Namespace) -> Iterator[Row]:
    few = min(3, options.runs)
    big = [] if options.quick else [2048]
    if "start" in options.only:
        yield measure.start(options.runs)
    if "keys" in options.only:
        yield from measure.keystrokes(16, options.keys, 2.5)
        yield from measure.keystrokes(256, options.keys, 6)
    if "bytes" in options.only:
        yield from measure.all_sizes()
    if "memory" in options.only:
        yield from measure.memory([256, *big], few)
    if "show" in options.only:
        yield from measure.show([4, 64, 512, *big], few)


def machine() -> str:
    """The date, and what the figures depend on."""
    names = ["numpy", "textual", *filter(find_spec, peers.PEERS)]
    packages = ", ".join(f"{name} {version(name)}" for name in names)
    cores = len(os.sched_getaffinity(0))
    busy = f"{os.getloadavg()[0]:.1f} processes busy"
    return (
        f"{date.today()} · Python {platform.python_version()}, {packages} · {cores} cores, {busy}"
    )


def _progress(name: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{name}", end="", file=sys.stderr, flush=True)


def _gathered(rows: Iterator[Row]) -> list[Row]:
    found = []
    for row in rows:
        found.append(row)
        _progress(row.name)
    _progress("")
    return found


def main() -> None:
    options = parse()
    print(machine())
    if set(options.only) - {"peers"}:
        print(f"\n{format_table(_gathered(rows(options)))}")
    if "peers" in options.only:
        for note in peers.notes():
            print(f"\n{note}")
        found = _gathered(peers.rows(min(3, options.runs), options.keys))
        print(f"\n{format_table(found, 'peer')}")


if __name__ == "__main__":
    main()
