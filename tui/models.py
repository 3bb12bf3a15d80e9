"""The command ``attn-tui models``."""

from __future__ import annotations

import click

from core.language import N_
from tui.options import choice, general
from tui.text_given import MODELS
from tui.usage import Command


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
    from tui.output import write_lines
    from tui.printing.models import all_models, json_models, model_lines

    found = all_models()
    write_lines(json_models(found) if format == "json" else model_lines(found), None)
