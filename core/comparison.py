"""Two texts side by side: which tokens they share, and how far each row of weights moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from core.progress import COMPARING, step
from core.types import Array, Tokens, Trace

# A token of both texts is (i, j), one of the first text only (i, None), of the other (None, j).
TokenPair: TypeAlias = tuple[int | None, int | None]
Alignment: TypeAlias = tuple[TokenPair, ...]


class HeadChange(NamedTuple):
    """How far a head moves between two texts, from 0 (not at all)."""

    layer: int
    head: int
    change: float


@dataclass(frozen=True, eq=False, slots=True)
class Comparison:
    """A trace beside that of another text under the same model and switches.

    Attributes
    ----------
    one : Trace
    other : Trace
    text : str
        The other text, as it was asked for.
    alignment : tuple of pairs
        Every token of both texts, in order.
    rows : ndarray [layer, head, shared]
        `row_change` of each query that both texts have, in order.
    ranking : tuple of HeadChange
        Every head by the mean of its rows, the largest first; empty where the texts share no token.
    """

    one: Trace
    other: Trace
    text: str
    alignment: Alignment
    rows: Array
    ranking: tuple[HeadChange, ...]

    @property
    def shared(self) -> tuple[tuple[int, int], ...]:
        """The pairs of tokens that both texts have."""
        return shared_pairs(self.alignment)

    def partner(self, query: int) -> int | None:
        """Where a token of the first text is in the other; None where it is not."""
        return dict(self.shared).get(query)

    def weights(self, layer: int, head: int, query: int, partner: int) -> tuple[Array, Array]:
        """A row of each text, laid out by the alignment: [pair] twice, 0 where a key is absent."""
        mine, theirs = np.zeros((2, len(self.alignment)))
        for place, (i, j) in enumerate(self.alignment):
            if i is not None:
                mine[place] = self.one.layers[layer].pattern[head, query, i]
            if j is not None:
                theirs[place] = self.other.layers[layer].pattern[head, partner, j]
        return mine, theirs

    def change(self, layer: int, head: int, query: int) -> float:
        """`row_change` of a query that both texts have."""
        place = [i for i, _j in self.shared].index(query)
        return float(self.rows[layer, head, place])


def align(one: Tokens, other: Tokens) -> Alignment:
    """Pair the tokens of two texts by a longest common subsequence of their pieces.

    Between two shared tokens, those of `one` come before those of `other`. Exchanging the texts
    exchanges the pairs and nothing else.

    Parameters
    ----------
    one, other : Tokens

    Returns
    -------
    tuple of pairs
        Every index of both once; (i, j) shared, (i, None) and (None, j) not.
    """
    left = [token.piece for token in one]
    right = [token.piece for token in other]
    pairs: list[TokenPair] = []
    before = (0, 0)
    for i, j in (*_matches(left, right), (len(left), len(right))):
        pairs += ((k, None) for k in range(before[0], i))
        pairs += ((None, k) for k in range(before[1], j))
        pairs.append((i, j))
        before = i + 1, j + 1
    return tuple(pairs[:-1])  # the last pair stands for both ends


def shared_pairs(alignment: Alignment) -> tuple[tuple[int, int], ...]:
    """The pairs of tokens that both texts have."""
    return tuple((i, j) for i, j in alignment if i is not None and j is not None)


def row_change(one: Array, other: Array, alignment: Alignment) -> Array:
    """Total variation distance of two rows of weights: ½ Σ |a − b| over the keys of both texts.

    A key that only one text has counts against a weight of 0. Rows that add up to 1 are between
    0 (the same weights) and 1 (no weight on a shared key) apart; see Levin and Peres, "Markov
    chains and mixing times", proposition 4.2.

    Parameters
    ----------
    one : ndarray [..., key of the first text]
    other : ndarray [..., key of the other text]
    alignment : tuple of pairs
        Of the keys.

    Returns
    -------
    ndarray [...]
    """
    pairs = shared_pairs(alignment)
    mine, theirs = [i for i, _j in pairs], [j for _i, j in pairs]
    lone = [i for i, j in alignment if i is not None and j is None]
    lone_other = [j for i, j in alignment if i is None and j is not None]
    change: Array = np.abs(one[..., mine] - other[..., theirs]).sum(axis=-1)
    change += np.abs(one[..., lone]).sum(axis=-1) + np.abs(other[..., lone_other]).sum(axis=-1)
    return change / 2


def row_changes(one: Trace, other: Trace, alignment: Alignment) -> Array:
    """`row_change` of every query that both texts have, in every head: [layer, head, shared]."""
    pairs = shared_pairs(alignment)
    mine, theirs = [i for i, _j in pairs], [j for _i, j in pairs]
    layers = []
    for index, (first, second) in enumerate(zip(one.layers, other.layers, strict=True)):
        step(COMPARING, index, len(one.layers))
        heads = zip(first.pattern, second.pattern, strict=True)
        # A head at a time: the rows of all heads would be as large as the trace.
        layers.append([row_change(a[mine], b[theirs], alignment) for a, b in heads])
    changes = np.array(layers)
    changes.setflags(write=False)
    return changes


def ranked(rows: Array) -> tuple[HeadChange, ...]:
    """Heads by the mean of their `row_changes`, the largest first."""
    if not rows.shape[-1]:
        return ()
    means = rows.mean(axis=-1).tolist()
    heads = [HeadChange(i, h, mean) for i, row in enumerate(means) for h, mean in enumerate(row)]
    return tuple(sorted(heads, key=lambda each: (-each.change, each.layer, each.head)))


def _matches(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The pairs of a longest common subsequence, in order.

    A common start and a common end always belong to one, so only what is between is searched.
    """
    shorter, start, end = min(len(left), len(right)), 0, 0
    while start < shorter and left[start] == right[start]:
        start += 1
    while end < shorter - start and left[-1 - end] == right[-1 - end]:
        end += 1
    yield from ((k, k) for k in range(start))
    middle = _middle(left[start : len(left) - end], right[start : len(right) - end])
    yield from ((start + i, start + j) for i, j in middle)
    yield from ((len(left) - k, len(right) - k) for k in range(end, 0, -1))


def _middle(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int, int]]:
    lengths = _common_lengths(left, right)
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] == right[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif (lengths[i + 1, j], right[j]) > (lengths[i, j + 1], left[i]):
            i += 1  # of two equally good ways, the piece that sorts first is left: in either order
        else:
            j += 1


def _common_lengths(left: Sequence[str], right: Sequence[str]) -> np.ndarray[Any, Any]:
    """[i, j]: length of the longest common subsequence of ``left[i:]`` and ``right[j:]``.

    A row at a time: L[i, j] is the largest, over k ≥ j, of L[i+1, k] and of 1 + L[i+1, k+1] where
    the pieces i and k are equal (Wagner and Fischer 1974, with the step along the row as a
    running maximum).
    """
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys((*left, *right)))}
    columns = np.array([numbers[piece] for piece in right], dtype=np.int32)
    lengths = np.zeros((len(left) + 1, len(right) + 1), dtype=np.int32)
    for i in reversed(range(len(left))):
        below = lengths[i + 1]
        taken = below[1:] + (columns == numbers[left[i]])
        lengths[i, :-1] = np.maximum.accumulate(np.maximum(below[:-1], taken)[::-1])[::-1]
    return lengths
