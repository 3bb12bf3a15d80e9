"""What a command line asks for, checked before anything large is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from core.language import _
from core.names import ATTENTIONS

if TYPE_CHECKING:
    from core.types import Request, Tokens
    from tui.scene import View


def check_format(form: str, derive: bool, options: dict[str, Any]) -> None:
    """Raise UsageError for options of ``show`` that do not go together."""
    if derive and options["compare"] is not None:
        raise click.UsageError(
            _("--derive works out one text: leave out --compare, or leave out --derive")
        )
    if derive and form in ("json", "csv"):
        raise click.UsageError(
            _(
                "--derive prints a table or markdown, not {form}: leave out --format, or leave out"
                " --derive, since {form} gives every digit"
            ).format(form=form)
        )
    if form == "markdown" and not derive:
        raise click.UsageError(_("markdown is for derivations: add --derive, or choose table"))
    for name in ("key", "component"):
        if options[name] is not None and not derive:
            words = _("--{name} is for derivations: add --derive, or leave it out")
            raise click.UsageError(words.format(name=name))


def check_attention(options: dict[str, Any], request: Request) -> None:
    """Raise UsageError where a number of ``show`` could mean either text or either stack."""
    if request.target is None or options["attention"] is not None:
        return
    for name in ("query", "key"):
        if options[name] is not None:
            raise click.UsageError(
                _(
                    "with a target, --{name} needs --attention encoder, decoder or cross, which"
                    " says whose token it is"
                ).format(name=name)
            )

    from core.stacks import stack_of

    stacks = [stack_of(request.model, attention) for attention in ATTENTIONS]
    for name in ("layer", "head"):
        if options[name] is not None and len({getattr(each, f"{name}s") for each in stacks}) > 1:
            raise click.UsageError(
                _(
                    "this model's encoder and decoder differ: --{name} needs --attention encoder,"
                    " decoder or cross"
                ).format(name=name)
            )


def _instead(view: View) -> str:
    """What to do about a pane that has nothing to show."""
    if view.request.target is not None:
        return _("leave the target out, or choose another pane")
    if view.pane == "compare":
        return _("give another text with --compare")
    return _("leave the model out, or choose another pane")


def check(view: View) -> tuple[Tokens, Tokens | None]:
    """Cut text and target and check every number of a view, before anything large is computed.

    Raises
    ------
    AttnError
        The view is refused.
    """
    from core.edits import check_edits
    from core.errors import SettingError
    from core.runner import check_blocked, check_wishes
    from tui.places import check_view
    from tui.scene import panes
    from tui.state import Explorer

    request, tokens, target = Explorer(view).prepare(view.request)
    check_view(view, tokens, target)
    if view.compare is not None:
        from core.compare import compared_tokens

        compared_tokens(request, tokens, view.compare)
    if view.pane not in panes(view):
        raise SettingError(
            _("pane {pane} has nothing to show").format(pane=view.pane),
            _instead(view),
        )
    check_blocked(request.switches.mask, len(tokens))
    check_wishes(request, tokens)
    check_edits(request, len(tokens))
    return tokens, target
