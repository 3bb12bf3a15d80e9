"""Lessons: the numbers that they promise, and what a file may not say."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from core import run
from core.compare import compare
from core.errors import LessonError
from core.learning_types import Learning, Wish
from core.lesson_numbers import check_expected, found_values
from core.lessons import bundled_lessons, bundled_paths, open_lesson
from core.resources import data_path
from core.types import Mask

DECIMAL = re.compile(r"-?[0-9]*\.[0-9]+")
LESSONS = list(bundled_paths())
GOOD = """
name = "mine"
title = { en = "Mine", zh = "我的" }
about = { en = "About it.", zh = "关于。" }
tokens = ["a", "b"]

[model]
x = [[1, 0], [0, 1]]
w_q = [[1, 0], [0, 1]]
w_k = [[1, 0], [0, 1]]
w_v = [[1, 0], [0, 1]]

[switches]
positions = false

[[steps]]
say = { en = "First.", zh = "一。" }
pane = "matrix"
query = 1

[[steps]]
say = { en = "Second.", zh = "二。" }
key = 1
switches = { mask = "causal", temperature = 2 }

[[expected]]
array = "dot"
digits = 0
values = [[1, 0], [0, 1]]
"""


@pytest.fixture
def read(tmp_path):
    """A lesson from the good file with parts of it replaced."""

    def made(*changes):
        text = GOOD
        for old, new in zip(changes[::2], changes[1::2], strict=True):
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / f"mine-{len(os.listdir(tmp_path))}.toml"
        path.write_text(text)
        return open_lesson(str(path))

    return made


@pytest.mark.parametrize("name", LESSONS)
def test_expected_values(name):
    lesson = open_lesson(name)
    assert lesson.expected
    check_expected(lesson)


def test_the_changes_that_a_lesson_names():
    """What is said of rows, and the factor that all of a row keep."""
    lesson = open_lesson("what-matters")
    for step, head, query, change, new, factor in (
        (1, 0, 19, 0.365, 0.355, None),
        (2, 3, 6, 0.332, 0.332, 0.698),
        (4, 0, 19, 0.258, 0.258, 0.769),
        (5, 0, 6, 0, 0, 1),
    ):
        found = compare(run(lesson.request_at(step)), lesson.compare)
        mine, theirs = found.weights(0, head, query, found.partner(query))
        assert round(found.change(0, head, query), 3) == change
        added = [place for place, (i, _j) in enumerate(found.alignment) if i is None]
        assert len(added) == 9
        assert round(theirs[added].sum(), 3) == new
        before = [place for place in range(12) if mine[place]]
        kept = {round(theirs[place] / mine[place], 3) for place in before}
        assert kept == {factor} or factor is None
    assert len(found.shared) == 22
    assert not found.rows[..., :12].any()


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_complete(name):
    lesson = open_lesson(name)
    assert lesson.name == name
    assert 3 <= len(lesson.steps) <= 8
    for words in (lesson.title, lesson.about, *(step.say for step in lesson.steps)):
        assert words.en != words.zh
        assert any("\u4e00" <= char <= "\u9fff" for char in words.zh)
        assert sorted(DECIMAL.findall(words.en)) == sorted(DECIMAL.findall(words.zh))


@pytest.mark.parametrize("name", LESSONS)
def test_a_file_is_named_like_its_lesson(name):
    """So that `show --lesson` finds what `lessons` lists."""
    assert open_lesson(str(bundled_paths()[name])).name == name


def test_the_lessons_come_in_order():
    assert [lesson.name for lesson in bundled_lessons()] == LESSONS
    assert LESSONS[0] == "by-hand"
    assert len(LESSONS) == len(list(data_path("lessons").glob("*.toml")))


def test_steps_build_on_each_other(read):
    lesson = read()
    assert lesson.places_at(1) == {"pane": "matrix", "query": 1, "key": 1}
    assert lesson.request_at(-1) == lesson.request_at(0) == lesson.request
    switches = lesson.request_at(1).switches
    assert (switches.mask, switches.temperature, switches.positions) == (Mask(True), 2.0, False)


def test_learning_builds_up_from_the_step_with_wishes(read):
    lesson = read(
        "[switches]\n",
        "[learning]\nrate = 0.5\n[switches]\n",
        "query = 1\n",
        'query = 1\nlearning = { wishes = ["1:0=0.25", "0:0=1"] }\n',
        "key = 1\n",
        "key = 1\nlearning = { steps = 20 }\n",
    )
    wishes = (Wish(0, ((0, 1.0),)), Wish(1, ((0, 0.25),)))
    assert lesson.request_at(-1).learning is None
    assert lesson.request_at(0).learning == Learning(wishes, rate=0.5)
    assert lesson.request_at(1).learning == Learning(wishes, steps=20, rate=0.5)


def test_the_losses_that_the_lesson_about_learning_names():
    """0.0001 is the last digit that it prints."""
    lesson = open_lesson("learning")
    first, fast = (run(lesson.request_at(step)).history for step in (1, 5))
    said = [step.say.en for step in lesson.steps]
    assert f"loss is {first.losses[0]:.4f}" in said[1]
    assert f"below {first.least:.4f}" in said[1]
    assert f"rises to {max(fast.losses):.4f}" in said[5]


def test_a_step_types_numbers_over_and_shows_them(read):
    lesson = read(
        'pane = "matrix"\nquery = 1',
        'pane = "numbers"\narray = "w_q"\ndim = 1\ncomponent = 1\n'
        'switches = { edits = ["w_q[0,1,1]=3", "attn_scores[0,0,1,0]=-1"] }',
        'mask = "causal"',
        "edits = []",
    )
    assert lesson.places_at(0) == {"pane": "numbers", "array": "w_q", "dim": 1, "component": 1}
    layer = run(lesson.request_at(0)).layers[0]
    assert layer.weights.w_q.tolist() == [[1, 0], [0, 3]]
    assert layer.attn_scores[0, 1, 0] == -1
    assert lesson.request_at(1).switches.edits == lesson.request.switches.edits == ()


MATRICES = (GOOD[GOOD.index("x = [[1") : GOOD.index("[switches]")], "seed = 1\n")
FAULTS = [
    (('name = "mine"', ""), "name is missing"),
    (('name = "mine"', 'name = "My lesson"'), "name is 'My lesson'"),
    ((', zh = "我的"', ""), "title.zh is missing"),
    (('{ en = "Mine", zh = "我的" }', '"Mine"'), "title is no table"),
    (('tokens = ["a", "b"]', ""), "the file must have either text or tokens"),
    (('tokens = ["a", "b"]', 'tokens = "a b"'), "tokens is no list of words"),
    (('["a", "b"]', '["a", "b c"]'), "tokens holds 'b c'"),
    (('["a", "b"]', '["a"]'), "model.x has 2 rows for 1 token"),
    (('tokens = ["a", "b"]', 'text = "a b"\ntokenizer = "t"'), "tokenizer is 't'"),
    (('tokens = ["a", "b"]', 'text = " "'), "text is no text"),
    (("w_k = [[1, 0], [0, 1]]", ""), "model.w_k is missing"),
    (("w_k = [[1, 0], [0, 1]]", "w_k = [[1, 0]]"), "w_k has 1 row but x has 2 columns"),
    (("w_k = [[1, 0], [0, 1]]", "w_k = [[1, 0], [0]]"), "row 1 of w_k has 1 number but"),
    (("x = [[1, 0]", 'x = [["one", 0]'), "model.x row 0 holds 'one' where a number must be"),
    (("x = [[1, 0]", "x = [[nan, 0]"), "model.x row 0 holds nan"),
    (("x = [[1, 0]", "x = [[inf, 0]"), "model.x row 0 holds inf"),
    (("x = [[1, 0]", f"x = [[{10**400}, 0]"), "model.x row 0 holds 1000"),
    (("x = [[1, 0], [0, 1]]", "x = 3"), "model.x is no matrix"),
    (("x = [[1, 0], [0, 1]]", "x = []"), "x is empty"),
    (("[model]\n", "[model]\nseed = 1\n"), "model.seed stands beside given matrices"),
    (("[model]\n", "[model]\nw_z = 1\n"), "model.w_z is unknown: the keys here are heads, w_k"),
    (("positions = false", "position = false"), "switches.position is unknown"),
    (("positions = false", 'positions = "no"'), "switches.positions is 'no'"),
    (('mask = "causal"', 'mask = "window"'), "steps 2.switches.mask is 'window'"),
    (('mask = "causal"', 'mask = "causalwindow:3"'), "steps 2.switches.mask is 'causalwindow:3'"),
    (("temperature = 2", "temperature = 0"), "steps 2 is refused: temperature 0.0 is out of"),
    (('pane = "matrix"', 'pane = "map"'), "steps 1.pane is 'map'"),
    (("query = 1", "query = 2"), "steps 1.query is 2, out of range: choose 0 to 1"),
    (("query = 1", "query = true"), "steps 1.query is true and no whole number"),
    (("query = 1", "dim = 2"), "steps 1.dim is 2, out of range: choose 0 to 1"),
    (("query = 1", "zoom = 3"), "steps 1.zoom is 3: choose one of 0, 1, 2, 5, 7, 9"),
    (("query = 1", "zoom = true"), "steps 1.zoom is true and no whole number: choose 0 to 9"),
    (("query = 1", 'array = "w_o"'), "steps 1.array is 'w_o': choose one of attn_scores, x,"),
    (('mask = "causal"', 'edits = ["x[0]=1"]'), "steps 2 is refused: x has 2 indexes and not 1"),
    (('mask = "causal"', 'edits = ["x[0,0]=a"]'), "steps 2.switches.edits is refused: “a” is no"),
    (("query = 1", "show = 1"), "steps 1.show is unknown"),
    (('en = "First.", ', ""), "steps 1.say.en is missing"),
    (('[[steps]]\nsay = { en = "First', '[steps]\nsay = { en = "First'), "cannot be read"),
    (('array = "dot"', 'array = "dots"'), "expected 1.array is 'dots'"),
    (("digits = 0", "digits = 0\nstep = 3"), "expected 1.step is 3, out of range"),
    (("digits = 0", f"digits = {'1' * 5000}"), "a number in it has thousands of digits"),
    (("x = [[1, 0], [0, 1]]", "x = " + "[" * 10**5), "nests too deeply"),
    (("positions = false", "positions = false\n[learning]\nwishes = 1"), "no list of texts"),
    (
        ("query = 1", 'query = 1\nlearning = { wishes = ["0"] }'),
        "steps 1.learning.wishes is refused: “” is no wished-for weight",
    ),
    (
        ("query = 1", 'query = 1\nlearning = { wishes = ["0:2=1"] }'),
        "steps 1 is refused: there is no token 2 to wish for: choose 0 to 1",
    ),
    (
        ("query = 1", 'query = 1\nlearning = { wishes = ["0:1=1"] }'),
        "steps 2 is refused: query 0 may not attend to key 1",
    ),
    (("query = 1", "query = 1\nlearning = { steps = 2001 }"), "steps is 2001, out of range"),
    (("query = 1", "query = 1\nlearning = { pace = 1 }"), "the keys here are head, rate, steps"),
    (('tokens = ["a", "b"]', 'tokens = ["a", "b"]\ncompare = "a"'), "compare is refused: given"),
    (('pane = "matrix"', 'pane = "compare"'), "steps 1.pane is 'compare': choose one of tokens"),
    (('pane = "matrix"', 'pane = "predictions"'), "steps 1.pane is 'predictions': choose one of t"),
    (("digits = 0", "digits = 0\ncompared = true"), "expected 1.compared is unknown"),
    (('array = "dot"', 'array = "change"'), "expected 1.array is 'change'"),
    (("digits = 0", "digits = 13"), "expected 1.digits is 13, out of range: choose 0 to 12"),
    (("values = [[1, 0]", "values = [[1, nan]"), "expected 1.values row 0 holds nan"),
    (("name = ", "name == "), "cannot be read (Invalid value"),
    (("name = ", "name = \x1b"), "cannot be read ("),
]


@pytest.mark.parametrize(("changes", "fault"), FAULTS, ids=[fault for _, fault in FAULTS])
def test_a_bad_file_is_refused(read, changes, fault):
    with pytest.raises(LessonError) as refused:
        read(*changes)
    sentence = str(refused.value)
    assert "/mine-0.toml" in sentence
    assert fault in sentence
    assert sentence.isprintable()


def test_a_seeded_model_of_a_wrong_size_is_refused(read):
    table, promised = MATRICES[0], GOOD[GOOD.index("[[expected]]") :]
    assert read(table, "heads = 2\n", promised, "").request.model.heads == 2
    for model, fault in (
        ("heads = 3\n", "model does not fit: 3 heads cannot share d_model 16 evenly"),
        ("layers = 97\n", "model.layers is 97, out of range: choose 1 to 96"),
        ("layers = 96\nd_model = 60000\n", "model does not fit: 1 token × 96 layers"),
        ("size = 97\n", "model.size is unknown: the keys here are d_model, heads, layers, seed"),
    ):
        with pytest.raises(LessonError, match=fault):
            read(table, model)


NUMBERS = "values = [[1, 0], [0, 1]]"
MISMATCHES = [
    ((NUMBERS, "values = [[1, 0], [0, 2]]"), "row 1, column 1 is 2 but dot is 1.00 there"),
    ((NUMBERS, "values = [[1, 0]]"), "has rows of 2 numbers but dot has 2 of 2"),
    ((NUMBERS, "values = [[1], [0, 1]]"), "has rows of 1, 2 numbers but dot has 2 of 2"),
    ((NUMBERS, "values = []"), "has rows of 0 numbers but dot has 2 of 2"),
    (
        ("digits = 0", "digits = 2\nstep = 2", NUMBERS, "values = [[1, 0], [0, 1.01]]"),
        "is 1.01 but",
    ),
    (('"dot"', '"pattern"', "digits = 0", "digits = 1"), "column 0 is 1.0 but pattern is 0.670"),
]


@pytest.mark.parametrize(("changes", "fault"), MISMATCHES, ids=[fault for _, fault in MISMATCHES])
def test_a_promised_number_that_is_not_computed_is_refused(read, changes, fault):
    with pytest.raises(LessonError) as refused:
        read(*changes)
    assert re.search(rf"/mine-0\.toml: expected 1\.values .*{re.escape(fault)}", str(refused.value))


def test_half_of_the_last_digit_is_allowed(read):
    promised = "array = 'pattern'\nstep = 2\ndigits = 3\nvalues = [[1, 0], {}]\n"
    old = GOOD[GOOD.index('array = "dot"') :]  # the second row is softmax([0, 1 / (2 √2)])
    assert read(old, promised.format("[0.413, 0.587]")).expected
    with pytest.raises(LessonError, match=r"column 0 is 0\.412 but pattern is 0\.41252 "):
        read(old, promised.format("[0.412, 0.588]"))


def test_what_cannot_be_computed_names_the_step(read):
    changes = ("temperature = 2", "temperature = 1e-320", "digits = 0", "digits = 0\nstep = 2")
    with pytest.raises(LessonError, match="steps 2 cannot be computed: layer 0: attn"):
        read(*changes)


COMPARED = (MATRICES[0], "", 'tokens = ["a", "b"]', 'text = "a b"\ncompare = "a c b"')


def test_a_lesson_compares_two_texts(read):
    promised = GOOD[GOOD.index("[[expected]]") :]
    found = read(*COMPARED, 'pane = "matrix"', 'pane = "compare"', promised, "")
    assert (found.compare, found.places_at(0)["pane"]) == ("a c b", "compare")
    first = run(found.request)
    compared = compare(first, "a c b")
    row = [round(x, 3) for x in compared.other.layers[0].pattern[1, 2].tolist()]
    heads = [round(x, 3) for x in compared.rows[0].mean(axis=-1).tolist()]
    right = f"""
