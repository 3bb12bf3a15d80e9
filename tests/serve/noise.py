"""What a keyboard may send that nobody means, drawn by a seed."""

import random
from collections.abc import Iterator

from tui.keys import GROUPS

KEYS = sorted({key for group in GROUPS.values() for entry in group for key in entry.shown.split()})
# Not ^C, ^Z and ^\\: those that come right after the end are no keys, but signals of the terminal.
SIGNALS = "\x03\x1a\x1c"
CONTROLS = [chr(code) for code in range(32) if chr(code) not in SIGNALS]
CONTROLS += ["\x7f", "\r", "\r", "\x1b", "\t", "\x10"]
WORDS = ["cat", "我爱你", "e\u0301", "👩\u200d👧", "\u202e", "\u200b", "[/]", "1e308", "nan"]
WORDS += ["3=0.5", "\r\n", "\x00"]
NUMBERS = [0, 1, 3, 13, 27, 80, 97, 200, 201, 255, 1000, 55296, 57441, 65535, 1114112, 99999999]
FINALS = "uu~~ABCDHFPQRSZItcn"
SIZE = 80, 24


def noise(seed: int) -> Iterator[bytes]:
    """Pieces without end: any bytes, the program's keys, or what terminals send, by the seed."""
    draw = random.Random(seed)
    kind = (_bytes, _keys, _reports)[seed % 3]
    while True:
        yield kind(draw)


def _bytes(draw: random.Random) -> bytes:
    return draw.randbytes(draw.randint(1, 64)).translate(None, SIGNALS.encode())


def _keys(draw: random.Random) -> bytes:
    """Keys that mean something, a palette with a few letters, a word."""
    parts = []
    for _ in range(draw.randint(1, 12)):
        kind = draw.random()
        if kind < 0.6:
            key = draw.choice(KEYS)
            parts.append(key if len(key) == 1 else draw.choice(CONTROLS))
        elif kind < 0.75:
            parts.append("\x1b[" + draw.choice(["A", "B", "C", "D", "5~", "6~", "3~", "1;2A"]))
        elif kind < 0.8:
            letters = "".join(draw.choices("abcdefghiklmnoprstuw", k=draw.randint(0, 3)))
            parts.append(f"\x10{letters}" + draw.choice(["\r", "\x1b[B\r", "\x1b", ""]))
        elif kind < 0.9:
            parts.append(draw.choice("eoA67\r") + draw.choice(WORDS) + draw.choice("\x1b\r"))
        else:
            parts.append(draw.choice("\r\x1b\t"))
    return "".join(parts).encode()


def _reports(draw: random.Random) -> bytes:
    """The mouse, pastes, focus, answers of terminals with any numbers; keys in between."""
    parts = []
    for _ in range(draw.randint(1, 12)):
        kind = draw.random()
        if kind < 0.4:
            places = draw.randint(0, SIZE[0] + 1), draw.randint(0, SIZE[1] + 1)
            report = (
                f"\x1b[<{draw.choice([0, 0, 0, 2, 32, 35, 64, 65, 255])};{places[0]};{places[1]}"
            )
            parts += [f"{report}M", f"{report}m"]
        elif kind < 0.55:
            numbers = draw.choices(NUMBERS, k=draw.randint(0, 5))
            start = draw.choice(["", "", "?", "<", "48;"])
            parts.append(f"\x1b[{start}{';'.join(map(str, numbers))}{draw.choice(FINALS)}")
        elif kind < 0.65:
            pasted = "".join(draw.choices(WORDS, k=draw.randint(0, 9)))
            parts.append(f"\x1b[200~{pasted}" + "\x1b[201~" * (draw.random() < 0.9))
        elif kind < 0.7:
            parts.append(draw.choice(["\x1b[I", "\x1b[O", "\x1b[?2026;2$y", "\x1b[?2048;2$y"]))
        else:
            parts.append(draw.choice(["", "\x1b"]) + draw.choice(KEYS)[0])
    return "".join(parts).encode()
