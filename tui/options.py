"""Options of the command line, and the view that they ask for.

Neither textual nor NumPy is imported with this module, so that ``--help`` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from core.language import LANGUAGES, N_, _
from core.names import ATTENTIONS, EDITABLE, NORMALIZERS, POOLS, PROJECTIONS, SCALES, STAGES
from tui.choices import (
    CELLS,
    DEFAULT_PRECISION,
    DEFAULT_ZOOM,
    EXAMPLE,
    MAX_PRECISION,
    ORDERS,
    PANES,
    SHOWN,
    VECTORS,
    ZOOMS,
)
from tui.model_option import model_at
from tui.reading_option import READING, reading_of
from tui.terminal.plain import draw_in_ascii
from tui.usage import Choice, Decorated, option, print_help
from tui.values import MASK_FORMS, decimal, edits, keys, mask_parts, size, whole, wish

if TYPE_CHECKING:
    from core.learning_types import Learning
    from core.types import AnyModel
    from tui.scene import View

FORMATS = ("table", "json", "csv", "npz", "svg", "markdown")
# In the order of the copied command.
PLACES = (
    *("layer", "head", "query", "key"),
    *("pane", "vector", "zoom", "colours", "stage", "array", "dim", "component", "compare"),
    *("attention", "statistic", "cell", "order", "pool", "precision"),
)


def number(name: str, text: str, default: int | None = None) -> Callable[[Decorated], Decorated]:
    """An option that takes a whole number."""
    return option(
        name,
        type=whole,
        metavar="N",
        default=default,
        show_default=default is not None,
        help=text,
    )


def choice(
    name: str, text: str, words: Sequence[str], default: str, metavar: str | None = None
) -> Callable[[Decorated], Decorated]:
    """An option that takes one of some words, which are named where there is room."""
    return option(
        name,
        type=Choice(words),
        metavar=metavar or "|".join(words),
        default=default,
        show_default=True,
        help=text,
    )


_MODEL = (
    option(
        "--model",
        metavar="PATH|NAME",
        type=click.UNPROCESSED,
        help=N_(
            "A real model in place of the seeded one: its folder, a .gguf file, a name that"
            " “attn-tui models” lists, or owner/name of the Hugging Face hub, which downloads it."
        ),
    ),
    option(
        "--mask-token",
        type=keys,
        metavar="I,J,…",
        help=N_("Tokens that the model's mask token stands for, as in BERT; with --model only."),
    ),
    option(
        "--tokenizer",
        default="mixed",
        metavar="mixed|chars|spaces|PATH",
        show_default=True,
        help=N_("How the text is cut into tokens; PATH is a tokenizer.json."),
    ),
    option(
        "--as-saved",
        is_flag=True,
        help=N_("Keep the truncation and padding that a tokenizer.json asks for."),
    ),
    option(
        "--target",
        metavar="TEXT",
        type=click.UNPROCESSED,
        help=N_("A second text: adds a decoder, which attends to it and to the first."),
    ),
    number("--d-model", N_("Numbers in a vector."), 16),
    number("--heads", N_("Heads; they share d_model evenly."), 4),
    number("--layers", N_("Layers."), 1),
    number("--seed", N_("Seed of the random weights."), 0),
)
_SWITCHES = (
    option(
        "--mask",
        type=mask_parts,
        default="none",
        metavar=MASK_FORMS,
        show_default=True,
        help=N_("Keys that a query may attend to: all, those up to it, those at most N away."),
    ),
    option("--block", type=keys, metavar="I,J,…", help=N_("Keys that no query may attend to.")),
    option(
        "--positions/--no-positions", default=True, show_default=True, help=N_("Add positions.")
    ),
    option(
        "--scale/--no-scale", default=True, show_default=True, help=N_("Divide q·k by √d_head.")
    ),
    option(
        "--temperature",
        type=decimal,
        default=1.0,
        metavar="X",
        show_default=True,
        help=N_("Divides the scores; a higher one spreads the weights more evenly."),
    ),
    choice(
        "--projections",
        N_("Q, K and V by the seeded matrices, or the vectors themselves."),
        PROJECTIONS,
        "seeded",
    ),
    choice(
        "--normalizer",
        N_("From scores to weights: softmax, linear attention (elu + 1), or the scores alone."),
        NORMALIZERS,
        "softmax",
    ),
    option(
        "--set",
        "edits",
        multiple=True,
        callback=edits,
        metavar="ARRAY[…]=X",
        help=N_(
            "Type over one number, as in attn_scores[0,1,5,2]=1.5 (layer, head, query, key); also"
            " x[token,dim], and w_q, w_k, w_v[layer,row,column]. May be given again."
        ),
    ),
)

_LEARNING = (
    option(
        "--wish",
        "wishes",
        type=wish,
        multiple=True,
        metavar="QUERY:KEY=WEIGHT,…",
        help=N_("Weights that a row should learn; keys not named share the rest to 1. Repeatable."),
    ),
    number("--steps", N_("Steps of gradient descent on W_Q and W_K, towards the wishes.")),
    option("--rate", type=decimal, metavar="X", help=N_("Learning rate, 0.02 if not given.")),
    number("--learn-head", N_("Head that learns, in layer 0; the one of --head if not given.")),
)

precision = number("--precision", N_("Digits after the point, 1 to 12."), DEFAULT_PRECISION)


compare = option(
    "--compare",
    metavar="TEXT",
    type=click.UNPROCESSED,
    help=N_("Another text, run in the same way and shown beside the first."),
)
of_a_lesson = option(
    "--lesson", metavar="NAME|PATH", help=N_("A lesson in place of TEXT and its model.")
)
output = option(
    "--output",
    metavar="FILE",
    type=click.UNPROCESSED,
    help=N_("Write to FILE, whole or not at all; - is standard output."),
)


def attention(text: str) -> Callable[[Decorated], Decorated]:
    """An option that chooses an attention."""
    return option("--attention", type=Choice(ATTENTIONS), metavar="|".join(ATTENTIONS), help=text)


_PLACES = (
    number("--layer", N_("Layer to look at."), 0),
    number("--head", N_("Head to look at."), 0),
    number("--query", N_("Token that attends."), 0),
    number("--key", N_("Token attended to."), 0),
    choice(
        "--pane",
        N_(
            "Pane to start in: tokens, weights, matrix, vectors, derivation, numbers, learning,"
            " compare, grid or predictions."
        ),
        PANES,
        "weights",
        "PANE",
    ),
    choice("--vector", N_("Vector to look at."), VECTORS, "attn_out"),
    choice(
        "--zoom",
        N_("Width of a cell of the matrix; 0 pools it to the pane."),
        tuple(map(str, ZOOMS)),
        str(DEFAULT_ZOOM),
    ),
    choice(
        "--colours",
        N_("What colours of the matrix go by: its largest weight, each row's, or powers of ten."),
        SCALES,
        SCALES[0],
    ),
    choice("--stage", N_("Last stage that the derivation shows."), STAGES, STAGES[-1]),
    choice("--array", N_("Numbers to look at."), tuple(EDITABLE), "attn_scores"),
    number("--dim", N_("Row of the matrices to look at, a dimension of what enters."), 0),
    number("--component", N_("Component of the vectors to work out term by term."), 0),
    compare,
    *READING,
    attention(N_("Attention to look at; decoder and cross with --target only.")),
    option(
        "--statistic",
        type=Choice(SHOWN),
        metavar="NAME",
        default=SHOWN[0],
        show_default=True,
        help=N_("What the grid shows of each head: badge, or a statistic such as entropy."),
    ),
    choice("--cell", N_("A head in the grid: its value, or its matrix."), CELLS, CELLS[0]),
    choice("--order", N_("Heads in the grid by layer, or by the statistic."), ORDERS, ORDERS[0]),
    choice("--pool", N_("What stands for a bin of a pooled matrix."), POOLS, POOLS[0]),
    precision,
    option("--theme", metavar="NAME", help=N_("Colours: a theme of Textual, such as nord.")),
    option(
        "--ascii",
        is_flag=True,
        expose_value=False,
        callback=draw_in_ascii,
        help=N_("Draw without lines and blocks, for terminals that make them two cells wide."),
    ),
)
# Options of the view that ``show`` has too, for its tables.
_SHOWN = (
    *("layer", "head", "query", "key", "component", "compare", "attention", "precision"),
    *("merge", "drop", "cap"),
)
_SIZE = option(
    "--size",
    type=size,
    metavar="COLUMNSxLINES",
    default="120x36",
    show_default=True,
    help=N_("Cells of the picture that --format svg draws."),
)
OF_A_TEXT = (
    *("model", "mask_token", "tokenizer", "as_saved", "target"),
    *("d_model", "heads", "layers", "seed"),
)


_help = option(
    "--help",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_help,
    help=N_("Show this message and exit."),
)
# Read before all others, by `tui.cli.main`; here for the help.
_lang = option(
    "--lang",
    metavar="|".join(LANGUAGES),
    expose_value=False,
    help=N_("Language; that of the locale by default."),
)


def general(command: Decorated) -> Decorated:
    """Add the options that every command has."""
    return _with((_lang, _help), command)


def shared(command: Decorated) -> Decorated:
    """Add the options of the model, of the switches and of learning to a command."""
    return _with((*_MODEL, *_SWITCHES, *_LEARNING), command)


def switches(command: Decorated) -> Decorated:
    """Add the options of the switches and of learning to a command."""
    return _with((*_SWITCHES, *_LEARNING), command)


def places(command: Decorated) -> Decorated:
    """Add the options of the explorer's view to a command."""
    return _with(_PLACES, command)