[[expected]]
array = "pattern"
compared = true
head = 1
query = 2
digits = 3
values = {row}
[[expected]]
array = "change"
digits = 3
values = {heads}
"""
    assert len(read(*COMPARED, promised, right).expected) == 2
    for old, new in ((row[0], row[0] + 0.01), (heads[3], heads[3] + 0.01)):
        with pytest.raises(LessonError, match=r"row 0, column [03] is 0\.[0-9]{3} but"):
            read(*COMPARED, promised, right.replace(str(old), str(round(new, 3)), 1))


def test_a_text_to_compare_with_is_checked(read):
    for text, fault in ((" ", "compare is no text"), ("a " * 2049, "compare holds 2,049 tokens")):
        with pytest.raises(LessonError, match=fault):
            read(MATRICES[0], "", "[model]", f'compare = "{text}"\n[model]')


@pytest.fixture
def translated(read):
    """The good lesson with seeded weights and a target of three words, and more replaced."""

    def made(*changes):
        return read(*MATRICES, "[model]", 'target = "c d e"\n\n[model]', *changes)

    return made


def test_a_lesson_with_a_target(translated):
    lesson = translated(
        "key = 1\n",
        'key = 1\nquery = 2\nattention = "cross"\n',
        'array = "dot"',
        'attention = "decoder"\nquery = 0\narray = "pattern"',
        "[[1, 0], [0, 1]]",
        "[1, 0, 0]",
    )
    assert lesson.request.target == "c d e"
    assert lesson.places_at(1)["attention"] == "cross"
    (expected,) = lesson.expected
    trace = run(lesson.request)
    found = found_values(trace, expected)
    np.testing.assert_array_equal(found, trace.decoder.layers[0].pattern[0, :1])


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (('target = "c d e"', 'target = " "'), "target is no text"),
        (('"c d e"', '"' + "e " * 2049 + '"'), "target holds 2,049 tokens: use at most 2,048"),
        (("query = 1", "query = 3"), "steps 1.query is 3, out of range: choose 0 to 2"),
        (("query = 1", "query = 2"), "steps 1.query is 2, out of range in the encoder attention"),
        (
            ("key = 1", 'key = 2\nattention = "cross"'),
            "steps 2.key is 2, out of range in the cross attention: choose 0 to 1",
        ),
        (("key = 1", 'attention = "both"'), "steps 2.attention is 'both': choose one of encoder"),
        (
            ("digits = 0", 'digits = 0\nattention = "encoder"\nquery = 2'),
            "expected 1.query is 2, out of range in the encoder attention",
        ),
    ],
)
def test_a_bad_lesson_with_a_target_is_refused(translated, changes, fault):
    with pytest.raises(LessonError) as caught:
        translated(*changes)
    assert fault in str(caught.value)


def test_a_target_needs_seeded_weights_and_attention_a_target(read):
    for changes, fault in (
        (("[model]", 'target = "c"\n[model]'), "target is refused: given matrices have no dec"),
        (("key = 1", 'attention = "cross"'), "steps 2.attention is 'cross': choose one of encod"),
    ):
        with pytest.raises(LessonError) as caught:
            read(*changes)
        assert fault in str(caught.value)


def test_a_lesson_without_steps_is_refused(read):
    steps = GOOD[GOOD.index("[[steps]]") : GOOD.index("[[expected]]")]
    for new, fault in (("", "steps is missing"), ("[steps]\n", "steps is no list of tables")):
        with pytest.raises(LessonError, match=fault):
            read(steps, new)
    with pytest.raises(LessonError, match="steps is empty"):
        read(steps, "", "[model]", "steps = []\n[model]")


@pytest.mark.parametrize(
    ("count", "fault"), [(2049, "2,049 tokens: use at most 2,048"), (10**6, "is larger than 1 MiB")]
)
def test_too_many_tokens(read, count, fault):
    with pytest.raises(LessonError, match=fault):
        read('["a", "b"]', "[" + '"a",' * count + "]")
    with pytest.raises(LessonError, match=fault):
        read('tokens = ["a", "b"]', 'text = "' + "a " * count + '"', *MATRICES)


def test_paths_that_are_no_file(tmp_path):
    assert Path("/dev/null").is_char_device()
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    damaged = tmp_path / "damaged.toml"
    damaged.write_bytes(b"name = '\xff'")
    for path, fault in (
        (tmp_path, "is a folder"),
        (pipe, "is no ordinary file"),
        ("/dev/null", "is no ordinary file"),
        (tmp_path / "none.toml", "does not exist"),
        (damaged, "is not UTF-8"),
        ("a\0b.toml", "cannot be read"),
    ):
        with pytest.raises(LessonError, match=fault):
            open_lesson(str(path))
    with pytest.raises(LessonError, match="there is no lesson nothing: choose one of by-hand"):
        open_lesson("nothing")


def test_the_lesson_in_the_documentation_is_right(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "lessons.md").read_text()
    file = tmp_path / "mine.toml"
    file.write_text(re.search("```toml\n(.*?)```", text, re.S)[1])
    (expected,) = open_lesson(str(file)).expected  # which has compared the numbers
    assert (expected.array, expected.digits, len(expected.values)) == ("pattern", 4, 3)
