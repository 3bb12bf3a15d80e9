"""The one forward pass of real models, in float32: families differ by facts, not by code.

Vaswani et al. 2017, "Attention is all you need", with what came after it: pre- and post-norm
(Xiong et al. 2020), RMSNorm (Zhang and Sennrich 2019), rotary positions (Su et al. 2021), grouped
key/value heads (Ainslie et al. 2023), gated MLPs (Shazeer 2020), relative biases (Raffel et al.
2020), parallel blocks (Wang and Komatsuzaki 2021), soft-capping and norms around both sides
(Gemma Team 2024). `core.transformer_types` has the facts, the weights and what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from core.heads import attend
from core.lazy import KeptHeads, RowArray
from core.norms import added, apply_norm
from core.parallel import each
from core.positions import position_rows, relative_bias, rotation, sinusoids
from core.progress import LAYERS, READING, step
from core.projections import contribution, effort, project, project_some, total
from core.reuse import Joined, common_start, join, new_rows
from core.room import columns, lent, room
from core.scores import layer_mask
from core.transformer_types import (
    BlockTrace,
    BlockWeights,
    BoolArray,
    Facts,
    Float32,
    HeadWeights,
    MlpWeights,
    Scoring,
    StackPart,
    StackTrace,
    StackWeights,
)

_VOCABULARY_BLOCK = 16384  # rows of the unembedding that are made float32 at a time


@room()
def run_stack(
    facts: Facts,
    weights: StackWeights,
    ids: Sequence[int],
    blocked: frozenset[int] = frozenset(),
    memory: Float32 | None = None,
    memory_blocked: frozenset[int] = frozenset(),
    earlier: StackTrace | None = None,
    keep_patterns: bool = False,
    so_far: Callable[[StackPart], None] | None = None,
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
    earlier : StackTrace, optional
        Of the same causal stack: what its tokens have in common with these at the start is taken
        over, see `common_start`, and only the rest is run.
    keep_patterns : bool
        Keep all patterns, for who will look at all of them; they are not made twice then.
    so_far : function, optional
        Called behind every layer but the last with the layers that have run.

    Returns
    -------
    StackTrace
        All arrays are float32.

    Raises
    ------
    ModelError
        A layer's numbers are not finite; the message names it, and the tensor if it is a weight.
    Cancelled
        Whoever watches wants no more of it.
    """
    count, first = len(ids), 0
    if earlier is not None:
        first = common_start(facts, earlier, ids, blocked)
        earlier = earlier if first else None
    by_window = {layer.window: layer for layer in facts.layers}
    masks = {window: layer_mask(count, facts, by_window[window], blocked) for window in by_window}
    rotaries = {layer.rotary for layer in facts.layers}
    rotations = {rotary: rotation(count, rotary, first) for rotary in rotaries}
    scorings = _own_scorings(facts, weights, masks, count, first, keep_patterns)
    crossings = _cross_scorings(facts, memory, memory_blocked, count, keep_patterns)

    with np.errstate(all="ignore"):  # weights.check says it in words
        embed, pos_embed, x = embed_tokens(facts, weights, ids, blocked)  # [pos, d_model]
    weights.check(x, None)
    entering: RowArray = x  # [pos, d_model]
    blocks: list[BlockTrace] = []
    kept = KeptHeads()
    for index, layer in enumerate(facts.layers):
        step(LAYERS if weights.has_block(index) else READING, index, len(facts.layers))
        with np.errstate(all="ignore"):  # weights.check says it in words
            block = run_block(
                entering,
                weights.block(index),
                facts,
                scorings[index],
                rotations[layer.rotary],
                kept,
                memory,
                crossings[index],
                None if earlier is None else earlier.blocks[index],
            )
        entering = block.resid_post  # [pos, d_model]
        x = new_rows(entering, first)  # [new, d_model]
        weights.check(x, index)
        blocks.append(block)
        if so_far is not None and len(blocks) < len(facts.layers):
            so_far(StackPart(tuple(ids), blocked, embed, pos_embed, masks, tuple(blocks)))
    with np.errstate(all="ignore"):  # weights.check says it in words
        final = apply_norm(x, weights.final, facts)  # [new, d_model]
    if weights.final is not None:
        weights.check(final, len(facts.layers))
    if earlier is not None:
        room_for_all = columns(count, facts.d_model)
        final = join(earlier.final, final, first, room_for_all)  # [pos, d_model]
    return StackTrace(tuple(ids), blocked, embed, pos_embed, masks, tuple(blocks), final)


def _own_scorings(
    facts: Facts,
    weights: StackWeights,
    masks: Mapping[int | None, BoolArray | None],
    count: int,
    first: int,
    keep: bool,
) -> list[Scoring]:
    """How every layer's self-attention scores; `masks` are those of each window."""
    bias = None
    if facts.relative is not None and weights.relative is not None:
        bias = relative_bias(count, facts.relative, weights.relative)  # [head, query, key]
    return [
        Scoring(layer.scale, facts.softcap, masks[layer.window], bias, first, keep)
        for layer in facts.layers
    ]


def _cross_scorings(
    facts: Facts, memory: Float32 | None, blocked: frozenset[int], count: int, keep: bool
) -> list[Scoring]:
    """How every layer's cross-attention scores: all of `memory` but what is `blocked`."""
    mask = None
    if memory is not None and blocked:
        mask = np.ones((count, len(memory)), dtype=np.bool_)  # [query, key]
        mask[:, sorted(blocked)] = False
    return [Scoring(layer.scale, facts.softcap, mask, keep=keep) for layer in facts.layers]


