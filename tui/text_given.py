"""The text that a command is about: its words, or standard input."""

from __future__ import annotations

import sys

import click

from core.language import _

NAME = "attn-tui"
COMMANDS = ("show", "worksheet", "lesson", "lessons", "models", "serve")
SHOW, WORKSHEET, LESSON, LESSONS, MODELS, SERVE = COMMANDS
MAX_STDIN_BYTES = 2**24


def one_text(words: tuple[str, ...]) -> str | None:
    """The text, None without one; several words are a sentence without its quotes."""
    if len(words) < 2:
        return words[0] if words else None
    start = " ".join(words[:2])[:40]
    said = _('put the text in quotes, as in "{start} …"').format(start=start)
    also = ""
    if words[0] in (SHOW, WORKSHEET):
        also = _("; {command}, to print, goes before its options")
    elif words[0] in COMMANDS:
        also = _("; {command}, as a command, goes before its options")
    raise click.UsageError(said + also.format(command=words[0]))


def text_to_show(words: tuple[str, ...]) -> str:
    text = one_text(words)
    if text is None and (sys.stdin is None or sys.stdin.isatty()):
        raise click.UsageError(
            _("there is no text: give one in quotes, or give - to read standard input")
        )
    return _read_stdin() if text is None or text == "-" else text


def _read_stdin() -> str:
    """Standard input as text, without a byte order mark and without its last line break."""
    if sys.stdin is None:
        raise click.UsageError(_("standard input is closed: give the text in quotes"))
    data = sys.stdin.buffer.read(MAX_STDIN_BYTES + 1)
    if len(data) > MAX_STDIN_BYTES:
        raise click.UsageError(
            _("standard input holds more than {size} MiB: give a shorter text").format(
                size=MAX_STDIN_BYTES >> 20
            )
        )
    if b"\0\0" in data:
        raise click.UsageError(_("standard input is not text: give a text file or a sentence"))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(
            _(
                "standard input is not UTF-8 (byte {place} is 0x{byte:02x}): convert it first, for"
                " example with iconv -f GB18030 -t UTF-8"
            ).format(place=error.start, byte=data[error.start])
        ) from None
    return text.removesuffix("\n").removesuffix("\r")
