"""The stages of a derivation in lines: what is worked out, and what rounding does to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.cells import cell_len

from core import counts
from core.derivation import Projection, Sum, WholeDerivation
from core.language import _
from tui.labels import pad
from tui.printing import trained_stages
from tui.printing.normalizing import key_names, normalizing, unless_masked
from tui.printing.page import ROWS, Page
from tui.printing.printed import (
    GAP,
    Line,
    Piece,
    amount,
    by_sign,
    chosen,
    division_note,
    miss_note,
    number,
    product,
    share,
    sum_note,
)
from tui.scene import stages
from tui.wording import model_name, switches_in_words

DIMS = 8  # of v side by side
RANGES = 8


def heading(page: Page) -> Iterator[Line]:
    if page.made.made is not None:
        yield from trained_stages.heading(page)
        return
    model, switches = page.trace.request.model, page.trace.request.switches
    facts = [model_name(model), f"d_model {model.d_model}", f"d_head {model.d_head}"]
    words = switches_in_words(switches, model.d_head, page.attention.rule, page.made.attention)
    yield from page.note(" · ".join([*facts, *words]))
    yield from page.note(
        _(
            "Every number is worked out in full and rounded to {digits} only where it is printed."
        ).format(digits=counts.digits(page.precision))
    )


def _whole(page: Page) -> WholeDerivation:
    """The derivation where it begins with the embedding; a real model's has no such stage."""
    assert isinstance(page.made, WholeDerivation)  # noqa: S101
    return page.made


def _dims(count: int) -> list[Piece]:
    return [(_("dim"), "dim"), *((str(index), "plain") for index in range(min(count, ROWS)))]


def _embedding(page: Page) -> Iterator[Line]:
    rows = _whole(page).embedding
    yield from page.table(
        _dims(len(rows.query)),
        [page.column(page.query, rows.query[:ROWS]), page.column(page.key, rows.key[:ROWS])],
    )
    yield from page.more(ROWS, len(rows.query))


def _positions(page: Page) -> Iterator[Line]:
    made, switches = _whole(page), page.trace.request.switches
    resid_pre = made.positions.resid_pre
    if not made.positions.added:
        yield from page.say(_what_enters(page))
        groups = [
            [page.column(page.query, resid_pre.query[:ROWS])],
            [page.column(page.key, resid_pre.key[:ROWS])],
        ]
        yield from page.table(_dims(len(resid_pre.query)), *groups)
        yield from page.more(ROWS, len(resid_pre.query))
        return
    if not switches.positions:
        yield from page.say(_("Positions are off: nothing is added."))
    rows = made.positions.rows
    tokens = (
        (page.query, "query", made.positions.typed_query),
        (page.key, "key", made.positions.typed_key),
    )
    groups = [
        [
            page.column(name, getattr(made.embedding, which)[:ROWS]),
            page.column(_("+ position"), getattr(rows, which)[:ROWS]),
            page.column("resid_pre", getattr(resid_pre, which)[:ROWS], typed),
        ]
        for name, which, typed in tokens
    ]
    yield from page.table(_dims(len(rows.query)), *groups)
    yield from page.more(ROWS, len(rows.query))
    words = _("dim {dim} of {token}")
    names = [words.format(dim=dim, token=name) for name, _which, typed in tokens for dim in typed]
    yield from page.typed(list(dict.fromkeys(names)))
    sums = [
        (amount(a[0]) + amount(b[0]), c[0])
        for group, (_name, _which, typed) in zip(groups, tokens, strict=True)
        for dim, (a, b, c) in enumerate(zip(*(column[1:] for column in group), strict=True))
        if dim not in typed
    ]
    yield from page.note(miss_note(_("sums"), [a for a, _ in sums], [b for _, b in sums]))


def _what_enters(page: Page) -> str:
    """Where resid_pre comes from, in a layer to which no positions are added."""
    made = page.made
    if made.attention == "cross":
        return _(
            "Positions were added once, to what enters the encoder and the decoder. The query's"
            " vector is what the decoder's self-attention gave in layer {layer}, the key's is what"
            " leaves the encoder:"
        ).format(layer=made.layer)
    if made.attention == "decoder":
        return _(
            "Positions were added once, before layer 0. What enters the decoder's layer {layer}"
            " (resid_pre) is what cross-attention gave in layer {before}:"
        ).format(layer=made.layer, before=made.layer - 1)
    return _(
        "Positions were added once, before layer 0. What enters layer {layer} (resid_pre)"
        " is what layer {before} gave:"
    ).format(layer=made.layer, before=made.layer - 1)


def _projections(page: Page) -> Iterator[Line]:
    made = _whole(page).projections
    parts = (("q", page.query, made.q), ("k", page.key, made.k), ("v", page.key, made.v))
    for name, token, part in parts:
        yield from _projected(page, name, token, part)
    yield from page.say(_("The other components in the same way:"))
    d_head = len(made.q.vector)
    yield from page.table(
        [("i", "dim"), *_dims(d_head)[1:]],
        *([page.column(f"{name}({token})", part.vector[:ROWS])] for name, token, part in parts),
    )
    yield from page.more(ROWS, d_head)