def run_block(
    entering: RowArray,
    weights: BlockWeights[Float32],
    facts: Facts,
    scoring: Scoring,
    turn: tuple[Float32, Float32] | None,
    kept: KeptHeads,
    memory: Float32 | None = None,
    cross_scoring: Scoring | None = None,
    earlier: BlockTrace | None = None,
) -> BlockTrace:
    """One layer: attention, in a decoder attention to `memory`, MLP; each added to what entered.

    The norms decide where a family normalises: `before` a part (pre-norm), `after` it (Gemma 2),
    `at_sum` (post-norm, BERT). A part without one of them skips it. Rows before `scoring.first`
    are those of `earlier`.
    """
    own, x = weights.attention, new_rows(entering, scoring.first)  # [new, d_model]
    room_to_enter = lent("entered", *x.shape)
    entered = apply_norm(x, own.before, facts, room_to_enter)  # [new, d_model]
    a = attend(entered, entered, own, facts, scoring, turn, kept, earlier)
    attn_out = new_rows(a.attn_out, scoring.first)  # [new, d_model]
    # Kept where cross-attention asks from it.
    room_between = lent("resid_mid", *x.shape) if weights.cross is None else columns(*x.shape)
    resid_mid = added(x, attn_out, own.at_sum, facts, room_between)  # [new, d_model]

    cross, attended = None, resid_mid  # [new, d_model]
    if weights.cross is not None and memory is not None and cross_scoring is not None:
        entered = apply_norm(resid_mid, weights.cross.before, facts, room_to_enter)
        cross = attend(entered, memory, weights.cross, facts, cross_scoring, None, kept)
        room_between = lent("attended", *x.shape)
        crossed = new_rows(cross.attn_out, 0)  # [new, d_model]
        attended = added(resid_mid, crossed, weights.cross.at_sum, facts, room_between)

    mlp = weights.mlp
    entered = apply_norm(x if facts.parallel else attended, mlp.before, facts, room_to_enter)
    mlp_out = feed_forward(entered, mlp, facts)  # [new, d_model]
    mlp_out = apply_norm(mlp_out, mlp.after, facts, mlp_out)
    leaving = added(attended, mlp_out, mlp.at_sum, facts, columns(*x.shape))  # [new, d_model]
    resid_post: RowArray = leaving  # [pos, d_model]
    if earlier is not None:
        resid_post = Joined(earlier.resid_post, leaving, scoring.first)
    return BlockTrace(
        a.q, a.k, a.v, a.dot, a.attn_scores, a.pattern, a.z, a.attn_out, a.own_kv,
        entering, cross, None if cross is None else resid_mid, resid_post,
    )  # fmt: skip


def embed_tokens(
    facts: Facts, weights: StackWeights, ids: Sequence[int], blocked: frozenset[int]
) -> tuple[Float32, Float32 | None, Float32]:
    """Rows of the embedding [pos, d_embed], of the positions, and what enters layer 0."""
    parts = weights.embedding
    embed = weights.rows(ids)  # [pos, d_embed]
    if facts.embedding_scale != 1:
        embed *= np.float32(facts.embedding_scale)
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
    x = apply_norm(np.asfortranarray(x), parts.norm, facts)
    if parts.project_out is not None:
        x = project(x, parts.project_out)  # [pos, d_model]
    return embed, pos_embed, x


def feed_forward(x: Float32, weights: MlpWeights[Float32], facts: Facts) -> Float32:
    """[pos, d_model]: act(x · up) · down, or (act(x · gate) × (x · up)) · down."""
    up, gate, down = weights.up, weights.gate, weights.down
    hidden = lent("hidden", len(x), up.weight.shape[1])  # [pos, d_ff]
    raised = hidden if gate is None else lent("raised", *hidden.shape)  # [pos, d_ff]
    mlp_out = lent("mlp_out", len(x), down.weight.shape[1])  # [pos, d_model]

    def raise_features(some: slice) -> None:
        project_some(x, up, some, raised, facts.activation if gate is None else None)
        if gate is not None:
            project_some(x, gate, some, hidden, facts.activation)
            hidden[:, some] *= raised[:, some]

    def some_features(some: slice) -> Float32:
        raise_features(some)
        return contribution(hidden, down, some, mlp_out)

    work = effort(x, up) if gate is None else effort(x, up, gate)
    if len(x) == 1:  # most of it is reading weights, and quicker a whole row of them at a time
        each(raise_features, hidden.shape[1], work)
        return project(hidden, down, out=mlp_out)
    return total(each(some_features, hidden.shape[1], work + effort(x, down)), down)


def logits(
    facts: Facts, head: HeadWeights, final: Float32, positions: Sequence[int] | None = None
) -> Float32:
    """What the language head predicts at some positions (None: all): [position, vocabulary]."""
    x = final if positions is None else final[list(positions)]  # [position, d_model]
    parts = head.parts
    if parts.project is not None:
        x = project(x, parts.project, facts.head_activation)
    x = apply_norm(x, parts.norm, facts) * np.float32(facts.head_scale)
    out = np.empty((len(x), head.count), dtype=np.float32)
    for start in range(0, head.count, _VOCABULARY_BLOCK):
        block = head.rows(start, min(start + _VOCABULARY_BLOCK, head.count))  # [rows, d_embed]
        np.matmul(x, block.T, out=out[:, start : start + len(block)])
    if parts.bias is not None:
        out += parts.bias.reshape(-1)
    if facts.head_softcap is not None:
        out = np.tanh(out / np.float32(facts.head_softcap)) * np.float32(facts.head_softcap)
    return out
