"""What is learned and how that went, as data; most sessions learn nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.names import DEFAULT_RATE

if TYPE_CHECKING:
    from core.types import Array


@dataclass(frozen=True, slots=True)
class Wish:
    """The weights that the row of a query should come to have.

    Attributes
    ----------
    query : int
    weights : tuple of (key, weight)
        In the order of the keys. The keys that are not named share evenly what is left to 1.
    """

    query: int
    weights: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Learning:
    """Gradient descent on W_Q and W_K of one head of layer 0, towards the wished-for weights.

    Attributes
    ----------
    wishes : tuple of Wish
        One or more, each for another query.
    head : int
    steps : int
        How many have been taken.
    rate : float
        Of the gradient, taken from the weights in each step.
    """

    wishes: tuple[Wish, ...]
    head: int = 0
    steps: int = 0
    rate: float = DEFAULT_RATE


@dataclass(frozen=True, eq=False, slots=True)
class History:
    """How learning went.

    Attributes
    ----------
    queries : tuple of int
        The rows with a wish.
    wished : ndarray [row, key]
        Their wished-for weights; each row sums to 1 and is 0 where masked.
    losses : tuple of float
        Cross-entropy in nats, summed over those rows: before the first step, and after each.
    least : float
        The loss of a pattern that is as wished: the entropy of the wishes.
    """

    queries: tuple[int, ...]
    wished: Array
    losses: tuple[float, ...]
    least: float
