"""From a lesson's TOML to a `Lesson`, with errors that name the file, the key and the fault."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from core import counts
from core.compare import compared_tokens
from core.edits import check_edits, read_edits
from core.errors import AttnError, LessonError, choose_from
from core.language import _
from core.learning import check_learning
from core.learning_types import Wish
from core.lesson_numbers import CHANGE
from core.lesson_table import Table, holds, is_
from core.lessons import Expected, Lesson, Step
from core.names import (
    ATTENTIONS,
    EDITABLE,
    MASK_FORMS,
    MAX_STEPS,
    NORMALIZERS,
    PANES,
    PROJECTIONS,
    STAGES,
    ZOOMS,
    mask_parts,
)
from core.runner import (
    MAX_LAYERS,
    MAX_SEED,
    MAX_WIDTH,
    check_model,
    check_switches,
    check_target,
    check_wishes,
    cut,
)
from core.text import visible
from core.tokenization import MAX_TOKENS, PATTERNS, open_tokenizer
from core.types import CheckpointModel, GivenModel, Mask, ModelSpec, Request, Switches, Tokens
from core.wishes import read_wish

MAX_BYTES = 2**20
MAX_DIGITS = 12
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
ARRAYS = ("q", "k", "v", "dot", "attn_scores", "pattern", "z", "attn_out", "resid_pre")
_WORDS = '["我", "爱", "你"]'
_COUNTS = ("layer", "head", "query", "key", "dim", "component")


def read_lesson(path: Path) -> Lesson:
    """Read and check a lesson.

    Raises
    ------
    LessonError
        The file cannot be read, or a key of it is missing, unknown or holds what it may not.
    """
    shown = visible(str(path))
    table = Table(shown, "", _parsed(path, shown))
    name = table.text("name")
    if not _NAME.fullmatch(name) or len(name) > 40:
        table.refuse("name", is_(name), _("use a-z, 0-9 and single hyphens, 40 at most"))
    title, about = table.words("title"), table.words("about")
    text, tokenizer = _text(table)
    model = _model(table, name)
    switches = dict(_switches(table)) if table.has("switches") else {}
    target = table.text("target") if table.has("target") else None
    request = Request(text, tokenizer, model, Switches(**switches), target=target)
    learning = tuple(_learning(table)) if table.has("learning") else ()
    tokens, target_tokens = _check_request(table, request)
    other = _compared(table, request, tokens) if table.has("compare") else None
    limits = {"layer": model.layers, "head": model.heads, "text": len(tokens)}
    limits |= {"dim": model.d_model, "component": max(model.d_model, model.d_head)}
    if target_tokens is not None:
        limits["target"] = len(target_tokens)
    absent = {"predictions"} | ({"compare"} if other is None else set())
    if target is not None:
        absent.add("learning")
    panes = tuple(pane for pane in PANES if pane not in absent)
    steps = tuple(_step(each, limits, panes) for each in table.tables("steps"))
    if not steps:
        table.refuse("steps", _("is empty"), _("give a lesson one step or more"))
    expected = table.tables("expected") if table.has("expected") else []
    numbers = tuple(_expected(each, limits, len(steps), other) for each in expected)
    optional = ("text", "tokens", "tokenizer", "target", "model", "switches")
    table.done(*optional, "learning", "compare", "expected")
    compare = None if other is None else table.text("compare")
    lesson = Lesson(
        name, os.path.abspath(path), title, about, request, steps, numbers, learning, compare
    )
    for index in range(len(steps)):
        _check_switched(table, lesson, index, len(tokens))
        _check_places(table, f"steps {index + 1}", lesson.places_at(index), limits)
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


def _text(table: Table) -> tuple[str, str]:
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
            table.refuse("tokens", holds(token), _("use words without spaces in them"))
    return " ".join(tokens), "spaces"


def _refuse_many(table: Table, key: str, count: int) -> NoReturn:
    """Refuse more tokens than can be shown."""
    hint = _("use at most {most:,}").format(most=MAX_TOKENS)
    table.refuse(key, _("holds {tokens}").format(tokens=counts.tokens(count)), hint)


def _model(table: Table, name: str) -> ModelSpec | GivenModel:
    if not table.has("model"):
        return ModelSpec()
    part = table.table("model")
    if part.has("x") and part.has("seed"):
        part.refuse("seed", _("stands beside given matrices"), _("leave one of them out"))
    if part.has("x") or part.has("w_q"):
        rows = {key: part.rows(key) for key in ("x", "w_q", "w_k", "w_v")}
        w_o = part.rows("w_o") if part.has("w_o") else None
        heads = part.whole("heads", 1, MAX_WIDTH) if part.has("heads") else 1
        part.done("w_o", "heads")
        return GivenModel(name, **rows, w_o=w_o, heads=heads)
    sizes = {"layers": MAX_LAYERS, "heads": MAX_WIDTH, "d_model": MAX_WIDTH, "seed": MAX_SEED}
    given = {
        key: part.whole(key, int(key != "seed"), most)
        for key, most in sizes.items()
        if part.has(key)
    }
    part.done(*sizes)
    return ModelSpec(**given)


def _switches(table: Table) -> list[tuple[str, Any]]:
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


def _learning(table: Table) -> list[tuple[str, Any]]:
    part = table.table("learning")
    readers: dict[str, Callable[[], Any]] = {
        "wishes": lambda: _from_texts(part, "wishes", _read_wishes, '["5:3=0.6,2=0.3"]'),
        "head": lambda: part.whole("head", 0, MAX_WIDTH),
        "steps": lambda: part.whole("steps", 0, MAX_STEPS),
        "rate": lambda: part.number("rate"),
    }
    found = [(name, read()) for name, read in readers.items() if part.has(name)]
    part.done(*readers)
    return found


def _from_texts(part: Table, key: str, read: Callable[[list[str]], Any], example: str) -> Any:
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


def _projections(part: Table) -> str:
    """The switch; ``given`` is another word for a model's own matrices."""
    word = part.one_of("projections", (*PROJECTIONS, "given"))
    return PROJECTIONS[0] if word == "given" else word


