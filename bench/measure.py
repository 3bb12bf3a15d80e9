"""The measurements; ours and the floor's take turns, so that both see the same machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from string import ascii_letters

from bench.memory import private_bytes
from bench.table import Row, percentile
from bench.terminal import COLOURS, Terminal, environment

START = "The ball is blue"  # what the explorer shows without a text
EXAMPLE = "The black cat drank the milk"
_HERE = Path(__file__).parent
_PRODUCT = str(Path(sys.executable).with_name("attn-tui"))
_TEXT = (
    "the black cat drank milk while rain fell on old roofs and nobody in town heard"
    " her small bell ring under one blue lamp near our door"
)
_LETTERS = ascii_letters  # no word comes twice, so that no cache helps
_BACKSPACE = "\x7f"
_UP, _DOWN, _RIGHT, _LEFT, _END = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[F"
_HEADS = 4
_USUAL, _COMPACT = (120, 36), (80, 24)


def sentence(count: int) -> str:
    """A text of so many tokens."""
    return " ".join(islice(cycle(_TEXT.split()), count))


def ours(*arguments: str) -> list[str]:
    return [_PRODUCT, *arguments]


def floor(text: str) -> list[str]:
    return [sys.executable, str(_HERE / "floor.py"), text]


def last_selected(text: str) -> list[str]:
    """The explorer on a text whose last token is selected, so that an edit changes every weight."""
    last = str(len(text.split()) - 1)
    return ours("--query", last, "--key", last, text)


def shows_weights(screen: str) -> bool:
    """Whether the explorer is drawn from the weights to the footer."""
    return " bits " in screen and "full bar" in screen and screen.rstrip().endswith("q quit")


def shows_input(text: str) -> Callable[[str], bool]:
    """Whether the floor is drawn: the Input shows the end of its text."""
    return lambda screen: text[-20:] in screen


def start(runs: int) -> Row:
    """From the start of the process to the first frame that is complete."""
    samples: tuple[list[float], list[float]] = ([], [])
    for run in range(runs + 1):
        for times, command, ready in (
            (samples[0], ours(), shows_weights),
            (samples[1], floor(START), shows_input(START)),
        ):
            with Terminal(command) as terminal:
                seconds = terminal.wait_until(ready).seconds
            if run:  # the first fills the caches of the machine
                times.append(seconds)
    return Row("start to the first complete frame", "ms", *samples, goal=1.6)


def keystrokes(count: int, keys: int, goal: float) -> Iterator[Row]:
    """From a letter at the end of the sentence to the screen with its weights."""
    text = sentence(count)
    mine: list[float] = []
    theirs: list[float] = []
    with Terminal(last_selected(text)) as product, Terminal(floor(text)) as bare:
        product.wait_until(shows_weights)
        bare.wait_until(shows_input(text))
        bare.type(_END)  # the Input has selected its whole text
        product.type("e")
        for index in range(keys + 1):
            letter = _LETTERS[index % len(_LETTERS)]
            pair = product.type(letter), bare.type(letter)
            check_weights(pair[0].before, pair[0].after, text.split()[-1] + letter)
            if text.split()[-1] + letter not in pair[1].after:
                raise AssertionError(f"no letter in the Input:\n{pair[1].after}")
            product.type(_BACKSPACE)
            bare.type(_BACKSPACE)
            if index:
                mine.append(pair[0].seconds)
                theirs.append(pair[1].seconds)
    name = f"keystroke to weights, {count} tokens"
    yield Row(name, "ms", mine, theirs, goal)
    slowest = ([percentile(times, 0.95)] for times in (mine, theirs))
    yield Row(f"{name}, 95th percentile", "ms", *slowest)


def check_weights(before: str, after: str, word: str) -> None:
    """Raise unless the screen shows the weights of the new word."""
    if f"What “{word}" not in after or weights(before) == weights(after):
        raise AssertionError(f"no new weights of {word!r}:\n{after}")


def weights(screen: str) -> list[str]:
    """The lines of the screen from the title of the weights to their entropies."""
    lines = screen.splitlines()
    first = next(i for i, line in enumerate(lines) if "What “" in line)
    last = next(i for i, line in enumerate(lines) if " bits " in line)
    return lines[first + 1 : last + 1]


def sizes(text: str, name: str, colours: str, size: tuple[int, int]) -> Iterator[Row]:
    """Bytes to the terminal for one step of each kind."""
    steps = len(text.split()) - 1
    with Terminal(last_selected(text), size=size, colours=colours) as terminal:
        terminal.wait_until(shows_weights)
        down = walk(terminal, _UP, _DOWN, steps)
        head = walk(terminal, _RIGHT, _LEFT, _HEADS - 1)
        terminal.type("3")
        right = walk(terminal, _LEFT, _RIGHT, steps)
        terminal.type("2")
        terminal.type("e")
        letter = typed(terminal)
    with Terminal(floor(text), size=size, colours=colours) as bare:
        bare.wait_until(shows_input(text))
        bare.type(_END)
        floor_letter = typed(bare)
        floor_move = walk(bare, _LEFT, _RIGHT, 5)
    end = f", {name}, {colours}"
    yield Row(f"letter typed{end}", "B", letter, floor_letter, 6000, absolute=True)
    yield Row(f"↑↓ in the weights{end}", "B", down, floor_move, 3000, absolute=True)
    yield Row(f"←→ in the matrix{end}", "B", right, floor_move, 3000, absolute=True)
    yield Row(f"head switched{end}", "B", head, floor_move)


def walk(terminal: Terminal, there: str, back: str, steps: int) -> list[float]:
    """Bytes of each step there and back."""
    return [terminal.type(key).size for key in [there] * steps + [back] * steps]


def typed(terminal: Terminal) -> list[float]:
    """Bytes of letters at the end of the text, each taken back."""
    found = []
    for letter in _LETTERS[:10]:
        found.append(terminal.type(letter).size)
        terminal.type(_BACKSPACE)
    return found


def all_sizes() -> Iterator[Row]:
    for text, name, size in (
        (sentence(16), "16 tokens", _USUAL),
        (EXAMPLE, "6 tokens", _USUAL),
        (EXAMPLE, "6 tokens at 80×24", _COMPACT),
    ):
        for colours in COLOURS:
            yield from sizes(text, name, colours, size)


def memory(counts: list[int], runs: int) -> Iterator[Row]:
    """Private memory of an explorer that shows a text and is at rest."""
    texts = {"start sentence": START}
    texts |= {f"{count:,} tokens": sentence(count) for count in counts}
    for name, text in texts.items():
        mine: list[float] = []
        theirs: list[float] = []
        for _ in range(runs):
            mine.append(_private(ours(text), shows_weights))
            theirs.append(_private(floor(text), shows_input(text)))
        yield Row(f"private memory, {name}", "MiB", mine, theirs)


def _private(command: list[str], ready: Callable[[str], bool]) -> int:
    with Terminal(command) as terminal:
        terminal.wait_until(ready)
        terminal.type("")  # until it is quiet once more
        return private_bytes(terminal.pid)


def show(counts: list[int], runs: int) -> Iterator[Row]:
    """Wall time and peak memory of `attn-tui show`, next to a Python that does nothing."""
    for form in ("table", "json"):
        for count in counts:
            command = ours("show", "--format", form, "--layer", "0", "--head", "0", sentence(count))
            mine: list[tuple[float, float]] = []
            bare: list[tuple[float, float]] = []
            for _ in range(runs):
                mine.append(launch(command))
                bare.append(launch([sys.executable, "-c", "pass"]))
            name = f"show {form}, {count:,} tokens"
            yield Row(name, "s", [time for time, _ in mine], [time for time, _ in bare])
            peaks = [size for _, size in mine], [size for _, size in bare]
            yield Row(f"{name}, peak memory", "MiB", *peaks)


def launch(command: list[str]) -> tuple[float, float]:
    """Wall time in seconds and peak memory in bytes of a command."""
    launcher = [sys.executable, "-I", "-S", str(_HERE / "launch.py"), *command]
    done = subprocess.run(
        launcher, env=environment({}), check=True, stdout=subprocess.PIPE, text=True
    )
    seconds, peak = done.stdout.split()
    return float(seconds), float(peak)
