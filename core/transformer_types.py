"""Facts, weights and traces of real models, as data. Shapes as in `core.types`; float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from core.lazy import HeadArray, RowArray

    Float32: TypeAlias = npt.NDArray[np.float32]
    BoolArray: TypeAlias = npt.NDArray[np.bool_]
else:
    Float32 = BoolArray = np.ndarray

T = TypeVar("T")  # an array, or where an array comes from


@dataclass(frozen=True, slots=True)
class Rotary:
    """Rotary positions: dimension i turns with dimension i + len(frequencies).

    Attributes
    ----------
    frequencies : tuple of float
        Radians a position, for each pair of dimensions.
    factor : float
        Multiplies the cosines and sines.
    """

    frequencies: tuple[float, ...]
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class RelativeBias:
    """A learned bias for the distance between query and key (T5)."""

    buckets: int
    max_distance: int
    both_ways: bool


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """What may differ from layer to layer.

    Attributes
    ----------
    scale : float
        q·k is multiplied by it; 1/√d_head in most models.
    window : int, optional
        The query sees itself and the window - 1 tokens before it.
    rotary : Rotary, optional
    """

    scale: float
    window: int | None = None
    rotary: Rotary | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What tells one stack of layers from another, apart from its weights.

    Attributes
    ----------
    heads, kv_heads : int
        Query heads; key/value heads, a divisor of them. Query head h reads key/value head
        ``h // (heads // kv_heads)``.
    d_model, d_head : int
        d_head need not be d_model / heads.
    vocabulary : int
        Rows of the embedding.
    limit : int, optional
        The most tokens that the positions are made for; None where there is no such number.
    causal : bool
    layers : tuple of LayerFacts
    norm : str
        ``layer`` or ``rms``.
    epsilon : float
    activation : str
        Of the MLP; a key of `core.activations.ACTIVATIONS`.
    parallel : bool
        The MLP reads what entered the layer, not what attention left.
    softcap : float, optional
        Scores s become softcap · tanh(s / softcap).
    relative : RelativeBias, optional
    embedding_scale : float
    position_rule : str
        ``plain``, ``unpadded-id`` or ``unpadded-mask``, see `core.positions.position_rows`.
    position_offset : int
        Row of the position table that the first token takes.
    sinusoids : bool
        Positions are sines, then cosines, of a formula, not of a table.
    pad_id : int, optional
        Id of padding, for ``unpadded-id``.
    head_activation : str, optional
        Behind the language head's own projection.
    head_scale : float
        Of what enters the unembedding.
    head_softcap : float, optional
        Of the logits.
    """

    heads: int
    kv_heads: int
    d_model: int
    d_head: int
    vocabulary: int
    limit: int | None
    causal: bool
    layers: tuple[LayerFacts, ...]
    norm: str
    epsilon: float
    activation: str
    parallel: bool = False
    softcap: float | None = None
    relative: RelativeBias | None = None
    embedding_scale: float = 1.0
    position_rule: str = "plain"
    position_offset: int = 0
    sinusoids: bool = False
    pad_id: int | None = None
    head_activation: str | None = None
    head_scale: float = 1.0
    head_softcap: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Norm(Generic[T]):
    """Gain and bias [d] of a normalisation, where it has them."""

    gain: T | None
    bias: T | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Linear(Generic[T]):
    """``x @ weight + bias``: weight [in, out], bias [out]."""

    weight: T
    bias: T | None = None


@dataclass(frozen=True, eq=False, slots=True)
class AttentionWeights(Generic[T]):
    """Projections of one attention, the norms of its heads' q and k, and those around it."""

    q: Linear[T]
    k: Linear[T]
    v: Linear[T]
    o: Linear[T]
    q_norm: Norm[T] | None = None
    k_norm: Norm[T] | None = None
    before: Norm[T] | None = None
    after: Norm[T] | None = None
    at_sum: Norm[T] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class MlpWeights(Generic[T]):
    """Projections of the MLP and the norms around it."""

    up: Linear[T]
    down: Linear[T]
    gate: Linear[T] | None = None
    before: Norm[T] | None = None
    after: Norm[T] | None = None
    at_sum: Norm[T] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class BlockWeights(Generic[T]):
    """One layer."""

    attention: AttentionWeights[T]
    mlp: MlpWeights[T]
    cross: AttentionWeights[T] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class EmbeddingParts(Generic[T]):
    """What stands beside the embedding's rows.

    Attributes
    ----------
    positions : [rows, d_embed], optional
        [rows, d_model] where they are added behind `project_in`.
    types : [types, d_embed], optional
    norm : Norm, optional
    project_in, project_out : Linear, optional
        Before the positions are added; after the norm.
    """

    positions: T | None = None
    types: T | None = None
    norm: Norm[T] | None = None
    project_in: Linear[T] | None = None
    project_out: Linear[T] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class HeadParts(Generic[T]):
    """What stands before and behind the unembedding: a projection, a norm; a bias [vocabulary]."""

    project: Linear[T] | None = None
    norm: Norm[T] | None = None
    bias: T | None = None


