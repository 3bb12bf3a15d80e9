"""What all stages of a derivation are written with: names, columns, sums and notes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from core.derivation import Derivation, Sum, Vector
from core.language import _
from core.text import label
from core.types import Tokens, Trace
from tui.labels import clip
from tui.printing.printed import (
    EMPTY,
    Column,
    Line,
    Piece,
    as_typed,
    by_sign,
    chosen,
    miss_note,
    number,
    plain,
    product,
    sum_note,
    tabulate,
    wrapped,
)

TYPED = 8  # numbers typed over that are named
ROWS = 16  # of a table; more are cut, and said to be
NAME_CELLS = 12
INDENT = 2  # cells before a line where it is printed


def _name(tokens: Tokens, index: int) -> str:
    return f"{index} {clip(label(tokens[index]), NAME_CELLS)}"


class Page:
    """A derivation with what all of its blocks need."""

    def __init__(self, trace: Trace, made: Derivation, precision: int, width: int) -> None:
        self.trace, self.made, self.precision = trace, made, precision
        self.width = width
        self.attention = trace.attentions[made.attention]
        queries = self.attention.queries.tokens
        self.query, self.key = _name(queries, made.query), self.name(made.key)
        place = _("layer {layer} · head {head} · query {query} → key {key}").format(
            layer=made.layer, head=made.head, query=self.query, key=self.key
        )
        which = [] if trace.decoder is None else [_(made.attention)]
        self.title = " · ".join([_("Derivation"), *which, place])

    def name(self, key: int) -> str:
        """Number and label of a key."""
        return _name(self.attention.keys.tokens, key)

    def note(self, text: str | None) -> Iterator[Line]:
        if text:
            yield from wrapped(text, "dim", self.width - INDENT)

    def say(self, text: str) -> Iterator[Line]:
        yield from wrapped(text, "plain", self.width - INDENT)

    def table(self, first: Column, *groups: Sequence[Column]) -> Iterator[Line]:
        yield from tabulate(first, groups, self.width - INDENT)

    def column(self, name: str, values: Sequence[float], typed: Collection[int] = ()) -> Column:
        """A header and numbers, those typed over in another role."""
        cells = [plain(value, self.precision) for value in values]
        return [(name, "dim"), *(as_typed(cell, i in typed) for i, cell in enumerate(cells))]

    def typed(self, what: Sequence[str]) -> Iterator[Line]:
        """Say what is typed over, if anything is."""
        if not what:
            return
        left = len(what) - TYPED
        words = [*what[:TYPED], *[_("{n} more").format(n=left)] * (left > 0)]
        yield from self.note(_("typed over: {places}").format(places=", ".join(words)))

    def more(self, shown: int, count: int, words: str = "") -> Iterator[Line]:
        """Say how many are left out, in words with an ``{n}``."""
        if count > shown:
            words = words or _("… {n:,} more dimensions")
            yield from self.note(words.format(n=count - shown))

    def summed(
        self, names: tuple[str, str, str, str], left: Vector, right: Sequence[float], total: Sum
    ) -> Iterator[Line]:
        """Two vectors, their products and the sum, with what rounding does to them.

        Names are those of the rows, the two vectors and the sum.
        """
        p = self.precision
        shown = chosen(total.terms, ROWS)
        rest = len(total.terms) - len(shown)
        first: list[Piece] = [(names[0], "dim"), *((str(i), "plain") for i in shown)]
        one = [plain(left[i], p) for i in shown]
        other = [plain(right[i], p) for i in shown]
        terms = [by_sign(total.terms[i], p) for i in shown]
        expected = [product(a[0], b[0], t[0]) for a, b, t in zip(one, other, terms, strict=True)]
        note = miss_note(_("products"), expected, [text for text, _ in terms])
        empty = [EMPTY] * (1 + bool(rest))
        if rest:
            first.append((_("… {n:,} more").format(n=rest), "dim"))
            terms.append(by_sign(total.rest(set(shown)), p))
        result = number(total.total, p)
        first.append((names[3], "strong"))
        yield from self.table(
            first,
            [
                [(names[1], "dim"), *one, *empty],
                [(names[2], "dim"), *other, *empty],
                [(_("product"), "dim"), *terms, (result, "strong")],
            ],
        )
        yield from self.note(_("shown: the largest products") if rest else None)
        yield from self.note(note)
        yield from self.note(sum_note([text for text, _ in terms], result))