def _mask(part: Table) -> Mask:
    value = part.text("mask")
    parts = mask_parts(value)
    if parts is None:
        hint = _("choose one of {names}").format(names=", ".join(MASK_FORMS))
        part.refuse("mask", is_(value), hint)
    return Mask(*parts)


def _step(table: Table, limits: dict[str, int], panes: Sequence[str]) -> Step:
    places: list[tuple[str, str | int]] = []
    words = {"pane": panes, "stage": STAGES, "array": tuple(EDITABLE)}
    words["attention"] = _attentions(limits)
    for name, choices in words.items():
        if table.has(name):
            places.append((name, table.one_of(name, choices)))
    for name in _COUNTS:
        if table.has(name):
            places.append((name, table.whole(name, 0, _largest(limits, name) - 1)))
    if table.has("precision"):
        places.append(("precision", table.whole("precision", 1, MAX_DIGITS)))
    if table.has("zoom"):
        places.append(("zoom", table.number_of("zoom", ZOOMS)))
    switches = tuple(_switches(table)) if table.has("switches") else ()
    learning = tuple(_learning(table)) if table.has("learning") else ()
    step = Step(table.words("say"), tuple(places), switches, learning)
    names = ("pane", "stage", "array", "attention", "precision", "zoom")
    table.done(*names, *_COUNTS, "switches", "learning")
    return step


def _attentions(limits: dict[str, int]) -> tuple[str, ...]:
    return ATTENTIONS if "target" in limits else ATTENTIONS[:1]


def _largest(limits: dict[str, int], name: str) -> int:
    """How many there are of what a place counts, in the longer text if it counts tokens."""
    if name in ("query", "key"):
        return max(limits["text"], limits.get("target", 0))
    return limits[name]


