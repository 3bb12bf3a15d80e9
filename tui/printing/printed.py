"""Numbers as they are printed: tables of them, and where rounding makes them miss.

What a reader adds up is the printed digits, so the notes about rounding are worked out from those,
in exact decimal arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal, localcontext

from rich.cells import cell_len

from core.language import _
from tui.labels import MASKED, pad, signed, weight, wrap

Piece = tuple[str, str]  # text and its role
Line = tuple[Piece, ...]
Column = Sequence[Piece]  # a header and its cells

GAP = "  "
LARGE = 1e9  # from here on with an exponent: a score at temperature 1e-300 has 300 digits
EMPTY: Piece = ("", "plain")
NO_NUMBER: Piece = (MASKED, "dim")
_EXACT = Context(prec=800)  # exact for sums and products of any two printed floats
_FINE = Context(prec=60)  # plenty for a quotient or an exponential


def number(value: float, precision: int) -> str:
    """A number with its sign; a very large one with an exponent."""
    return f"{value:+.{precision}e}" if abs(value) >= LARGE else signed(value, precision)


def share(value: float, precision: int) -> str:
    """A number from 0 on; a tiny one is ``<0.001``, never 0."""
    return f"{value:.{precision}e}" if value >= LARGE else weight(value, precision)


def plain(value: float, precision: int) -> Piece:
    return number(value, precision), "plain"


def as_typed(piece: Piece, typed: bool) -> Piece:
    """A number typed over stands out."""
    return (piece[0], "selected") if typed else piece


def by_sign(value: float, precision: int) -> Piece:
    """A number with the role of its sign; what prints as 0 has none."""
    text = number(value, precision)
    return text, {"+": "positive", "-": "negative"}.get(text[0], "plain")


def amount(text: str) -> Decimal:
    """What printed digits say, exactly; ``<0.001`` and a masked cell count 0."""
    return Decimal(0) if not text or text[0] in "<" + MASKED else Decimal(text.strip())


def sum_note(terms: Sequence[str], result: str, of: str = "") -> str | None:
    """Say what printed terms add up to, if that is not the printed result.

    `of` names the sum where there are several.
    """
    with localcontext(_EXACT):
        total = sum(map(amount, terms), Decimal(0))
        difference = total - amount(result)
    if not difference:
        return None
    tiny = next((term for term in terms if term.startswith("<")), "")
    aside = _(" ({tiny} taken as 0)").format(tiny=tiny) if tiny else ""
    shown = f"{total:+f}" if result[:1] in "+-" or total < 0 else f"{total:f}"
    if len(shown) > 30:
        note = _(
            "printed terms miss the sum by {difference:.1e}{aside}; the difference is rounding"
        )
    else:
        note = _("printed terms add up to {shown}{aside}; the difference is rounding")
    note = note.format(difference=abs(difference), shown=shown, aside=aside)
    return _("{of}: {note}").format(of=of, note=note) if of else note


def from_digits(made: Callable[[Context, Decimal], Decimal], text: str, like: str) -> Decimal:
    """Apply a function to printed digits; the result has as many digits as `like`."""
    return _rounded(made(_FINE, amount(text)), like)


def product(one: str, other: str, like: str) -> Decimal:
    """The product of printed digits, with as many digits as `like`."""
    return _rounded(_EXACT.multiply(amount(one), amount(other)), like)


def difference(one: str, other: str, like: str) -> Decimal:
    """The difference of printed digits, with as many digits as `like`."""
    return _rounded(_EXACT.subtract(amount(one), amount(other)), like)


def quotient(one: str, other: str, like: str) -> Decimal:
    """The quotient of printed digits, with as many digits as `like`; 0 for something ÷ 0.000."""
    if not amount(other):
        return Decimal(0)
    return _rounded(_FINE.divide(amount(one), amount(other)), like)


def division_note(one: str, other: str, result: str) -> str | None:
    """Say what the division of printed digits gives, if that is not the printed result."""
    if not amount(other):
        said = _("{number} stands for a number that is not 0; all of its digits were used")
        return said.format(number=other)
    return digits_note(quotient(one, other, result), result)


def digits_note(made: Decimal, result: str) -> str | None:
    """Say what printed digits give, if that is not the printed result."""
    if made == amount(result):
        return None
    shown = f"{made:+}" if result[:1] in "+-" else f"{made}"
    return _("the printed digits give {shown}; the difference is rounding").format(shown=shown)


def miss_note(what: str, expected: Sequence[Decimal], printed: Sequence[str]) -> str | None:
    """Say how many results differ from what the printed digits before them give."""
    with localcontext(_EXACT):
        pairs = zip(expected, printed, strict=True)
        misses = [abs(one - amount(text)) for one, text in pairs if one != amount(text)]
    if not misses:
        return None
    largest = max(misses)
    shown = f"{largest:f}" if len(f"{largest:f}") < 20 else f"{largest:.1e}"
    return _(
        "worked out from the printed digits, {n} of {all} {what} would differ by up to {shown};"
        " the difference is rounding"
    ).format(n=len(misses), all=len(printed), what=what, shown=shown)


def _rounded(value: Decimal, like: str) -> Decimal:
    last = amount(like).as_tuple().exponent
    return _EXACT.quantize(value, _EXACT.scaleb(Decimal(1), int(last)))


def tabulate(first: Column, groups: Sequence[Sequence[Column]], width: int) -> Iterator[Line]:
    """Lines of a table; groups of columns that do not fit beside each other follow below.

    Parameters
    ----------
    first : sequence of (text, role)
        The column that names the rows, its header first; again in every table.
    groups : sequence of sequences of columns
        Columns that stay together.
    width : int
        Cells of a line; a group that is wider stays whole.
    """
    aside = _cells(first)
    block: list[Column] = []
    used = aside
    for group in groups:
        needed = sum(len(GAP) + _cells(column) for column in group)
        if block and used + needed > width:
            yield from _lines(first, block)
            yield ()
            block, used = [], aside
        block.extend(group)
        used += needed
    yield from _lines(first, block)


def _cells(column: Column) -> int:
    return max(cell_len(text) for text, _ in column)


def _lines(first: Column, columns: Sequence[Column]) -> Iterator[Line]:
    widths = [_cells(column) for column in columns]
    aside = _cells(first)
    for (name, role), *cells in zip(first, *columns, strict=True):
        while cells and not cells[-1][0]:  # no spaces at the end of a line
            cells.pop()
        line = [(pad(name, aside) if cells else name, role)]
        for (text, kind), wide in zip(cells, widths, strict=False):
            line.append((GAP + pad(text, wide, ">"), kind))
        yield tuple(line)


def wrapped(text: str, role: str, width: int) -> Iterator[Line]:
    """A sentence in lines of at most `width` cells, broken as `wrap` does."""
    for line in wrap(text, width):
        yield ((line, role),)


def chosen(values: Sequence[float], limit: int, always: int | None = None) -> list[int]:
    """Which of many to show, in order: the largest by size, and one that must be there."""
    if len(values) <= limit:
        return list(range(len(values)))
    order = sorted(range(len(values)), key=lambda i: (i != always, -abs(values[i]), i))
    return sorted(order[:limit])
