"""One attention of a real model: all its heads, some of them at a time, so that threads share."""

from __future__ import annotations

from core.lazy import KeptHeads
from core.norms import normalise
from core.parallel import each, is_even
from core.positions import rotate
from core.projections import contribution, effort, project_some, total
from core.room import columns, empty, join, joined, lent
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
    shared = facts.heads // facts.kv_heads  # query heads to a key/value head
    made_q = columns(len(x), weights.q.weight.shape[1])  # [query, head * d_head]
    made_k, made_v = (columns(len(source), of.weight.shape[1]) for of in (weights.k, weights.v))
    q = split_heads(made_q, facts.heads)  # [head, query, d_head]
    new_kv = [split_heads(made, facts.kv_heads) for made in (made_k, made_v)]
    k, v = new_kv  # [kv_head, key, d_head]
    if earlier is not None:
        k, v = (columns(len(new), scoring.first + len(source), new.shape[2]) for new in new_kv)
    pattern = empty(facts.heads, len(x), k.shape[1]) if scoring.keep else None
    merged = lent("merged", *made_q.shape)  # [query, head * d_head]
    z = split_heads(merged, facts.heads)  # [head, query, d_head]
    attn_out = columns(len(x), weights.o.weight.shape[1])  # [query, d_model]

    def project_features(some: slice) -> None:
        """Of k and v, and those of the queries that read them."""
        project_some(x, weights.q, _times(some, shared), made_q)
        project_some(source, weights.k, some, made_k)
        project_some(source, weights.v, some, made_v)

    def place_heads(some: slice) -> None:
        """Of k and v, and the query heads that read them: norms, positions, earlier rows."""
        asking = q[_times(some, shared)]
        rotate(normalise(asking, weights.q_norm, facts, asking), turn, asking)
        new_k = new_kv[0][some]
        rotate(normalise(new_k, weights.k_norm, facts, new_k), turn, new_k)
        if earlier is not None:
            for whole, known, new in zip((k, v), earlier.own_kv, new_kv, strict=True):
                join(known[some], new[some], scoring.first, whole[some])

    def mix_heads(some: slice) -> Float32:
        """[query, d_model]: what query heads add by W_O to the result."""
        mix(q, k, v, scoring, some, z, pattern)
        return contribution(merged, weights.o, _times(some, q.shape[2]), attn_out)

    asks = effort(x, weights.q) + effort(source, weights.k, weights.v)
    mixes = effort(merged, weights.o) + 2 * q.size * k.shape[1]
    if is_even(facts.kv_heads, asks + mixes):

        def all_of_heads(some: slice) -> Float32:
            project_features(_times(some, facts.d_head))
            place_heads(some)
            return mix_heads(_times(some, shared))

        parts = each(all_of_heads, facts.kv_heads, asks + mixes)
    else:
        each(project_features, made_k.shape[1], asks)
        place_heads(slice(0, facts.kv_heads))
        parts = each(mix_heads, facts.heads, mixes)
    attn_out = normalise(total(parts, weights.o), weights.after, facts, attn_out)
    if earlier is not None:
        q = joined(earlier.q, q, scoring.first)  # [head, pos, d_head]
        attn_out = joined(earlier.attn_out, attn_out, scoring.first)  # [pos, d_model]
    made = cells(q, k, v, scoring, kept)
    if pattern is not None:
        made["pattern"] = pattern
    return AttentionTrace(q=q, attn_out=attn_out, own_kv=(k, v), **made)


def split_heads(x: Float32, heads: int) -> Float32:
    """[pos, head * d_head] -> [head, pos, d_head]"""
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def _times(some: slice, size: int) -> slice:
    """The same part of what is so many times as many."""
    return slice(some.start * size, some.stop * size)
