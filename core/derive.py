"""How one weight comes about: every number from the embedding to attn_out, term by term.

A trace is made by NumPy's matrix products. Here the numbers of one query and one key are worked out
again with Python's own floats, so that each term can be shown, and so that the two ways can be
compared. Queries, keys and values are taken from the trace; all that follows is fed by what is
above it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import mul
from typing import Any

import numpy as np

from core.attention import LAYER_NORM_EPSILON, divisor
from core.derivation import (
    Check,
    Derivation,
    Dot,
    MaskRow,
    Mix,
    Normalizer,
    Output,
    Pair,
    Positions,
    Projection,
    Projections,
    Residual,
    Scale,
    Similarity,
    Sum,
    Vector,
    WholeDerivation,
)
from core.edits import switches_of, typed_over
from core.errors import SettingError, choose_from
from core.language import N_, _
from core.names import ATTENTIONS
from core.types import Array, Attention, CheckpointModel, LayerTrace, Switches, Trace

PATTERN_CHECKS = (
    *(N_("rows sum to 1"), N_("masked cells 0"), N_("finite")),
    N_("the row sums to 1"),  # of a real model, whose other rows may not have been made
)


def derive(
    trace: Trace,
    layer: int,
    head: int,
    query: int,
    key: int,
    attention: str = ATTENTIONS[0],
    component: int = 0,
) -> Derivation:
    """Work out one weight and what becomes of it, by plain arithmetic.

    Parameters
    ----------
    trace : Trace
    layer, head, query, key : int
        Counted from 0.
    attention : str
        One of those that the trace has.
    component : int
        The one of q, k, v and attn_out that is worked out term by term; after the last component
        of a shorter vector it begins there anew.

    Raises
    ------
    SettingError
        A number names what is not there.
    """
    _check_place(trace, layer, head, query, key, attention)
    if isinstance(trace.request.model, CheckpointModel):
        from core.derive_trained import derive_trained

        return derive_trained(trace, layer, head, query, key, attention, component)
    part = trace.attentions[attention]
    arrays, switches = part.layers[layer], switches_of(attention, trace.request.switches)
    embedding = Pair(floats(part.queries.embed[query]), floats(part.keys.embed[key]))
    positions = _positions(part, switches, layer, query, key, embedding)
    projections = _projections(arrays, switches, layer, head, positions.resid_pre, component)
    dot = _dot(arrays, head, query, key)
    scale = _scale(dot, key, switches, typed_over(switches, "attn_scores", layer, head, query))
    mask = MaskRow(tuple(part.masks[layer][query].tolist()))
    weights = normalize(arrays.k[head], dot, scale, mask, key, switches.normalizer)
    z = _mix(arrays.v[head], weights.weights)
    ends = layer == len(part.layers) - 1 and attention == list(trace.attentions)[-1]
    resid_pre = None if ends else positions.resid_pre.query
    return WholeDerivation(
        attention=attention,
        layer=layer,
        head=head,
        query=query,
        key=key,
        component=component % trace.request.model.d_head,
        embedding=embedding,
        positions=positions,
        projections=projections,
        dot=dot,
        scale=scale,
        mask=mask,
        softmax=weights,
        z=z,
        output=_output(arrays, head, query, z.total, resid_pre, component),
    )


def _check_place(trace: Trace, layer: int, head: int, query: int, key: int, attention: str) -> None:
    """Raise SettingError unless a trace has such a place."""
    found = trace.attentions
    if attention not in found:
        raise SettingError(
            _("there is no {attention} attention").format(attention=attention),
            _("choose one of {names}").format(names=", ".join(found)),
        )
    part = found[attention]
    for name, value, limit in (
        ("layer", layer, len(part.layers)),
        ("head", head, len(part.layers[0].q)),
        ("query", query, len(part.queries.tokens)),
        ("key", key, len(part.keys.tokens)),
    ):
        if not 0 <= value < limit:
            raise SettingError(
                _("{name} {value} is out of range").format(name=name, value=value),
                choose_from(0, limit - 1),
            )


def feature(x: float) -> float:
    """elu(x) + 1"""
    return x + 1.0 if x > 0 else math.exp(x)


def floats(array: Array) -> Vector:
    return tuple(array.tolist())


def _added(terms: Iterable[float]) -> float:
    """The exact sum, rounded once; infinite, as in NumPy, where it is out of range."""
    terms = tuple(terms)
    try:
        return math.fsum(terms)
    except OverflowError:
        return sum(terms)


def _products(left: Iterable[float], right: Iterable[float]) -> Sum:
    terms = tuple(map(mul, left, right))
    return Sum(terms, _added(terms))


def times(x: Vector, matrix: Array, index: int) -> tuple[Sum, Vector]:
    """Row times matrix: the terms of one component, and all components.

    The others are products and their sums too, but at once: Python takes a tenth of a second for
    the half million of W_O at d_model 768. NumPy's own matrix product has no part in it, since
    that made the trace.
    """
    component = _products(x, matrix[:, index].tolist())
    with np.errstate(over="ignore", invalid="ignore"):  # as in the trace
        sums = (np.array(x)[:, None] * matrix).sum(axis=0).tolist()
    sums[index] = component.total
    return component, tuple(sums)


def _positions(
    part: Attention, switches: Switches, layer: int, query: int, key: int, embedding: Pair
) -> Positions:
    rows = Pair(floats(part.queries.pos_embed[query]), floats(part.keys.pos_embed[key]))
    arrays = part.layers[layer]
    if layer or arrays.source is not None:
        answering = arrays.resid_pre if arrays.source is None else arrays.source
        given = Pair(floats(arrays.resid_pre[query]), floats(answering[key]))
        return Positions(rows, given, added=False)
    typed = typed_over(switches, "x")

    def entering(token: int, embedded: Vector, row: Vector) -> Vector:
        sums = [a + b for a, b in zip(embedded, row, strict=True)]
        for dim in dims(token):
            sums[dim] = typed[token, dim]
        return tuple(sums)

    def dims(token: int) -> tuple[int, ...]:
        return tuple(sorted(dim for place, dim in typed if place == token))

    resid_pre = Pair(
        entering(query, embedding.query, rows.query), entering(key, embedding.key, rows.key)
    )
    return Positions(rows, resid_pre, True, dims(query), dims(key))


def _projections(
    arrays: LayerTrace, switches: Switches, layer: int, head: int, x: Pair, component: int
) -> Projections:
    weights, d_head = arrays.weights, arrays.q.shape[-1]
    columns = range(head * d_head, (head + 1) * d_head)
    index = component % d_head

    def project(vector: Vector, name: str) -> Projection:
        part = getattr(weights, name)[:, columns.start : columns.stop]
        places = typed_over(switches, name, layer)
        typed = tuple(sorted(place for place in places if place[1] in columns))
        return Projection(vector, part, typed, index, *times(vector, part, index))

    return Projections(project(x.query, "w_q"), project(x.key, "w_k"), project(x.key, "w_v"))


def _dot(arrays: LayerTrace, head: int, query: int, key: int) -> Dot:
    q, keys = floats(arrays.q[head, query]), arrays.k[head].tolist()
    row = tuple(_added(map(mul, q, k)) for k in keys)
    return Dot(q, tuple(keys[key]), _products(q, keys[key]), row)


def _scale(dot: Dot, key: int, switches: Switches, typed: Mapping[tuple[int, ...], float]) -> Scale:
    by = divisor(len(dot.q), switches)
    divided = [value / by for value in dot.row]
    row = tuple(typed.get((place,), value) for place, value in enumerate(divided))
    keys = frozenset(place for (place,) in typed)
    return Scale(switches.temperature, by, divided[key], row[key], row, keys)


def normalize(
    keys: Array, dot: Dot, scale: Scale, mask: MaskRow, key: int, name: str
) -> Normalizer:
    top, similarity = None, None
    if name == "softmax":
        top = max((s for s, may in zip(scale.row, mask.allowed, strict=True) if may), default=None)
        full: Iterable[float] = (math.exp(min(s - (top or 0.0), 0.0)) for s in scale.row)
    elif name == "linear":
        q = tuple(map(feature, dot.q))
        similarity = Similarity(q, tuple(map(feature, dot.k)), _products(q, map(feature, dot.k)))
        full = (_added(map(mul, q, map(feature, k))) for k in keys.tolist())
    else:
        full = scale.row
    parts = tuple(part if may else 0.0 for part, may in zip(full, mask.allowed, strict=True))
    total = _added(parts)
    weights = parts if name == "none" or not total > 0 else tuple(part / total for part in parts)
    return Normalizer(name, top, Sum(parts, total), weights, weights[key], similarity)


def _mix(values: Array, weights: Vector) -> Mix:
    v = tuple(map(tuple, values.tolist()))
    terms = tuple(tuple(weight * x for x in row) for weight, row in zip(weights, v, strict=True))
    return Mix(v, terms, tuple(map(_added, zip(*terms, strict=True))))


def _output(
    arrays: LayerTrace,
    head: int,
    query: int,
    z: Vector,
    resid_pre: Vector | None,
    component: int,
) -> Output:
    rows = [floats(row) for row in arrays.z[:, query]]
    rows[head] = z
    merged = tuple(x for row in rows for x in row)
    assert arrays.weights is not None  # noqa: S101 - `derive` refuses real models
    w_o = arrays.weights.w_o
    index = component % w_o.shape[1]
    terms, attn_out = times(merged, w_o, index)
    residual = None if resid_pre is None else _add_and_norm(resid_pre, attn_out)
    return Output(merged, w_o, index, terms, attn_out, residual)


def _add_and_norm(resid_pre: Vector, attn_out: Vector) -> Residual:
    added = tuple(a + b for a, b in zip(resid_pre, attn_out, strict=True))
    mean = _added(added) / len(added)
    variance = _added((x - mean) * (x - mean) for x in added) / len(added)
    spread = math.sqrt(variance + LAYER_NORM_EPSILON)
    return Residual(added, mean, variance, tuple((x - mean) / spread for x in added))


def self_check(trace: Trace, derivation: Derivation) -> tuple[Check, ...]:
    """Check the head that a derivation is about, and the derivation against its trace; of a real
    model the row alone.

    Returns
    -------
    tuple of Check
        First the head's pattern, all its rows: ``rows sum to 1`` (of rows with a key; not without
        a normalizer), ``masked cells 0`` (exactly), ``finite``. Then one for each step of the
        derivation. A difference there is a part of 1 + the size of what was added up, and may be
        as large as `tolerance`.
    """
    part, head, query = trace.attentions[derivation.attention], derivation.head, derivation.query
    arrays, allowed = part.layers[derivation.layer], tolerance(trace)
    row_alone = derivation.made is not None
    some = slice(query, query + 1) if row_alone else slice(None)
    mask = part.masks[derivation.layer][some]
    pattern, dot, scores = (
        np.asarray(array[head, some]) for array in (arrays.pattern, arrays.dot, arrays.attn_scores)
    )
    checks = []
    if derivation.softmax.name != "none":
        sums = pattern[mask.any(axis=1)].sum(axis=-1)
        name = PATTERN_CHECKS[3 if row_alone else 0]
        checks.append(_within(name, np.abs(sums - 1.0), allowed))
    checks.append(_within(PATTERN_CHECKS[1], np.abs(pattern[~mask]), 0.0))
    kept = [getattr(arrays, name)[head] for name in ("q", "k", "v", "z")]
    kept += [pattern, dot, scores, arrays.resid_pre, arrays.attn_out, arrays.resid_post]
    unbounded = [0.0 if np.isfinite(array).all() else math.inf for array in kept]
    checks.append(_within(PATTERN_CHECKS[2], np.array(unbounded), 0.0))
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite fails the check
        return (*checks, *_steps(arrays, derivation, allowed))


def tolerance(trace: Trace) -> float:
    """How far a derivation may be from its trace, as a part of 1 + the size of what is added up."""
    return 1e-5 if isinstance(trace.request.model, CheckpointModel) else 1e-9


def _score_error(dtype: np.dtype[Any]) -> float:
    """The error of a score as a part of its size: a few of the last bits of the trace's floats."""
    return 16 * float(np.finfo(dtype).eps)


