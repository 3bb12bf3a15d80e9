"""No English on the Chinese screens of a real encoder–decoder, nor in what is printed of one."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from core.language import set_language
from core.names import ATTENTIONS
from core.trained import describe
from core.types import Request
from tests.core.small_checkpoints import edit_config, speaking
from tests.language.test_untranslated import english, printed
from tests.tui.helpers import open_app, press, screen_text
from tui.scene import View

TEXT, TARGET = "t5 t17 t3", "t9 t30"
NAMES = "bart-head BART Jain Wallace decoder_start_token_id config.json"


@pytest.fixture
def chinese(monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    set_language("zh")


@pytest.fixture
def folder(tmp_path):
    return speaking("bart-head", tmp_path)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=str)
@pytest.mark.parametrize("target", [None, "", TARGET])
async def test_every_attention(folder, target, size, chinese):
    model = describe(folder)
    for attention in ATTENTIONS if target is not None else ATTENTIONS[:1]:
        for pane in ("tokens", "weights"):
            view = View(Request(TEXT, model=model, target=target), attention=attention, pane=pane)
            async with open_app(view, size) as pilot:
                assert english(screen_text(pilot.app), TEXT, TARGET, NAMES) == set()


@pytest.mark.parametrize(
    "keys", [["a"], ["A"], ["m"], ["question_mark", "end"], ["ctrl+p", *"目标"]], ids=str
)
async def test_what_keys_bring_up(folder, keys, chinese):
    async with open_app(View(Request(TEXT, model=describe(folder)))) as pilot:
        await press(pilot, *keys)
        assert english(screen_text(pilot.app), TEXT, NAMES) == set()


@pytest.fixture
def short_folder():
    """Its name is cut nowhere on a screen, as that of a test's folder may be."""
    with TemporaryDirectory(prefix="") as folder:
        yield Path(folder)


async def test_what_starts_no_target(short_folder, chinese):
    folder = speaking("bart-head", short_folder)
    edit_config(short_folder / "bart-head", decoder_start_token_id=99)
    async with open_app(View(Request(TEXT, model=describe(folder)))) as pilot:
        await press(pilot, "A")
        assert english(screen_text(pilot.app), TEXT, NAMES, *folder.split("/")) == set()


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--target", TARGET],
        ["--target", "", "--attention", "cross", "--query", "0"],
        ["--target", TARGET, "--head", "3"],  # refused: the stacks differ
    ],
    ids=str,
)
def test_what_is_printed(folder, words, chinese, capsys):
    given = ["show", "--model", folder, *words, TEXT]
    known = "encoder decoder cross --attention --target TEXT"
    assert english(printed(capsys, *given), *given, NAMES, known) == set()


def test_model_that_takes_no_target(tmp_path, chinese, capsys):
    path = speaking("bert-plain", tmp_path)
    said = printed(capsys, "show", "--model", path, "--target", TARGET, TEXT)
    assert english(said, "--target", path, "bert-plain BERT") == set()