def _with(options: Sequence[Callable[[Any], Any]], command: Decorated) -> Decorated:
    for add in reversed(options):
        command = add(command)
    return command


def _names(add: Callable[[Any], Any]) -> set[str]:
    """The names of the options that a decorator adds."""

    def command() -> None:
        """Nothing is done: this only carries the options."""

    add(command)
    return {param.name for param in vars(command)["__click_params__"]}


# What only a picture has a use for; --ascii exchanges what a terminal is sent.
_LOOKS = (*(add for add in _PLACES if not _names(add) & {*_SHOWN, "ascii"}), _SIZE)
OF_A_PICTURE = tuple(sorted(set().union(*map(_names, _LOOKS))))


def pictured(command: Decorated) -> Decorated:
    """Add the options of the explorer's view that only a picture has a use for."""
    return _with(_LOOKS, command)


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
    from core.errors import SettingError, choose_from

    found = {name: options[name] for name in PLACES if options.get(name) is not None}
    if "zoom" in found:
        found["zoom"] = int(found["zoom"])
    reading = reading_of(options)
    if reading is not None:
        found["reading"] = reading
    if not 1 <= found.get("precision", 1) <= MAX_PRECISION:
        raise SettingError(
            _("precision {n} is out of range").format(n=found["precision"]),
            choose_from(1, MAX_PRECISION),
        )
    return found


def reading(command: Decorated) -> Decorated:
    """Add the options of how patterns are read to a command."""
    return _with(READING, command)


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
