"""The command that opens a view again, read back by a shell and by our own parser."""

import subprocess
from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core import Edit, Learning, Mask, ModelSpec, Request, Switches, Wish, run
from core.edits import with_edit
from core.errors import TextError
from core.names import ATTENTIONS, EDITABLE, NORMALIZERS, PROJECTIONS, STAGES
from core.text import visible
from tui import cli
from tui.asked import build_view
from tui.choices import EXAMPLE, PANES, VECTORS, ZOOMS
from tui.command import command_line
from tui.commands.explore import explore
from tui.scene import View

COUNTS = st.integers(0, 50)
TEXTS = st.text(max_size=30).map(lambda text: text.replace("\0", "")) | st.sampled_from(
    [
        EXAMPLE,
        "",
        "show",
        "-",
        "--",
        "--help",
        "-x y",
        "it's",
        "a'b\"c`$(id)`\\!*?~#&|;<>",
        "\\x41\\101",
        "a\nb\tc\r",
        "\x1b]0;x\x07",
        "\x011",
        "\\n\\'\n",
        "\u202eabc",
        "\u200b",
        "\u0301",
        "👩‍👩‍👧",
        "我想吃酸菜鱼",
        "\u00ff\u0100",
        "$'x'",
        "a=b",
        " ",
        "\U0010ffff",
    ]
)
RATES = st.floats(0, exclude_min=True, allow_nan=False, allow_infinity=False)
WISHES = st.dictionaries(
    COUNTS, st.dictionaries(COUNTS, st.floats(0, 1), min_size=1, max_size=3), min_size=1, max_size=3
).map(
    lambda rows: tuple(
        Wish(query, tuple(sorted(weights.items()))) for query, weights in sorted(rows.items())
    )
)
EDITS = st.lists(
    st.builds(
        Edit,
        st.just("w_q"),
        st.tuples(COUNTS, COUNTS, COUNTS),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    max_size=3,
).map(lambda edits: reduce(with_edit, edits, ()))
VIEWS = st.builds(
    View,
    st.builds(
        Request,
        TEXTS,
        st.sampled_from(
            ["mixed", "chars", "spaces", "/a b/tokenizer.json", "/-x", "/\x1b", "/\udcff"]
        ),
        st.builds(
            ModelSpec,
            st.integers(1, 96),
            st.integers(1, 9),
            st.integers(1, 99),
            st.integers(0, 2**64 - 1),
        ),
        st.builds(
            Switches,
            st.builds(Mask, st.booleans(), st.none() | COUNTS, st.frozensets(COUNTS, max_size=4)),
            st.booleans(),
            st.booleans(),
            RATES,
            st.sampled_from(PROJECTIONS),
            st.sampled_from(NORMALIZERS),
            EDITS,
        ),
        st.booleans(),
        st.none() | st.builds(Learning, WISHES, COUNTS, COUNTS, RATES),
        st.none() | TEXTS,
    ),
    COUNTS,
    COUNTS,
    COUNTS,
    COUNTS,
    st.integers(1, 12),
    st.sampled_from(PANES),
    st.sampled_from(VECTORS),
    st.sampled_from(ZOOMS),
    st.sampled_from(STAGES),
    st.sampled_from(sorted(EDITABLE)),
    COUNTS,
    COUNTS,
    st.none() | TEXTS,
    st.sampled_from(ATTENTIONS),
)


def words_of(command, shell="bash"):
    """What a program gets for its arguments when a shell runs the command."""
    result = subprocess.run(
        [shell, "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True, timeout=60
    )
    return result.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]


def view_of(words):
    """The view that our parser reads out of arguments."""
    with cli.parse(words) as ctx:
        assert ctx.command is explore
        options = dict(ctx.params)
    texts = options.pop("words")
    options.pop("theme")
    assert len(texts) < 2
    return build_view(texts[0] if texts else None, options)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(VIEWS)
@example(View())
def test_a_command_opens_the_same_view(view):
    command = command_line(view)
    assert visible(command) == command
    name, *words = words_of(command)
    assert name == "attn-tui"
    assert view_of(words) == view


@settings(derandomize=True, deadline=None, max_examples=40)
@given(TEXTS)
def test_a_text_alone_opens_the_same_view(text):
    view = View(Request(text))
    assert view_of(words_of(command_line(view))[1:]) == view


@pytest.mark.parametrize(
    ("view", "command"),
    [
        (View(), "attn-tui"),
        (View(Request("cat")), "attn-tui cat"),
        (View(Request("The cat's milk")), "attn-tui 'The cat'\"'\"'s milk'"),
        (View(Request("我想吃")), "attn-tui '我想吃'"),
        (View(Request("a\nb'c\x1b")), r"attn-tui $'a\nb\'c\033'"),
        (View(Request("\\\n")), r"attn-tui $'\\\n'"),
        (View(Request("\u0301")), r"attn-tui $'\314\201'"),
        (View(Request("a\u200bb")), r"attn-tui $'a\342\200\213b'"),
        (View(Request("👩‍👩‍👧")), "attn-tui '👩‍👩‍👧'"),
        (View(Request("show")), "attn-tui -- show"),
        (View(Request("-5 degrees")), "attn-tui -- '-5 degrees'"),
        (View(Request("show me")), "attn-tui 'show me'"),
        (View(Request("")), "attn-tui ''"),
        (
            View(Request("x", model=ModelSpec(2, 8, 32, 7)), layer=1, head=3, query=0),
            "attn-tui --d-model 32 --heads 8 --layers 2 --seed 7 --layer 1 --head 3 x",
        ),
        (View(Request("a"), compare="b c"), "attn-tui --compare 'b c' a"),
        (
            View(Request(EXAMPLE, target="La bola"), attention="cross", key=1),
            "attn-tui --target 'La bola' --key 1 --attention cross",
        ),
        (View(Request("x", target="")), "attn-tui --target '' x"),
        (View(Request("x", target="-h")), "attn-tui --target -h x"),
        (
            View(
                Request(
                    EXAMPLE,
                    switches=Switches(Mask(True, 3, frozenset({2, 0})), False, False, 0.1),
                ),
                pane="matrix",
                zoom=1,
            ),
            "attn-tui --mask causal+window:3 --block 0,2 --no-positions --no-scale"
            " --temperature 0.1 --pane matrix --zoom 1",
        ),
        (
            View(Request("a b", learning=Learning((Wish(1, ((0, 0.7),)),), 2)), head=2),
            "attn-tui --wish 1:0=0.7 --head 2 'a b'",
        ),
        (
            View(
                Request(
                    "a b",
                    learning=Learning(
                        (Wish(0, ((0, 0.25), (1, 0.75))), Wish(1, ((0, 1.0),))), 2, 40, 0.5
                    ),
                ),
            ),
            "attn-tui --wish 0:0=0.25,1=0.75 --wish 1:0=1 --steps 40 --rate 0.5 --learn-head 2"
            " 'a b'",
        ),
    ],
)
def test_the_shortest_command(view, command):
    assert command_line(view) == command


def test_numbers_typed_over_are_part_of_the_command():
    edits = (Edit("attn_scores", (0, 1, 3, 2), 1.5), Edit("w_q", (0, 3, 9), -1e-7))
    view = View(Request(switches=Switches(edits=edits), text="x"))
    command = command_line(view)
    assert command == "attn-tui --set 'attn_scores[0,1,3,2]=1.5' --set 'w_q[0,3,9]=-1e-07' x"
    assert view_of(words_of(command)[1:]) == view


def test_what_utf_8_cannot_carry_is_replaced_as_in_the_analysis():
    view = View(Request("a \ud800 \udcff b"))
    again = view_of(words_of(command_line(view))[1:])
    before, after = run(view.request), run(again.request)
    assert after.tokens.items == before.tokens.items
    assert not (after.layers[0].pattern != before.layers[0].pattern).any()


@pytest.mark.parametrize(
    "changes",
    [
        {"request": Request("a\0b")},
        {"request": Request("a", "b\0c")},
        {"request": Request("a", target="b\0")},
        {"compare": "\0"},
    ],
)
def test_nul_is_refused(changes):
    with pytest.raises(TextError, match="NUL"):
        command_line(replace(View(), **changes))


def test_the_path_of_a_tokenizer_becomes_absolute(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    command = command_line(View(Request("a", tokenizer="t.json")))
    assert command == f"attn-tui --tokenizer {tmp_path}/t.json a"


def test_a_theme_is_part_of_the_command():
    assert command_line(View(), "nord") == "attn-tui --theme nord"
