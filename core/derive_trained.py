"""How one weight of a real model comes about, from the q, k and v of its trace on.

What makes these has thousands of terms, norms and turned positions; `core.derivation.Made` says
which. Everything behind them is worked out again as `core.derive` does for the seeded model.
"""

from __future__ import annotations

import math

import numpy as np

from core.checkpoint_model import CheckpointModel
from core.checkpoints.plan import StackPlan
from core.checkpoints.weights import Weights
from core.derivation import Derivation, Dot, Made, MaskRow, Mix, Output, Scale, Sum, Vector
from core.derive import floats, normalize, times
from core.positions import relative_bias
from core.trained import opened
from core.types import Array, LayerTrace, Trace


def derive_trained(
    trace: Trace, layer: int, head: int, query: int, key: int, attention: str, component: int
) -> Derivation:
    """`core.derive.derive` for a real model, whose numbers it has checked."""
    model, part = trace.request.model, trace.attentions[attention]
    assert isinstance(model, CheckpointModel)  # noqa: S101 - as the caller knows
    plan, weights = opened(model.path).stack_of(attention)
    arrays = part.layers[layer]
    dot = _dot(arrays, head, query, key)
    bias = None
    if plan.relative is not None and attention != "cross":
        bias = _bias(plan, weights, head, query, len(part.keys.tokens))
    scale = _scale(dot, key, plan, layer, bias)
    mask = MaskRow(tuple(part.masks[layer][query].tolist()))
    row = normalize(arrays.k[head], dot, scale, mask, key, "softmax")
    z = _mix(np.asarray(arrays.v[head], np.float64), np.array(row.weights))
    return Derivation(
        attention=attention,
        layer=layer,
        head=head,
        query=query,
        key=key,
        component=component % len(z.total),
        dot=dot,
        scale=scale,
        mask=mask,
        softmax=row,
        z=z,
        output=_output(arrays, plan, weights, layer, head, query, z.total, attention, component),
        made=_made(plan, layer, attention),
    )


def _dot(arrays: LayerTrace, head: int, query: int, key: int) -> Dot:
    """As for the seeded model; texts are long, so the row is made at once: products, then sums."""
    q, keys = np.asarray(arrays.q[head, query], np.float64), np.asarray(arrays.k[head], np.float64)
    products = tuple((q * keys[key]).tolist())
    row = floats((keys * q).sum(axis=1))
    total = math.fsum(products)
    row = (*row[:key], total, *row[key + 1 :])
    return Dot(floats(q), floats(keys[key]), Sum(products, total), row)


def _mix(values: Array, weights: Array) -> Mix:
    """At once too: weight times v, added up over the keys."""
    terms = weights[:, None] * values
    return Mix(tuple(map(floats, values)), tuple(map(floats, terms)), floats(terms.sum(axis=0)))


def _made(plan: StackPlan, layer: int, attention: str) -> Made:
    block, facts = plan.blocks[layer], plan.facts
    own = block.attention if attention != "cross" or block.cross is None else block.cross
    return Made(
        normed=own.before is not None,
        biased=own.q.bias is not None,
        head_norms=own.q_norm is not None,
        turned=facts.layers[layer].rotary is not None and attention != "cross",
        shared=facts.heads // facts.kv_heads,
        after=own.after is not None,
    )


def _bias(plan: StackPlan, weights: Weights, head: int, query: int, count: int) -> Vector | None:
    """What a relative bias adds to the scores of a query."""
    relative, table = plan.facts.relative, weights.relative
    if relative is None or table is None:
        return None
    return floats(relative_bias(count, relative, table[:, head : head + 1])[0, query])


def _scale(dot: Dot, key: int, plan: StackPlan, layer: int, bias: Vector | None) -> Scale:
    facts = plan.facts
    # In the float32 that the model takes; 1/√d_head has no end in either.
    divisor = 1.0 / float(np.float32(facts.layers[layer].scale))
    divided = [value / divisor for value in dot.row]
    cap = facts.softcap
    capped = divided if cap is None else [cap * math.tanh(value / cap) for value in divided]
    row = capped if bias is None else [a + b for a, b in zip(capped, bias, strict=True)]
    return Scale(
        temperature=1.0,
        divisor=divisor,
        divided=divided[key],
        score=row[key],
        row=tuple(row),
        softcap=cap,
        capped=capped[key],
        bias=bias,
    )


def _output(
    arrays: LayerTrace,
    plan: StackPlan,
    weights: Weights,
    layer: int,
    head: int,
    query: int,
    z: Vector,
    attention: str,
    component: int,
) -> Output | None:
    """The heads merged, times W_O; None where a norm follows or the matrix is not kept."""
    block = weights.at_hand(layer)
    if block is None:
        return None
    own = block.attention if attention != "cross" or block.cross is None else block.cross
    if own.after is not None:
        return None
    rows = [floats(row) for row in arrays.z[:, query]]
    rows[head] = z
    merged = tuple(x for row in rows for x in row)
    w_o = own.o.weight
    index = component % w_o.shape[1]
    terms, sums = times(merged, w_o, index)
    bias = None if own.o.bias is None else floats(own.o.bias)
    attn_out = sums if bias is None else tuple(map(sum, zip(sums, bias, strict=True)))
    return Output(merged, w_o, index, terms, attn_out, None, bias)
