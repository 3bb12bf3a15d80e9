"""What a real model expects: the token behind a place, or under a mask, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.checkpoint_model import CheckpointModel
from core.errors import SettingError, choose_from
from core.language import _
from core.transformer_types import Float32
from core.types import AnyModel, Array, Side, Token, Trace

MOST = 10  # tokens of a prediction
_BLOCK = 2**22  # logits that are made at a time


@dataclass(frozen=True, slots=True)
class Candidate:
    """One token of the vocabulary.

    Attributes
    ----------
    token : Token
    probability : float
    rank : int
        From 1: one more than there are tokens with a higher probability.
    """

    token: Token
    probability: float
    rank: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model expects at one place.

    Attributes
    ----------
    position : int
        The token behind which, or the mask under which, a token is predicted.
    follows : bool
        It is the token behind the position, not the one at it.
    top : tuple of Candidate
        The most probable ones, at most `MOST`, in order.
    actual : Candidate, optional
        What stands in the text there, as the vocabulary spells it; None behind the last token.
    vocabulary : int
        How many tokens share the probability of 1.
    """

    position: int
    follows: bool
    top: tuple[Candidate, ...]
    actual: Candidate | None
    vocabulary: int


def no_predictions(model: AnyModel) -> SettingError | None:
    """Why a model predicts nothing; None where it does."""
    if not isinstance(model, CheckpointModel):
        return SettingError(
            _("the seeded model predicts nothing, since its weights are random")
            if model.seed is not None
            else _("given matrices predict nothing"),
            _("open a real model with --model"),
        )
    if not model.predicts:
        return SettingError(
            _("the model {name} has no language head, so it predicts no token").format(
                name=model.name
            ),
            _("open a model that has one"),
        )
    return None


def side_of(trace: Trace) -> Side:
    """The tokens that the language head reads: those of the decoder where there is one."""
    return (trace.decoder or trace.encoder).queries


def read_by_head(trace: Trace) -> Float32 | None:
    """[pos, d_model]: what the language head reads; None where its stack has not run."""
    run, model = trace.run, trace.request.model
    if run is None or (isinstance(model, CheckpointModel) and model.writes and not run.decoder):
        return None
    return run.last.final


def follows(trace: Trace) -> bool:
    """Whether the model predicts the next token; others predict what a mask hides."""
    model = trace.request.model
    assert isinstance(model, CheckpointModel)  # noqa: S101 - no other predicts
    return model.causal or model.writes is not None


def places(trace: Trace) -> Sequence[int]:
    """Where the model predicts something: behind every token, or at the masked ones."""
    tokens = side_of(trace).tokens
    if read_by_head(trace) is None:
        return []
    if follows(trace):
        return range(len(tokens))
    return [index for index, token in enumerate(tokens) if token.hides]


def predicted_at(trace: Trace, attention: str, query: int) -> int | None:
    """The place that a query of an attention is, if the model predicts something there."""
    asks = trace.attentions[attention].queries
    if no_predictions(trace.request.model) or asks is not side_of(trace):
        return None
    return query if query in places(trace) else None


def no_target_to_predict() -> SettingError:
    """Why an encoder–decoder predicts nothing before it has a target."""
    return SettingError(
        _("the decoder predicts the next token of a target, and there is none"),
        _("give one with --target; it may be empty"),
    )


def check_predicts(trace: Trace) -> None:
    """Raise SettingError where a trace has nothing that a language head could read."""
    refused = no_predictions(trace.request.model)
    if refused is None and read_by_head(trace) is None:
        refused = no_target_to_predict()
    if refused is not None:
        raise refused


def check_place(trace: Trace, position: int) -> None:
    """Raise SettingError unless `predict` has something to say of a position."""
    check_predicts(trace)
    tokens = side_of(trace).tokens
    if not 0 <= position < len(tokens):
        raise SettingError(
            _("{name} {value} is out of range").format(name="query", value=position),
            choose_from(0, len(tokens) - 1),
        )
    if position not in places(trace):
        raise SettingError(
            _("token {index} is not masked, so there is nothing to predict").format(index=position),
            _("mask it with --mask-token {index}").format(index=position),
        )


def predict(trace: Trace, position: int) -> Prediction:
    """What the model expects at one place of a trace.

    Raises
    ------
    SettingError
        The model has no language head, there is no such token, or it is not masked.
    ModelError
        The head's numbers are not finite.
    """
    check_place(trace, position)
    return next(predictions(trace, [position]))


def predictions(trace: Trace, positions: Sequence[int]) -> Iterator[Prediction]:
    """`predict` for several positions of `places`; no more logits are made than are asked for."""
    from core.trained import opened

    model, final = trace.request.model, read_by_head(trace)
    assert isinstance(model, CheckpointModel)  # noqa: S101 - as `check_place` says
    assert final is not None  # noqa: S101
    found = opened(model.path)
    step = max(1, _BLOCK // found.vocabulary)
    for start in range(0, len(positions), step):
        part = positions[start : start + step]
        for position, row in zip(part, found.logits_of(final, part), strict=True):
            yield _prediction(trace, position, row, found.writing.token)


def probabilities(logits: Array) -> Array:
    """[vocabulary]: softmax in float64."""
    chances: Array = np.exp(logits.astype(np.float64) - float(logits.max()))
    chances /= chances.sum()
    return chances


def _prediction(
    trace: Trace, position: int, logits: Array, spell: Callable[[int], Token]
) -> Prediction:
    tokens, ahead = side_of(trace).tokens, follows(trace)
    chances = probabilities(logits)

    def candidate(index: int) -> Candidate:
        rank = 1 + int((logits > logits[index]).sum())
        return Candidate(spell(index), float(chances[index]), rank)

    there = position + ahead
    actual = None
    if there < len(tokens):
        actual = candidate((tokens[there].hides or tokens[there]).id)
    top = tuple(map(candidate, _highest(logits, MOST)))
    return Prediction(position, ahead, top, actual, len(logits))


def _highest(values: Array, count: int) -> Sequence[int]:
    """The indexes of the highest values, highest first; of equal ones the first comes first."""
    count = min(count, len(values))
    least = np.partition(values, len(values) - count)[len(values) - count]
    found = np.flatnonzero(values >= least)
    order = np.argsort(-values[found], kind="stable")[:count]
    return [int(index) for index in found[order]]
