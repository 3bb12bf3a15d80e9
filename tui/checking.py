"""What a command line asks for, checked before anything large is computed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from core.language import N_, _
from core.names import ATTENTIONS

if TYPE_CHECKING:
    from core.types import Request, Tokens
    from tui.scene import View


def check_format(form: str, derive: bool, options: dict[str, Any], pictured: set[str]) -> None:
    """Raise UsageError for options of ``show`` that do not go together.

    Parameters
    ----------
    form : str
    derive : bool
    options : dict
        Values by parameter name.
    pictured : set of str
        Names of the options on the command line that only a picture has a use for.
    """
    if derive and options["compare"] is not None:
        raise click.UsageError(
            _("--derive works out one text: leave out --compare, or leave out --derive")
        )
    if derive and form in ("npz", "svg"):
        raise click.UsageError(
            _(
                "--derive prints a table or markdown, not {form}: leave out --format, or leave out"
                " --derive"
            ).format(form=form)
        )
    if form == "npz" and options["compare"] is not None:
        raise click.UsageError(
            _("npz holds the arrays of one text: leave out --compare, or choose json")
        )
    for name in sorted(pictured if form != "svg" else ()):
        said = _("--{name} is for pictures: add --format svg, or leave it out")
        raise click.UsageError(said.format(name=name))
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
        if options[name] is not None and not derive and form != "svg":
            words = _("--{name} is for derivations: add --derive, or leave it out")
            raise click.UsageError(words.format(name=name))


# What ``show`` prints of patterns as they were computed, or not of patterns at all.
_AS_COMPUTED = {
    "derive": N_("--derive works out weights as they are computed: leave --{option} out"),
    "compare": N_("--compare compares weights as they are computed: leave --{option} out"),
    "predictions": N_("how patterns are read changes no prediction: leave --{option} out"),
}


def check_reading(form: str, printed: str | None, options: dict[str, Any]) -> None:
    """Raise UsageError for options of reading where ``show`` prints what was computed: `printed` is
    the name of the option for that.
    """
    names = [name for name in ("merge", "drop", "cap") if options[name]]
    if not names or form == "svg":  # the explorer says itself what it does not read so
        return
    option = "words" if names[0] == "merge" else names[0]
    if options["normalizer"] == "none":
        said = _("without a normalizer weights do not sum to 1: leave out --{option}")
        raise click.UsageError(said.format(option=option))
    printed = "compare" if options["compare"] is not None else printed
    if printed is not None:
        raise click.UsageError(_(_AS_COMPUTED[printed]).format(option=option))


def check_predictions(form: str, derive: bool, options: dict[str, Any]) -> None:
    """Raise UsageError for options of ``show`` that do not go with ``--predictions``."""
    if form in ("npz", "svg"):
        said = _("--predictions prints a table, json or csv, not {form}: leave one of them out")
        raise click.UsageError(said.format(form=form))
    if derive or options["compare"] is not None:
        other = "derive" if derive else "compare"
        words = _("--predictions and --{other} print two things: leave one of them out")
        raise click.UsageError(words.format(other=other))
    for name in ("layer", "head", "attention"):
        if form != "json" and options[name] is not None:
            words = _("a prediction comes from all layers and heads: leave --{name} out")
            raise click.UsageError(words.format(name=name))


def to_predict(view: View) -> View:
    """The view of a prediction: where there is a target, its places are those of the decoder.

    Raises
    ------
    SettingError
        The model predicts nothing, or there is no target for it.
    """
    from core.predictions import no_target_to_predict
    from tui.scene import translates

    check_predicts(view)
    if view.request.target is not None:
        return replace(view, attention="decoder")
    if translates(view.request.model):
        raise no_target_to_predict()
    return view


def check_predicts(view: View) -> None:
    """Raise SettingError where a model predicts nothing."""
    from core.predictions import no_predictions

    refused = no_predictions(view.request.model)
    if refused is not None:
        raise refused


def check_statistics(form: str, derive: bool, predictions: bool, options: dict[str, Any]) -> None:
    """Raise UsageError for options of ``show`` that do not go with ``--statistics``."""
    if form in ("npz", "svg"):
        said = _("--statistics prints a table, json or csv, not {form}: leave one of them out")
        raise click.UsageError(said.format(form=form))
    others = {"derive": derive, "predictions": predictions}
    others |= {name: options[name] is not None for name in ("query", "compare")}
    for name in (name for name, there in others.items() if there):
        words = _("--statistics is about whole heads of one text: leave --{name} out")
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
    from core.hiding import check_masked
    from core.runner import check_blocked, check_wishes
    from tui.places import check_view
    from tui.scene import panes, stages
    from tui.state import Explorer

    request, tokens, target = Explorer(view).prepare(view.request)
    check_view(view, tokens, target)
    if view.compare is not None:
        from core.compare import compared_tokens

        compared_tokens(request, tokens, view.compare)
    if view.pane == "predictions":
        check_predicts(view)
    if view.stage not in stages(request.model):
        raise SettingError(
            _("stage {stage} is not worked out of a real model").format(stage=view.stage),
            _("choose one of {names}").format(names=", ".join(stages(request.model))),
        )
    if view.pane not in panes(view):
        raise SettingError(
            _("pane {pane} has nothing to show").format(pane=view.pane),
            _instead(view),
        )
    if view.reading is not None:
        from core.reading import checked

        checked(view.reading, len(tokens))
    check_blocked(request.switches.mask, len(tokens))
    check_masked(request.switches.masked, tokens)
    check_wishes(request, tokens)
    check_edits(request, len(tokens))
    return tokens, target
