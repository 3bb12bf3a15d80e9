"""The trace of a view for a command that prints; notes about a text go to error output."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

import click

from core.language import _
from tui.checking import check
from tui.text_given import NAME

_MOMENT, _BETWEEN = 1.0, 0.1  # seconds before the first words, and between them

if TYPE_CHECKING:
    from core.comparison import Comparison
    from core.types import Trace
    from tui.scene import View


def traced(view: View) -> tuple[View, Trace]:
    """A view and its trace; notes about the text go to error output."""
    tokens, target = check(view)

    from core.runner import trace
    from tui.scene import lacks_target
    from tui.wording import notices

    with steps_told():
        result = trace(view.request, tokens, target)
    note(notices(tokens, target))
    if lacks_target(view.request):
        note([_("the encoder alone: --target TEXT adds the decoder and cross-attention")])
    return view, result


def compared_with(result: Trace, text: str) -> Comparison:
    """A trace beside that of another text."""
    from core.compare import compare

    with steps_told():
        compared = compare(result, text)
    note(compared.other.tokens.notices)
    return compared


@contextmanager
def steps_told() -> Iterator[None]:
    """Where somebody watches, tell how far a computation is that takes longer than a moment."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from rich.cells import cell_len

    from core.progress import watched
    from tui.labels import pad
    from tui.wording import step_in_words

    told, due = 0, monotonic() + _MOMENT

    def tell(what: str, done: int, total: int) -> None:
        nonlocal told, due
        if monotonic() < due:
            return
        words = step_in_words(what, done, total)
        told = max(told, cell_len(words))
        click.echo(f"\r{pad(words, told)}", nl=False, err=True)
        due = monotonic() + _BETWEEN

    try:
        with watched(tell):
            yield
    finally:
        if told:
            click.echo(f"\r{'':{told}}\r", nl=False, err=True)


def note(notices: Iterable[str]) -> None:
    """Notes about a text go to error output."""
    from core.text import visible

    for notice in notices:
        said = _("note: {notice}").format(notice=visible(notice))
        click.echo(f"{NAME}: {said}", err=True)
