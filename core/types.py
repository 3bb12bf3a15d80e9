"""The words of the project as data: requests, tokens and traces. No logic beyond names.

Shapes are written as ``[head, query, key]``; ``pos`` counts tokens. Everything counts from 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from core.checkpoint_model import CheckpointModel as CheckpointModel
from core.checkpoint_model import Stack as Stack

if TYPE_CHECKING:  # numpy.typing takes a tenth of NumPy's own time to import
    import numpy.typing as npt

    from core.checkpoints.model import ModelRun
    from core.lazy import HeadArray, RowArray
    from core.learning_types import History, Learning
    from core.transformer_types import StackTrace

    Array: TypeAlias = npt.NDArray[np.floating[Any]]
    BoolArray: TypeAlias = npt.NDArray[np.bool_]
else:
    Array = BoolArray = np.ndarray
Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Token:
    """One token.

    Attributes
    ----------
    text : str
        The slice ``[start:end]`` of the original text; empty for most special tokens.
    piece : str
        The vocabulary's own spelling, such as ``##ing`` or ``Ġthe``.
    id : int
        Row of the embedding table.
    start, end : int
        Span in the original text, in code points.
    special : bool
        Added by the tokenizer, not typed.
    unknown : bool
        The vocabulary has no piece for `text`; `piece` stands for it.
    part : tuple of int, optional
        ``(i, n)``: the i-th (from 1) of n tokens that share characters of the text.
    hides : Token, optional
        What stands in the text, where this is the mask token in its place.
    """

    text: str
    piece: str
    id: int
    start: int
    end: int
    special: bool = False
    unknown: bool = False
    part: tuple[int, int] | None = None
    hides: Token | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text, in order.

    Attributes
    ----------
    text : str
        The text that the spans point into.
    items : tuple of Token
    total : int
        How many there were before the cap; ``len(self)`` when nothing was cut.
    padding : frozenset of int
        Indexes that only pad, to be blocked as keys.
    notices : tuple of str
        What the person should know: characters replaced, dropped or cut.
    """

    text: str
    items: tuple[Token, ...]
    total: int
    padding: frozenset[int] = frozenset()
    notices: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Token:
        return self.items[index]

    def __iter__(self) -> Iterator[Token]:
        return iter(self.items)


@dataclass(frozen=True, slots=True)
class Mask:
    """Which keys a query may attend to; the parts are combined with *and*.

    Attributes
    ----------
    causal : bool
        Only keys at or before the query.
    window : int, optional
        Only keys at most this many positions away.
    blocked : frozenset of int
        Keys that no query may attend to, like padding.
    """

    causal: bool = False
    window: int | None = None
    blocked: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """``none``, ``causal``, ``window:N`` or ``causal+window:N``; without the blocked keys."""
        parts = ["causal"] if self.causal else []
        if self.window is not None:
            parts.append(f"window:{self.window}")
        return "+".join(parts) or "none"


@dataclass(frozen=True, slots=True)
class Edit:
    """One number typed over.

    Attributes
    ----------
    array : str
        One of `core.names.EDITABLE`.
    place : tuple of int
        Its indexes, as that says.
    value : float
    """

    array: str
    place: tuple[int, ...]
    value: float


