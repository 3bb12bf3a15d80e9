"""Rows of figures as one aligned Markdown table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_HEAD = ("figure", "ours", "{other}", "ratio", "goal", "met")
_UNITS = {
    "ms": (1e-3, ".1f"),
    "s": (1.0, ".2f"),
    "B": (1, ",.0f"),
    "MiB": (2**20, ".1f"),
}


@dataclass(frozen=True)
class Row:
    """One figure.

    Attributes
    ----------
    name : str
    unit : str
        One of ms, s, B and MiB; samples are in seconds and bytes.
    ours, floor : sequence of float
        Samples, of the floor or of a peer; an empty one means that nothing compares.
    goal : float, optional
        Upper limit of the ratio, or with `absolute` of the median.
    """

    name: str
    unit: str
    ours: Sequence[float]
    floor: Sequence[float] = ()
    goal: float | None = None
    absolute: bool = False


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least `share` of all do not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def format_table(rows: Sequence[Row], other: str = "floor") -> str:
    """The rows below their head, columns padded to one width; ours stands beside `other`."""
    cells = [tuple(name.format(other=other) for name in _HEAD), *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(_HEAD))]
    lines = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    ratio = median(row.ours) / median(row.floor) if row.floor else None
    value = median(row.ours) if row.absolute else ratio
    return (
        row.name,
        _summary(row.ours, row.unit),
        _summary(row.floor, row.unit),
        "–" if ratio is None else f"{ratio:.2f}",
        _goal(row),
        "–" if row.goal is None or value is None else "yes" if value < row.goal else "no",
    )


def _summary(samples: Sequence[float], unit: str) -> str:
    """Median, and from least to most where that is not one number."""
    if not samples:
        return "–"
    low, high = _number(min(samples), unit), _number(max(samples), unit)
    middle = f"{_number(median(samples), unit)} {unit}"
    return middle if low == high else f"{middle} ({low}–{high})"


def _number(value: float, unit: str) -> str:
    scale, form = _UNITS[unit]
    return format(value / scale, form)


def _goal(row: Row) -> str:
    if row.goal is None:
        return "–"
    if row.absolute:
        return f"< {_number(row.goal, row.unit)} {row.unit}"
    return f"< {row.goal:.3g} ×"
