"""Requests and places to derive, drawn at random."""

from dataclasses import replace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from core import Edit, Mask, ModelSpec, Request, Switches
from core.edits import with_edit
from core.names import ATTENTIONS

settings.register_profile(
    "derivation", derandomize=True, deadline=None, max_examples=60, database=None
)
DERIVATION = settings.get_profile("derivation")

WORDS = ["a", "b", "the", "我", "カード", "ball", "👩", "|", "`x`", "*"]


@st.composite
def places(draw):
    """A request with every switch drawn, and a layer, head, query, key and attention in it."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=20))
    target = draw(st.none() | st.lists(st.sampled_from(WORDS), min_size=1, max_size=5))
    attention = draw(st.sampled_from(ATTENTIONS[: 3 if target else 1]))
    count, heads = len(words), draw(st.integers(1, 3))
    layers, d_head = draw(st.integers(1, 3)), draw(st.integers(1, 10))
    model = ModelSpec(layers, heads, heads * d_head, draw(st.integers(0, 2**64 - 1)))
    window = draw(st.none() | st.integers(0, count))
    blocked = draw(st.frozensets(st.integers(0, count - 1)))
    switches = Switches(
        Mask(draw(st.booleans()), window, blocked),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.floats(0.05, 20) | st.sampled_from([1e-12, 1e-150, 1e12])),
        draw(st.sampled_from(["seeded", "identity"])),
        draw(st.sampled_from(["softmax", "linear", "none"])),
    )
    switches = replace(switches, edits=draw(edits(switches, model, count)))
    place = (
        draw(st.integers(0, layers - 1)),
        draw(st.integers(0, heads - 1)),
        draw(st.integers(0, (count if attention == "encoder" else len(target)) - 1)),
        draw(st.integers(0, (len(target) if attention == "decoder" else count) - 1)),
        attention,
    )
    told = " ".join(target) if target else None
    return Request(" ".join(words), "spaces", model, switches, target=told), place


VALUES = st.floats(-9, 9) | st.sampled_from([0.0, 1e-9, 123.456])


@st.composite
def edits(draw, switches, model, count):
    """A few numbers typed over, at places that the switches have."""
    limits = {"x": (count, model.d_model)}
    if switches.normalizer != "linear":
        limits["attn_scores"] = (model.layers, model.heads, count, count)
    if switches.projections != "identity":
        for name in ("w_q", "w_k", "w_v"):
            limits[name] = (model.layers, model.d_model, model.d_model)
    made = ()
    for name in draw(st.lists(st.sampled_from(sorted(limits)), max_size=6)):
        place = tuple(draw(st.integers(0, limit - 1)) for limit in limits[name])
        made = with_edit(made, Edit(name, place, draw(VALUES)))
    return made


def break_cell(array, *index, by=0.001):
    """A copy of an array of a trace with one number changed."""
    changed = np.array(array)
    changed[index] += by
    return changed