def _within(name: str, differences: Array, most: float) -> Check:
    largest = float(differences.max(initial=0.0))
    return Check(name, largest <= most, largest)  # False for a NaN


def _steps(arrays: LayerTrace, derivation: Derivation, allowed: float) -> Iterable[Check]:
    """Compare each step with the trace; sizes grow from step to step as rounding errors can."""
    head, query, key = derivation.head, derivation.query, derivation.key

    def equal(name: str, own: Sequence[float], traced: Array, size: Array) -> Check:
        return _within(name, np.abs(np.array(own) - traced) / (1.0 + size), allowed)

    if isinstance(derivation, WholeDerivation):
        for name, token in (("q", query), ("k", key), ("v", key)):
            made = getattr(derivation.projections, name)
            size = np.abs(made.x) @ np.abs(made.columns)
            yield equal(name, made.vector, getattr(arrays, name)[head, token], size)
    size = np.abs(arrays.k[head]) @ np.abs(derivation.dot.q)
    yield equal("dot", derivation.dot.row, arrays.dot[head, query], size)
    size = size / derivation.scale.divisor
    if derivation.scale.bias is not None:
        size = size + np.abs(derivation.scale.bias)
    yield equal("attn_scores", derivation.scale.row, arrays.attn_scores[head, query], size)
    weights = np.array(derivation.softmax.weights)
    if derivation.softmax.name == "softmax":
        # Softmax turns an error of a score into as large a part of a weight. In float64 it counts
        # only where scores exceed 10^5, at temperatures near 0.
        size = weights + _score_error(arrays.q.dtype) / allowed * size.max()
    elif derivation.softmax.name == "linear":
        size = weights
    yield equal("pattern", weights.tolist(), arrays.pattern[head, query], size)
    size = size @ np.abs(arrays.v[head])
    yield equal("z", derivation.z.total, arrays.z[head, query], size)
    output = derivation.output
    if output is None:
        return
    merged = np.abs(arrays.z[:, query])
    merged[head] = size
    size = merged.reshape(-1) @ np.abs(output.w_o)
    if output.bias is not None:
        size = size + np.abs(output.bias)
    yield equal("attn_out", output.attn_out, arrays.attn_out[query], size)
    residual = output.residual
    if residual is not None:
        size = size / math.sqrt(residual.variance + LAYER_NORM_EPSILON)
        yield equal("resid_post", residual.resid_post, arrays.resid_post[query], size)
