"""What a widget draws from: a view, and its trace."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from core.errors import AttnError
from core.language import _
from core.names import ATTENTIONS, PANES, POOLS, SCALES, STAGES
from core.stacks import stack_of
from core.types import (
    AnyModel,
    Array,
    Attention,
    BoolArray,
    CheckpointModel,
    LayerTrace,
    ModelSpec,
    Request,
    Token,
    Tokens,
    Trace,
)
from tui.choices import CELLS, DEFAULT_PRECISION, DEFAULT_ZOOM, EXAMPLE, ORDERS, SHOWN

if TYPE_CHECKING:
    from core.comparison import Comparison
    from core.lazy import HeadArray
    from core.predictions import Prediction
    from core.reading import Read, Reading, Words

# What shows patterns as they are read; all other panes are about the numbers themselves.
READ_PANES = ("tokens", "weights", "matrix", "vectors")


@dataclass(frozen=True, slots=True)
class View:
    """Everything that decides what is on the screen: a request and a place in its trace.

    Attributes
    ----------
    request : Request
    layer, head, query, key : int
        The selected place, counted from 0.
    precision : int
        Digits after the point.
    pane : str
        The active one of `PANES`.
    vector : str
        The selected one of `VECTORS`.
    zoom : int
        Width of a matrix cell, one of `ZOOMS`; where all keys have the room, labels widen it.
    stage : str
        The last one of `STAGES` that the derivation shows.
    array : str
        The one of `EDITABLE` whose numbers are shown.
    dim : int
        A dimension of what enters a layer: a column of X, a row of W_Q, W_K and W_V.
    component : int
        The one of a vector that the derivation works out term by term: a column of the head's
        W_Q, W_K and W_V. After the last component of a shorter vector it begins there anew.
    compare : str, optional
        Another text, to be seen beside that of the request.
    attention : str
        The one of `ATTENTIONS` that the place is in; only with a target another than the first.
    colours : str
        The one of `SCALES` that the matrix is coloured by.
    reading : Reading, optional
        How patterns are read; None as they are.
    statistic, cell, order : str
        Of the grid: what is shown of each head, one of `SHOWN`; as what, one of `CELLS`; and in
        which order, one of `ORDERS`.
    pool : str
        The one of `POOLS` that stands for a bin of a matrix.
    """

    request: Request = Request(EXAMPLE)
    layer: int = 0
    head: int = 0
    query: int = 0
    key: int = 0
    precision: int = DEFAULT_PRECISION
    pane: str = "weights"
    vector: str = "attn_out"
    zoom: int = DEFAULT_ZOOM
    stage: str = STAGES[-1]
    array: str = "attn_scores"
    dim: int = 0
    component: int = 0
    compare: str | None = None
    attention: str = ATTENTIONS[0]
    colours: str = SCALES[0]
    reading: Reading | None = None
    statistic: str = SHOWN[0]
    cell: str = CELLS[0]
    order: str = ORDERS[0]
    pool: str = POOLS[0]


def panes(view: View) -> tuple[str, ...]:
    """The panes that have something to show for a view, in the order of their keys."""
    absent = [] if view.request.target is None else ["learning", "compare"]
    if not (isinstance(view.request.model, CheckpointModel) and view.request.model.predicts):
        absent.append("predictions")
    if view.compare is None:
        absent.append("compare")
    if isinstance(view.request.model, CheckpointModel):  # its numbers are neither few nor ours
        absent += ["numbers", "learning"]
    return tuple(pane for pane in PANES if pane not in absent)


def stages(model: AnyModel) -> tuple[str, ...]:
    """The stages of a derivation; of a real model from q and k on."""
    return STAGES[STAGES.index("dot") :] if isinstance(model, CheckpointModel) else STAGES


def cursor(view: View) -> tuple[str, str]:
    """The fields of a view that up and down move in its pane, and that left and right move."""
    if view.pane == "numbers":
        return cursor_of(view.array)
    if view.pane == "grid":
        return "layer", "head"
    return "query", "key" if view.pane in ("matrix", "derivation") else "head"


def cursor_of(array: str) -> tuple[str, str]:
    """The fields of a view that are row and column of an array that can be typed over."""
    return {"attn_scores": ("query", "key"), "x": ("query", "dim")}.get(array, ("dim", "component"))


def heads_of(view: View) -> int:
    """How many heads the attention has that a view is in."""
    return stack_of(view.request.model, view.attention).heads


def column_of(view: View) -> int:
    """The column among its head's that belongs to the component."""
    return view.component % view.request.model.d_head


