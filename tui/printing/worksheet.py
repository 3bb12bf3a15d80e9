"""A row of a head as an exercise on paper, and its answers, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core import counts
from core.derivation import Derivation
from core.derive import derive, feature
from core.errors import SettingError
from core.language import N_, _
from core.text import label
from core.types import Trace
from tui.labels import MASKED
from tui.printing.derivation import escaped
from tui.printing.printed import number, share, sum_note
from tui.wording import mask_in_words

BLANK = "____"
MAX_TOKENS = 16
MAX_D_HEAD = 16
ANSWERS = N_("Answers")

Table = tuple[Sequence[str], Sequence[Sequence[str]]]  # a header and rows


def worksheet(
    trace: Trace, layer: int, head: int, query: int, precision: int, attention: str = "encoder"
) -> Iterator[str]:
    """An exercise with blanks, a page break, and the answers.

    Raises
    ------
    SettingError
        There is more than a person works out by hand, or a number names what is not there.
    """
    _check_size(trace)
    made = derive(trace, layer, head, query, 0, attention)  # the key is asked of nobody
    sheet = _Sheet(trace, made, precision)
    return sheet.lines()


def _check_size(trace: Trace) -> None:
    texts = (trace.tokens, trace.target_tokens or ())
    count, d_head = max(map(len, texts)), trace.request.model.d_head
    if count > MAX_TOKENS:
        raise SettingError(
            _("{tokens} are more than a worksheet holds ({most})").format(
                tokens=counts.tokens(count), most=MAX_TOKENS
            ),
            _("use a shorter text"),
        )
    if d_head > MAX_D_HEAD:
        raise SettingError(
            _("d_head {d_head:,} is more than a worksheet holds ({most})").format(
                d_head=d_head, most=MAX_D_HEAD
            ),
            _("use more heads or a smaller d_model"),
        )


class _Sheet:
    """One exercise; every answer is also a blank."""

    def __init__(self, trace: Trace, made: Derivation, precision: int) -> None:
        self._trace, self._made, self._precision = trace, made, precision
        self._part = trace.attentions[made.attention]
        self._names, queries = (
            [f"{i} {escaped(label(token))}" for i, token in enumerate(side.tokens)]
            for side in (self._part.keys, self._part.queries)
        )
        self._query = queries[made.query]

    def lines(self) -> Iterator[str]:
        made = self._made
        place = _("layer {layer}, head {head}, query {query}").format(
            layer=made.layer, head=made.head, query=self._query
        )
        which = "" if self._trace.decoder is None else f"{_(made.attention)}, "
        yield "# " + _("Attention by hand: {place}").format(place=which + place)
        yield ""
        yield from self._given()
        yield ""
        yield "## " + _("Work out")
        yield ""
        yield _("A key that may not be attended has weight 0 and takes no part in the sum.")
        yield ""
        yield from self._steps(blank=True)
        yield ""
        yield "---"
        yield ""
        yield f"## {_(ANSWERS)}"
        yield ""
        yield _(
            "Every answer was worked out with all digits and rounded to {digits} only here. With"
            " the printed digits yours may differ in the last ones."
        ).format(digits=self._precision)
        yield ""
        yield from self._steps(blank=False)

    def _given(self) -> Iterator[str]:
        made, request = self._made, self._trace.request
        switches, d_head = request.switches, request.model.d_head
        yield "## " + _("Given")
        yield ""
        yield f"- d\\_head = {d_head}"
        scaled = _("on") if switches.scale else _("off")
        yield "- " + _("scaling by √{d_head}: {state}").format(d_head=d_head, state=scaled)
        yield "- " + _("temperature: {value:g}").format(value=switches.temperature)
        yield "- " + _("mask: {mask}").format(mask=escaped(mask_in_words(self._part.rule)))
        yield "- " + _("normalizer: {name}").format(name=_(switches.normalizer))
        words = _("typed over: the score of {key} is {score}, in place of q·k ÷ divisor")
        for key in sorted(made.scale.typed):
            score = number(made.scale.row[key], self._precision)
            yield "- " + words.format(key=self._names[key], score=score)
        yield ""
        yield _("q of {token}:").format(token=self._query)
        yield ""
        yield from _table(self._vectors("q", [""], [made.dot.q]))
        for name in ("k", "v"):
            yield ""
            yield _("{name} of every key:").format(name=name)
            yield ""
            rows = getattr(self._part.layers[made.layer], name)[made.head].tolist()
            may = [_("yes") if allowed else _("no") for allowed in made.mask.allowed]
            table = self._vectors(name, self._names, rows)
            if name == "k":
                table = _with_column(table, _("may be attended"), may)
            yield from _table(table)

    def _vectors(self, name: str, rows: Sequence[str], values: Sequence[Sequence[float]]) -> Table:
        header = ["", *(f"{name}\\[{i}\\]" for i in range(len(values[0])))]
        cells = [[number(x, self._precision).strip() for x in row] for row in values]
        return header, [[row, *line] for row, line in zip(rows, cells, strict=True)]

    def _steps(self, blank: bool) -> Iterator[str]:
        """The steps from q·k to z, with blanks or with answers."""
        made, p = self._made, self._precision

        def cell(text: str) -> str:
            return BLANK if blank else text.strip()

        divisor = cell(share(made.scale.divisor, p))
        yield _("divisor, {words}: {divisor}").format(words=self._divisor_words(), divisor=divisor)
        yield ""
        if made.softmax.name == "softmax":
            top = MASKED if made.softmax.top is None else number(made.softmax.top, p)
            yield _("largest score that may be attended: {score}").format(score=cell(top))
            yield ""
        if made.softmax.name == "linear":
            features = cell(self._features(made.dot.q))
            yield _("φ(x) is x + 1 above 0 and e^x below; φ(q) = {features}").format(
                features=features
            )
            yield ""
        columns = self._columns()
        rows = [
            [name, *(cell(column[i]) for column in columns.values())]
            for i, name in enumerate(self._names)
        ]
        yield from _table(([_("key"), *columns], rows))
        yield ""
        if made.softmax.name != "none":
            total = cell(share(made.softmax.parts.total, p))
            yield _("sum of the row: {total}").format(total=total)
            yield ""
        z = [cell(number(x, p)) for x in made.z.total]
        yield _("z, the rows of v by their weights, added up:")
        yield ""
        yield from _table((["", *(f"z\\[{i}\\]" for i in range(len(z)))], [["", *z]]))
        if not blank:
            yield from self._notes(columns)

    def _columns(self) -> dict[str, list[str]]:
        """What is asked for of each key, by its header."""
        made, p = self._made, self._precision
        allowed = made.mask.allowed
        linear = made.softmax.name == "linear"
        printed = number if made.softmax.name == "none" else share

        def row(values: Sequence[float], text: str) -> list[str]:
            pairs = zip(values, allowed, strict=True)
            return [printed(value, p) if may else text for value, may in pairs]

        columns = {
            "q·k": [number(x, p) for x in made.dot.row],
            _("score = q·k ÷ divisor"): [number(x, p) for x in made.scale.row],
        }
        if linear:
            keys = self._part.layers[made.layer].k[made.head].tolist()
            columns = {
                "φ(k)": [self._features(k) for k in keys],
                _("similarity = φ(q)·φ(k)"): row(made.softmax.parts.terms, MASKED),
            }
        elif made.softmax.name == "softmax":
            columns[_("e^(score − largest)")] = row(made.softmax.parts.terms, MASKED)
        columns[_("weight")] = row(made.softmax.weights, "0")
        return columns

    def _features(self, vector: Sequence[float]) -> str:
        return ", ".join(share(feature(x), self._precision) for x in vector)

    def _divisor_words(self) -> str:
        switches, d_head = self._trace.request.switches, self._trace.request.model.d_head
        words = [f"√{d_head}"] if switches.scale else []
        words.append(_("temperature {value:g}").format(value=switches.temperature))
        return " × ".join(words)

    def _notes(self, columns: dict[str, list[str]]) -> Iterator[str]:
        """What rounding does to the row's sums."""
        softmax, p = self._made.softmax, self._precision
        if softmax.name == "none" or not self._made.mask.count:
            return
        names = list(columns)
        sums = ((names[-2], share(softmax.parts.total, p)), (names[-1], share(1.0, p)))
        for name, total in sums:
            note = sum_note(columns[name], total, name)
            if note:
                yield ""
                yield _("{sentence}.").format(sentence=note)


def _with_column(table: Table, name: str, cells: Sequence[str]) -> Table:
    header, rows = table
    return [*header, name], [[*row, cell] for row, cell in zip(rows, cells, strict=True)]


def _table(table: Table) -> Iterator[str]:
    header, rows = table
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