@dataclass(frozen=True, slots=True)
class Switches:
    """What can be switched to see what it does.

    Attributes
    ----------
    mask : Mask
    positions : bool
        Add the positional encoding.
    scale : bool
        Divide q·k by √d_head.
    temperature : float
        Divides the scores too.
    projections : str
        ``seeded``, the model's own matrices; or ``identity``: Q = K = V = X, and no W_O.
    normalizer : str
        From scores to weights: ``softmax``; ``linear``, the normalised feature map elu + 1 of
        linear attention, which takes q and k and no scores; ``none``, the scores themselves.
    edits : tuple of Edit
        Numbers typed over; of two at one place the later one holds.
    masked : frozenset of int
        Tokens in whose place a `CheckpointModel` reads its mask token.
    """

    mask: Mask = Mask()
    positions: bool = True
    scale: bool = True
    temperature: float = 1.0
    projections: str = "seeded"
    normalizer: str = "softmax"
    edits: tuple[Edit, ...] = ()
    masked: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model of seeded random weights."""

    layers: int = 1
    heads: int = 4
    d_model: int = 16
    seed: int = 0
    name: str = field(default="seeded", init=False)

    @property
    def d_head(self) -> int:
        return self.d_model // self.heads


@dataclass(frozen=True, slots=True)
class GivenModel:
    """One layer whose vectors and matrices are written down, as tuples so that it can be compared.

    Attributes
    ----------
    name : str
    x : tuple of rows
        What stands for an embedding, a row a token, each of d_model numbers.
    w_q, w_k, w_v : tuple of rows [d_model, heads * d_head]
    w_o : tuple of rows [heads * d_head, d_model], optional
        None is the identity: attn_out is the heads' z merged.
    heads : int
    """

    name: str
    x: Rows
    w_q: Rows
    w_k: Rows
    w_v: Rows
    w_o: Rows | None = None
    heads: int = 1

    @property
    def layers(self) -> int:
        return 1

    @property
    def seed(self) -> None:
        return None

    @property
    def d_model(self) -> int:
        return len(self.x[0])

    @property
    def d_head(self) -> int:
        return len(self.w_q[0]) // self.heads


AnyModel: TypeAlias = ModelSpec | GivenModel | CheckpointModel


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that decides a trace.

    Attributes
    ----------
    text : str
    tokenizer : str
        ``mixed``, ``chars``, ``spaces`` or the path of a ``tokenizer.json``. A `CheckpointModel`
        has its own.
    model : ModelSpec, GivenModel or CheckpointModel
    switches : Switches
    as_saved : bool
        Keep the truncation and the padding that the tokenizer's file asks for.
    learning : Learning, optional
        What the model has learned before it is run.
    target : str, optional
        A second text, for a decoder to attend from; None is an encoder alone.
    """

    text: str
    tokenizer: str = "mixed"
    model: AnyModel = ModelSpec()
    switches: Switches = Switches()
    as_saved: bool = False
    learning: Learning | None = None
    target: str | None = None


@dataclass(frozen=True, eq=False, slots=True)
class LayerWeights:
    """Projections of one layer, applied from the right: ``q = x @ w_q``.

    Attributes
    ----------
    w_q, w_k, w_v, w_o : ndarray [d_model, d_model]
        Column ``h * d_head + i`` of the first three is dimension i of head h. Of a `GivenModel`
        they are [d_model, heads * d_head], and w_o the other way round.
    """

    w_q: Array
    w_k: Array
    w_v: Array
    w_o: Array


@dataclass(frozen=True, eq=False, slots=True)
class LayerTrace:
    """Every array of one layer, in the order of computation.

    Under a `CheckpointModel` q and k are as they are compared (after norms and rotary positions,
    k and v repeated for heads that share them), attn_scores after soft-capping and relative bias,
    and resid_post is what leaves the MLP too. What is [head, query, key], and z, is then a
    `core.lazy.LazyArray`, which makes the rows that are looked at; where a run goes on from one
    before, q, attn_out and what enters and leaves are `core.reuse.Joined`, which is used like an
    ndarray.

    Attributes
    ----------
    weights : LayerWeights, optional
        None under a `CheckpointModel`, whose arrays are float32.
    resid_pre : ndarray [pos, d_model]
        What enters the layer.
    q, k, v : ndarray [head, pos, d_head]
    dot : ndarray [head, query, key]
        q·k before scaling.
    attn_scores : ndarray [head, query, key]
        After scaling and temperature, before the mask, with what is typed over.
    pattern : ndarray [head, query, key]
        After the normalizer. Masked cells are exactly 0, rows with no key are all 0. Rows sum
        to 1 under ``softmax`` and ``linear``.
    z : ndarray [head, query, d_head]
        pattern · v.
    attn_out : ndarray [query, d_model]
        Heads merged · W_O.
    resid_post : ndarray [query, d_model]
        What leaves the layer.
    source : ndarray [key, d_model], optional
        What k and v are made of, in cross-attention; None in self-attention, where that is
        resid_pre.
    """

    weights: LayerWeights | None
    resid_pre: RowArray
    q: HeadArray
    k: HeadArray
    v: HeadArray
    dot: HeadArray
    attn_scores: HeadArray
    pattern: HeadArray
    z: HeadArray
    attn_out: RowArray
    resid_post: RowArray
    source: Array | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Side:
    """One of the two texts, as it enters the model.

    Attributes
    ----------
    tokens : Tokens
    embed : ndarray [pos, d_embed]
        Rows of the embedding table; d_embed is d_model but for a few real models.
    pos_embed : ndarray [pos, d_embed]
        Positional encoding; all 0 when positions are off. [pos, d_model] in OPT.
    """

    tokens: Tokens
    embed: Array
    pos_embed: Array