class Shown(NamedTuple):
    """Rows of a pattern, [query, key], and what was removed of each, [query], if they are read."""

    weights: Array
    removed: Array | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Scene:
    """A view with its trace: all that a widget needs to draw.

    Attributes
    ----------
    view : View
    trace : Trace
    before : Trace, optional
        Of the same tokens, before the last switch was changed.
    compared : Comparison or AttnError, optional
        With the other text, or why there is none.
    read : Read, optional
        The selected layer as it is read, for the panes that show it so.
    read_before : Read, optional
        The same of `before`, where that has rows that sum to 1.
    prediction : Prediction or AttnError, optional
        At the query, once it is made.
    """

    view: View
    trace: Trace
    before: Trace | None = None
    compared: Comparison | AttnError | None = None
    read: Read | None = None
    read_before: Read | None = None
    prediction: Prediction | AttnError | None = None

    @property
    def attention(self) -> Attention:
        return self.trace.attentions[self.view.attention]

    @property
    def queries(self) -> Tokens:
        """The tokens that attend: rows of the matrix."""
        return self.attention.queries.tokens if self.read is None else self.read.queries

    @property
    def keys(self) -> Tokens:
        """The tokens attended to: columns of the matrix."""
        return self.attention.keys.tokens if self.read is None else self.read.keys

    @property
    def query(self) -> int:
        """Where the selected query is among `queries`."""
        return _place(self.query_words, self.view.query)

    @property
    def key(self) -> int:
        """Where the selected key is among `keys`."""
        return _place(self.key_words, self.view.key)

    @property
    def query_token(self) -> Token:
        return self.queries[self.query]

    @property
    def key_token(self) -> Token:
        return self.keys[self.key]

    @property
    def mask(self) -> BoolArray:
        return self.attention.masks[self.view.layer] if self.read is None else self.read.mask

    @property
    def pattern(self) -> HeadArray | Read:
        """[head, query, key] of the selected layer."""
        return self.layer.pattern if self.read is None else self.read

    @property
    def row(self) -> Array:
        """[head, key], what the selected query attends to."""
        if self.read is not None:
            return self.read.row(self.query).weights
        row: Array = self.layer.pattern[:, self.view.query]
        return row

    def rows(self, start: int, stop: int) -> Shown:
        """Some rows of the selected head."""
        if self.read is not None:
            return Shown(*self.read.rows(self.view.head, start, stop))
        return Shown(self.layer.pattern[self.view.head, start:stop])

    def gone(self, row: Array) -> BoolArray | None:
        """The keys of a row that are dropped, all where nothing is left; None where none can be."""
        return None if self.read is None else self.read.gone(row)

    @property
    def plain(self) -> Scene:
        """The same, as it was computed."""
        return self if self.read is None else replace(self, read=None, read_before=None)

    @property
    def cuts(self) -> bool:
        """Whether columns are dropped or capped."""
        return self.read is not None and self.read.reading.cuts

    # The tokens of each word, where words are read.

    @property
    def query_words(self) -> Words | None:
        return None if self.read is None else self.read.query_words

    @property
    def key_words(self) -> Words | None:
        return None if self.read is None else self.read.key_words

    def selected(self, name: str) -> range:
        """The tokens of the query or of the key: of a word all, in the panes that read words."""
        words = self.query_words if name == "query" else self.key_words
        token = int(getattr(self.view, name))
        if words is None or self.view.pane not in READ_PANES:
            return range(token, token + 1)
        return words[_place(words, token)]

    def query_at(self, row: int) -> int:
        """The token of a row: of a word its first."""
        return row if self.query_words is None else self.query_words[row].start

    def key_at(self, column: int) -> int:
        """The token of a column: of a word its first."""
        return column if self.key_words is None else self.key_words[column].start

    def moved(self, name: str, by: int) -> int:
        """The token that lies `by` rows from the query, or `by` columns from the key."""
        words = self.query_words if name == "query" else self.key_words
        if words is None:
            return int(getattr(self.view, name)) + by
        place = _place(words, getattr(self.view, name)) + by
        return words[max(0, min(place, len(words) - 1))].start

    @property
    def layer(self) -> LayerTrace:
        return self.attention.layers[self.view.layer]

    @property
    def crosses(self) -> bool:
        """Whether queries and keys are of two texts."""
        return self.view.attention == "cross"

    @property
    def which(self) -> str:
        """The name of the attention for a title, where there are several."""
        return "" if self.trace.decoder is None else f" · {_(self.view.attention)}"

    @property
    def signed(self) -> bool:
        """Whether weights can be below 0 or above 1: they are scores that nothing normalises."""
        return self.view.request.switches.normalizer == "none"

    def vector(self, name: str) -> Array:
        """One of `VECTORS` for the query: [d_model] for input and attn_out, else [d_head].

        In cross-attention the query's token has no k and v; they are the key's. Of a word it is
        the average over its tokens.
        """
        of_key = self.crosses and name in ("k", "v")
        words = self.key_words if of_key else self.query_words
        place: int | slice = self.view.key if of_key else self.view.query
        if words is not None:
            word = words[self.key if of_key else self.query]
            place = slice(word.start, word.stop)
        if name == "input":
            vector: Array = self.layer.resid_pre[place]
        elif name == "attn_out":
            vector = self.layer.attn_out[place]
        else:
            vector = getattr(self.layer, name)[self.view.head, place]
        return vector if words is None else vector.mean(axis=0)


def _place(words: Words | None, token: int) -> int:
    """Where a token is among words, or among tokens."""
    return token if words is None else bisect_right(words, token, key=lambda w: w.start) - 1


def translates(model: AnyModel) -> bool:
    """Whether a model takes a target."""
    if isinstance(model, CheckpointModel):
        return model.writes is not None
    return isinstance(model, ModelSpec)


def lacks_target(request: Request) -> bool:
    """Whether a real model has a decoder that is not run."""
    real = isinstance(request.model, CheckpointModel)
    return real and translates(request.model) and request.target is None


def starts(scene: Scene) -> bool:
    """Whether the query is the token that a real decoder puts before every target."""
    real = isinstance(scene.view.request.model, CheckpointModel)
    return real and scene.view.attention != ATTENTIONS[0] and scene.view.query == 0
