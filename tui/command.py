"""The command that opens a view again."""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace

from core.edits import written
from core.errors import TextError
from core.language import _
from core.learning_types import Learning
from core.lessons import Lesson, bundled_paths
from core.text import is_unseen, visible
from core.tokenization import PATTERNS
from core.types import CheckpointModel
from core.wishes import wish_in_words
from tui.asked import PLACES
from tui.lessons import Guide
from tui.scene import View
from tui.text_given import COMMANDS, LESSON, NAME
from tui.values import NONE

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}


def command_line(view: View, theme: str | None = None, guide: Guide | None = None) -> str:
    """The shortest ``attn-tui`` command that opens exactly this view, in its lesson if it has one.

    Options at their defaults are left out, and so is a theme of None. Paths become absolute, so
    that the command works from any folder; a model that was found by a name has it. Words are
    quoted for a POSIX shell; a text with characters that cannot be seen is written as ``$'…'``,
    which bash, ksh and zsh understand. Lone surrogates, which the analysis replaces by U+FFFD, are
    replaced here too.

    Raises
    ------
    TextError
        The text or the tokenizer's name holds a NUL, which no command line can carry.
    """
    if view.compare is not None:
        view = replace(view, compare=_writable(view.compare))
    if guide is not None and (guide.given or guide.owns(view)):
        words = [NAME, LESSON, *_steps(guide), *_changes(_seen(view, guide.view))]
        words += _typed_over(view, guide.view)
        if theme is not None:
            words += ["--theme", _quoted(theme)]
        return " ".join([*words, _quoted(_name(guide.lesson))])
    view = _writable_view(view)
    text = view.request.text
    words = [NAME, *_changes(_fields(_anywhere(view), View())), *_typed_over(view, View())]
    if theme is not None:
        words += ["--theme", _quoted(theme)]
    if text != View().request.text:
        if text.startswith("-") or text in COMMANDS:  # which it would be taken for
            words.append("--")
        words.append(_quoted(text))
    return " ".join(words)


def _writable_view(view: View) -> View:
    """The view with texts as a command line can carry them."""
    request = view.request
    _writable(request.tokenizer)
    target = None if request.target is None else _writable(request.target)
    return replace(view, request=replace(request, text=_writable(request.text), target=target))


def _writable(text: str) -> str:
    """A text as a command line can carry it."""
    if "\0" in text:
        raise TextError(
            _("no command line can carry a NUL character"), _("take it out of the text")
        )
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _anywhere(view: View) -> View:
    tokenizer = view.request.tokenizer
    if tokenizer not in PATTERNS:
        tokenizer = os.path.abspath(tokenizer)
    return replace(view, request=replace(view.request, tokenizer=tokenizer))


def _steps(guide: Guide) -> list[str]:
    return ["--step", str(guide.step + 1)] if guide.step else []


def _name(lesson: Lesson) -> str:
    """The name of one of the program's lessons, the path of any other."""
    bundled = bundled_paths().get(lesson.name)
    return lesson.name if bundled and str(bundled) == lesson.path else lesson.path


def _typed_over(view: View, plain: View) -> Iterator[str]:
    """The numbers typed over, all of them if they are not those of the plain view."""
    found = view.request.switches.edits
    if found == plain.request.switches.edits:
        return
    for value in map(written, found) if found else (NONE,):
        yield "--set"
        yield _quoted(value)


def _changes(fields: Iterable[tuple[str, object, object]]) -> Iterator[str]:
    """Option and value for each field that is not at its default."""
    for option, value, default in fields:
        if value == default:
            continue
        if isinstance(value, bool):
            yield option if value else option.replace("--", "--no-", 1)
        else:
            yield option
            yield _quoted(str(value))


def _fields(view: View, plain: View) -> Iterator[tuple[str, object, object]]:
    """(option, value, default) in the order of ``--help``."""
    request, usual = view.request, plain.request
    model, usual_model = request.model, usual.model
    if isinstance(model, CheckpointModel):
        yield "--model", model.asked or model.path, None
        yield "--target", request.target, None
        yield "--mask-token", _listed(request.switches.masked), ""
        yield "--block", _listed(request.switches.mask.blocked), ""
        yield from _places(view, plain)
        return
    yield "--tokenizer", request.tokenizer, usual.tokenizer
    yield "--as-saved", request.as_saved, usual.as_saved
    yield "--target", request.target, usual.target
    for name in ("d_model", "heads", "layers", "seed"):
        yield _option(name), getattr(model, name), getattr(usual_model, name)
    yield from _seen(view, plain)


def _seen(view: View, plain: View) -> Iterator[tuple[str, object, object]]:
    """The switches, the learning and the places among `_fields`."""
    switches, usual_switches = view.request.switches, plain.request.switches
    yield "--mask", switches.mask.name, usual_switches.mask.name
    yield "--block", _listed(switches.mask.blocked), _listed(usual_switches.mask.blocked)
    for name in ("positions", "scale", "temperature", "projections", "normalizer"):
        yield _option(name), getattr(switches, name), getattr(usual_switches, name)
    yield from _learning(view, plain)
    yield from _places(view, plain)


def _places(view: View, plain: View) -> Iterator[tuple[str, object, object]]:
    """The places, and how patterns are read, among `_fields`."""
    for name in PLACES:
        yield _option(name), getattr(view, name), getattr(plain, name)
    reading = view.reading
    if reading is not None:
        parts = [*filter(None, [reading.drop]), *map(str, sorted(reading.keys))]
        yield "--words", reading.words, False
        yield "--drop", ",".join(parts), ""
        yield "--cap", reading.cap, 0.0


def _learning(view: View, plain: View) -> Iterator[tuple[str, object, object]]:
    """Every wish where one differs; the head that learns is the selected one if nothing else is
    said.
    """
    now, usual = view.request.learning, plain.request.learning
    if now is None:
        yield "--wish", NONE if usual else None, None
        return
    if usual is None:
        usual = Learning((), view.head)
    if now.wishes != usual.wishes:
        for wish in now.wishes:
            yield "--wish", wish_in_words(wish), None
    yield "--steps", now.steps, usual.steps
    yield "--rate", now.rate, usual.rate
    yield "--learn-head", now.head, usual.head


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _listed(tokens: frozenset[int]) -> str:
    return ",".join(map(str, sorted(tokens)))


def _quoted(text: str) -> str:
    """One shell word: as it is, in single quotes, or escaped where characters are invisible."""
    if visible(text) == text:
        return shlex.quote(text)
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    # A combining mark would sit on what stands before it, maybe the quote.
    if not (is_unseen(char) or unicodedata.category(char).startswith("M")):
        return char
    # Octal always ends after three digits; \x and \u differ between shells and locales.
    return "".join(f"\\{byte:03o}" for byte in _bytes(char))


def _bytes(char: str) -> bytes:
    """UTF-8; the byte that an undecodable part of a file name stands for; ``?`` for the rest."""
    escaped = "\udc80" <= char <= "\udcff"
    return char.encode("utf-8", "surrogateescape" if escaped else "replace")
