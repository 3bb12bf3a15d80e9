"""From the row of scores to the row of weights, in lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.derivation import Normalizer, Sum
from core.language import _
from tui.printing.page import ROWS, Page
from tui.printing.printed import (
    EMPTY,
    NO_NUMBER,
    Column,
    Line,
    Piece,
    amount,
    as_typed,
    chosen,
    difference,
    division_note,
    from_digits,
    miss_note,
    number,
    plain,
    quotient,
    share,
    sum_note,
)


def key_names(page: Page, shown: Sequence[int], last: str, rest: int) -> Column:
    """The names of keys, the selected one marked, and of the lines below them."""
    key = page.made.key
    names: list[Piece] = [
        (f"> {page.name(i)}", "selected") if i == key else (f"  {page.name(i)}", "plain")
        for i in shown
    ]
    if rest:
        names.append((_("… {n:,} more").format(n=rest), "dim"))
    return [("  " + _("key"), "dim"), *names, (f"  {last}", "strong")]


def unless_masked(page: Page, shown: Sequence[int], cells: Sequence[Piece]) -> list[Piece]:
    """Cells of a column of keys, a masked key's replaced."""
    allowed = page.made.mask.allowed
    return [cell if allowed[i] else NO_NUMBER for i, cell in zip(shown, cells, strict=True)]


def normalizing(page: Page) -> Iterator[Line]:
    made = page.made.softmax
    if not page.made.mask.count:
        yield from page.say(
            _("No key is allowed: there is nothing to divide, and every weight is 0.")
        )
        return
    if made.similarity is not None:
        yield from page.say(_("elu(x) + 1, which is x + 1 above 0 and e^x below, of q and of k:"))
        names = ("i", f"φ(q {page.query})", f"φ(k {page.key})", _("similarity"))
        yield from page.summed(
            names, made.similarity.q, made.similarity.k, made.similarity.products
        )
        yield ()
    if made.name == "softmax" and made.top is not None:
        yield from page.say(
            _(
                "The row's maximum {top} is subtracted from each score, so that no e^ can overflow;"
                " it cancels in the division."
            ).format(top=number(made.top, page.precision))
        )
    elif made.name == "none":
        yield from page.say(_("The scores are the weights; the row adds up to what it adds up to."))
    yield from _row(page, made)


def _row(page: Page, made: Normalizer) -> Iterator[Line]:
    """The row of a query: from scores or similarities to weights."""
    p = page.precision
    shown = chosen(made.parts.terms, ROWS, page.made.key)
    rest = len(made.parts.terms) - len(shown)
    printed = share if made.name != "none" else number
    total, whole = printed(made.parts.total, p), Sum(made.weights, sum(made.weights))
    typed = page.made.scale.typed if made.name == "none" else ()
    terms = [as_typed((printed(made.parts.terms[i], p), "plain"), i in typed) for i in shown]
    parts = unless_masked(page, shown, terms)
    weights = unless_masked(page, shown, [(printed(made.weights[i], p), "plain") for i in shown])
    if rest:
        parts.append((printed(made.parts.rest(set(shown)), p), "dim"))
        weights.append((printed(whole.rest(set(shown)), p), "dim"))
    ends = [EMPTY] * (1 + bool(rest))
    columns: list[Column] = []
    notes: list[str | None] = []
    if made.name != "linear":
        dots = [plain(page.made.dot.row[i], p) for i in shown]
        columns.append([("q·k", "dim"), *unless_masked(page, shown, dots), *ends])
        notes.append(_score_note(page, shown))
    if made.name == "softmax":
        scores = [
            as_typed(plain(page.made.scale.row[i], p), i in page.made.scale.typed) for i in shown
        ]
        top = made.top or 0.0
        moved = [plain(page.made.scale.row[i] - top, p) for i in shown]
        columns.append([(_("score"), "dim"), *unless_masked(page, shown, scores), *ends])
        columns.append([(_("− maximum"), "dim"), *unless_masked(page, shown, moved), *ends])
        notes.append(_moved_note(page, shown, number(top, p), scores, moved))
        notes.append(_exp_note(page, shown, [text for text, _ in moved], parts))
    name = {"softmax": "e^", "linear": _("similarity"), "none": _("score")}[made.name]
    columns.append([(name, "dim"), *parts, (total, "strong")])
    notes.append(sum_note([text for text, _ in parts], total, name))
    if made.name != "none":
        summed = printed(whole.total, p)
        columns.append([(_("weight"), "dim"), *weights, (summed, "strong")])
        notes.append(sum_note([text for text, _ in weights], summed, _("weights")))
    yield from page.table(key_names(page, shown, _("sum"), rest), columns)
    yield from page.typed(
        [_("the score of {key}").format(key=page.name(i)) for i in sorted(page.made.scale.typed)]
    )
    if rest:
        yield from page.note(_("shown: the largest, and the selected key"))
    for note in notes:
        yield from page.note(note)
    yield from _weight(page, made, total)


def _score_note(page: Page, shown: Sequence[int]) -> str | None:
    """Whether q·k ÷ the divisor misses."""
    scale, p = page.made.scale, page.precision
    if scale.softcap is not None or scale.bias is not None:
        return None  # more than a division
    divisor, expected, scores = share(scale.divisor, p), [], []
    for i in (i for i in shown if page.made.mask.allowed[i] and amount(divisor)):
        if i in scale.typed:
            continue
        scores.append(number(scale.row[i], p))
        expected.append(quotient(number(page.made.dot.row[i], p), divisor, scores[-1]))
    return miss_note(_("scores"), expected, scores)


def _moved_note(
    page: Page, shown: Sequence[int], top: str, scores: Sequence[Piece], moved: Sequence[Piece]
) -> str | None:
    """Whether score − maximum misses."""
    allowed = page.made.mask.allowed
    triples = zip(shown, scores, moved, strict=True)
    pairs = [(difference(a, top, b), b) for i, (a, _), (b, _) in triples if allowed[i]]
    return miss_note(_("differences"), [a for a, _ in pairs], [b for _, b in pairs])


def _exp_note(
    page: Page, shown: Sequence[int], moved: Sequence[str], parts: Sequence[Piece]
) -> str | None:
    """Whether e^ misses."""
    allowed = page.made.mask.allowed
    pairs = [
        (text, part)
        for i, text, (part, _) in zip(shown, moved, parts, strict=False)
        if allowed[i] and not part.startswith("<")
    ]
    expected = [from_digits(lambda context, x: x.exp(context), a, b) for a, b in pairs]
    return miss_note("e^", expected, [part for _, part in pairs])


def _weight(page: Page, made: Normalizer, total: str) -> Iterator[Line]:
    """How the selected key's weight comes out of the row."""
    p, key = page.precision, page.made.key
    name = _("weight of {key}").format(key=page.key) + "  "
    if not page.made.mask.allowed[key]:
        yield ((name, "plain"), ("0", "strong"), ("  " + _("(masked)"), "dim"))
    elif made.name == "none":
        yield ((name, "plain"), (number(made.weight, p), "strong"))
    else:
        part, result = share(made.parts.terms[key], p), share(made.weight, p)
        yield ((f"{name}{part} ÷ {total} = ", "plain"), (result, "strong"))
        if not part.startswith("<") and not result.startswith("<"):
            yield from page.note(division_note(part, total, result))
