"""Learning W_Q and W_K of one head, so that rows of its pattern come to be as wished.

The loss is the cross-entropy -Σ wished · ln pattern, summed over the rows with a wish, and each
step is plain gradient descent: a matrix minus `rate` times its gradient. With the row of scores s,
the divisor D and p = softmax(s) among the allowed keys, the chain rule gives, from the loss
backwards (Bishop 2006, "Pattern recognition and machine learning", sections 4.3.4 and 5.3):

    ∂loss/∂s = p - wished            (for wished rows that sum to 1)
    ∂loss/∂q = ∂loss/∂s · k / D      ∂loss/∂W_Q = xᵀ · ∂loss/∂q
    ∂loss/∂k = (∂loss/∂s)ᵀ · q / D   ∂loss/∂W_K = xᵀ · ∂loss/∂k
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from core.attention import divisor, masked_softmax
from core.errors import BudgetError, SettingError, choose_from
from core.language import _
from core.learning_types import History, Learning
from core.names import MAX_STEPS
from core.progress import LEARNING, step
from core.types import Array, BoolArray, LayerWeights, Request, Switches
from core.wishes import wished_rows

MAX_PRODUCTS = 2**20  # of one matrix product in a step, so that a step takes a few milliseconds
MAX_GROWTH = 1e6  # a loss that is so many times the first one does not come back
_KEPT_RUNS = 8


@dataclass(frozen=True, eq=False, slots=True)
class Task:
    """What is to be learned from.

    Attributes
    ----------
    x : ndarray [pos, d_model]
    queries : tuple of int
        The rows with a wish.
    wished : ndarray [row, key]
        Each row sums to 1 and is 0 where masked.
    allowed : ndarray [row, key] of bool
    divisor : float
        Of the scores.
    """

    x: Array
    queries: tuple[int, ...]
    wished: Array
    allowed: BoolArray
    divisor: float


@dataclass(frozen=True, eq=False, slots=True)
class Slope:
    """The loss at a pair of matrices, and its gradients there."""

    loss: float
    w_q: Array
    w_k: Array


@dataclass(frozen=True, eq=False, slots=True)
class Descent:
    """Where learning is: the losses so far, the matrices now, the gradients there."""

    losses: tuple[float, ...]
    w_q: Array
    w_k: Array
    slope: Slope


def gradients(task: Task, w_q: Array, w_k: Array) -> Slope:
    """The loss and its gradients; the module's docstring has the formulas.

    Parameters
    ----------
    task : Task
    w_q, w_k : ndarray [d_model, d_head]
        The columns of one head.
    """
    rows = task.x[list(task.queries)]  # [row, d_model]
    q, k = rows @ w_q, task.x @ w_k  # [row, d_head], [pos, d_head]
    scores = q @ k.T / task.divisor  # [row, key]
    pattern = masked_softmax(scores, task.allowed)  # [row, key]
    d_scores = (pattern - task.wished) / task.divisor  # [row, key]
    return Slope(
        cross_entropy(scores, task.wished, task.allowed),
        rows.T @ (d_scores @ k),  # [d_model, d_head]
        task.x.T @ (d_scores.T @ q),  # [d_model, d_head]
    )


def cross_entropy(scores: Array, wished: Array, allowed: BoolArray) -> float:
    """-Σ wished · ln softmax(scores), from the scores: the logarithm of a weight that underflows to
    0 would be infinite.

    Parameters
    ----------
    scores, wished : ndarray [row, key]
        Wished rows sum to 1.
    allowed : ndarray [row, key] of bool
    """
    top = scores.max(axis=-1, keepdims=True, where=allowed, initial=-np.inf)
    lowered = np.where(allowed, scores - top, 0.0)  # [row, key]
    totals = np.exp(lowered).sum(axis=-1, where=allowed)  # [row]
    return float(np.log(totals).sum() - (wished * lowered).sum())


def least_loss(wished: Array) -> float:
    """The cross-entropy of rows that are as wished: their entropy, in nats."""
    return -math.fsum(weight * math.log(weight) for weight in wished.flat if weight > 0) + 0.0


def descend(task: Task, w_q: Array, w_k: Array, rate: float, steps: int) -> Descent:
    """Take some steps down from a pair of matrices.

    The last state of each of the last runs is kept: to go on costs no more than the new steps, and
    gives the same bits as going all the way at once.

    Raises
    ------
    SettingError
        The loss runs away.
    """
    arrays = (task.x, task.wished, task.allowed, w_q, w_k)
    run = (task.queries, task.divisor, rate, *((a.shape, a.tobytes()) for a in arrays))
    state = _kept.get(run)
    if state is None or len(state.losses) - 1 > steps:
        slope = gradients(task, w_q, w_k)
        state = Descent((slope.loss,), w_q, w_k, slope)
    state = _advanced(task, state, rate, steps)
    _kept.pop(run, None)
    _kept[run] = state
    for oldest in list(_kept)[:-_KEPT_RUNS]:
        _kept.pop(oldest, None)
    return state


_kept: dict[tuple[object, ...], Descent] = {}


def _advanced(task: Task, state: Descent, rate: float, steps: int) -> Descent:
    losses = list(state.losses)
    most = MAX_GROWTH * (1 + losses[0])
    w_q, w_k, slope = state.w_q, state.w_k, state.slope
    with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is said in words
        while len(losses) <= steps:
            step(LEARNING, len(losses) - 1, steps)
            w_q, w_k = w_q - rate * slope.w_q, w_k - rate * slope.w_k
            slope = gradients(task, w_q, w_k)
            if not slope.loss <= most:  # NaN is not below anything
                raise SettingError(
                    _(
                        "learning with rate {rate:g} runs away: the loss was {first:.3g} and after"
                        " step {step} is {loss:.3g}"
                    ).format(rate=rate, first=losses[0], step=len(losses), loss=slope.loss),
                    _("choose a smaller rate"),
                )
            losses.append(slope.loss)
    return Descent(tuple(losses), w_q, w_k, slope)


def check_learning(request: Request) -> None:
    """Raise SettingError where there is something to learn that cannot be learned.

    Whether the wishes fit the tokens is checked by `wished_rows`.
    """
    learning = request.learning
    if learning is None:
        return
    switches = request.switches
    if switches.normalizer != "softmax":
        raise SettingError(
            _("learning goes through softmax, and the normalizer is {name}").format(
                name=_(switches.normalizer)
            ),
            _("choose softmax, or take the wishes back"),
        )
    if switches.projections == "identity":
        raise SettingError(
            _("Q = K = V = X has no W_Q and W_K that could learn"),
            _("choose other projections, or take the wishes back"),
        )
    if not 0 <= learning.head < request.model.heads:
        raise SettingError(
            _("head {head} cannot learn, for there is none").format(head=learning.head),
            choose_from(0, request.model.heads - 1),
        )
    if not 0 <= learning.steps <= MAX_STEPS:
        raise SettingError(
            _("{steps} steps of learning are out of range").format(steps=learning.steps),
            choose_from(0, MAX_STEPS),
        )
    if not (math.isfinite(learning.rate) and learning.rate > 0):
        raise SettingError(
            _("learning rate {rate} is out of range").format(rate=learning.rate),
            _("choose a number above 0"),
        )
    queries = [wish.query for wish in learning.wishes]
    if len(set(queries)) < len(queries) or not queries:
        raise SettingError(_("learning needs wishes, one a query"), _("name each query once"))


def learned(
    learning: Learning,
    x: Array,
    mask: BoolArray,
    weights: LayerWeights,
    heads: int,
    switches: Switches,
) -> tuple[LayerWeights, History]:
    """The weights of layer 0 after learning, and how it went.

    Parameters
    ----------
    learning : Learning
        Checked by `check_learning`.
    x : ndarray [pos, d_model]
    mask : ndarray [query, key] of bool
    weights : LayerWeights
        Before learning. Only the head's columns of W_Q and W_K become others.
    heads : int
    switches : Switches

    Raises
    ------
    SettingError
        A wish does not fit the tokens or the mask, or the loss runs away.
    BudgetError
        A step would take too long.
    """
    d_head = weights.w_q.shape[1] // heads
    _check_work(len(x), x.shape[1], d_head)
    wished = wished_rows(learning.wishes, mask)
    queries = tuple(wish.query for wish in learning.wishes)
    task = Task(x, queries, wished, mask[list(queries)], divisor(d_head, switches))
    columns = slice(learning.head * d_head, (learning.head + 1) * d_head)
    start = weights.w_q[:, columns].copy(), weights.w_k[:, columns].copy()
    end = descend(task, *start, learning.rate, learning.steps)
    w_q, w_k = weights.w_q.copy(), weights.w_k.copy()
    w_q[:, columns], w_k[:, columns] = end.w_q, end.w_k
    for array in (w_q, w_k, wished):
        array.setflags(write=False)
    history = History(queries, wished, end.losses, least_loss(wished))
    return replace(weights, w_q=w_q, w_k=w_k), history


def _check_work(count: int, d_model: int, d_head: int) -> None:
    products = count * max(count, d_model) * d_head
    if products > MAX_PRODUCTS:
        raise BudgetError(
            _(
                "learning on {count:,} tokens with d_model {d_model:,} and d_head {d_head:,} takes"
                " {products:,.1f} million products a step of at most {most:.1f}"
            ).format(
                count=count,
                d_model=d_model,
                d_head=d_head,
                products=products / 1e6,
                most=MAX_PRODUCTS / 1e6,
            ),
            _("use a shorter text, a smaller model or more heads"),
        )
