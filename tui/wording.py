"""A request in words: its model, mask, switches and learning, as headers and tables say them."""

from __future__ import annotations

from core.language import N_, _, counted
from core.learning_types import Learning
from core.names import ATTENTIONS
from core.types import AnyModel, CheckpointModel, Mask, Request, Switches, Tokens, Trace

# What is to be said of weights.
RANDOM = N_("random weights: the mechanism, not meaning")
GIVEN = N_("given matrices")
TRAINED = N_("trained weights: attention is not explanation")


def model_name(model: AnyModel) -> str:
    """The name of a model; that of given matrices is their lesson's."""
    if isinstance(model, CheckpointModel):
        return f"{model.name} · {model.family}"
    return model.name if model.seed is None else _("seeded")


def caveat(model: AnyModel) -> str:
    """What is to be said of a model's weights, not yet translated."""
    if isinstance(model, CheckpointModel):
        return TRAINED
    return GIVEN if model.seed is None else RANDOM


def mask_in_words(mask: Mask) -> str:
    """A mask without its blocked keys."""
    if mask.window is None:
        return _("causal") if mask.causal else _("none")
    words = _("causal+window:{n}") if mask.causal else _("window:{n}")
    return words.format(n=mask.window)


def rule_in_words(rule: Mask) -> str:
    """A mask and how many keys it blocks."""
    mask, blocked = mask_in_words(rule), len(rule.blocked)
    if blocked:
        return _("mask {mask} +{n} blocked").format(mask=mask, n=blocked)
    return _("mask {mask}").format(mask=mask)


def notices(tokens: Tokens, target: Tokens | None) -> list[str]:
    """What the person should know about how the texts were cut."""
    about = [] if target is None else target.notices
    return [*tokens.notices, *(_("target: {notice}").format(notice=each) for each in about)]


def shape_words(request: Request) -> str:
    """Which stacks there are; nothing of an encoder alone, and of a model whose family says it."""
    real = isinstance(request.model, CheckpointModel)
    return "" if request.target is None or real else _("encoder–decoder")


def request_in_words(request: Request, rule: Mask, attention: str = ATTENTIONS[0]) -> list[str]:
    """What is switched, under the mask that holds; of a real model that are its masks alone."""
    if isinstance(request.model, CheckpointModel):
        return [*hidden_in_words(request.switches), rule_in_words(rule)]
    return switches_in_words(request.switches, request.model.d_head, rule, attention)


def hidden_in_words(switches: Switches) -> list[str]:
    """How many tokens a mask token stands for; nothing where there is none."""
    count = len(switches.masked)
    said = counted("{n} token masked", "{n} tokens masked", count).format(n=count)
    return [said] if count else []


def switches_in_words(
    switches: Switches, d_head: int, rule: Mask | None = None, attention: str = ATTENTIONS[0]
) -> list[str]:
    """The switches as the status line and the table name them.

    `rule` is the mask that holds where it is not the one switched on: in the decoder, or where
    padding is blocked too.
    """
    words = []
    if switches.edits:  # first, so that it is never cut off
        count = len(switches.edits)
        typed = counted("{n} number typed over", "{n} numbers typed over", count)
        words.append(typed.format(n=count))
    words.append(rule_in_words(switches.mask if rule is None else rule))
    if switches.normalizer != "linear":  # which takes no scores
        words.append(
            (_("÷√{d_head} on") if switches.scale else _("÷√{d_head} off")).format(d_head=d_head)
        )
        words.append(_("temperature {value:g}").format(value=switches.temperature))
    words.append(_("positions on") if switches.positions else _("positions off"))
    if switches.projections != "seeded":
        words.append(_("Q = X, K = V = source") if attention == "cross" else "Q = K = V = X")
    if switches.normalizer != "softmax":
        linear = switches.normalizer == "linear"
        words.append(_("linear attention") if linear else _("no normalizer"))
    return words


def learned_in_words(trace: Trace) -> list[str]:
    """What was learned, and how it went; nothing where nothing was."""
    learning, history = trace.request.learning, trace.history
    if learning is None or history is None:
        return []
    first, last = history.losses[0], history.losses[-1]
    return [
        _("learning W_Q and W_K of head {head}").format(head=learning.head),
        steps_in_words(learning),
        _("rate {rate:g}").format(rate=learning.rate),
        _("loss {first:.4f} → {last:.4f}, at best {least:.4f}").format(
            first=first, last=last, least=history.least
        ),
    ]


def steps_in_words(learning: Learning) -> str:
    """``1 step learned``, ``200 steps learned``."""
    count = learning.steps
    return counted("{n:,} step learned", "{n:,} steps learned", count).format(n=count)


def honest(learning: Learning | None) -> str:
    """What it is that is learned here."""
    if learning is None:
        return _("learned weights on one sentence, not language")
    count = sum(len(wish.weights) for wish in learning.wishes)
    return counted(
        "{n} learned weight on one sentence, not language",
        "{n} learned weights on one sentence, not language",
        count,
    ).format(n=count)


def step_in_words(what: str, done: int, total: int) -> str:
    """Where a computation is; steps are counted from 1 here, as they are not numbered but many."""
    words = {
        "reading": _("reading weights: layer {n} of {total}"),
        "layers": _("computing: layer {n} of {total}"),
        "learning": _("learning: step {n:,} of {total:,}"),
        "comparing": _("comparing: layer {n} of {total}"),
    }[what]
    return words.format(n=done + 1, total=total)
