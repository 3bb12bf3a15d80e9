"""A derivation as it is printed, and whether what is printed adds up."""

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from core import Edit, Mask, ModelSpec, Request, Switches, run
from core.derive import derive
from core.names import STAGES
from tests.derivation.requests import DERIVATION, places
from tui.printing.derivation import CHECK, HEADING, as_markdown, as_text, derivation_blocks
from tui.printing.printed import amount, chosen, miss_note, product, quotient, sum_note

ROLES = {"plain", "dim", "strong", "positive", "negative", "selected"}
NUMBER = re.compile(r"<?[+-]?\d+\.\d+(?:e[+-]\d+)?")


def blocks_of(request, place, precision=3, width=76):
    trace = run(request)
    return derivation_blocks(trace, derive(trace, *place), precision, width)


def ball(place=(0, 0, 3, 1), precision=3, model=None, **switches):
    request = Request("The ball is blue", model=model or ModelSpec(), switches=Switches(**switches))
    return blocks_of(request, place, precision)


def text_of(blocks, stage):
    (block,) = [block for block in blocks if block.stage == stage]
    return ["".join(text for text, _ in line) for line in block.lines]


def test_blue_to_ball():
    """What the README shows."""
    lines = "\n".join(as_text(ball()))
    assert (
        """
4 dot: q(3 blue) · k(1 ball)
  i    q(3 blue)  k(1 ball)  product
  0       -2.582     -1.610   +4.157
  1       +0.994     -0.835   -0.830
  2       +0.168     +0.483   +0.081
  3       -0.224     -0.871   +0.195
  q·k                         +3.603

5 scale: ÷ √d_head × temperature
  divisor  √4 × temperature 1 = 2.000
  score    +3.603 ÷ 2.000 = +1.802

6 mask: what 3 blue may attend to
  3 blue may attend to 1 ball: yes
  allowed keys: 0–3 (4 of 4)

7 softmax: the row of 3 blue
  The row's maximum +1.802 is subtracted from each score, so that no e^ can
  overflow; it cancels in the division.
    key        q·k   score  − maximum     e^  weight
    0 The   -0.392  -0.196     -1.997  0.136   0.096
  > 1 ball  +3.603  +1.802      0.000  1.000   0.707
    2 is    -0.104  -0.052     -1.853  0.157   0.111
    3 blue  -0.608  -0.304     -2.105  0.122   0.086
    sum                                1.414   1.000
"""
        in lines
    )
    assert "  e^: printed terms add up to 1.415; the difference is rounding\n" in lines
    assert "  weight of 1 ball  1.000 ÷ 1.414 = 0.707\n" in lines
    assert "  this arithmetic equals the trace  ok\n" in lines


@DERIVATION
@given(places(), st.integers(1, 8))
def test_printed_terms_add_up(drawn, precision):
    """Every printed sum is the sum of what is printed above it, or a note says what that is."""
    request, place = drawn
    count = 0
    for block in blocks_of(request, place, precision):
        expected = []
        for terms, total in printed_sums(block):
            count += 1
            made = sum(map(amount, terms), Decimal(0))
            exponents = [amount(text).as_tuple().exponent for text in (*terms, total)]
            last_digit = Decimal(1).scaleb(max((e for e in exponents if e), default=0))
            # Each printed number is off by half a unit at most; more would not be rounding.
            assert abs(made - amount(total)) <= last_digit * (len(terms) + 1) / 2
            if made != amount(total):
                expected.append(made)
        if "miss the sum by" not in str(block.lines):
            assert said(block) == expected
    assert count >= 3


def printed_sums(block):
    """(terms, total) of each column of each table that ends in a sum."""
    rows = []
    for line in block.lines:
        if len(line) < 2:
            rows = []
        elif line[0][1] == "dim" and not line[0][0].startswith("…"):
            rows = []  # a header
        elif line[0][1] != "strong" or not rows:
            rows.append(line)
        else:
            for column, (total, _) in enumerate(line[1:], start=1):
                if total.strip():
                    yield [row[column][0].strip() for row in rows], total.strip()
            rows = []


def said(block):
    """What the notes of a block say that printed terms add up to."""
    text = " ".join(line[0][0] for line in block.lines if len(line) == 1 and line[0][1] == "dim")
    return [Decimal(number) for number in re.findall(r"add up to (\S+?)(?: \(|;)", text)]


