"""docs/api.md: every block of Python on it runs, and every array of a file stands on it."""

import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from core import Learning, ModelSpec, Request, Wish, run
from core.reading import Reading
from core.trained import describe
from tests.cli.command import attn_tui
from tests.core.small_checkpoints import speaking
from tui.printing.npz import entries
from tui.printing.table import Part

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


class Recorder:
    """Stands for matplotlib, which the program does not bring."""

    def __init__(self):
        self.called = []

    def __getattr__(self, name):
        def call(*arguments, **_options):
            self.called.append(name)
            return arguments

        return call


@pytest.fixture
def axes(monkeypatch):
    figure = Recorder()
    pyplot = types.ModuleType("matplotlib.pyplot")
    pyplot.subplots = lambda: (figure, figure)
    monkeypatch.setitem(sys.modules, "matplotlib", types.ModuleType("matplotlib"))
    sys.modules["matplotlib"].pyplot = pyplot
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
    return figure


def folders(tmp_path, monkeypatch):
    """The models that the page opens, where it opens them."""
    for name, small in (("bert", "bert-legacy"), ("gpt2", "gpt2-head")):
        Path(speaking(small, tmp_path)).rename(tmp_path / name)
    monkeypatch.chdir(tmp_path)


def test_every_block_runs(tmp_path, monkeypatch, axes):
    folders(tmp_path, monkeypatch)
    session = {}
    seen = 0
    for language, code in BLOCKS:
        if language == "python":
            exec(compile(code, f"{PAGE.name}, block {seen}", "exec"), session)
            seen += 1
            continue
        for line in code.splitlines():
            words = re.findall(r'"[^"]*"|\S+', line)
            result = attn_tui(*(word.strip('"') for word in words[1:]))
            assert (words[0], result.returncode) == ("attn-tui", 0), result.stderr
    assert seen > 10
    assert (tmp_path / "view.svg").read_text().startswith("<svg")
    assert "savefig" in axes.called
    assert session["logits"].shape == (1, 37)


def comments():
    """The lines that say what they give: the expression, and what stands behind it."""
    for language, code in BLOCKS:
        for line in code.splitlines() if language == "python" else ():
            found = re.fullmatch(r"(\S[^#=]*?)\s+# (\(\d.*?\)|\[.*?\])(:.*)?", line)
            if found:
                yield found[1], found[2]


def test_what_is_said_behind_a_line_is_what_it_gives(tmp_path, monkeypatch, axes):
    folders(tmp_path, monkeypatch)
    attn_tui("show", "--format", "npz", "--output", "trace.npz", "--layers", "2", "a")
    session = {}
    for language, code in BLOCKS:
        if language == "python" and "trace.npz" not in code and "plt" not in code:
            exec(code, session)
    said = list(comments())
    assert len(said) >= 4
    for expression, value in said:
        if re.search(r"\d|'|True|False", value):
            found = eval(expression, session)
            found = found.tolist() if isinstance(found, np.ndarray) else found
            assert repr(found) == value, expression


def test_the_page_needs_no_screen():
    program = "\n".join(code for language, code in BLOCKS[:2] if language == "python")
    program += "\nimport sys; print({'textual', 'rich', 'click', 'tui'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout == "set()\n", result.stderr


def test_every_array_of_a_file_stands_on_the_page(tmp_path):
    known = set(re.findall(r"`([\w.*]+)`", PAGE.read_text(encoding="utf-8")))
    learning = Learning((Wish(0, ((0, 1.0),)),), steps=1)
    requests = [
        Request("a b", learning=learning),
        Request("a b", model=ModelSpec(layers=2), target="c"),
        Request("t5 t17", model=describe(speaking("bert-legacy", tmp_path))),
    ]
    names = {entry.name for request in requests for entry in entries(run(request), Part())}
    names |= {entry.name for entry in entries(run(requests[0]), Part(head=1))}
    reading = Part(reading=Reading(words=True, drop="first"))
    names |= {entry.name for each in requests[:2] for entry in entries(run(each), reading)}
    general = {re.sub(r"\.\d+\.", ".N.", name) for name in names}
    starts = {name.removesuffix("*") for name in known if name.endswith(".N.*")} - {"layers.N."}
    assert starts == {"encoder.N.", "decoder.N.", "cross.N."}
    for name in general - known:
        stem = next((start for start in starts if name.startswith(start)), None)
        assert stem is not None, name
        assert f"layers.N.{name.removeprefix(stem)}" in known, name
    written = {name for name in known if name.startswith(("layers.N.", "target_", "learning."))}
    assert written - {"layers.N.*"} <= general
