"""`attn-tui show --format svg`: the explorer's own screen, as a snapshot test takes it."""

import re
import subprocess
import sys
import threading
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from rich.cells import cell_len
from textual.worker_manager import WorkerManager

from core.language import set_language
from core.lessons import open_lesson
from core.trained import describe
from core.types import Mask, Request, Switches
from tests.cli.command import attn_tui, environment, sentence
from tests.core.small_checkpoints import speaking
from tests.tui.helpers import HOSTILE, make_view, open_app
from tui import state
from tui.app import AttnApp
from tui.commands.show import OF_A_PICTURE, show
from tui.labels import graphemes
from tui.lessons import view_at
from tui.options import places
from tui.picture import drawn_in, in_cells
from tui.scene import View

TEXT = "The black cat drank the milk"


def drawn(*words, **surroundings):
    result = attn_tui("show", "--format", "svg", *words, env=environment(**surroundings))
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode()


def plain(svg):
    """Without what names the picture, and without fonts that would be fetched."""
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    return re.sub(r"@font-face \{[^}]*\}\s*", "", svg).rstrip("\n")


async def of_the_explorer(view, size=(120, 36), **options):
    async with open_app(view, size, **options) as pilot:
        return plain(in_cells(pilot.app.export_screenshot()))


def words_of(svg):
    """All that the picture says, line breaks and columns apart."""
    root = ElementTree.fromstring(svg)
    texts = root.iter("{http://www.w3.org/2000/svg}text")
    return "".join("".join(each.itertext()) for each in texts).replace("\xa0", " ")


CELL = 12.2
WIDE = ("我想吃酸菜鱼", "👩\u200d👩\u200d👧 🇨🇳 naïve cafe\u0301", "나는 밥을 ok", "แกงส้ม a")


@pytest.mark.parametrize("text", WIDE)
def test_every_text_stands_on_its_cells(text):
    """Rich gives wide characters one cell each; in a browser they lay over each other."""
    root = ElementTree.fromstring(drawn("--lang", "zh", "--size", "80x24", text))
    lines = {}
    for each in root.iter("{http://www.w3.org/2000/svg}text"):
        if "textLength" in each.attrib and each.text != "\n":
            cells = cell_len(each.text)
            assert float(each.get("textLength")) == pytest.approx(CELL * cells, rel=1e-4)
            assert cells == len(each.text) or len(graphemes(each.text)) == 1
            lines.setdefault(each.get("y"), []).append((float(each.get("x")), CELL * cells))
    assert len(lines) == 24
    for line in lines.values():
        for (x, length), (following, _) in pairwise(line):
            assert x + length <= following + 0.1


@pytest.mark.parametrize("pane", ["tokens", "weights", "matrix", "vectors", "derivation"])
async def test_every_pane_is_that_of_the_explorer(pane):
    expected = await of_the_explorer(make_view(query=5, head=1, key=3, pane=pane), (80, 24))
    places = ("--query", "5", "--head", "1", "--key", "3", "--pane", pane)
    assert plain(drawn(*places, "--size", "80x24", TEXT)) == expected


async def test_size_theme_and_switches():
    view = make_view(
        query=2, zoom=7, precision=2, mask=Mask(causal=True), switches={"scale": False}
    )
    expected = await of_the_explorer(view, (200, 60), theme="attn-light")
    words = ("--query", "2", "--zoom", "7", "--precision", "2", "--mask", "causal", "--no-scale")
    assert plain(drawn(*words, "--theme", "attn-light", "--size", "200x60", TEXT)) == expected


async def test_usual_size_needs_no_terminal():
    """Nor its colours: what is drawn is always the same."""
    expected = await of_the_explorer(make_view())
    assert plain(drawn(TEXT, TERM="dumb", COLORTERM=None)) == expected