@DERIVATION
@given(places(), st.integers(1, 8))
def test_lines(drawn, precision):
    """Roles are known, lines are one line, fit where numbers are short, and never end in spaces."""
    request, place = drawn
    blocks = blocks_of(request, place, precision)
    assert [block.stage for block in blocks] == [HEADING, *STAGES, CHECK]
    for block in blocks:
        assert block.lines
        assert {role for line in block.lines for _, role in line} <= ROLES
    for line in as_text(blocks):
        assert line == line.rstrip()
        assert line == "" or line.isprintable()
        if request.switches.temperature in (1e-12, 1e-150):
            continue
        assert cell_len(line) <= (76 if precision < 4 else 100)


def test_wide_labels_align():
    """Columns end in the same cell beside labels of CJK and emoji."""
    request = Request("我 カード 👩 ball", "spaces")
    lines = text_of(blocks_of(request, (0, 0, 0, 1)), "softmax")
    rows = [line for line in lines if re.match(r"[> ] (key|\d|sum)", line)]
    assert len(rows) == 6
    assert len({cell_len(line) for line in rows}) == 1


def test_products_have_the_role_of_their_sign():
    (dot,) = [block for block in ball() if block.stage == "dot"]
    roles = [line[-1] for line in dot.lines[1:6]]
    assert [(text.strip(), role) for text, role in roles] == [
        ("+4.157", "positive"),
        ("-0.830", "negative"),
        ("+0.081", "positive"),
        ("+0.195", "positive"),
        ("+3.603", "strong"),
    ]


def test_masked_key():
    blocks = ball((0, 0, 1, 3), mask=Mask(causal=True))
    assert "1 ball may attend to 3 blue: no" in text_of(blocks, "mask")
    lines = text_of(blocks, "softmax")
    assert "weight of 3 blue  0  (masked)" in lines
    assert any(re.fullmatch(r"> 3 blue( +–){5}", line) for line in lines)


def test_row_without_a_key():
    blocks = ball((0, 0, 0, 0), mask=Mask(blocked=frozenset(range(4))))
    assert text_of(blocks, "mask")[1] == "allowed keys: none (0 of 4)"
    assert text_of(blocks, "softmax") == [
        "No key is allowed: there is nothing to divide, and every weight is 0."
    ]
    assert not any("FAILED" in line for line in as_text(blocks))


def test_titles_follow_the_normalizer():
    titles = [ball(normalizer=name)[7].title for name in ("softmax", "linear", "none")]
    assert titles == [
        "7 softmax: the row of 3 blue",
        "7 linear normalizer: the row of 3 blue",
        "7 no normalizer: the row of 3 blue",
    ]


def test_switches_in_words():
    assert "Positions are off: nothing is added." in text_of(ball(positions=False), "positions")
    lines = text_of(ball(scale=False, temperature=2.0), "scale")
    assert lines[0] == "divisor  (÷√4 is off) × temperature 2 = 2.000"
    layers = ball((1, 0, 3, 1), model=ModelSpec(2))
    assert "What enters layer 1" in " ".join(text_of(layers, "positions"))
    assert "enters layer 1" in " ".join(text_of(ball(model=ModelSpec(2)), "output"))


def test_large_models_are_cut_and_say_so():
    """Dimensions that are left out are counted; the terms left out are summed."""
    request = Request("w " * 40, "spaces", ModelSpec(1, 2, 128))
    blocks = blocks_of(request, (0, 0, 0, 30))
    assert text_of(blocks, "embedding")[-1] == "… 112 more dimensions"
    dot = text_of(blocks, "dot")
    assert any(line.startswith("… 48 more") and NUMBER.search(line) for line in dot)
    assert "shown: the largest products" in dot
    rows = text_of(blocks, "softmax")
    assert any(line.startswith("> 30 w") for line in rows)
    assert any(line.startswith("… 24 more") for line in rows)
    assert sum(1 for _ in as_text(blocks)) < 350
    for block in blocks:
        for terms, total in printed_sums(block):
            assert abs(sum(map(amount, terms)) - amount(total)) < Decimal("0.009")


def test_stepping():
    """What is not reached is not made; the self-check comes with the last stage."""
    trace = run(Request("The ball is blue"))
    made = derive(trace, 0, 0, 3, 1)

    def stages(last):
        return [block.stage for block in derivation_blocks(trace, made, 3, last=last)]

    assert stages("dot") == [HEADING, *STAGES[:4]]
    assert stages("z") == [HEADING, *STAGES[:8]]
    assert stages(STAGES[-1]) == [HEADING, *STAGES, CHECK]
    assert derivation_blocks(trace, made, 3, last="dot") == ball()[:5]


