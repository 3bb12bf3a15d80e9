"""The view that the options of a command line ask for.

Neither textual nor NumPy is imported with this module, so that ``--help`` answers at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from core.language import _
from tui.choices import EXAMPLE, MAX_PRECISION
from tui.model_option import model_at
from tui.reading_option import reading_of
from tui.text_given import text_to_show

if TYPE_CHECKING:
    from core.learning_types import Learning
    from core.types import AnyModel
    from tui.scene import View

# In the order of the copied command.
PLACES = (
    *("layer", "head", "query", "key"),
    *("pane", "vector", "zoom", "colours", "stage", "array", "dim", "component", "compare"),
    *("attention", "statistic", "cell", "order", "pool", "precision"),
)
OF_A_TEXT = (
    *("model", "mask_token", "tokenizer", "as_saved", "target"),
    *("d_model", "heads", "layers", "seed"),
)


def build_view(text: str | None, options: dict[str, Any]) -> View:
    """Turn parsed options into a view.

    Parameters
    ----------
    text : str or None
        None takes the example of the explorer.
    options : dict
        Values by parameter name. A place (`PLACES`) that is absent or None keeps its default.

    Raises
    ------
    SettingError
        The precision is out of range. Every other number is checked by `check`.
    UsageError, ModelError
        The model cannot be opened, or something does not go with it.
    """
    from core.types import Mask, Request, Switches
    from tui.scene import View

    causal, window = options["mask"]
    request = Request(
        EXAMPLE if text is None else text,
        options["tokenizer"],
        _model(options),
        Switches(
            Mask(causal, window, options["block"] or frozenset()),
            options["positions"],
            options["scale"],
            options["temperature"],
            options["projections"],
            options["normalizer"],
            options["edits"],
            options["mask_token"] or frozenset(),
        ),
        options["as_saved"],
        learning_of(options, None, options.get("head") or 0),
        options["target"],
    )
    return View(request, **places_of(options))


def given() -> set[str]:
    """Names of the parameters that stand on the command line."""
    ctx = click.get_current_context()
    typed = click.core.ParameterSource.COMMANDLINE
    return {name for name in ctx.params if ctx.get_parameter_source(name) is typed}


def _model(options: dict[str, Any]) -> AnyModel:
    """The model that is named, or the seeded one of some size."""
    if options.get("model") is not None:
        return model_at(options["model"], given())

    from core.types import ModelSpec

    return ModelSpec(options["layers"], options["heads"], options["d_model"], options["seed"])


def places_of(options: dict[str, Any]) -> dict[str, Any]:
    """The fields of a view among options, those that are absent or None left out.

    Raises
    ------
    SettingError
        The precision is out of range.
    """
    from core.errors import SettingError

    found = {name: options[name] for name in PLACES if options.get(name) is not None}
    if "zoom" in found:
        found["zoom"] = int(found["zoom"])
    reading = reading_of(options)
    if reading is not None:
        found["reading"] = reading
    if not 1 <= found.get("precision", 1) <= MAX_PRECISION:
        raise SettingError(
            _("precision {n} is out of range").format(n=found["precision"]),
            _("choose {low} to {high}").format(low=1, high=MAX_PRECISION),
        )
    return found


def learning_of(options: dict[str, Any], before: Learning | None, head: int) -> Learning | None:
    """What is to be learned.

    Parameters
    ----------
    options : dict
        Values by parameter name; what is absent, empty or None keeps the value of `before`.
    before : Learning, optional
    head : int
        The one that learns where neither the options nor `before` name one.

    Raises
    ------
    UsageError
        There are options of learning but no wish.
    """
    wishes = options.get("wishes") or ()
    if None in wishes:
        before, wishes = None, tuple(filter(None, wishes))
    names = {"steps": "steps", "rate": "rate", "learn_head": "head"}
    given = {field: options[name] for name, field in names.items() if options.get(name) is not None}
    if not wishes and before is None:
        if given:
            raise click.UsageError(
                _("there is nothing to learn: add --wish QUERY:KEY=WEIGHT, as in --wish 5:3=0.6")
            )
        return None

    from core.learning_types import Learning

    base = Learning((), head) if before is None else before
    ordered = tuple(sorted(wishes, key=lambda each: each.query)) or base.wishes
    return replace(base, wishes=ordered, **given)


def view_to_show(
    words: tuple[str, ...], lesson: str | None, options: dict[str, Any], step: int = -1
) -> View:
    """A text, or a step of a lesson under the switches that are given; -1 is before its first."""
    if lesson is None:
        return build_view(text_to_show(words), options)
    typed = given()
    if words:
        raise click.UsageError(_("a lesson has its own text: leave out the text, or --lesson"))
    for name_ in OF_A_TEXT:
        if name_ in typed:
            raise click.UsageError(
                _(
                    "--{option} does not go with --lesson: a lesson has its own tokens and model"
                ).format(option=name_.replace("_", "-"))
            )

    from core.lessons import open_lesson
    from tui.lessons import changed, view_at

    return changed(view_at(open_lesson(lesson), step), options, typed)
