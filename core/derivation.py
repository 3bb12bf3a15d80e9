"""A derivation as data: one query and one key of a head, from the embedding to attn_out."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from core.types import Array

Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """Terms and what they add up to."""

    terms: Vector
    total: float

    def rest(self, shown: Collection[int]) -> float:
        """What the terms that are not shown add up to."""
        return math.fsum(t for index, t in enumerate(self.terms) if index not in shown)


@dataclass(frozen=True, slots=True)
class Pair:
    """A row of the query's token and a row of the key's."""

    query: Vector
    key: Vector


@dataclass(frozen=True, slots=True)
class Positions:
    """The positional rows, and what enters the layer.

    Attributes
    ----------
    rows : Pair
        All 0 when positions are off.
    resid_pre : Pair
        The embedding plus the positional row, with what is typed over; or what a layer gave: of
        the key in cross-attention what leaves the encoder.
    added : bool
        They are added here: in layer 0 of self-attention.
    typed_query, typed_key : tuple of int
        Dimensions of resid_pre that are typed over.
    """

    rows: Pair
    resid_pre: Pair
    added: bool
    typed_query: tuple[int, ...] = ()
    typed_key: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Projection:
    """One of q, k and v of one token.

    Attributes
    ----------
    x : tuple of float
        What enters, d_model numbers.
    columns : ndarray [d_model, d_head]
        The head's columns of the matrix.
    typed : tuple of (row, column)
        Entries of these columns that are typed over; columns count over all heads.
    index : int
        The component that is shown with its terms.
    component : Sum
        ``x[i] * columns[i, index]``
    vector : tuple of float
        ``x @ columns``, d_head numbers.
    """

    x: Vector
    columns: Array
    typed: tuple[tuple[int, ...], ...]
    index: int
    component: Sum
    vector: Vector


@dataclass(frozen=True, slots=True)
class Projections:
    """q of the query, k and v of the key."""

    q: Projection
    k: Projection
    v: Projection


@dataclass(frozen=True, slots=True)
class Dot:
    """q and k as the trace has them, their products, and q·k of every key of the row."""

    q: Vector
    k: Vector
    products: Sum
    row: Vector


@dataclass(frozen=True, slots=True)
class Scale:
    """From q·k to scores.

    Attributes
    ----------
    temperature, divisor : float
    divided : float
        q·k of the key by the divisor.
    score : float
        The same, or what is typed over it.
    row : tuple of float
        The scores of every key.
    typed : frozenset of int
        Keys whose score is typed over.
    softcap : float, optional
        Of a real model: what is divided, x, becomes softcap · tanh(x / softcap).
    capped : float
        Of a real model: the key's then; what was divided, where there is no softcap.
    bias : tuple of float, optional
        Of a real model: what is added then, for the distance of every key.
    """

    temperature: float
    divisor: float
    divided: float
    score: float
    row: Vector
    typed: frozenset[int] = frozenset()
    softcap: float | None = None
    capped: float = 0.0
    bias: Vector | None = None


@dataclass(frozen=True, slots=True)
class MaskRow:
    """Which keys the query may attend to."""

    allowed: tuple[bool, ...]

    @property
    def count(self) -> int:
        return sum(self.allowed)


@dataclass(frozen=True, slots=True)
class Similarity:
    """Feature maps (elu + 1) of q and of k, and their products."""

    q: Vector
    k: Vector
    products: Sum


@dataclass(frozen=True, slots=True)
class Normalizer:
    """From a row of scores to a row of weights.

    Attributes
    ----------
    name : str
        ``softmax``, ``linear`` or ``none``.
    top : float, optional
        The largest allowed score, subtracted from each before exp; only in softmax, None in a row
        without a key.
    parts : Sum
        One a key, masked ones 0: exp(score - top), a similarity, or the score itself.
    weights : tuple of float
        Parts divided by their sum, without a normalizer the parts; all 0 in a row without a key.
    weight : float
        The key's.
    similarity : Similarity, optional
        The key's; only in linear.
    """

    name: str
    top: float | None
    parts: Sum
    weights: Vector
    weight: float
    similarity: Similarity | None


@dataclass(frozen=True, slots=True)
class Mix:
    """z: for each key its row of v, the weight times that row, and the sums, d_head numbers."""

    v: tuple[Vector, ...]
    terms: tuple[Vector, ...]
    total: Vector


@dataclass(frozen=True, slots=True)
class Residual:
    """What leaves the layer: ``added = resid_pre + attn_out``, to mean 0 and variance 1."""

    added: Vector
    mean: float
    variance: float
    resid_post: Vector


@dataclass(frozen=True, eq=False, slots=True)
class Output:
    """Heads merged, times W_O.

    Attributes
    ----------
    merged : tuple of float
        The z of all heads side by side, d_model numbers; those of other heads are the trace's.
    w_o : ndarray [d_model, d_model]
        Row ``h * d_head + i`` meets dimension i of head h.
    index : int
        The component of attn_out that is shown with its terms.
    component : Sum
        ``merged[i] * w_o[i, index]``
    attn_out : tuple of float
        ``merged @ w_o``, d_model numbers.
    residual : Residual, optional
        None where nothing follows.
    bias : tuple of float, optional
        Of a real model: part of attn_out, and not of the component.
    """

    merged: Vector
    w_o: Array
    index: int
    component: Sum
    attn_out: Vector
    residual: Residual | None
    bias: Vector | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """How a real model makes the q, k and v that its trace gives.

    Attributes
    ----------
    normed : bool
        Of what a norm makes of resid_pre.
    biased, head_norms, turned : bool
        With biases; q and k normalised head by head; turned by their positions.
    shared : int
        Query heads that have one k and one v together.
    after : bool
        A norm stands behind W_O.
    """

    normed: bool
    biased: bool
    head_norms: bool
    turned: bool
    shared: int
    after: bool


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Derivation:
    """One query and one key of a head; a part a stage.

    Attributes
    ----------
    component : int
        The one of q, k, v and z that is looked at.
    output : Output, optional
        None of a real model whose W_O is not at hand, or has a norm behind it.
    made : Made, optional
        Of a real model alone, where all begins with the q, k and v of the trace.
    """

    attention: str
    layer: int
    head: int
    query: int
    key: int
    component: int
    dot: Dot
    scale: Scale
    mask: MaskRow
    softmax: Normalizer
    z: Mix
    output: Output | None
    made: Made | None = None


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class WholeDerivation(Derivation):
    """From the embedding to attn_out, as the seeded model has it and given ones."""

    embedding: Pair
    positions: Positions
    projections: Projections
    output: Output


@dataclass(frozen=True, slots=True)
class Check:
    """What was checked, whether it holds, and the largest difference from what it should be."""

    name: str
    passed: bool
    difference: float