def _projected(page: Page, name: str, token: str, part: Projection) -> Iterator[Line]:
    """One component of q, k or v, term by term."""
    column = page.made.head * len(part.vector) + part.index
    component, matrix = f"{name}[{part.index}]", f"W_{name.upper()}"
    words = _("{component} of {token}: resid_pre times column {column} of {matrix}, term by term")
    yield from page.say(
        words.format(component=component, token=token, column=column, matrix=matrix)
    )
    names = (_("dim"), "resid_pre", f"{matrix}[·,{column}]", component)
    weights = part.columns[:, part.index].tolist()
    yield from page.summed(names, part.x, weights, part.component)
    yield from page.typed([f"{matrix}[{row},{at}]" for row, at in part.typed])
    yield ()


def _dot(page: Page) -> Iterator[Line]:
    dot = page.made.dot
    names = ("i", f"q({page.query})", f"k({page.key})", "q·k")
    yield from page.summed(names, dot.q, dot.k, dot.products)


def _scale(page: Page) -> Iterator[Line]:
    scale, p = page.made.scale, page.precision
    d_head = page.trace.request.model.d_head
    root = f"√{d_head}"
    if not page.trace.request.switches.scale:
        root = _("(÷√{d_head} is off)").format(d_head=d_head)
    divisor = share(scale.divisor, p)
    typed = page.made.key in scale.typed
    names = (_("divisor"), "q·k", _("score"))
    cells = max(map(cell_len, names)) + len(GAP)
    temperature = _("{root} × temperature {value:g}").format(root=root, value=scale.temperature)
    yield from page.say(f"{pad(names[0], cells)}{temperature} = {divisor}")
    dot, score = number(page.made.dot.products.total, p), number(scale.divided, p)
    name = pad(names[1] if typed else names[2], cells)
    yield ((name, "plain"), (f"{dot} ÷ {divisor} = ", "plain"), (score, "strong"))
    yield from page.note(division_note(dot, divisor, score))
    if typed:
        aside = "  " + _("typed over, in place of that")
        typed_score = (number(scale.score, p), "selected")
        yield ((pad(names[2], cells), "plain"), typed_score, (aside, "dim"))
    if page.made.softmax.name == "linear":
        yield from page.note(_("The linear normalizer takes q and k; this score is not used."))


def _mask(page: Page) -> Iterator[Line]:
    mask = page.made.mask
    may = mask.allowed[page.made.key]
    yield from page.say(
        _("{query} may attend to {key}: {answer}").format(
            query=page.query, key=page.key, answer=_("yes") if may else _("no")
        )
    )
    which = _ranges([key for key, allowed in enumerate(mask.allowed) if allowed])
    yield from page.say(
        _("allowed keys: {which} ({n:,} of {all:,})").format(
            which=which, n=mask.count, all=len(mask.allowed)
        )
    )
    if page.made.attention == "decoder":
        yield from page.note(_("The decoder writes word after word: it never sees what follows."))
    if not mask.count:
        yield from page.say(_("This query may attend to nothing: its weights and its z are all 0."))
    elif mask.count < len(mask.allowed):
        yield from page.note(_("A masked key takes no part in the row; its weight is exactly 0."))


def _ranges(keys: Sequence[int]) -> str:
    """``0–3, 5``; many are cut."""
    found: list[list[int]] = []
    for key in keys:
        if found and found[-1][1] == key - 1:
            found[-1][1] = key
        else:
            found.append([key, key])
    words = [str(a) if a == b else f"{a}–{b}" for a, b in found[:RANGES]]
    if len(found) > RANGES:
        left = sum(b - a + 1 for a, b in found[RANGES:])
        words.append(_("… {n:,} more").format(n=left))
    return ", ".join(words) or _("none")


def _z(page: Page) -> Iterator[Line]:
    made, weights, p = page.made.z, page.made.softmax.weights, page.precision
    printed = number if page.made.softmax.name == "none" else share
    shown = chosen(weights, ROWS, page.made.key)
    rest = len(weights) - len(shown)
    dims = _dims_of_z(page)
    cells = [(printed(weights[i], p), "plain") for i in shown]
    weight = [(_("weight"), "dim"), *unless_masked(page, shown, cells)]
    yield from page.table(
        key_names(page, shown, "", 0)[:-1],
        [weight],
        *([page.column(f"v[{d}]", [made.v[i][d] for i in shown])] for d in dims),
    )
    yield ()
    yield from page.say(_("weight × v, added up over the keys:"))
    columns, notes = [], []
    for d in dims:
        terms = Sum(tuple(row[d] for row in made.terms), made.total[d])
        column = unless_masked(page, shown, [by_sign(terms.terms[i], p) for i in shown])
        column += [by_sign(terms.rest(set(shown)), p)] * bool(rest)
        total = number(terms.total, p)
        columns.append([[(f"z[{d}]", "dim"), *column, (total, "strong")]])
        notes.append(sum_note([text for text, _ in column], total, f"z[{d}]"))
    yield from page.table(key_names(page, shown, "z", rest), *columns)
    yield from page.more(len(dims), len(made.total), _("… {n:,} more dimensions of v and z"))
    if rest:
        yield from page.note(_("shown: the keys with the largest weights, and the selected key"))
    yield from page.note(_term_note(page, shown, weights))
    for note in notes:
        yield from page.note(note)


