"""Options of the command line, as its commands share them.

Neither textual nor NumPy is imported with this module, so that ``--help`` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from core.language import LANGUAGES, N_
from core.names import (
    ATTENTIONS,
    EDITABLE,
    MASK_FORMS,
    NORMALIZERS,
    POOLS,
    PROJECTIONS,
    SCALES,
    STAGES,
)
from tui.choices import (
    CELLS,
    DEFAULT_PRECISION,
    DEFAULT_ZOOM,
    ORDERS,
    PANES,
    SHOWN,
    VECTORS,
    ZOOMS,
)
from tui.reading_option import READING
from tui.terminal.plain import draw_in_ascii
from tui.usage import Choice, Decorated, option, print_help, with_options
from tui.values import decimal, edits, keys, mask, whole, wish


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
    click.option(
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
        type=mask,
        default="none",
        metavar="|".join(MASK_FORMS),
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
    return click.option(
        "--attention", type=click.Choice(ATTENTIONS), metavar="|".join(ATTENTIONS), help=text
    )


PLACE_OPTIONS = (
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
    return with_options((_lang, _help), command)


def shared(command: Decorated) -> Decorated:
    """Add the options of the model, of the switches and of learning to a command."""
    return with_options((*_MODEL, *_SWITCHES, *_LEARNING), command)


def switches(command: Decorated) -> Decorated:
    """Add the options of the switches and of learning to a command."""
    return with_options((*_SWITCHES, *_LEARNING), command)


def places(command: Decorated) -> Decorated:
    """Add the options of the explorer's view to a command."""
    return with_options(PLACE_OPTIONS, command)
