"""What a real model expects, as a table, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from core.errors import SettingError
from core.language import _
from core.predictions import (
    Candidate,
    Prediction,
    check_place,
    check_predicts,
    follows,
    places,
    predictions,
    side_of,
)
from core.text import label
from core.types import Trace
from tui.labels import clip, weight
from tui.predicted import actual_in_words, place_in_words, rest_in_words
from tui.printing.table import HEADER_CELLS, Names, TextRows, facts, folded, token_names

COLUMNS = "query,query_token,rank,token,id,probability,actual"
_BESIDE = 3  # of the expected tokens, where every place has one line
_PLACE_CELLS = 72


def places_to_print(trace: Trace, query: int | None) -> Sequence[int]:
    """One place, or all at which the model predicts something.

    Raises
    ------
    SettingError
        The model predicts nothing, or nothing there.
    """
    check_predicts(trace)
    if query is not None:
        check_place(trace, query)
        return [query]
    if not places(trace):
        raise SettingError(
            _("no token is masked, so there is nothing to predict"),
            _("mask one with --mask-token N"),
        )
    return places(trace)


def predicted_table(
    trace: Trace, shown: Sequence[int], whole: bool, precision: int, width: int | None
) -> Iterator[str]:
    """A line for each place; of a `whole` prediction, which is one, all that is expected."""
    made = predictions(trace, shown)
    yield from facts(trace)
    yield ""
    if whole:
        yield from _one_place(trace, next(made), precision, width)
    else:
        yield from _every_place(trace, shown, made, precision, width)


def _every_place(
    trace: Trace,
    shown: Sequence[int],
    made: Iterator[Prediction],
    precision: int,
    width: int | None,
) -> Iterator[str]:
    names = token_names(side_of(trace).tokens).rows
    ahead = follows(trace)
    yield _("predictions: the token after each") if ahead else _("predictions: the masked tokens")
    columns = [
        _("follows") if ahead else _("hidden"),
        _("probability"),
        _("rank"),
        *(_("expected {n}").format(n=n) for n in range(1, _BESIDE + 1)),
    ]
    rows = []
    for each in made:
        found = ["", "", ""] if each.actual is None else _cells(each.actual, precision)
        best = [f"{_name(one)} {weight(one.probability, precision)}" for one in each.top[:_BESIDE]]
        rows.append(found + best + [""] * (_BESIDE - len(best)))
    beside = [names[place] for place in shown]
    yield from folded(Names(columns, beside), TextRows(columns, rows), width)


def _cells(one: Candidate, precision: int) -> list[str]:
    return [_name(one), weight(one.probability, precision), f"{one.rank:,}"]


def _name(one: Candidate) -> str:
    return clip(label(one.token), HEADER_CELLS)


def _one_place(trace: Trace, made: Prediction, precision: int, width: int | None) -> Iterator[str]:
    tokens = side_of(trace).tokens
    name = token_names(tokens).columns[made.position]
    yield " · ".join(
        [
            _("prediction: what follows {token}").format(token=name)
            if made.follows
            else _("prediction: what {token} could be").format(token=name),
            place_in_words(made, tokens, _PLACE_CELLS),
        ]
    )
    columns = [_("probability"), _("id")]
    rows = [[weight(one.probability, precision), str(one.token.id)] for one in made.top]
    names = [f"{one.rank:>{len(str(len(made.top)))}} {_name(one)}" for one in made.top]
    yield from folded(Names(columns, names), TextRows(columns, rows), width)
    yield rest_in_words(made, precision)
    yield actual_in_words(made, tokens, precision)


def predicted_csv(trace: Trace, shown: Sequence[int]) -> Iterator[str]:
    """A line for each expected token of each place, and one for what stands there."""
    tokens = side_of(trace).tokens
    yield COLUMNS
    for made in predictions(trace, shown):
        listed = [*made.top]
        if made.actual is not None and made.actual not in listed:
            listed.append(made.actual)
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        for one in listed:
            there = int(made.actual is not None and one.token.id == made.actual.token.id)
            place = [made.position, label(tokens[made.position])]
            writer.writerow(
                [*place, one.rank, label(one.token), one.token.id, one.probability, there]
            )
        yield lines.getvalue().removesuffix("\n")


def predicted_json(trace: Trace, shown: Sequence[int]) -> Iterator[dict[str, Any]]:
    """What stands in a JSON document, place after place."""
    for made in predictions(trace, shown):
        yield {
            "query": made.position,
            "predicts": "next" if made.follows else "masked",
            "vocabulary": made.vocabulary,
            "top": [_facts(one) for one in made.top],
            "actual": None if made.actual is None else _facts(made.actual),
        }


def _facts(one: Candidate) -> dict[str, Any]:
    return {
        "rank": one.rank,
        "token": label(one.token),
        "piece": one.token.piece,
        "id": one.token.id,
        "probability": one.probability,
    }
