"""`attn-tui show` as a person reads it."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from core import Mask, ModelSpec, Request, Switches, run
from tests.cli.command import ATTN_TUI, attn_tui, environment
from tui.labels import weight
from tui.printing.table import Part, PatternRows, table_lines


def lines(text, part=None, precision=3, width=None, model=None, **switches):
    request = Request(text, "mixed", model or ModelSpec(), Switches(**switches))
    return list(table_lines(run(request), part or Part(), precision, width))


def tables(printed):
    """Blocks of lines between blank lines."""
    return [block.split("\n") for block in "\n".join(printed).split("\n\n")]


def test_the_ball_is_blue():
    result = attn_tui("show", "The ball is blue", "--heads", "2")
    assert result.returncode == 0
    assert result.stderr == b""
    assert result.stdout.decode() == (
        """\
seeded · seed 0 · 1 layer × 2 heads · d_model 16 · random weights: the mechanism, not meaning
mask none · ÷√8 on · temperature 1 · positions on
4 tokens · tokenizer mixed

layer 0 · head 0 · pattern (query ↓, key →)
         0 The  1 ball    2 is  3 blue
0 The    0.188   0.427   0.188   0.197
1 ball   0.377   0.225   0.099   0.299
2 is     0.296   0.198   0.251   0.255
3 blue   0.082   0.734   0.078   0.105

layer 0 · head 1 · pattern (query ↓, key →)
         0 The  1 ball    2 is  3 blue
0 The    0.471   0.174   0.113   0.243
1 ball   0.031   0.871   0.027   0.071
2 is     0.223   0.613   0.033   0.130
3 blue   0.322   0.045   0.256   0.377
"""
    )


GOLDEN_CHINESE = """\
seeded · seed 0 · 1 layer × 1 head · d_model 16 · random weights: the mechanism, not meaning
mask causal · ÷√16 on · temperature 1 · positions on
6 tokens · tokenizer mixed

layer 0 · head 0 · pattern (query ↓, key →)
        0 我    1 想    2 吃    3 酸    4 菜    5 鱼
0 我   1.000       –       –       –       –       –
1 想   0.247   0.753       –       –       –       –
2 吃   0.169   0.381   0.450       –       –       –
3 酸   0.094   0.138   0.364   0.405       –       –
4 菜   0.109   0.153   0.599   0.099   0.041       –
5 鱼   0.167   0.077   0.156   0.347   0.127   0.126
"""


def test_chinese_under_a_causal_mask():
    result = attn_tui("show", "--heads", "1", "--mask", "causal", "我想吃酸菜鱼")
    assert result.stdout.decode() == GOLDEN_CHINESE


GOLDEN_QUERY = """\
seeded · seed 0 · 1 layer × 3 heads · d_model 6 · random weights: the mechanism, not meaning
mask none · ÷√2 on · temperature 1 · positions on
6 tokens · tokenizer mixed

layer 0 · query 2 吃 · pattern (key ↓, head →)
      head 0  head 1  head 2
0 我   0.319   0.158   0.031
1 想   0.126   0.201   0.448
2 吃   0.148   0.216   0.289
3 酸   0.102   0.157   0.185
4 菜   0.135   0.093   0.016
5 鱼   0.171   0.175   0.030

           dim 0       1       2       3       4       5