class HeadWeights(Protocol):
    """The language head."""

    @property
    def parts(self) -> HeadParts[Float32]:
        """All but the unembedding."""

    @property
    def count(self) -> int:
        """Rows of the unembedding."""

    def rows(self, start: int, stop: int) -> Float32:
        """Rows [stop - start, d_embed] of the unembedding."""


class StackWeights(Protocol):
    """The weights of one stack, made float32 when they are asked for."""

    @property
    def embedding(self) -> EmbeddingParts[Float32]:
        """What stands beside the embedding's rows."""

    @property
    def relative(self) -> Float32 | None:
        """[bucket, head], where `Facts.relative` says that there is one."""

    @property
    def final(self) -> Norm[Float32] | None:
        """The norm behind the last layer."""

    def rows(self, ids: Sequence[int]) -> Float32:
        """Rows [pos, d_embed] of the embedding."""

    def has_block(self, index: int) -> bool:
        """Whether a layer is float32 already."""

    def block(self, index: int) -> BlockWeights[Float32]:
        """One layer."""

    def check(self, x: Float32, index: int | None) -> None:
        """Raise ModelError if `x`, what left layer `index`, is not finite.

        None is the embedding, and the number of layers the last norm.
        """


@dataclass(frozen=True, eq=False, slots=True)
class Scoring:
    """What stands between q·k and the weights of one attention.

    Attributes
    ----------
    scale : float
    softcap : float, optional
    mask : ndarray [query, key] of bool, optional
        True = may be attended; None allows all.
    bias : ndarray [head, query, key], optional
        Added to the scores.
    first : int
        The query that is computed first; those before it are known.
    keep : bool
        Keep the pattern that the pass makes, not make it when it is looked at.
    """

    scale: float
    softcap: float | None = None
    mask: BoolArray | None = None
    bias: Float32 | None = None
    first: int = 0
    keep: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class AttentionTrace:
    """Every array of one attention, in the order of computation.

    What is [head, query, key] is made when it is looked at, since it would grow with the square of
    the text's length; and so is z, which is made of it in a moment. Where a run goes on from an
    earlier one, q, attn_out and what enters and leaves a layer are `core.reuse.Joined`.

    Attributes
    ----------
    q, k, v : ndarray [head, pos, d_head]
        As they are compared and mixed: q and k after their norms and after rotary positions,
        k and v of grouped heads repeated for each query head, when they are looked at.
    dot : LazyArray [head, query, key]
        q·k.
    attn_scores : LazyArray [head, query, key]
        After scaling, soft-capping and relative bias, before the mask.
    pattern : LazyArray [head, query, key]
        After softmax. Masked cells are exactly 0, rows with no key all 0.
    z : LazyArray [head, query, d_head]
        pattern · v.
    attn_out : ndarray [query, d_model]
        Heads merged · W_O, and the norm behind it where there is one: what is added.
    own_kv : pair of ndarray [kv_head, key, d_head]
        k and v, once for the query heads that share them.
    """

    q: HeadArray
    k: HeadArray
    v: HeadArray
    dot: HeadArray
    attn_scores: HeadArray
    pattern: HeadArray
    z: HeadArray
    attn_out: RowArray
    own_kv: tuple[Float32, Float32]


@dataclass(frozen=True, eq=False, slots=True)
class BlockTrace(AttentionTrace):
    """One layer: its self-attention, and what stands around it.

    Attributes
    ----------
    resid_pre : ndarray [pos, d_model]
        What enters the layer.
    cross : AttentionTrace, optional
        A decoder's attention to the encoder: keys are source tokens.
    resid_mid : ndarray [pos, d_model], optional
        After self-attention, which is what cross-attention asks from, where there is one; in a
        post-norm model after its norm.
    resid_post : ndarray [pos, d_model]
        What leaves the layer.
    """

    resid_pre: RowArray
    cross: AttentionTrace | None
    resid_mid: Float32 | None
    resid_post: RowArray


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class StackPart:
    """One run of one stack, the layers that have run so far.

    Attributes
    ----------
    ids : tuple of int
    blocked : frozenset of int
        Positions that no query may attend to.
    embed : ndarray [pos, d_embed]
        Rows of the embedding, scaled.
    pos_embed : ndarray [pos, d_embed], optional
        Rows of the position table, where there is one ([pos, d_model] behind a `project_in`).
    masks : dict of int or None to ndarray [query, key] of bool
        The mask by window; None where every key may be attended to.
    blocks : tuple of BlockTrace
    """

    ids: tuple[int, ...]
    blocked: frozenset[int]
    embed: Float32
    pos_embed: Float32 | None
    masks: dict[int | None, BoolArray | None]
    blocks: tuple[BlockTrace, ...]


@dataclass(frozen=True, eq=False, slots=True)
class StackTrace(StackPart):
    """One run of one stack, all layers.

    Attributes
    ----------
    final : ndarray [pos, d_model]
        What leaves the last layer, after the final norm if there is one.
    """

    final: Float32
