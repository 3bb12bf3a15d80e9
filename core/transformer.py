"""The one forward pass of real models, in float32: families differ by facts, not by code.

Vaswani et al. 2017, "Attention is all you need", with what came after it: pre- and post-norm
(Xiong et al. 2020), RMSNorm (Zhang and Sennrich 2019), rotary positions (Su et al. 2021), grouped
key/value heads (Ainslie et al. 2023), gated MLPs (Shazeer 2020), relative biases (Raffel et al.
2020), parallel blocks (Wang and Komatsuzaki 2021), soft-capping and norms around both sides
(Gemma Team 2024). `core.transformer_types` has the facts, the weights and what comes out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.activations import ACTIVATIONS
from core.parallel import each
from core.positions import position_rows, relative_bias, rotate, rotation, sinusoids
from core.transformer_types import (
    AttentionTrace,
    AttentionWeights,
    BlockTrace,
    BlockWeights,
    BoolArray,
    Facts,
    Float32,
    HeadWeights,
    LayerFacts,
    Linear,
    MlpWeights,
    Norm,
    StackTrace,
    StackWeights,
)

_BLOCK = 2**18  # scores that are worked on at a time, so that they stay in a processor's cache
_VOCABULARY_BLOCK = 16384  # rows of the unembedding that are made float32 at a time


def run_stack(
    facts: Facts,
    weights: StackWeights,
    ids: Sequence[int],
    blocked: frozenset[int] = frozenset(),
    memory: Float32 | None = None,
    memory_blocked: frozenset[int] = frozenset(),
    keep_dot: bool = False,
) -> StackTrace:
    """Run one stack, an encoder or a decoder, over token ids.

    Parameters
    ----------
    facts : Facts
    weights : StackWeights
    ids : sequence of int
    blocked : frozenset of int
        Positions that no query may attend to, like padding.
    memory : ndarray [source, d_model], optional
        What an encoder made, for the cross-attention of a decoder.
    memory_blocked : frozenset of int
        Positions of `memory` that no query may attend to.
    keep_dot : bool
        Keep q·k as well; it takes as much room as the scores.

    Returns
    -------
    StackTrace
        All arrays are float32.

    Raises
    ------
    ModelError
        A layer's numbers are not finite; the message names it, and the tensor if it is a weight.
    """
    count = len(ids)
    masks = {layer.window: build_mask(count, facts, layer, blocked) for layer in facts.layers}
    rotations = {layer.rotary: rotation(count, layer.rotary) for layer in facts.layers}
    cross_mask = None
    if memory is not None and memory_blocked:
        cross_mask = np.ones((count, len(memory)), dtype=np.bool_)
        cross_mask[:, sorted(memory_blocked)] = False
    bias = None
    if facts.relative is not None and weights.relative is not None:
        bias = relative_bias(count, facts.relative, weights.relative)  # [head, query, key]

    with np.errstate(all="ignore"):  # weights.check says it in words
        embed, pos_embed, x = embed_tokens(facts, weights, ids, blocked)  # [pos, d_model]
    weights.check(x, None)
    blocks = []
    for index, layer in enumerate(facts.layers):
        with np.errstate(all="ignore"):
            block = run_block(
                x,
                weights.block(index),
                facts,
                layer,
                masks[layer.window],
                rotations[layer.rotary],
                bias,
                memory,
                cross_mask,
                keep_dot,
            )
        weights.check(block.resid_post, index)
        blocks.append(block)
        x = block.resid_post  # [pos, d_model]
    final = normalise(x, weights.final, facts)  # [pos, d_model]
    return StackTrace(tuple(ids), embed, pos_embed, masks, tuple(blocks), final)


def run_block(
    x: Float32,
    weights: BlockWeights[Float32],
    facts: Facts,
    layer: LayerFacts,
    mask: BoolArray | None,
    turn: tuple[Float32, Float32] | None,
    bias: Float32 | None = None,
    memory: Float32 | None = None,
    cross_mask: BoolArray | None = None,
    keep_dot: bool = False,
) -> BlockTrace:
    """One layer: attention, in a decoder attention to `memory`, MLP; each added to what entered.

    The norms decide where a family normalises: `before` a part (pre-norm), `after` it (Gemma 2),
    `at_sum` (post-norm, BERT). A part without one of them skips it.
    """
    own = weights.attention
    entered = normalise(x, own.before, facts)  # [pos, d_model]
    a = attend(entered, entered, own, facts, layer, mask, turn, bias, keep_dot)
    resid_mid = normalise(x + a.attn_out, own.at_sum, facts)  # [pos, d_model]

    cross = None
    if weights.cross is not None and memory is not None:
        entered = normalise(resid_mid, weights.cross.before, facts)
        cross = attend(
            entered, memory, weights.cross, facts, layer, cross_mask, None, None, keep_dot
        )
        resid_mid = normalise(resid_mid + cross.attn_out, weights.cross.at_sum, facts)

    mlp = weights.mlp
    entered = normalise(x if facts.parallel else resid_mid, mlp.before, facts)
    mlp_out = normalise(feed_forward(entered, mlp, facts), mlp.after, facts)  # [pos, d_model]
    resid_post = normalise(resid_mid + mlp_out, mlp.at_sum, facts)  # [pos, d_model]
    return BlockTrace(
        a.q, a.k, a.v, a.dot, a.attn_scores, a.pattern, a.z, a.attn_out,
        x, cross, resid_mid, mlp_out, resid_post,
    )  # fmt: skip


def attend(
    x: Float32,
    source: Float32,
    weights: AttentionWeights[Float32],
    facts: Facts,
    layer: LayerFacts,
    mask: BoolArray | None,
    turn: tuple[Float32, Float32] | None,
    bias: Float32 | None,
    keep_dot: bool = False,
) -> AttentionTrace:
    """Every head of one attention: `x` asks, `source` answers (the same rows in self-attention).

    Parameters
    ----------
    x : ndarray [query, d_model]
    source : ndarray [key, d_model]
    mask : ndarray [query, key] of bool, optional
        True = may be attended; None allows all.
    turn : pair of ndarray [pos, d_rotary / 2], optional
        Cosines and sines of `rotation`.
    bias : ndarray [head, query, key], optional
        Added to the scores.
    """
    q = split_heads(project(x, weights.q), facts.heads)  # [head, query, d_head]
    k = split_heads(project(source, weights.k), facts.kv_heads)  # [kv_head, key, d_head]
    v = split_heads(project(source, weights.v), facts.kv_heads)  # [kv_head, key, d_head]
    q = rotate(normalise(q, weights.q_norm, facts), turn)  # [head, query, d_head]
    k = rotate(normalise(k, weights.k_norm, facts), turn)  # [kv_head, key, d_head]
    shared = facts.heads // facts.kv_heads  # query heads to a key/value head
    if shared > 1:
        k, v = np.repeat(k, shared, axis=0), np.repeat(v, shared, axis=0)  # [head, key, d_head]

    shape = (facts.heads, len(x), len(source))
    dot = np.empty(shape, np.float32) if keep_dot else None  # [head, query, key]
    attn_scores, pattern = np.empty(shape, np.float32), np.empty(shape, np.float32)
    z = np.empty((facts.heads, len(x), facts.d_head), np.float32)  # [head, query, d_head]
    barred = None if mask is None or mask.all() else barrier(mask)

    def some_heads(some: slice) -> None:
        step = max(1, _BLOCK // attn_scores[0].size)
        for start in range(some.start, some.stop, step):
            part = slice(start, min(start + step, some.stop))
            scores = attn_scores[part]  # [head, query, key]
            keys = k[part].transpose(0, 2, 1)  # [head, d_head, key]
            if dot is not None:
                np.matmul(q[part], keys, out=dot[part])
            np.matmul(q[part] * np.float32(layer.scale), keys, out=scores)
            if facts.softcap is not None:
                scores /= np.float32(facts.softcap)
                np.tanh(scores, out=scores)
                scores *= np.float32(facts.softcap)
            if bias is not None:
                scores += bias[part]
            softmax(scores, barred, out=pattern[part])
            np.matmul(pattern[part], v[part], out=z[part])

    each(some_heads, facts.heads, work=attn_scores.size * 2 * facts.d_head)
    merged = z.transpose(1, 0, 2).reshape(len(x), -1)  # [query, head * d_head]
    attn_out = normalise(project(merged, weights.o), weights.after, facts)  # [query, d_model]
    return AttentionTrace(q, k, v, dot, attn_scores, pattern, z, attn_out)


def softmax(scores: Float32, barred: Float32 | None, out: Float32) -> None:
    """[..., query, key], each row over its allowed keys; masked cells and empty rows are 0.

    The row's largest allowed score is subtracted first, so that nothing overflows. The −∞ that
    stands in for a masked cell is in `barred`, see `barrier`, and never in the scores.
    """
    if barred is None:
        np.subtract(scores, scores.max(axis=-1, keepdims=True), out=out)
    else:
        np.add(scores, barred, out=out)
        top = out.max(axis=-1, keepdims=True)
        top[np.isneginf(top)] = 0  # a row without a key: exp(−∞ − 0) = 0
        out -= top
    np.exp(out, out=out)
    total = out.sum(axis=-1, keepdims=True)
    if barred is not None:
        total[total == 0] = 1
    out /= total


def barrier(mask: BoolArray) -> Float32:
    """[query, key]: 0 where a key may be attended to, −∞ where not."""
    return np.where(mask, np.float32(0), np.float32(-np.inf))


def build_mask(
    count: int, facts: Facts, layer: LayerFacts, blocked: frozenset[int]
) -> BoolArray | None:
    """[query, key], True = may be attended; None when every key may be."""
    if not facts.causal and not blocked and layer.window is None:
        return None
    query = np.arange(count)[:, None]
    key = np.arange(count)[None, :]
    allowed = np.ones((count, count), dtype=np.bool_)
    if facts.causal:
        allowed &= key <= query
    if layer.window is not None:  # the query's own position counts
        allowed &= query - key < layer.window
    allowed[:, sorted(blocked)] = False
    return allowed


def embed_tokens(
    facts: Facts, weights: StackWeights, ids: Sequence[int], blocked: frozenset[int]
) -> tuple[Float32, Float32 | None, Float32]:
    """Rows of the embedding [pos, d_embed], of the positions, and what enters layer 0."""
    parts = weights.embedding
    embed = weights.rows(ids) * np.float32(facts.embedding_scale)  # [pos, d_embed]
    x = embed if parts.project_in is None else project(embed, parts.project_in)
    pos_embed = None
    if parts.positions is not None:
        pos_embed = parts.positions[position_rows(facts, ids, blocked)]  # [pos, d_embed]
        x = x + pos_embed
    elif facts.sinusoids:
        pos_embed = sinusoids(len(ids), x.shape[-1])  # [pos, d_embed]
        x = x + pos_embed
    if parts.types is not None:
        x = x + parts.types[0]  # one sentence: all tokens are of type 0
    x = normalise(x, parts.norm, facts)
    if parts.project_out is not None:
        x = project(x, parts.project_out)  # [pos, d_model]
    return embed, pos_embed, x


def feed_forward(x: Float32, weights: MlpWeights[Float32], facts: Facts) -> Float32:
    """[pos, d_model]: act(x · up) · down, or (act(x · gate) × (x · up)) · down."""
    if weights.gate is None:
        hidden = project(x, weights.up, facts.activation)  # [pos, d_ff]
    else:
        hidden = project(x, weights.gate, facts.activation)  # [pos, d_ff]
        hidden *= project(x, weights.up)
    return project(hidden, weights.down)


def logits(
    facts: Facts, head: HeadWeights, final: Float32, positions: Sequence[int] | None = None
) -> Float32:
    """What the language head predicts at some positions (None: all): [position, vocabulary]."""
    x = final if positions is None else final[list(positions)]  # [position, d_model]
    parts = head.parts
    if parts.project is not None:
        x = project(x, parts.project, facts.head_activation)
    x = normalise(x, parts.norm, facts) * np.float32(facts.head_scale)
    out = np.empty((len(x), head.count), dtype=np.float32)
    for start in range(0, head.count, _VOCABULARY_BLOCK):
        block = head.rows(start, min(start + _VOCABULARY_BLOCK, head.count))  # [rows, d_embed]
        np.matmul(x, block.T, out=out[:, start : start + len(block)])
    if parts.bias is not None:
        out += parts.bias.reshape(-1)
    if facts.head_softcap is not None:
        out = np.tanh(out / np.float32(facts.head_softcap)) * np.float32(facts.head_softcap)
    return out


def project(x: Float32, linear: Linear[Float32], activation: str | None = None) -> Float32:
    """[pos, in] -> [pos, out], and the activation of it where one is named."""
    weight, bias = linear.weight, linear.bias
    out = np.empty((len(x), weight.shape[1]), np.float32)

    def some_columns(some: slice) -> None:
        part = out[:, some]
        np.matmul(x, weight[:, some], out=part)
        if bias is not None:
            part += bias[some]
        if activation is not None:
            part[...] = ACTIVATIONS[activation](part)

    each(some_columns, weight.shape[1], work=len(x) * weight.size)
    return out


def normalise(x: Float32, norm: Norm[Float32] | None, facts: Facts) -> Float32:
    """[..., d]: LayerNorm (Ba et al. 2016) or RMSNorm over the last axis; None changes nothing."""
    if norm is None:
        return x
    if facts.norm == "layer":
        x = x - x.mean(axis=-1, keepdims=True)
    size = np.einsum("...i,...i->...", x, x)[..., None] / np.float32(x.shape[-1])
    out: Float32 = x / np.sqrt(size + np.float32(facts.epsilon))
    if norm.gain is not None:
        out *= norm.gain
    if norm.bias is not None:
        out += norm.bias
    return out


def split_heads(x: Float32, heads: int) -> Float32:
    """[pos, head * d_head] -> [head, pos, d_head]"""
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)
