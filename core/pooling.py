"""A large pattern made small enough to be seen whole, and its strongest pairs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from core.explain import BAND
from core.types import Array, BoolArray

RANKED = 256  # so many pairs of a head are ranked


class Pattern(Protocol):
    """[head, query, key]: a pattern, of which some rows of a head can be picked."""

    def __getitem__(self, place: Any, /) -> Any: ...


# Weights [query, key] of the queries from one on and before another; what was removed of each
# [query], where columns can be cut.
Lines: TypeAlias = Callable[[int, int], tuple[Array, Array | None]]


class Pooled(NamedTuple):
    """A pattern in bins.

    Attributes
    ----------
    values : ndarray [row, column]
        The largest weight of each bin (of scores below 0 too, the largest by size, with its sign)
        or the mean over its pairs that may attend and are not dropped; 0 where there is none.
    allowed : ndarray [row, column] of bool
        Whether some pair of the bin may attend.
    gone : ndarray [row, column] of bool
        Whether all of those are dropped.
    removed : ndarray [row], optional
        Where columns can be cut, the largest share that was removed of a query's row or the mean
        over the queries that may attend to some key.
    """

    values: Array
    allowed: BoolArray
    gone: BoolArray
    removed: Array | None = None


class RankedPair(NamedTuple):
    """A query, a key, and the weight between them."""

    query: int
    key: int
    weight: float


def edges(count: int, bins: int) -> np.ndarray[Any, Any]:
    """Where each of `bins` ranges of about the same size begins, and where the last one ends.

    With as many bins as places or more, each place is a bin.
    """
    bins = max(1, min(bins, count))
    return np.arange(bins + 1) * count // bins


def pooled(
    lines: Lines,
    mask: BoolArray,
    rows: int,
    columns: int,
    how: str,
    dropped: BoolArray | None = None,
) -> Pooled:
    """A head's pattern in at most `rows` × `columns` bins, made one row of bins at a time.

    Parameters
    ----------
    lines : function
    mask : ndarray [query, key] of bool
        True = may be attended; elsewhere the pattern is 0.
    rows, columns : int
    how : str
        One of `core.names.POOLS`.
    dropped : ndarray [key] of bool, optional
        Keys whose columns are dropped, so that a row without any weight has nothing left.
    """
    at, keys = edges(mask.shape[0], rows), edges(mask.shape[1], columns)[:-1]
    values, allowed, counts, shares = [], [], [], []
    for start, stop in pairwise(at.tolist()):
        (part, removed), kept = lines(start, stop), mask[start:stop]
        # Whole rows first, then columns: `reduceat` alone is ten times slower.
        allowed.append(np.add.reduceat(kept.sum(axis=0), keys))
        if dropped is None:
            counts.append(allowed[-1])
        else:
            left = kept[part.any(axis=1)].sum(axis=0)
            counts.append(np.add.reduceat(np.where(dropped, 0, left), keys))
        if how == "mean":
            values.append(np.add.reduceat(part.sum(axis=0, dtype=np.float64), keys))
        else:
            high = np.maximum.reduceat(part.max(axis=0), keys)
            low = np.minimum.reduceat(part.min(axis=0), keys)
            values.append(np.where(-low > high, low, high))
        if removed is not None:
            shares.append(_share(removed, kept, how))
    found, count, some = np.array(values), np.array(counts), np.array(allowed) > 0
    if how == "mean":
        found = found / np.maximum(count, 1)
    return Pooled(found, some, some & (count == 0), np.array(shares) if shares else None)


def _share(removed: Array, kept: BoolArray, how: str) -> float:
    """What was removed of some rows; one that may attend to nothing counts in no mean."""
    if how == "mean":
        return float(removed.sum()) / max(1, int(kept.any(axis=1).sum()))
    return float(removed.max())


def strongest_in(
    pattern: Pattern, head: int, mask: BoolArray, queries: range, keys: range
) -> RankedPair | None:
    """The strongest pair of a bin; None where no pair may attend."""
    rows, columns = slice(queries.start, queries.stop), slice(keys.start, keys.stop)
    found = strongest(pattern[head, rows, columns][None], 0, mask[rows, columns], 1)
    if not found:
        return None
    return RankedPair(queries.start + found[0].query, keys.start + found[0].key, found[0].weight)


def strongest(
    pattern: Pattern, head: int, mask: BoolArray, most: int = RANKED
) -> tuple[RankedPair, ...]:
    """The pairs of largest weight (by size, where weights have signs), the largest first.

    No allowed pair is left out, whatever its tokens are. Of equal weights, the earlier query and
    then the earlier key comes first.

    Parameters
    ----------
    pattern : ndarray [head, query, key], or one that is made as it is looked at
    head : int
    mask : ndarray [query, key] of bool
    most : int
    """
    parts = (pattern[head, start : start + BAND] for start in range(0, len(mask), BAND))
    largest = np.concatenate([np.maximum(part.max(axis=1), -part.min(axis=1)) for part in parts])
    largest[~mask.any(axis=1)] = -1
    # So many rows have a pair that is at least as strong as `least`: no weaker one is among the
    # strongest, and all of those lie in these rows.
    rows = np.sort(np.argsort(-largest, kind="stable")[:most])
    least = max(0, largest[rows].min()) if len(rows) == most else 0
    weights = pattern[head, rows]
    sizes = np.where(mask[rows], np.abs(weights), -1).ravel()
    places = np.flatnonzero(sizes >= least)
    places = places[np.argsort(-sizes[places], kind="stable")][:most]
    at, keys = places // mask.shape[1], places % mask.shape[1]
    found = zip(rows[at].tolist(), keys.tolist(), weights[at, keys].tolist(), strict=True)
    return tuple(RankedPair(*each) for each in found)
