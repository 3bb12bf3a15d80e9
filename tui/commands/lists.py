"""``attn-tui lessons`` and ``attn-tui models``: what there is to be opened."""

from __future__ import annotations

import click

from core.language import N_, spoken
from tui.options import choice, general
from tui.output import write_lines
from tui.text_given import LESSONS, MODELS
from tui.usage import Command


@click.command(LESSONS, cls=Command, help=N_("List the lessons: their names and titles."))
@general
def lessons() -> None:
    """Print a line a lesson."""
    from core.lessons import bundled_lessons
    from tui.labels import pad

    listed = list(bundled_lessons())
    cells = max(len(each.name) for each in listed)
    write_lines((f"{pad(each.name, cells)}  {each.title.of(spoken())}" for each in listed), None)


@click.command(
    MODELS,
    cls=Command,
    help=N_(
        "List the real models on this machine that --model takes by name: those of packages, of"
        " Hugging Face's cache, of Ollama and of LM Studio."
    ),
)
@choice("--format", N_("What to print."), ("table", "json"), "table")
@general
def models(format: str) -> None:
    """Print a line a model."""
    from tui.printing.models import all_models, json_models, model_lines

    found = all_models()
    write_lines(json_models(found) if format == "json" else model_lines(found), None)
