"""The trace of a view for a command that prints; notes about a text go to error output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from core.language import _
from tui.checking import check
from tui.text_given import NAME

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

    result = trace(view.request, tokens, target)
    note(notices(tokens, target))
    if lacks_target(view.request):
        note([_("the encoder alone: --target TEXT adds the decoder and cross-attention")])
    return view, result


def compared_with(result: Trace, text: str) -> Comparison:
    """A trace beside that of another text."""
    from core.compare import compare

    compared = compare(result, text)
    note(compared.other.tokens.notices)
    return compared


def note(notices: Iterable[str]) -> None:
    """Notes about a text go to error output."""
    from core.text import visible

    for notice in notices:
        said = _("note: {notice}").format(notice=visible(notice))
        click.echo(f"{NAME}: {said}", err=True)
