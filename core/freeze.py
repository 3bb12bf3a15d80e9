"""A trace is what happened: nobody changes its numbers afterwards."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from core.types import LayerTrace, Side, Trace


def frozen(trace: Trace) -> Trace:
    """The trace, its arrays closed to writing."""
    for attention in trace.attentions.values():
        for mask in attention.masks:
            mask.setflags(write=False)
        holders: tuple[Side | LayerTrace, ...] = (attention.queries, *attention.layers)
        for holder in holders:
            for field in fields(holder):
                value = getattr(holder, field.name)
                if isinstance(value, np.ndarray):
                    value.setflags(write=False)
    return trace