async def test_without_colours(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    expected = await of_the_explorer(make_view(pane="matrix"))
    assert plain(drawn("--pane", "matrix", TEXT, NO_COLOR="1")) == expected


async def test_a_real_model_is_waited_for(tmp_path):
    path = speaking("bert-legacy", tmp_path)
    view = View(Request("t5 t17 t3", model=describe(path)), layer=1, head=2, query=1)
    expected = await of_the_explorer(view)
    words = ("--model", path, "--layer", "1", "--head", "2", "--query", "1")
    found = drawn(*words, "t5 t17 t3")
    assert plain(found) == expected
    assert "“t17” attends to" in words_of(found)


async def test_a_picture_is_not_taken_before_the_trace_is_there(tmp_path, monkeypatch):
    """Here it is there when the workers are waited for, and not before."""
    waited = threading.Event()
    trace, wait = state.trace, WorkerManager.wait_for_complete

    def slow(*arguments, **options):
        assert waited.wait(60)
        return trace(*arguments, **options)

    async def waiting(*arguments):
        waited.set()
        await wait(*arguments)

    monkeypatch.setattr(state, "trace", slow)
    monkeypatch.setattr(WorkerManager, "wait_for_complete", waiting)
    view = View(Request("t5 t17", model=describe(speaking("bert-legacy", tmp_path))))
    try:
        found = await drawn_in(AttnApp(view), (80, 24))
    finally:
        waited.set()
    assert "“t5” attends to" in words_of(found)


async def test_a_target_and_another_text():
    request = Request("The ball is blue", target="La bola es azul")
    expected = await of_the_explorer(View(request, attention="cross", query=3, pane="matrix"))
    words = ("--target", "La bola es azul", "--attention", "cross", "--query", "3")
    assert plain(drawn(*words, "--pane", "matrix", "The ball is blue")) == expected
    expected = await of_the_explorer(make_view(compare="The cat", pane="compare"))
    assert plain(drawn("--compare", "The cat", "--pane", "compare", TEXT)) == expected


async def test_a_lesson_at_its_first_step():
    lesson = open_lesson("by-hand")
    expected = await of_the_explorer(view_at(lesson, 0), lesson=lesson)
    assert plain(drawn("--lesson", "by-hand")) == expected


async def test_in_chinese():
    set_language("zh")
    expected = await of_the_explorer(make_view("我想吃酸菜鱼"))
    assert plain(drawn("--lang", "zh", "我想吃酸菜鱼")) == expected


def test_nothing_is_fetched_when_it_is_looked_at():
    svg = drawn(TEXT)
    assert set(re.findall(r"https?://[^\"' <)]+", svg)) <= {
        "http://www.w3.org/2000/svg",
        "https://www.textualize.io",  # in a comment
    }
    assert "url(http" not in svg.replace('"', "")
    assert "@import" not in svg
    assert "font-family: Fira Code, monospace" in svg


def test_text_is_data():
    svg = drawn("--tokenizer", "spaces", " ".join([*HOSTILE, "</text><script>1</script>", "&amp;"]))
    root = ElementTree.fromstring(svg)
    assert {each.tag.split("}")[1] for each in root.iter()} <= {
        *("svg", "style", "defs", "clipPath", "rect", "g", "circle", "text"),
    }
    said = words_of(svg)
    assert all(char.isprintable() or char in "\n" for char in said)
    assert "</text><script>1</script>" in said
    assert "&amp;" in said
    assert "[@click=app.quit]x[/]" in said


def test_a_file_is_written_whole(tmp_path):
    file = tmp_path / "view.svg"
    result = attn_tui("show", "--format", "svg", "--output", str(file), TEXT)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert file.read_text(encoding="utf-8") == drawn(TEXT)


def test_notes_go_to_error_output():
    result = attn_tui("show", "--format", "svg", "--tokenizer", "chars", "a" * 2050)
    assert result.returncode == 0
    assert result.stderr == b"attn-tui: note: first 2,048 of 2,050 tokens\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--size", "59x18"], "'59x18' is no size from 60x18 to 400x200, such as 120x36"),
        (["--size", "401x20"], "is no size from"),
        (["--size", "\x1b[2J"], "is no size from"),
        (["--theme", "plaid"], "there is no theme plaid: choose one of"),
        (["--pane", "compare"], "pane compare has nothing to show"),
        (["--query", "6"], "query 6 is out of range: choose 0 to 5"),
        (["--derive"], "--derive prints a table or markdown, not svg"),
        (["--temperature", "1e-310"], "is not finite"),  # known only once it is computed
    ],
)
def test_what_is_refused(words, said):
    assert said in sentence(attn_tui("show", "--format", "svg", *words, TEXT))


@pytest.mark.parametrize("form", ["table", "json", "csv", "npz"])
def test_what_a_picture_alone_has_a_use_for(form):
    said = sentence(attn_tui("show", "--format", form, "--pane", "matrix", "x"))
    assert "--pane is for pictures: add --format svg, or leave it out" in said


def test_show_has_all_places_of_the_explorer():
    def nothing():
        """Carries the options."""

    names = [param.name for param in show.params]
    assert len(set(names)) == len(names)
    assert {param.name for param in places(nothing).__click_params__} - {*names} == {"ascii"}
    assert set(OF_A_PICTURE) <= {*names}


@pytest.mark.parametrize(
    ("form", "found"), [("json", b"False"), ("npz", b"False"), ("svg", b"True")]
)
def test_other_formats_start_without_textual(form, found, tmp_path):
    words = ["show", "--format", form, "--output", str(tmp_path / "out"), "x"]
    code = (
        f"import sys, tui.cli\ntry: tui.cli.main({words!r})\n"
        "except SystemExit: print('textual' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert (result.stdout.strip(), result.stderr) == (found, b"")


def test_switches_reach_the_picture():
    """Were they forgotten, all of the tests above would compare the same two wrong ones."""
    view = View(Request("a b", switches=Switches(temperature=2.0)))
    assert view.request.switches.temperature == 2.0
    assert "temperature 2" in words_of(drawn("--temperature", "2", "a b"))
