"""A table of a lesson's TOML file, which complains in sentences about what it holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from core.errors import LessonError, choose_from
from core.language import N_, _
from core.lessons import Words
from core.text import brief, visible
from core.types import Rows

_MATRIX = "[[1, 0], [0, 1]]"
_NEEDS = N_("see data/lessons for examples")


class Table:
    """A table of a file: gives what its keys hold, and complains about the others."""

    def __init__(self, file: str, place: str, data: Any) -> None:
        self.file, self.place, self._asked = file, place, set[str]()
        if not isinstance(data, dict):
            self.refuse("", _("is no table"))
        self.data: dict[str, Any] = data

    def refuse(self, key: str, fault: str, hint: str = "") -> NoReturn:
        """Refuse a key, or without one the table; the fault is a predicate."""
        name = ".".join(part for part in (self.place, key) if part)
        what = _("lesson {file}: {name} {fault}").format(
            file=self.file, name=visible(name) or _("the file"), fault=fault
        )
        raise LessonError(what, hint or _(_NEEDS))

    def has(self, key: str) -> bool:
        return key in self.data

    def get(self, key: str) -> Any:
        self._asked.add(key)
        if key not in self.data:
            self.refuse(key, _("is missing"))
        return self.data[key]

    def table(self, key: str) -> Table:
        return Table(self.file, f"{self.place}.{key}" if self.place else key, self.get(key))

    def tables(self, key: str) -> list[Table]:
        found = self.get(key)
        if not isinstance(found, list):
            self.refuse(
                key, _("is no list of tables"), _("begin each with [[{key}]]").format(key=key)
            )
        return [Table(self.file, f"{key} {i}", data) for i, data in enumerate(found, 1)]

    def text(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str) or not value.strip():
            self.refuse(key, _("is no text"), _("put words in quotes"))
        return str(value)

    def one_of(self, key: str, words: Sequence[str]) -> str:
        value = self.get(key)
        if value not in words:
            self.refuse(key, is_(value), _("choose one of {names}").format(names=", ".join(words)))
        return str(value)

    def whole(self, key: str, low: int, high: int) -> int:
        value = self.get(key)
        hint = choose_from(low, high)
        if isinstance(value, bool) or not isinstance(value, int):
            fault = _("is {value} and no whole number")
            self.refuse(key, fault.format(value=shown(value)), hint)
        if not low <= value <= high:
            self.refuse(key, _("is {value}, out of range").format(value=shown(value)), hint)
        return int(value)

    def number_of(self, key: str, numbers: Sequence[int]) -> int:
        value = self.whole(key, min(numbers), max(numbers))
        if value not in numbers:
            names = ", ".join(map(str, numbers))
            self.refuse(key, is_(value), _("choose one of {names}").format(names=names))
        return value

    def yes_or_no(self, key: str) -> bool:
        value = self.get(key)
        if not isinstance(value, bool):
            self.refuse(key, is_(value), _("choose true or false"))
        return value

    def number(self, key: str) -> float:
        return self._number(key, self.get(key))

    def rows(self, key: str) -> Rows:
        """Rows of numbers; one row may stand without its outer brackets."""
        value = self.get(key)
        if isinstance(value, list) and value and not any(isinstance(row, list) for row in value):
            value = [value]
        if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
            self.refuse(key, _("is no matrix"), _("write it as {example}").format(example=_MATRIX))
        return tuple(
            tuple(self._number(_("{key} row {i}").format(key=key, i=i), entry) for entry in row)
            for i, row in enumerate(value)
        )

    def _number(self, key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            fault = _("holds {value} where a number must be").format(value=shown(value))
            self.refuse(key, fault, _("write numbers"))
        try:
            made = float(value)
        except OverflowError:
            made = math.inf
        if not math.isfinite(made):
            self.refuse(key, holds(value), _("use finite numbers"))
        return made

    def words(self, key: str) -> Words:
        table = self.table(key)
        found = Words(one_line(table.text("en")), one_line(table.text("zh")))
        table.done()
        return found

    def done(self, *optional: str) -> None:
        """Refuse keys that nobody asked for; the hint names those and the optional ones."""
        unknown = [key for key in self.data if key not in self._asked]
        if unknown:
            known = ", ".join(sorted(self._asked.union(optional)))
            self.refuse(
                unknown[0], _("is unknown"), _("the keys here are {known}").format(known=known)
            )


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()  # as TOML has it
    try:
        return brief(repr(value), 40)
    except ValueError:  # a whole number of thousands of digits
        return _("a huge number")


def is_(value: Any) -> str:
    return _("is {value}").format(value=shown(value))


def holds(value: Any) -> str:
    return _("holds {value}").format(value=shown(value))


def one_line(text: str) -> str:
    return " ".join(text.split())
