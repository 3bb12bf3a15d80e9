"""From a lesson's TOML to a `Lesson`, with errors that name the file, the key and the fault."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from core import counts
from core.compare import compared_tokens
from core.edits import check_edits, read_edits
from core.errors import AttnError, LessonError
from core.language import N_, _
from core.learning import check_learning
from core.lesson_numbers import CHANGE
from core.lessons import Expected, Lesson, Step, Words
from core.names import EDITABLE, MAX_STEPS, NORMALIZERS, PANES, PROJECTIONS, STAGES
from core.runner import check_model, check_switches, check_wishes
from core.text import visible
from core.tokenization import MAX_TOKENS, PATTERNS, open_tokenizer
from core.types import GivenModel, Mask, ModelSpec, Request, Rows, Switches, Tokens, Wish
from core.wishes import read_wish

MAX_BYTES = 2**20
MAX_DIGITS = 12
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MASK = re.compile(r"(causal)?(\+?window:([0-9]{1,9}))?|none")
ARRAYS = ("q", "k", "v", "dot", "attn_scores", "pattern", "z", "attn_out", "resid_pre")
_MATRIX, _WORDS = "[[1, 0], [0, 1]]", '["我", "爱", "你"]'
_COUNTS = ("layer", "head", "query", "key", "dim", "component")
_NEEDS = N_("see data/lessons for examples")


class _Table:
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

    def table(self, key: str) -> _Table:
        return _Table(self.file, f"{self.place}.{key}" if self.place else key, self.get(key))

    def tables(self, key: str) -> list[_Table]:
        found = self.get(key)
        if not isinstance(found, list):
            self.refuse(
                key, _("is no list of tables"), _("begin each with [[{key}]]").format(key=key)
            )
        return [_Table(self.file, f"{key} {i}", data) for i, data in enumerate(found, 1)]

    def text(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str) or not value.strip():
            self.refuse(key, _("is no text"), _("put words in quotes"))
        return str(value)

    def one_of(self, key: str, words: Sequence[str]) -> str:
        value = self.get(key)
        if value not in words:
            self.refuse(key, _is(value), _("choose one of {names}").format(names=", ".join(words)))
        return str(value)

    def whole(self, key: str, low: int, high: int) -> int:
        value = self.get(key)
        hint = _("choose {low} to {high}").format(low=low, high=high)
        if isinstance(value, bool) or not isinstance(value, int):
            fault = _("is {value} and no whole number")
            self.refuse(key, fault.format(value=_shown(value)), hint)
        if not low <= value <= high:
            self.refuse(key, _("is {value}, out of range").format(value=_shown(value)), hint)
        return int(value)

    def yes_or_no(self, key: str) -> bool:
        value = self.get(key)
        if not isinstance(value, bool):
            self.refuse(key, _is(value), _("choose true or false"))
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
            fault = _("holds {value} where a number must be").format(value=_shown(value))
            self.refuse(key, fault, _("write numbers"))
        try:
            made = float(value)
        except OverflowError:
            made = math.inf
        if not math.isfinite(made):
            self.refuse(key, _holds(value), _("use finite numbers"))
        return made

    def words(self, key: str) -> Words:
        table = self.table(key)
        found = Words(_one_line(table.text("en")), _one_line(table.text("zh")))
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


def _shown(value: Any) -> str:
    try:
        text = visible(repr(value))
    except ValueError:  # a whole number of thousands of digits
        return _("a huge number")
    return text if len(text) <= 40 else text[:39] + "…"


def _is(value: Any) -> str:
    return _("is {value}").format(value=_shown(value))


def _holds(value: Any) -> str:
    return _("holds {value}").format(value=_shown(value))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def read_lesson(path: Path) -> Lesson:
    """Read and check a lesson.

    Raises
    ------
    LessonError
        The file cannot be read, or a key of it is missing, unknown or holds what it may not.
    """
    shown = visible(str(path))
    table = _Table(shown, "", _parsed(path, shown))
    name = table.text("name")
    if not _NAME.fullmatch(name) or len(name) > 40:
        table.refuse("name", _is(name), _("use a-z, 0-9 and single hyphens, 40 at most"))
    title, about = table.words("title"), table.words("about")
    text, tokenizer = _text(table)
    model = _model(table, name)
    switches = dict(_switches(table)) if table.has("switches") else {}
    request = Request(text, tokenizer, model, Switches(**switches))
    learning = tuple(_learning(table)) if table.has("learning") else ()
    tokens = _check_request(table, request)
    other = _compared(table, request, tokens) if table.has("compare") else None
    count = len(tokens)
    limits = {"layer": model.layers, "head": model.heads, "query": count, "key": count}
    limits |= {"dim": model.d_model, "component": max(model.d_model, model.d_head)}
    panes = tuple(pane for pane in PANES if other is not None or pane != "compare")
    steps = tuple(_step(each, limits, panes) for each in table.tables("steps"))
    if not steps:
        table.refuse("steps", _("is empty"), _("give a lesson one step or more"))
    expected = table.tables("expected") if table.has("expected") else []
    numbers = tuple(_expected(each, limits, len(steps), other) for each in expected)
    table.done(
        "text", "tokens", "tokenizer", "model", "switches", "learning", "compare", "expected"
    )
    compare = None if other is None else table.text("compare")
    lesson = Lesson(
        name, os.path.abspath(path), title, about, request, steps, numbers, learning, compare
    )
    for index in range(len(steps)):
        _check_switched(table, lesson, index, count)
    return lesson


def _parsed(path: Path, shown: str) -> dict[str, Any]:
    def refusal(what: str, hint: str, **more: str) -> LessonError:
        return LessonError(what.format(name=shown, **more), hint)

    if os.path.isdir(path):
        raise refusal(_("lesson {name} is a folder"), _("name a .toml file in it"))
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would be waited for
        raise refusal(_("lesson {name} is no ordinary file"), _("name a .toml file"))
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            what = _("lesson {name} is larger than {size} MiB")
            raise refusal(what, _("use fewer tokens"), size=str(MAX_BYTES >> 20))
        return tomllib.loads(data.decode("utf-8-sig"))
    except FileNotFoundError as error:
        raise refusal(_("lesson {name} does not exist"), _("name a .toml file")) from error
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        reason = getattr(error, "strerror", None) or visible(str(error))
        if isinstance(error, UnicodeDecodeError):
            reason = _("it is not UTF-8")
        elif "digits" in reason:  # Python's own limit on whole numbers
            reason = _("a number in it has thousands of digits")
        what = _("lesson {name} cannot be read ({reason})")
        raise refusal(what, _("mend the file"), reason=reason) from error
    except RecursionError as error:
        raise refusal(_("lesson {name} nests too deeply"), _("mend the file")) from error


def _text(table: _Table) -> tuple[str, str]:
    """Text and tokenizer; a list of tokens is a text that spaces cut."""
    if table.has("tokens") == table.has("text"):
        table.refuse("", _("must have either text or tokens"))
    if table.has("text"):
        tokenizer = "mixed"
        if table.has("tokenizer"):
            tokenizer = table.one_of("tokenizer", tuple(PATTERNS))
        return table.text("text"), tokenizer
    tokens = table.get("tokens")
    if not isinstance(tokens, list) or not tokens:
        hint = _("write it as {example}").format(example=_WORDS)
        table.refuse("tokens", _("is no list of words"), hint)
    if len(tokens) > MAX_TOKENS:
        _refuse_many(table, "tokens", len(tokens))
    for token in tokens:
        if not isinstance(token, str) or len(token.split()) != 1 or token.strip() != token:
            table.refuse("tokens", _holds(token), _("use words without spaces in them"))
    return " ".join(tokens), "spaces"


def _refuse_many(table: _Table, key: str, count: int) -> NoReturn:
    """Refuse more tokens than can be shown."""
    hint = _("use at most {most:,}").format(most=MAX_TOKENS)
    table.refuse(key, _("holds {tokens}").format(tokens=counts.tokens(count)), hint)


def _model(table: _Table, name: str) -> ModelSpec | GivenModel:
    if not table.has("model"):
        return ModelSpec()
    part = table.table("model")
    if part.has("x") and part.has("seed"):
        part.refuse("seed", _("stands beside given matrices"), _("leave one of them out"))
    if part.has("x") or part.has("w_q"):
        rows = {key: part.rows(key) for key in ("x", "w_q", "w_k", "w_v")}
        w_o = part.rows("w_o") if part.has("w_o") else None
        heads = part.whole("heads", 1, 2**16) if part.has("heads") else 1
        part.done("w_o", "heads")
        return GivenModel(name, **rows, w_o=w_o, heads=heads)
    sizes = {"layers": 96, "heads": 2**16, "d_model": 2**16, "seed": 2**64 - 1}
    given = {
        key: part.whole(key, int(key != "seed"), most)
        for key, most in sizes.items()
        if part.has(key)
    }
    part.done(*sizes)
    return ModelSpec(**given)


def _switches(table: _Table) -> list[tuple[str, Any]]:
    part = table.table("switches")
    readers: dict[str, Callable[[], Any]] = {
        "mask": lambda: _mask(part),
        "positions": lambda: part.yes_or_no("positions"),
        "scale": lambda: part.yes_or_no("scale"),
        "temperature": lambda: part.number("temperature"),
        "projections": lambda: _projections(part),
        "normalizer": lambda: part.one_of("normalizer", NORMALIZERS),
        "edits": lambda: _from_texts(part, "edits", read_edits, '["x[0,1]=3"]'),
    }
    found = [(name, read()) for name, read in readers.items() if part.has(name)]
    part.done(*readers)
    return found


def _learning(table: _Table) -> list[tuple[str, Any]]:
    part = table.table("learning")
    readers: dict[str, Callable[[], Any]] = {
        "wishes": lambda: _from_texts(part, "wishes", _read_wishes, '["5:3=0.6,2=0.3"]'),
        "head": lambda: part.whole("head", 0, 2**16),
        "steps": lambda: part.whole("steps", 0, MAX_STEPS),
        "rate": lambda: part.number("rate"),
    }
    found = [(name, read()) for name, read in readers.items() if part.has(name)]
    part.done(*readers)
    return found


def _from_texts(part: _Table, key: str, read: Callable[[list[str]], Any], example: str) -> Any:
    """What a list of texts says, each of them as on the command line."""
    texts = part.get(key)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        hint = _("write it as {example}").format(example=example)
        part.refuse(key, _("is no list of texts"), hint)
    try:
        return read(texts)
    except AttnError as error:
        part.refuse(key, _is_refused(error), error.hint)


def _read_wishes(texts: list[str]) -> tuple[Wish, ...]:
    return tuple(sorted(map(read_wish, texts), key=lambda wish: wish.query))


def _projections(part: _Table) -> str:
    """The switch; ``given`` is another word for a model's own matrices."""
    word = part.one_of("projections", (*PROJECTIONS, "given"))
    return PROJECTIONS[0] if word == "given" else word


