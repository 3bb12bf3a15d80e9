"""Attention on real text, in NumPy: a request in, one immutable trace out.

>>> from core import Request, run
>>> run(Request("The ball is blue")).layers[0].pattern.shape
(4, 4, 4)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "AttnError": "core.errors",
    "Attention": "core.types",
    "CheckpointModel": "core.checkpoint_model",
    "Edit": "core.types",
    "GivenModel": "core.types",
    "LayerTrace": "core.types",
    "Learning": "core.learning_types",
    "Mask": "core.types",
    "Model": "core.checkpoints.model",
    "ModelSpec": "core.types",
    "Reading": "core.reading",
    "Request": "core.types",
    "Switches": "core.types",
    "Token": "core.types",
    "Tokens": "core.types",
    "Trace": "core.types",
    "Wish": "core.learning_types",
    "label": "core.text",
    "model_path": "core.found_models",
    "open_model": "core.checkpoints.model",
    "read_layer": "core.reading",
    "run": "core.runner",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    # Lazily, so that `import core` costs nothing and pulls in no NumPy.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
