"""The command ``attn-tui models``."""

from __future__ import annotations

import click

from core.language import N_
from tui.options import general
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
@general
def models() -> None:
    """Print a line a model."""
    from tui.printing.models import model_lines

    for line in model_lines():
        click.echo(line)