def _dims_of_z(page: Page) -> range:
    """The dimensions of z and v that are shown: those around the chosen component."""
    count = len(page.made.z.total)
    first = page.made.component // DIMS * DIMS
    return range(first, min(first + DIMS, count))


def _term_note(page: Page, shown: Sequence[int], weights: Sequence[float]) -> str | None:
    """Whether weight × v misses, worked out from the digits of the table above."""
    made, p = page.made.z, page.precision
    printed = number if page.made.softmax.name == "none" else share
    expected, terms = [], []
    for i in (i for i in shown if page.made.mask.allowed[i]):
        for d in _dims_of_z(page):
            terms.append(number(made.terms[i][d], p))
            expected.append(product(printed(weights[i], p), number(made.v[i][d], p), terms[-1]))
    return miss_note(_("products"), expected, terms)


def _output(page: Page) -> Iterator[Line]:
    yield from trained_stages.output(page)
    yield from _residual(page)


def _residual(page: Page) -> Iterator[Line]:
    made, p = _whole(page), page.precision
    residual = made.output.residual
    if residual is None:
        return
    yield ()
    yield from page.say(
        _(
            "Add & Norm: resid_pre + attn_out, minus the mean {mean}, divided by √(variance"
            " {variance} + 0.00001), {follows}:"
        ).format(
            mean=number(residual.mean, p),
            variance=share(residual.variance, p),
            follows=_what_follows(page),
        )
    )
    columns = [
        page.column("resid_pre", made.positions.resid_pre.query[:ROWS]),
        page.column("+ attn_out", made.output.attn_out[:ROWS]),
        page.column(_("= added"), residual.added[:ROWS]),
    ]
    normed = page.column("resid_post", residual.resid_post[:ROWS])
    yield from page.table(_dims(len(residual.added)), [*columns, normed])
    yield from page.more(ROWS, len(residual.added))
    texts = [[text for text, _ in column[1:]] for column in columns]
    expected = [amount(a) + amount(b) for a, b, _ in zip(*texts, strict=True)]
    yield from page.note(miss_note(_("sums"), expected, texts[2]))


def _what_follows(page: Page) -> str:
    """What becomes of resid_post."""
    made = page.made
    if made.attention == "decoder":
        return _("asks in cross-attention")
    if made.attention == "encoder" and made.layer == len(page.attention.layers) - 1:
        return _("leaves the encoder")
    if made.attention == "cross":
        return _("enters the decoder's layer {layer}").format(layer=made.layer + 1)
    return _("enters layer {layer}").format(layer=made.layer + 1)


_WRITERS: dict[str, Callable[[Page], Iterator[Line]]] = {
    "embedding": _embedding,
    "positions": _positions,
    "projections": _projections,
    "dot": _dot,
    "scale": _scale,
    "mask": _mask,
    "softmax": normalizing,
    "z": _z,
    "output": _output,
}
_OF_TRAINED = {"scale": trained_stages.scale, "output": trained_stages.output}


def title(page: Page, stage: str) -> str:
    """The number of a stage, its name, and what it is about."""
    about = {
        "embedding": _("embedding: the rows of {query} and {key}"),
        "positions": _("positions: what enters the layer"),
        "projections": _("projections: q of {query}, k and v of {key}"),
        "dot": _("dot: q({query}) · k({key})"),
        "scale": _("scale: ÷ √d_head × temperature")
        if page.made.made is None
        else _("scale: from q·k to the score"),
        "mask": _("mask: what {query} may attend to"),
        "softmax": {
            "softmax": _("softmax: the row of {query}"),
            "linear": _("linear normalizer: the row of {query}"),
            "none": _("no normalizer: the row of {query}"),
        }[page.made.softmax.name],
        "z": _("z: the weights of {query} against the rows of v"),
        "output": _("output: heads merged, times W_O"),
    }[stage]
    place = stages(page.trace.request.model).index(stage)
    return f"{place + 1} {about.format(query=page.query, key=page.key)}"


def stage_lines(page: Page, stage: str) -> Iterator[Line]:
    """The lines of one of `STAGES`."""
    writers = _WRITERS if page.made.made is None else _WRITERS | _OF_TRAINED
    return writers[stage](page)