def _check_places(
    table: Table, where: str, places: dict[str, str | int], limits: dict[str, int]
) -> None:
    """Refuse a query or a key that its text does not have."""
    attention = places.get("attention", ATTENTIONS[0])
    texts = {
        "query": "text" if attention == "encoder" else "target",
        "key": "target" if attention == "decoder" else "text",
    }
    for name, text in texts.items():
        value, count = places.get(name, 0), limits[text]
        if int(value) >= count:
            fault = _("is {value}, out of range in the {attention} attention")
            hint = choose_from(0, count - 1)
            table.refuse(f"{where}.{name}", fault.format(value=value, attention=attention), hint)


def _expected(table: Table, limits: dict[str, int], steps: int, other: Tokens | None) -> Expected:
    places: dict[str, Any] = {}
    arrays = ARRAYS if other is None else (*ARRAYS, CHANGE)
    if other is not None and table.has("compared") and table.yes_or_no("compared"):
        places["compared"] = True
        limits = {**limits, "text": len(other)}
    for name in ("layer", "head", "query"):
        if table.has(name):
            places[name] = table.whole(name, 0, _largest(limits, name) - 1)
    attention = ATTENTIONS[0]
    if table.has("attention"):
        attention = table.one_of("attention", _attentions(limits))
    _check_places(table, table.place, {**places, "attention": attention}, limits)
    if table.has("step"):
        places["step"] = table.whole("step", 1, steps) - 1
    array, digits = table.one_of("array", arrays), table.whole("digits", 0, MAX_DIGITS)
    values = table.rows("values")
    optional = ("attention", "layer", "head", "query", "step")
    table.done(*optional, *(() if other is None else ("compared",)))
    return Expected(array, values, digits, **places, attention=attention)


def _check_request(table: Table, request: Request) -> tuple[Tokens, Tokens | None]:
    """Check model, switches and texts against each other; gives the texts' tokens."""
    assert not isinstance(request.model, CheckpointModel)  # noqa: S101 - no lesson names one
    try:
        check_model(request.model)
    except AttnError as error:
        fault = _("does not fit: {reason}").format(reason=error.message)
        table.refuse("model", fault, error.hint)
    for name, part in (("text", replace(request, target=None)), ("target", request)):
        try:
            check_target(part)
            tokens, target = cut(part)
        except AttnError as error:
            table.refuse(name, _is_refused(error), error.hint)
    texts = {"text": tokens} | ({} if target is None else {"target": target})
    for name, found in texts.items():
        if found.total > MAX_TOKENS:
            listed = name == "text" and table.has("tokens")
            _refuse_many(table, "tokens" if listed else name, found.total)
    if isinstance(request.model, GivenModel) and len(request.model.x) != len(tokens):
        fault = _("has {rows} for {tokens}").format(
            rows=counts.rows(len(request.model.x)), tokens=counts.tokens(len(tokens))
        )
        table.refuse("model.x", fault, _("give each token a row"))
    return tokens, target


def _compared(table: Table, request: Request, tokens: Tokens) -> Tokens:
    """The tokens of the text to compare with."""
    try:
        other = compared_tokens(request, tokens, table.text("compare"))
    except AttnError as error:
        table.refuse("compare", _is_refused(error), error.hint)
    if other.total > MAX_TOKENS:
        _refuse_many(table, "compare", other.total)
    return other


def _check_switched(table: Table, lesson: Lesson, index: int, count: int) -> None:
    request = lesson.request_at(index)
    try:
        check_switches(request.switches)
        check_target(request)
        check_learning(request)
        check_wishes(request, open_tokenizer(request.tokenizer).encode(request.text))
        check_edits(request, count)
    except AttnError as error:
        table.refuse(f"steps {index + 1}", _is_refused(error), error.hint)


def _is_refused(error: AttnError) -> str:
    return _("is refused: {reason}").format(reason=error.message)
