"""What the heads of a layer do with a text, in numbers, and a word for each head.

A statistic is a mean over rows of the pattern. A row counts where its weight could have gone
elsewhere: it may attend to some key that is meant and to some key that is not. So the first row
under a causal mask, which has one key, counts nowhere, and neither do rows of padding. A statistic
for which no row counts is undefined (None), not 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from core.explain import BAND, entropy_bits
from core.lazy import HeadArray
from core.names import STATISTICS
from core.types import Array, Attention, BoolArray, Tokens, Trace

if TYPE_CHECKING:
    from core.reading import Read

# A badge is a statistic that holds more than half of the weight of its rows, of which there are a
# few; else it says how evenly the weight is spread.
MOST = 0.5
LEAST_ROWS = 2
BROAD = 0.9
FOCUSED = 0.5
_REPEATS = ("induction", "duplicate")
_PLACES = ("previous", "next", "self", "first")


# Queries, and a key for each.
Pairs: TypeAlias = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


class HeadFacts(NamedTuple):
    """What one head does.

    Attributes
    ----------
    layer, head : int
    values : mapping of str to float or None
        Each of `STATISTICS`.
    badge : str, optional
        One of `core.names.BADGES`; None where no row has a choice, or nothing normalises.
    number : float, optional
        The statistic behind the badge.
    """

    layer: int
    head: int
    values: Mapping[str, float | None]
    badge: str | None
    number: float | None


@dataclass(frozen=True, eq=False, slots=True)
class Meant:
    """Which keys a statistic means for which queries, the same in every layer.

    Attributes
    ----------
    pairs : mapping of str to (ndarray [pair], ndarray [pair])
        By statistic: queries and their keys.
    counted : ndarray [query] of bool
        Which rows are no padding.
    """

    pairs: Mapping[str, Pairs]
    counted: BoolArray


def meant(attention: Attention, read: Read | None = None) -> Meant:
    """Which keys each statistic means.

    ``first`` is the first key that is no padding, ``special`` those that the tokenizer added.
    ``previous``, ``self`` and ``next`` are the keys just before the query, at it and just after it.
    ``duplicate`` are the earlier occurrences of the query's token (Wang et al. 2022,
    "Interpretability in the wild", section 3), ``induction`` the tokens after those (Elhage et al.
    2021, "A mathematical framework for transformer circuits"; the prefix matching score of Olsson
    et al. 2022, "In-context learning and induction heads"). Of these two, the first key, the query
    and its neighbours are left out: a head that goes by places would attend to them too.

    In cross-attention, where queries and keys are of two texts, only ``first`` and ``special`` mean
    anything.

    Parameters
    ----------
    attention : Attention
    read : Read, optional
        A layer of it as patterns are read: of words, where they are merged.
    """
    queries, keys = attention.queries.tokens, attention.keys.tokens
    ids = _ids(queries, read)
    if read is not None:
        queries, keys = read.queries, read.keys
    everyone = np.arange(len(queries))
    first = next((i for i in range(len(keys)) if i not in keys.padding), 0)
    special = [i for i, token in enumerate(keys) if token.special and i not in keys.padding]
    pairs: dict[str, Pairs] = {
        "first": (everyone, np.full(len(queries), first)),
        "special": (np.repeat(everyone, len(special)), np.tile(special, len(queries)).astype(int)),
    }
    if attention.queries is attention.keys:
        pairs["self"] = everyone, everyone
        pairs["previous"] = everyone[1:], everyone[:-1]
        pairs["next"] = everyone[:-1], everyone[1:]
        earlier, later = _repeats(ids)
        for name, target in (("duplicate", earlier), ("induction", earlier + 1)):
            far = (target != first) & (target < later - 1)
            pairs[name] = later[far], target[far]
    return Meant(pairs, np.array([i not in queries.padding for i in range(len(queries))]))


def _ids(tokens: Tokens, read: Read | None) -> list[tuple[int, ...]]:
    """What tells tokens apart; of a word the ids of its tokens."""
    words = [range(i, i + 1) for i in range(len(tokens))]
    if read is not None and read.query_words is not None:
        words = list(read.query_words)
    return [tuple(tokens[i].id for i in word) for word in words]


def _repeats(ids: Sequence[Hashable]) -> Pairs:
    """Each place of an earlier occurrence of the same id, and the later place; by the latter."""
    places: dict[Hashable, list[int]] = {}
    earlier: list[int] = []
    later: list[int] = []
    for place, each in enumerate(ids):
        before = places.setdefault(each, [])
        earlier += before
        later += [place] * len(before)
        before.append(place)
    return np.array(earlier, dtype=int), np.array(later, dtype=int)


@dataclass(frozen=True, eq=False, slots=True)
class CountedRows:
    """What a layer's mask leaves of what is meant.

    Attributes
    ----------
    pairs : mapping of str to (ndarray [pair], ndarray [pair])
        Of the rows that count, in the order of queries.
    counts : mapping of str to int
        How many rows count.
    spread : ndarray [query] of bool
        Rows that may attend to two keys or more.
    most : ndarray [query]
        Their largest entropy, log2 of the number of keys allowed; else 1.
    """

    pairs: Mapping[str, Pairs]
    counts: Mapping[str, int]
    spread: BoolArray
    most: Array


def counted_rows(about: Meant, mask: BoolArray) -> CountedRows:
    """The rows that count under a mask [query, key]."""
    choices = mask.sum(axis=1)
    pairs, counts = {}, {}
    for name, (queries, keys) in about.pairs.items():
        allowed = mask[queries, keys]
        queries, keys = queries[allowed], keys[allowed]
        on_target = np.bincount(queries, minlength=len(mask))
        rows = (on_target > 0) & (on_target < choices) & about.counted
        kept = rows[queries]
        pairs[name], counts[name] = (queries[kept], keys[kept]), int(rows.sum())
    spread = (choices > 1) & about.counted
    return CountedRows(pairs, counts, spread, np.log2(np.where(spread, choices, 2)))


def head_facts(pattern: HeadArray | Read, layer: int, head: int, rows: CountedRows) -> HeadFacts:
    """The facts of a head, some rows at a time.

    Evenness is Pielou's (1966, "The measurement of diversity in different types of biological
    collections"): 0 for all weight on one key, 1 for weight spread evenly.

    Parameters
    ----------
    pattern : ndarray [head, query, key], or one that is made as it is looked at or read
    layer, head : int
    rows : CountedRows
        Of the layer's mask.
    """
    sums = dict.fromkeys(STATISTICS, 0.0)
    for start in range(0, len(rows.spread), BAND):
        part = pattern[head, start : start + BAND]
        for name, (queries, keys) in rows.pairs.items():
            first, last = np.searchsorted(queries, (start, start + BAND))
            weights = part[queries[first:last] - start, keys[first:last]]
            sums[name] += float(weights.sum(dtype=np.float64))
        chosen = rows.spread[start : start + BAND]
        bits = entropy_bits(part[chosen])
        sums["entropy"] += float(bits.sum(dtype=np.float64))
        sums["evenness"] += float((bits / rows.most[start : start + BAND][chosen]).sum())
    counts = {**rows.counts, **dict.fromkeys(("entropy", "evenness"), int(rows.spread.sum()))}
    values = {name: sums[name] / counts[name] if counts.get(name) else None for name in STATISTICS}
    return HeadFacts(layer, head, values, *badge(values, counts))


def layer_facts(
    trace: Trace, attention: Attention, layer: int, about: Meant, read: Read | None = None
) -> list[HeadFacts]:
    """The facts of every head of a layer of one of a trace's attentions, or of what is read of it:
    there a key that is dropped cannot be attended to.
    """
    pattern = attention.layers[layer].pattern if read is None else read
    if not normalises(trace):
        return [unmeasured(layer, head) for head in range(len(pattern))]
    rows = counted_rows(about, attention.masks[layer] if read is None else read.kept)
    return [head_facts(pattern, layer, head, rows) for head in range(len(pattern))]


def normalises(trace: Trace) -> bool:
    """Whether weights are shares of a row; the scores themselves are no shares of anything."""
    return trace.request.switches.normalizer != "none"


def unmeasured(layer: int, head: int) -> HeadFacts:
    """The facts of a head of which nothing is defined."""
    return HeadFacts(layer, head, dict.fromkeys(STATISTICS), None, None)


def badge(
    values: Mapping[str, float | None], rows: Mapping[str, int]
) -> tuple[str | None, float | None]:
    """The word for a head, and the number behind it.

    A statistic with `MOST` of the weight over `LEAST_ROWS` rows or more gives its name. Repeated
    tokens come first, since they say the most; then places; then special tokens, among which the
    first token may be; of several the largest. Else evenness says ``broad`` from `BROAD` on,
    ``focused`` up to `FOCUSED`, and ``mixed`` between.
    """
    for names in (_REPEATS, _PLACES, ("special",)):
        strong = {
            name: value
            for name in names
            if (value := values[name]) is not None and value >= MOST and rows[name] >= LEAST_ROWS
        }
        if strong:
            name = max(strong, key=lambda each: strong[each])
            return name, strong[name]
    evenness = values["evenness"]
    if evenness is None:
        return None, None
    word = "broad" if evenness >= BROAD else "focused" if evenness <= FOCUSED else "mixed"
    return word, evenness
