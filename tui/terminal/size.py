"""How large a screen may be."""

from typing import Final

# More cells than any screen has; a number that a terminal says may ask for gigabytes.
MAX_SIZE: Final = (500, 200)
USUAL_SIZE: Final = (80, 24)


def bounded(columns: int | str, lines: int | str) -> tuple[int, int]:
    """A size that a program can draw, whatever a terminal says."""
    wished = zip((int(columns), int(lines)), MAX_SIZE, USUAL_SIZE, strict=True)
    wide, high = (min(max(0, count), most) or usual for count, most, usual in wished)
    return wide, high