def _mask(part: _Table) -> Mask:
    value = part.text("mask")
    match = _MASK.fullmatch(value)
    if not match or value.startswith("+"):
        hint = _("choose one of {names}").format(names="none, causal, window:N, causal+window:N")
        part.refuse("mask", _is(value), hint)
    return Mask(bool(match[1]), None if match[3] is None else int(match[3]))


def _step(table: _Table, limits: dict[str, int], panes: Sequence[str]) -> Step:
    places: list[tuple[str, str | int]] = []
    for name, words in (("pane", panes), ("stage", STAGES), ("array", tuple(EDITABLE))):
        if table.has(name):
            places.append((name, table.one_of(name, words)))
    for name in _COUNTS:
        if table.has(name):
            places.append((name, table.whole(name, 0, limits[name] - 1)))
    if table.has("precision"):
        places.append(("precision", table.whole("precision", 1, MAX_DIGITS)))
    switches = tuple(_switches(table)) if table.has("switches") else ()
    learning = tuple(_learning(table)) if table.has("learning") else ()
    step = Step(table.words("say"), tuple(places), switches, learning)
    table.done("pane", "stage", "array", "precision", *_COUNTS, "switches", "learning")
    return step


def _expected(table: _Table, limits: dict[str, int], steps: int, other: Tokens | None) -> Expected:
    places: dict[str, Any] = {}
    arrays = ARRAYS if other is None else (*ARRAYS, CHANGE)
    if other is not None and table.has("compared") and table.yes_or_no("compared"):
        places["compared"] = True
        limits = {**limits, "query": len(other)}
    for name in ("layer", "head", "query"):
        if table.has(name):
            places[name] = table.whole(name, 0, limits[name] - 1)
    if table.has("step"):
        places["step"] = table.whole("step", 1, steps) - 1
    array, digits = table.one_of("array", arrays), table.whole("digits", 0, MAX_DIGITS)
    values = table.rows("values")
    optional = ("layer", "head", "query", "step")
    table.done(*optional, *(() if other is None else ("compared",)))
    return Expected(array, values, digits, **places)


