"""One attention of a real model: all its heads, some of them at a time, so that threads share."""

from __future__ import annotations

from core.lazy import HeadArray, KeptHeads, RowArray
from core.norms import apply_norm
from core.parallel import each, is_even
from core.positions import rotate
from core.projections import contribution, effort, project_some, total
from core.reuse import Joined, join
from core.room import columns, empty, lent
from core.scores import cells, mix
from core.transformer_types import AttentionTrace, AttentionWeights, Facts, Float32, Scoring


def attend(
    x: Float32,
    source: Float32,
    weights: AttentionWeights[Float32],
    facts: Facts,
    scoring: Scoring,
    turn: tuple[Float32, Float32] | None,
    kept: KeptHeads,
    earlier: AttentionTrace | None = None,
) -> AttentionTrace:
    """Every head of one attention: `x` asks, `source` answers (the same rows in self-attention).

    Parameters
    ----------
    x : ndarray [query, d_model]
    source : ndarray [key, d_model]
    scoring : Scoring
    turn : pair of ndarray [query, d_rotary / 2], optional
        Cosines and sines of `core.positions.rotation`.
    kept : KeptHeads
        Where cells that are looked at stay.
    earlier : AttentionTrace, optional
        Of an earlier run, whose rows before `scoring.first` stand before these.
    """
    work = _Heads(x, source, weights, facts, scoring, turn, earlier)
    made_out = total(work.shared_out(), weights.o)  # [query, d_model]
    made_out = apply_norm(made_out, weights.after, facts, made_out)
    q: HeadArray = work.q  # [head, pos, d_head]
    attn_out: RowArray = made_out  # [pos, d_model]
    if earlier is not None:
        q = Joined(earlier.q, work.q, scoring.first)
        attn_out = Joined(earlier.attn_out, made_out, scoring.first)
    k, v = work.k, work.v
    made = cells(q, k, v, scoring, kept)
    if work.pattern is not None:
        made["pattern"] = work.pattern
    return AttentionTrace(q=q, attn_out=attn_out, own_kv=(k, v), **made)


class _Heads:
    """The arguments of `attend`, and the arrays that are filled some heads at a time.

    Attributes
    ----------
    q : ndarray [head, query, d_head]
    new_k, new_v : ndarray [kv_head, new, d_head]
    k, v : ndarray [kv_head, key, d_head]
        The same, behind the rows of an earlier run where there is one.
    pattern : ndarray [head, query, key], optional
        Where it is kept.
    merged : ndarray [query, head * d_head]
        z of all heads.
    """

    def __init__(
        self,
        x: Float32,
        source: Float32,
        weights: AttentionWeights[Float32],
        facts: Facts,
        scoring: Scoring,
        turn: tuple[Float32, Float32] | None,
        earlier: AttentionTrace | None,
    ) -> None:
        self._x, self._source, self._weights, self._facts = x, source, weights, facts
        self._scoring, self._turn, self._earlier = scoring, turn, earlier
        self._each = facts.heads // facts.kv_heads  # query heads to a key/value head
        self._rows = tuple(
            columns(len(rows), linear.weight.shape[1])  # [new, head * d_head]
            for rows, linear in ((x, weights.q), (source, weights.k), (source, weights.v))
        )
        q, k, v = self._rows
        self.q = split_heads(q, facts.heads)
        self.k = self.new_k = split_heads(k, facts.kv_heads)
        self.v = self.new_v = split_heads(v, facts.kv_heads)
        if earlier is not None:
            keys = scoring.first + len(source)
            self.k, self.v = (columns(facts.kv_heads, keys, facts.d_head) for _ in range(2))
        shape = facts.heads, len(x), self.k.shape[1]
        self.pattern = empty(*shape) if scoring.keep else None
        self.merged = lent("merged", *q.shape)
        self._attn_out = columns(len(x), weights.o.weight.shape[1])  # [query, d_model]

    def shared_out(self) -> list[Float32]:
        """What heads add to the result, [query, d_model], by share."""
        facts, weights = self._facts, self._weights
        asks = effort(self._x, weights.q) + effort(self._source, weights.k, weights.v)
        mixes = effort(self.merged, weights.o) + 2 * self.q.size * self.k.shape[1]
        if is_even(facts.kv_heads, asks + mixes):
            return each(self._from_input_to_output, facts.kv_heads, asks + mixes)
        each(self._project, facts.kv_heads * facts.d_head, asks)
        self._place(slice(0, facts.kv_heads))
        return each(self._mix, facts.heads, mixes)

    def _from_input_to_output(self, some: slice) -> Float32:
        self._project(_times(some, self._facts.d_head))
        self._place(some)
        return self._mix(_times(some, self._each))

    def _project(self, some: slice) -> None:
        """Features of k and v, and those of the queries that read them."""
        weights, (q, k, v) = self._weights, self._rows
        project_some(self._x, weights.q, _times(some, self._each), q)
        project_some(self._source, weights.k, some, k)
        project_some(self._source, weights.v, some, v)

    def _place(self, some: slice) -> None:
        """Norms and positions of key/value heads and those that read them; rows before them."""
        weights, facts, turn = self._weights, self._facts, self._turn
        q, k = self.q[_times(some, self._each)], self.new_k[some]
        rotate(apply_norm(q, weights.q_norm, facts, q), turn)
        rotate(apply_norm(k, weights.k_norm, facts, k), turn)
        if self._earlier is not None:
            first, (known_k, known_v) = self._scoring.first, self._earlier.own_kv
            join(known_k[some], k, first, self.k[some])
            join(known_v[some], self.new_v[some], first, self.v[some])

    def _mix(self, some: slice) -> Float32:
        """[query, d_model]: what query heads add by W_O to the result."""
        z = split_heads(self.merged, self._facts.heads)  # [head, query, d_head]
        mix(self.q, self.k, self.v, self._scoring, some, z, self.pattern)
        features = _times(some, self._facts.d_head)
        return contribution(self.merged, self._weights.o, features, self._attn_out)


def split_heads(x: Float32, heads: int) -> Float32:
    """[pos, head * d_head] -> [head, pos, d_head]"""
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def _times(some: slice, size: int) -> slice:
    """The same part of what is so many times as many."""
    return slice(some.start * size, some.stop * size)