@dataclass(frozen=True, eq=False, slots=True)
class Attention:
    """One of `core.names.ATTENTIONS` in a trace, all its layers.

    Attributes
    ----------
    name : str
    queries, keys : Side
        Which text asks, and which one answers; the same in self-attention.
    rules : tuple of Mask
        Which keys may be attended, a layer each, with what pads among the blocked ones.
    masks : tuple of ndarray [query, key] of bool
        The rules as matrices; True = may be attended.
    layers : tuple of LayerTrace
    """

    name: str
    queries: Side
    keys: Side
    rules: tuple[Mask, ...]
    masks: tuple[BoolArray, ...]
    layers: tuple[LayerTrace, ...]

    # Of all layers but under a `CheckpointModel`, where windows may differ.

    @property
    def rule(self) -> Mask:
        return self.rules[0]

    @property
    def mask(self) -> BoolArray:
        return self.masks[0]


@dataclass(frozen=True, eq=False, slots=True)
class Trace:
    """One run, whole. What anybody sees is drawn from this.

    Attributes
    ----------
    request : Request
    encoder : Attention
        Self-attention of the text.
    decoder, cross : Attention, optional
        Masked self-attention of the target, and its attention to the text; with a target only.
    history : History, optional
        There is one where the request says that the model learns.
    run : ModelRun, optional
        What a `CheckpointModel` computed. The next run begins with it as long as it is held.
    whole : bool
        Whether all layers are there; else a run is under way, and this is how far it is.
    earlier : StackTrace, optional
        Of a run that is under way the one that it began with, so that the next one can, too.
    """

    request: Request
    encoder: Attention
    decoder: Attention | None = None
    cross: Attention | None = None
    history: History | None = None
    run: ModelRun | None = None
    whole: bool = True
    earlier: StackTrace | None = None

    @property
    def attentions(self) -> dict[str, Attention]:
        """Those that there are, by name."""
        found = (self.encoder, self.decoder, self.cross)
        return {each.name: each for each in found if each is not None}

    # The text's, which is all there is without a target.

    @property
    def tokens(self) -> Tokens:
        return self.encoder.queries.tokens

    @property
    def embed(self) -> Array:
        """[pos, d_embed], rows of the embedding table."""
        return self.encoder.queries.embed

    @property
    def pos_embed(self) -> Array:
        """[pos, d_embed], the positional encoding ([pos, d_model] in OPT)."""
        return self.encoder.queries.pos_embed

    @property
    def mask(self) -> BoolArray:
        """[query, key], True = may be attended in layer 0."""
        return self.encoder.mask

    @property
    def layers(self) -> tuple[LayerTrace, ...]:
        return self.encoder.layers

    @property
    def target_tokens(self) -> Tokens | None:
        return None if self.decoder is None else self.decoder.queries.tokens