attn_out  -0.438  -0.354  -0.595  +0.635  +0.253  +0.922
"""


def test_one_query_with_the_heads_side_by_side_and_what_it_gets():
    result = attn_tui("show", "我想吃酸菜鱼", "--query", "2", "--d-model", "6", "--heads", "3")
    assert result.stdout.decode() == GOLDEN_QUERY


@pytest.mark.parametrize(
    "text",
    [
        "The ball is blue",
        "我想吃酸菜鱼",
        "👩‍👩‍👧 🇨🇳 👍🏽 ❤️ e\u0301 ｶﾞ 한국어 x",
        "a \x1b[31m \u202e b \x9b",
    ],
)
@pytest.mark.parametrize("query", [None, 1])
def test_every_line_of_a_table_is_as_wide_as_its_header(text, query):
    for block in tables(lines(text, Part(query=query)))[1:]:
        table = block[1:] if block[0].startswith("layer") else block
        assert len({cell_len(line) for line in table}) == 1, table


def test_a_label_is_clipped_with_a_sign_and_its_number_stays():
    table = tables(lines("Donaudampfschifffahrtsgesellschaft fährt"))[1]
    assert table[1].split() == ["0", "Donaudampfschifffah…", "1", "fährt"]


def test_row_numbers_are_aligned():
    table = tables(lines("a b c d e f g h i j k", model=ModelSpec(heads=1)))[1]
    assert table[2].startswith(" 0 a")
    assert table[12].startswith("10 k")


def test_a_masked_cell_is_a_dash_and_a_row_without_a_key_says_masked():
    table = tables(lines("a b", mask=Mask(causal=True, blocked=frozenset({0}))))[1]
    assert table[2] == "0 a  masked"
    assert table[3] == "1 b       –   1.000"


def test_a_masked_query_says_so():
    mask = Mask(causal=True, blocked=frozenset({0}))
    table = tables(lines("a b", Part(query=0), mask=mask))[1]
    assert table[0].endswith("· masked")
    assert table[2].split()[2:] == ["–"] * 4


def test_a_tiny_weight_is_not_printed_as_zero():
    printed = "\n".join(lines("The ball is blue", temperature=0.05))
    assert " <0.001" in printed


def test_without_narrowing_every_head_of_every_layer_has_a_table():
    titles = [
        line.split(" · pattern")[0]
        for line in lines("a b", model=ModelSpec(layers=3, heads=4))
        if "pattern" in line
    ]
    assert titles == [f"layer {layer} · head {head}" for layer in range(3) for head in range(4)]


@pytest.mark.parametrize(
    ("part", "titles"),
    [
        (Part(layer=1), ["layer 1 · head 0", "layer 1 · head 1"]),
        (Part(head=1), ["layer 0 · head 1", "layer 1 · head 1"]),
        (Part(layer=1, head=0), ["layer 1 · head 0"]),
        (Part(query=1), ["layer 0 · query 1 b", "layer 1 · query 1 b"]),
        (Part(layer=0, query=1), ["layer 0 · query 1 b"]),
    ],
)
def test_narrowing(part, titles):
    printed = lines("a b", part, model=ModelSpec(layers=2, heads=2))
    assert [line.split(" · pattern")[0] for line in printed if "pattern" in line] == titles


def test_narrowing_to_a_query_and_a_head_leaves_one_column():
    table = tables(lines("a b", Part(query=1, head=2)))[1]
    assert table[1].split() == ["head", "2"]


@settings(derandomize=True, deadline=None)
@given(
    st.lists(
        st.floats(0, 1) | st.floats(0, 1e-3) | st.sampled_from([0.0, 0.0005, 1e-320, 1.0, 0.0625]),
        min_size=1,
        max_size=9,
    ),
    st.integers(1, 12),
    st.data(),
)
def test_a_row_at_once_is_its_cells_one_by_one(weights, precision, data):
    allowed = data.draw(st.lists(st.booleans(), min_size=len(weights), max_size=len(weights)))
    pattern = np.array([weights, weights])
    mask = np.array([allowed, [True] * len(weights)])
    rows = PatternRows(pattern, mask, ["0 x"] * len(weights), precision)
    for query in range(2):
        cells = [
            weight(value, precision) if shown else "–"
            for value, shown in zip(weights, mask[query], strict=True)
        ]
        expected = "".join("  " + cell.rjust(precision + 3) for cell in cells)
        if not mask[query].any():
            expected = "  " + "masked".rjust(precision + 3)
        assert rows.line(query, slice(0, len(weights))) == expected


@pytest.mark.parametrize("precision", range(1, 13))
def test_a_row_at_once_tells_tiny_weights_as_a_cell_does(precision):
    edge = 10.0**-precision / 2
    weights = [edge, np.nextafter(edge, 0), np.nextafter(edge, 1), edge * 1.005, edge * 0.995]
    mask = np.ones((1, 5), dtype=bool)
    rows = PatternRows(np.array([weights]), mask, ["0 x"] * 5, precision)
    assert rows.line(0, slice(0, 5)).split() == [weight(value, precision) for value in weights]


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(1, 60))
def test_folding_keeps_every_cell_in_order(width):
    text = "The 我想 👩‍👩‍👧 drank twenty-one glasses"
    whole = tables(lines(text, Part(head=0)))[1]
    blocks = tables(lines(text, Part(head=0), width=width))[1:]
    blocks[0] = blocks[0][1:]  # the title
    names = [line.split("  ")[0] for line in whole[2:]]
    aside = max(map(cell_len, names))
    heads = [" " * aside, *names]
    for row, (head, line) in enumerate(zip(heads, whole[1:], strict=True)):
        parts = [block[row] for block in blocks]
        assert all(part.startswith(head) for part in parts)
        cells = chain.from_iterable(part.removeprefix(head).split() for part in parts)
        assert list(cells) == line.removeprefix(head).split()
    for block in blocks:
        widths = {cell_len(line) for line in block}
        assert len(widths) == 1
        one_column = len(block[1].split()) <= 3
        assert widths.pop() <= width or one_column


def test_a_pipe_is_never_folded():
    text = " ".join(f"word{index}" for index in range(60))
    printed = attn_tui("show", text, "--head", "0").stdout.decode().splitlines()
    assert len(printed) == 3 + 1 + 1 + 1 + 60


def test_a_terminal_folds_to_its_width():
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    arguments = [ATTN_TUI, "show", "The ball is blue and round", "--head", "0"]
    with subprocess.Popen(arguments, stdout=child, env=environment(COLUMNS=None)) as process:
        os.close(child)
        printed = _read_all(parent)
        assert process.wait(60) == 0
    table = [line for line in printed.splitlines()[5:] if line]
    assert max(map(cell_len, table)) <= 40
    assert sum("0 The" in line for line in table) == 1 + 2  # its column, and its row in two blocks


def _read_all(descriptor):
    data = b""
    while True:
        try:
            part = os.read(descriptor, 65536)
        except OSError:  # Linux: the other side is closed
            part = b""
        if not part:
            os.close(descriptor)
            return data.decode()
        data += part


def test_what_was_learned_is_said_in_place_of_randomness():
    command = ("show", "--wish", "1:0=0.75", "--steps", "1", "--learn-head", "2", "a b")
    printed = attn_tui(*command).stdout.decode()
    assert "1 learned weight on one sentence, not language" in printed
    assert "random weights" not in printed
    assert "\nlearning W_Q and W_K of head 2 · 1 step learned · rate 0.02 · loss 0." in printed