def test_what_is_typed_over_is_said_where_it_is_used():
    edits = (
        Edit("attn_scores", (0, 0, 3, 1), -1.0),
        Edit("x", (1, 2), 5.0),
        Edit("w_q", (0, 3, 1), 0.0),
    )
    blocks = ball(edits=edits)
    assert "3 numbers typed over" in " ".join(text_of(blocks, HEADING))
    assert "typed over: dim 2 of 1 ball" in text_of(blocks, "positions")
    assert "typed over: W_Q[3,1]" in text_of(blocks, "projections")
    assert "q·k      -0.154 ÷ 2.000 = -0.077" in text_of(blocks, "scale")
    assert "score    -1.000  typed over, in place of that" in text_of(blocks, "scale")
    assert "typed over: the score of 1 ball" in text_of(blocks, "softmax")
    assert "this arithmetic equals the trace  ok" in text_of(blocks, CHECK)
    notes = " ".join(text for block in blocks for text in text_of(blocks, block.stage))
    assert not re.search(
        r"would differ by up\s+to (?!0\.00)", notes
    )  # no typed number is "rounding"
    assert "typed over" not in "\n".join(as_text(ball()))


def test_many_numbers_typed_over_are_counted():
    edits = tuple(Edit("w_q", (0, row, 1), 1.0) for row in range(12))
    said = " ".join(text_of(ball(edits=edits), "projections"))
    assert "W_Q[7,1], 4 more" in said


def test_another_component():
    """Its terms, and in z the dimensions around it."""
    trace = run(Request("The ball is blue", model=ModelSpec(heads=1, d_model=20)))
    blocks = derivation_blocks(trace, derive(trace, 0, 0, 3, 1, component=9), 3)
    for stage, name in (
        ("projections", "q[9]"),
        ("projections", "v[9]"),
        ("output", "attn_out[9]"),
    ):
        assert any(line.startswith(name) for line in text_of(blocks, stage))
    shown = re.findall(r" v\[(\d+)\]", "\n".join(text_of(blocks, "z")))
    assert list(map(int, shown)) == list(range(8, 16))
    assert "… 12 more dimensions of v and z" in text_of(blocks, "z")


def test_markdown():
    """Headings cannot be broken by a token, nor code blocks by backticks in one."""
    request = Request("a```b *c* |d <e>", "spaces")
    lines = list(as_markdown(blocks_of(request, (0, 0, 0, 1))))
    assert lines[0] == r"# Derivation · layer 0 · head 0 · query 0 a\`\`\`b → key 1 \*c\*"
    fences = [line for line in lines if line.startswith("`")]
    assert len(fences) == 2 * 11
    assert "````text" in fences
    assert fences[1::2] == [fence.removesuffix("text") for fence in fences[::2]]


def test_failed_check_is_said():
    trace = run(Request("a b"))
    made = derive(run(Request("a c")), 0, 0, 1, 1)
    lines = text_of(derivation_blocks(trace, made, 3), CHECK)
    assert any(line.startswith("this arithmetic equals the trace  FAILED (") for line in lines)


@pytest.mark.parametrize(
    ("terms", "result", "note"),
    [
        (["+0.333"] * 3, "+1.000", "add up to +0.999;"),
        (["0.500", "0.500", "<0.001"], "1.001", "add up to 1.000 (<0.001 taken as 0);"),
        (["+1.000e+300", "+1.000"], "+1.000e+300", "miss the sum by 1.0"),
    ],
)
def test_sum_notes(terms, result, note):
    assert note in sum_note(terms, result)


def test_no_note_where_digits_add_up():
    assert sum_note(["+0.250", "-0.125", "–", ""], "+0.125") is None
    assert miss_note("sums", [Decimal("0.1")], ["+0.100"]) is None
    assert product("+1.500", "-0.500", "-0.750") == Decimal("-0.750")
    assert quotient("+3.603", "2.000", "+1.802") == Decimal("1.802")


def test_chosen():
    """The largest by size in their order, and the one that must be there."""
    assert chosen([3.0, -9.0, 1.0, 0.5], 2) == [0, 1]
    assert chosen([3.0, -9.0, 1.0, 0.5], 2, always=3) == [1, 3]
    assert chosen([1.0], 2) == [0]
