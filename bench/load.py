"""``python -m bench.load``: many sessions over SSH on the loopback, typing as people do.

Bounded in number and time, and on 127.0.0.1 alone. The clients run on the same cores.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

import asyncssh

from bench.memory import cpu_seconds, private_bytes

HOST = "127.0.0.1"
KEY_SECONDS, BURST, PAUSE = 0.2, 10, 1.5
MOST_SESSIONS, MOST_SECONDS = 40, 180
FIRST = 0x4E00  # each key is a character of its own, to be found again in what is drawn
READY, CLEAR = b"q quit", "\x15"


class Typist(asyncssh.SSHClientSession):
    """A client; times from a key to the frame that shows it."""

    def __init__(self) -> None:
        self.seen = bytearray()
        self.waiting: dict[bytes, float] = {}
        self.times: list[float] = []
        self.size = 0

    def data_received(self, data: bytes, datatype: object) -> None:
        now = time.perf_counter()
        self.size += len(data)
        self.seen += data
        for char in [char for char in self.waiting if char in self.seen]:
            self.times.append(now - self.waiting.pop(char))
        if len(self.seen) > 65_536:
            del self.seen[:32_768]

    async def until(self, wanted: bytes, seconds: float = 120) -> None:
        end = time.perf_counter() + seconds
        while wanted not in re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", bytes(self.seen)):
            if time.perf_counter() > end:
                raise TimeoutError(wanted)
            await asyncio.sleep(0.05)


async def person(
    port: int, number: int, begin: asyncio.Event, end: float, ready: list[Typist]
) -> None:
    async with asyncssh.connect(HOST, port, username="demo", known_hosts=None) as connection:
        channel, typist = await connection.create_session(
            Typist, term_type="xterm-256color", term_size=(80, 24), encoding=None,
            env={"COLORTERM": "truecolor"},
        )  # fmt: skip
        await typist.until(READY)
        channel.write(b"e")
        await typist.until(b"done")
        ready.append(typist)
        await begin.wait()
        await asyncio.sleep(number * 0.083 % (BURST * KEY_SECONDS + PAUSE))
        code, stop = FIRST, time.perf_counter() + end
        while time.perf_counter() < stop:
            channel.write(CLEAR.encode())
            for _ in range(BURST):
                await asyncio.sleep(KEY_SECONDS)
                char = chr(code).encode()
                code += 1
                typist.waiting[char] = time.perf_counter()
                channel.write(char)
            await asyncio.sleep(PAUSE)


def private(pid: int) -> float:
    """Memory in MiB that a process shares with no other."""
    return private_bytes(pid) / 2**20


def children(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


async def measure(sessions: int, seconds: float, words: list[str]) -> None:
    home = tempfile.mkdtemp()
    program = Path(sys.executable).with_name("attn-tui")
    command = [program, "serve", "--ssh", "--open", "--port", "0"]
    with Path(home, "log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "--max-sessions", str(sessions), *words],
            stdout=log, stderr=log, env={**os.environ, "HOME": home, "XDG_DATA_HOME": ""},
        )  # fmt: skip
    try:
        while not (found := re.search(r"ssh -p (\d+)", Path(home, "log").read_text())):
            await asyncio.sleep(0.1)
        begin, typists, start = asyncio.Event(), [], time.perf_counter()
        people = [
            asyncio.create_task(person(int(found[1]), number, begin, seconds, typists))
            for number in range(sessions)
        ]
        while len(typists) < sessions and not any(each.done() for each in people):
            await asyncio.sleep(0.1)
        print(f"{sessions} sessions ready after {time.perf_counter() - start:.1f} s")
        (parent,) = children(server.pid)
        pids = children(parent)
        used = {pid: -cpu_seconds(pid) for pid in (*pids, server.pid, os.getpid())}
        begin.set()
        await asyncio.sleep(max(1.0, seconds - 2))  # all are still there
        memory = sorted(map(private, pids))
        shared = private(parent)
        spent = {pid: used[pid] + cpu_seconds(pid) for pid in used}
        keys = sum(len(typist.times) for typist in typists)
        await asyncio.gather(*people)
        times = [each for typist in typists for each in typist.times]
        lost = sum(len(typist.waiting) for typist in typists)
        print(f"{len(times)} keys echoed, {lost} not; median {median(times) * 1000:.0f} ms,"
              f" 95th percentile {quantiles(times, n=20)[-1] * 1000:.0f} ms,"
              f" largest {max(times) * 1000:.0f} ms")  # fmt: skip
        print(f"{sum(t.size for t in typists) / max(1, len(times)):.0f} bytes a key")
        parts = (sum(spent[pid] for pid in pids), spent[server.pid], spent[os.getpid()])
        sessions_, server_, clients = (part / keys * 1000 for part in parts)
        print(f"processor time a key: sessions {sessions_:.1f} ms, server {server_:.1f} ms,"
              f" clients {clients:.1f} ms")  # fmt: skip
        print(f"private memory: a session {median(memory):.1f} MiB (at most {memory[-1]:.1f}),"
              f" their parent {shared:.1f}, server {private(server.pid):.1f}")  # fmt: skip
        await asyncio.sleep(2)
        left = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        print(f"processes left after 2 s: {len(left)}")
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=40, metavar="N")
    parser.add_argument("--seconds", type=float, default=180, metavar="S")
    parser.add_argument("words", nargs="*", help="for attn-tui serve, after --")
    options = parser.parse_args()
    sessions = min(options.sessions, MOST_SESSIONS)
    asyncio.run(measure(sessions, min(options.seconds, MOST_SECONDS), options.words))


if __name__ == "__main__":
    main()