def _check_request(table: _Table, request: Request) -> Tokens:
    """Check model, switches and tokens against each other; gives the tokens."""
    try:
        check_model(request.model)
    except AttnError as error:
        fault = _("does not fit: {reason}").format(reason=error.message)
        table.refuse("model", fault, error.hint)
    try:
        tokens = open_tokenizer(request.tokenizer).encode(request.text)
    except AttnError as error:
        table.refuse("text", _is_refused(error), error.hint)
    key = "tokens" if table.has("tokens") else "text"
    if tokens.total > MAX_TOKENS:
        _refuse_many(table, key, tokens.total)
    if isinstance(request.model, GivenModel) and len(request.model.x) != len(tokens):
        fault = _("has {rows} for {tokens}").format(
            rows=counts.rows(len(request.model.x)), tokens=counts.tokens(len(tokens))
        )
        table.refuse("model.x", fault, _("give each token a row"))
    return tokens


def _compared(table: _Table, request: Request, tokens: Tokens) -> Tokens:
    """The tokens of the text to compare with."""
    try:
        other = compared_tokens(request, tokens, table.text("compare"))
    except AttnError as error:
        table.refuse("compare", _is_refused(error), error.hint)
    if other.total > MAX_TOKENS:
        _refuse_many(table, "compare", other.total)
    return other


def _check_switched(table: _Table, lesson: Lesson, index: int, count: int) -> None:
    request = lesson.request_at(index)
    try:
        check_switches(request.switches)
        check_learning(request)
        check_wishes(request, open_tokenizer(request.tokenizer).encode(request.text))
        check_edits(request, count)
    except AttnError as error:
        table.refuse(f"steps {index + 1}", _is_refused(error), error.hint)


def _is_refused(error: AttnError) -> str:
    return _("is refused: {reason}").format(reason=error.message)
