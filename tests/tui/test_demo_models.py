"""The models of a demo: those that the host allowed, one after the other."""

import os

import pytest

from core.errors import ModelError
from core.lessons import open_lesson
from core.trained import describe
from core.types import Request
from tests.core.small_checkpoints import speaking
from tests.tui.demo import commands, everything, open_demo
from tests.tui.helpers import explorer_of, make_view, press, says, screen_text, settle, shown_text
from tui.scene import View


@pytest.fixture
def two_models(tmp_path):
    """A demo that begins with the seeded model and may show two others."""
    names = ("bert-legacy", "opt-after")
    models = tuple(describe(speaking(name, tmp_path)) for name in names)
    return everything(models=models)


async def choose(pilot, name):
    (command,) = [each for each in commands(pilot) if each.name == name]
    command.run()
    await settle(pilot)


async def test_the_palette_switches_among_the_models_that_are_allowed(two_models):
    async with open_demo(make_view("t5 t17 t3"), allowed=two_models) as pilot:
        await press(pilot, "down", "m")
        await choose(pilot, "Model: bert-legacy")
        assert says(pilot, "bert-legacy · BERT · 2 layers × 3 heads")
        assert shown_text(pilot) == "t5 t17 t3"
        assert explorer_of(pilot.app).state.trace.request.model is two_models.models[0]
        assert {each.name for each in commands(pilot) if each.name.startswith("Model: ")} == {
            "Model: opt-after",
            "Model: seeded",
        }
        await press(pilot, "s")
        assert says(pilot, "trained weights stay as they are")
        assert "s scale" not in screen_text(pilot.app)
        await choose(pilot, "Model: opt-after")
        assert says(pilot, "opt-after · OPT")
        await choose(pilot, "Model: seeded")
        assert says(pilot, "seed 0 · 1 layer × 4 heads")
        assert says(pilot, "mask none")
        assert shown_text(pilot) == "t5 t17 t3"


async def test_a_model_takes_the_place_of_a_lesson(two_models):
    async with open_demo(allowed=two_models) as pilot:
        await choose(pilot, "Lesson: " + open_lesson("by-hand").title.en)
        assert says(pilot, "given matrices")
        await choose(pilot, "Model: bert-legacy")
        assert says(pilot, "bert-legacy")
        assert not says(pilot, "step 1 of")
        await press(pilot, "e")
        assert says(pilot, "esc done")


async def test_another_text_stays_beside_another_model(two_models):
    async with open_demo(make_view("t5 t17", compare="t5 t3"), allowed=two_models) as pilot:
        await choose(pilot, "Model: bert-legacy")
        state = explorer_of(pilot.app).state
        assert state.compared.other.request.text == "t5 t3"
        assert state.compared.other.request.model is two_models.models[0]


async def test_no_model_but_those_that_are_allowed():
    async with open_demo() as pilot:
        assert not [each for each in commands(pilot) if each.name.startswith("Model: ")]


@pytest.mark.parametrize(("key", "runs"), [("x", "tui.state"), ("o", "core.compare")])
async def test_what_a_model_refuses_names_no_path(two_models, key, runs, monkeypatch):
    """Neither in a notice, where all stays as it was, nor in the pane of the other text."""
    model = two_models.models[0]
    asked = []

    def refuse(*_):
        asked.append(key)
        raise ModelError(f"{model.path}/x is damaged", f"see {model.path}")

    view = View(Request("t5 t17", model=model))
    async with open_demo(view, size=(200, 40), allowed=two_models) as pilot:
        monkeypatch.setattr(f"{runs}.trace", refuse)
        await press(pilot, key)
        assert asked
        assert os.path.dirname(model.path) not in screen_text(pilot.app)
        assert says(pilot, "bert-legacy/x is damaged")
