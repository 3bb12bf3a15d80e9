"""What a derivation says otherwise of a real model: where it begins, its scores, its W_O."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Context, Decimal

from rich.cells import cell_len

from core import counts
from core.derivation import Made
from core.language import _
from tui.labels import pad
from tui.printing.page import ROWS, Page
from tui.printing.printed import (
    GAP,
    Line,
    amount,
    by_sign,
    digits_note,
    division_note,
    from_digits,
    number,
    share,
)
from tui.wording import model_name, request_in_words


def heading(page: Page) -> Iterator[Line]:
    """The model, how it makes q, k and v, and which digits are worth what."""
    made, request = page.made.made, page.trace.request
    model = request.model
    facts = [model_name(model), f"d_model {model.d_model}", f"d_head {len(page.made.dot.q)}"]
    rule = page.attention.rules[page.made.layer]
    words = request_in_words(request, rule, page.made.attention)
    yield from page.note(" · ".join([*facts, *words]))
    if made is not None:
        said = " ".join(_sentences(page, made))
        yield from page.say(said.replace("。 ", "。"))  # Chinese has no space there
    yield from page.note(
        _(
            "They are float32 numbers. What follows is worked out from them in full and rounded to"
            " {digits} only where it is printed; from about the seventh digit on, the model's own"
            " float32 results may differ."
        ).format(digits=counts.digits(page.precision))
    )


def _sentences(page: Page, made: Made) -> Iterator[str]:
    d_head, d_model = len(page.made.dot.q), page.trace.request.model.d_model
    yield _(
        "q, k and v are taken from the trace: each of their {d_head} numbers comes from all"
        " {d_model} numbers that enter."
    ).format(d_head=d_head, d_model=d_model)
    if page.made.attention == "cross":
        yield _("k and v come from what leaves the encoder.")
    if made.normed:
        yield _("A norm stands before the projections.")
    if made.biased:
        yield _("Biases are added to them.")
    if made.head_norms:
        yield _("q and k are normalised in each head.")
    if made.turned:
        yield _("q and k are turned by their positions (rotary).")
    if made.shared > 1:
        yield _("{n} heads share one k and one v.").format(n=made.shared)


def scale(page: Page) -> Iterator[Line]:
    """From q·k to the score: divided, capped, and moved by the distance."""
    made, p = page.made.scale, page.precision
    d_head = len(page.made.dot.q)
    names = _("divisor"), "q·k", _("capped"), _("distance"), _("score")
    cells = max(map(cell_len, names)) + len(GAP)
    last = names[2] if made.softcap or made.bias else names[4]

    def line(name: str, sum_: str, result: str) -> Line:
        role = "strong" if name == names[4] else "plain"
        return (pad(name, cells), "plain"), (f"{sum_} = ", "plain"), (result, role)

    divisor, dot = share(made.divisor, p), number(page.made.dot.products.total, p)
    root = math.isclose(made.divisor, math.sqrt(d_head), rel_tol=1e-6)
    said = _("√{d_head} in float32").format(d_head=d_head) if root else _("the model's own")
    yield from page.say(f"{pad(names[0], cells)}{said} = {divisor}")
    result = number(made.divided, p)
    plain = made.softcap is None and made.bias is None
    yield line(names[4] if plain else names[1], f"{dot} ÷ {divisor}", result)
    yield from page.note(division_note(dot, divisor, result))
    if made.softcap is not None:
        cap, before, result = f"{made.softcap:g}", result, number(made.capped, p)
        named = names[4] if made.bias is None else last
        yield line(named, f"{cap} × tanh({before} ÷ {cap})", result)
        yield from page.note(digits_note(_capped(before, made.softcap, result), result))
    if made.bias is not None:
        bias, before, result = number(made.bias[page.made.key], p), result, number(made.score, p)
        yield line(names[4], f"{before} {bias}", result)
        yield from page.note(digits_note(amount(before) + amount(bias), result))
        yield from page.note(
            _("{bias}: learned, for how far {key} is from {query}").format(
                bias=bias, key=page.key, query=page.query
            )
        )


def _capped(text: str, cap: float, like: str) -> Decimal:
    """What printed digits give: cap · tanh(x / cap)."""
    bound = Decimal(cap)

    def tanh(context: Context, x: Decimal) -> Decimal:
        power = context.exp(context.divide(2 * x, bound))
        return context.multiply(bound, context.divide(power - 1, power + 1))

    return from_digits(tanh, text, like)


def output(page: Page) -> Iterator[Line]:
    """The heads merged, times W_O, plus its bias; or why that is left out."""
    found, made, p = page.made.output, page.made.made, page.precision
    if found is None:
        yield from page.say(
            _("What W_O gives is normalised before it is added, so attn_out is no sum of products.")
            if made is not None and made.after
            else _("The weights of this model are not kept in memory, so W_O is not at hand.")
        )
        return
    d_head, index = len(page.made.z.total), found.index
    start = page.made.head * d_head
    yield from page.say(
        _(
            "The z of all {heads} side by side (this head's are {first} to {last}), times column"
            " {column} of W_O:"
        ).format(
            heads=counts.heads(len(found.merged) // d_head),
            first=start,
            last=start + d_head - 1,
            column=index,
        )
    )
    name = f"attn_out[{index}]"
    total = name if found.bias is None else "z·W_O"
    names = (_("dim"), _("merged z"), f"W_O[·,{index}]", total)
    column = found.w_o[:, index].tolist()
    yield from page.summed(names, found.merged, column, found.component)
    if found.bias is not None:
        summed, bias = number(found.component.total, p), number(found.bias[index], p)
        result = number(found.attn_out[index], p)
        plus = _("{sum} and the bias {bias} = ").format(sum=summed, bias=bias)
        yield ((f"{name}  ", "plain"), (plus, "plain"), (result, "strong"))
        yield from page.note(digits_note(amount(summed) + amount(bias), result))
    yield ()
    yield from page.say(_("The rest in the same way:"))
    cells = ([[(str(i), "dim"), by_sign(x, p)]] for i, x in enumerate(found.attn_out[:ROWS]))
    yield from page.table([(_("dim"), "dim"), ("attn_out", "strong")], *cells)
    yield from page.more(ROWS, len(found.attn_out))
