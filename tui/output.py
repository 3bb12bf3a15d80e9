"""Where the output of a command goes: to standard output, or into a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from core.language import _
from tui.checking import check
from tui.traced import note

if TYPE_CHECKING:
    from core.types import Trace
    from tui.printing.table import Part
    from tui.scene import View


def is_stream(output: str | None) -> bool:
    """Whether ``--output`` means standard output."""
    return output in (None, "-")


def check_output(form: str, output: str | None) -> None:
    """Raise UsageError where bytes would go to a terminal."""
    if form == "npz" and is_stream(output) and sys.stdout is not None and sys.stdout.isatty():
        raise click.UsageError(
            _("npz is nothing that a terminal can show: add --output FILE, or send it into a pipe")
        )


def width(output: str | None) -> int | None:
    """Cells of a line where a terminal shows the output, None where nobody looks at it."""
    if not is_stream(output):
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (AttributeError, OSError, ValueError):  # closed, or no terminal
        return None


def write_lines(lines: Iterable[str], output: str | None) -> None:
    """Write lines to standard output or into a file.

    Raises
    ------
    OutputError, OSError
        As `tui.printing.writing.write` and `write_file`.
    """
    from tui.printing.writing import write, write_file

    if output is None or output == "-":
        write(lines, sys.stdout)
    else:
        write_file(lines, output)


def write_arrays(trace: Trace, part: Part, output: str | None) -> None:
    """Write the arrays of a trace, or some of them, as ``.npz``.

    Raises
    ------
    OutputError, OSError
        As `write_lines`; or the disk has less room than the file takes.
    """
    from tui.printing.npz import entries, write_npz
    from tui.printing.writing import opened, whole_file

    made = list(entries(trace, part))
    if output is None or output == "-":
        stream = opened(sys.stdout).buffer
        write_npz(made, stream)
        stream.flush()
        return
    with whole_file(output) as file:
        check_room(sum(each.size for each in made), output)
        write_npz(made, file)


def write_picture(
    view: View, theme: str | None, size: tuple[int, int], lesson: str | None, output: str | None
) -> None:
    """Write what the explorer shows of a view as SVG, beside the first step of a lesson.

    Raises
    ------
    AttnError, OSError
        The view or the theme is refused; or as `write_lines`.
    """
    tokens, target = check(view)

    from core.lessons import open_lesson
    from tui.picture import picture
    from tui.wording import notices

    made = picture(view, theme, size, None if lesson is None else open_lesson(lesson))
    write_lines([made], output)
    note(notices(tokens, target))


def check_room(needed: int, output: str) -> None:
    """Raise OutputError where a file of so many bytes has no room."""
    import shutil

    from tui.printing.writing import OutputError

    free = shutil.disk_usage(os.path.dirname(os.path.realpath(output))).free
    if needed > free:
        raise OutputError(
            _("{name} would take {needed:,.2f} GiB, and {free:,.2f} are free there").format(
                name=output, needed=needed / 2**30, free=free / 2**30
            ),
            _("choose a layer, a head, a shorter text or another disk"),
        )
