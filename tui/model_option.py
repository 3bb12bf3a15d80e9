"""What ``--model`` means, and what does not go with it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from core.language import N_, _

if TYPE_CHECKING:
    from core.types import CheckpointModel

_OWN = N_("a real model brings its own")
_TRAINED = N_("trained weights go with the attention that they were trained in")
_LEARNED = N_("wishes are learned by the seeded model alone")
# Why, and the names of the parameters that are refused for it.
_REFUSED = (
    (_OWN, ("tokenizer", "as_saved", "d_model", "heads", "layers", "seed")),
    (_TRAINED, ("mask", "positions", "scale", "temperature", "projections", "normalizer")),
    (N_("numbers are typed over in the seeded model alone"), ("edits",)),
    (_LEARNED, ("wishes", "steps", "rate", "learn_head")),
)
_OPTIONS = {"edits": "set", "wishes": "wish"}


def model_at(path: str, given: Iterable[str]) -> CheckpointModel:
    """The model that ``--model`` names.

    Parameters
    ----------
    path : str
    given : iterable of str
        Names of the parameters on the command line.

    Raises
    ------
    UsageError
        One of them does not go with a real model.
    ModelError
        It cannot be opened, or not be downloaded.
    """
    found = set(given)
    for reason, names in _REFUSED:
        for name in found.intersection(names):
            option = _OPTIONS.get(name, name).replace("_", "-")
            said = _("--{option} does not go with --model: {reason}")
            raise click.UsageError(said.format(option=option, reason=_(reason)))

    model = named_model(path)
    if model.writes is None:
        for option in sorted(found.intersection(("attention", "target"))):
            said = _("--{option} does not go with {name} ({family}), which is no encoder–decoder")
            raise click.UsageError(said.format(option=option, name=model.name, family=model.family))
    return model


def named_model(path: str) -> CheckpointModel:
    """The model at a path, that “attn-tui models” lists by a name, or of the hub.

    Raises
    ------
    ModelError
        There is none, or it cannot be opened.
    """
    from core.found_models import model_path
    from core.trained import describe
    from tui.traced import note

    model = describe(str(model_path(path, lambda said: note([said]))))
    return model if os.path.exists(path) else replace(model, asked=path)
