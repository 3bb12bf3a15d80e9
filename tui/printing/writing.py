"""Writing to a stream, or to a file whole or not at all."""

from __future__ import annotations

import io
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from core.errors import AttnError
from core.language import N_, _


class OutputError(AttnError):
    """A file cannot be written."""

    title = N_("Output")


def write(lines: Iterable[str], stream: TextIO | None) -> None:
    """Write lines to a stream.

    Raises
    ------
    OutputError
        The stream is closed.
    OSError
        Nobody reads it, or it takes no more.
    """
    stream = opened(stream)
    stream.writelines(f"{line}\n" for line in lines)
    stream.flush()


def opened(stream: TextIO | None) -> TextIO:
    """Raise OutputError for a stream that is closed: Python has None for it."""
    if stream is None:
        raise OutputError(_("standard output is closed"), _("open it or give --output FILE"))
    return stream


def write_file(lines: Iterable[str], name: str) -> None:
    """Write lines to a file; raises OutputError as `whole_file` does."""
    with whole_file(name) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        write(lines, text)
        text.detach()


@contextmanager
def whole_file(name: str) -> Iterator[BinaryIO]:
    """Open a file to be written, whole or not at all; an older file stays until then.

    Raises
    ------
    OutputError
        The file cannot be written; nothing is left behind.
    """
    if not name:
        raise OutputError(_("the name of the output file is empty"), _("name a file"))
    path = Path(os.path.realpath(name))  # a link keeps pointing at the file
    try:
        mode = _mode_for(path, name)
        handle, temporary = tempfile.mkstemp(prefix=".attn-tui-", dir=path.parent)
        try:
            with open(handle, "wb") as file:
                yield file
                file.flush()
                os.fchmod(handle, mode)
                os.fsync(handle)  # some disks tell only now that they are full
            os.replace(temporary, path)
        except BaseException:  # an interrupt too must leave no file behind
            os.unlink(temporary)
            raise
    except OSError as error:
        raise OutputError(
            _("cannot write {name} ({reason})").format(name=name, reason=error.strerror or error),
            _("give a file in a folder that exists, may be written and has space"),
        ) from error


def _mode_for(path: Path, name: str) -> int:
    """Permissions of the file to write: its own, or those that the umask leaves to a new one."""
    try:
        found = path.stat().st_mode
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask
    if stat.S_ISDIR(found):
        raise OutputError(_("{name} is a folder").format(name=name), _("name a file in it"))
    if not stat.S_ISREG(found):  # to replace /dev/null by a file would be a disaster
        raise OutputError(
            _("{name} is no ordinary file").format(name=name), _("write to it with > instead")
        )
    if not os.access(path, os.W_OK):
        raise OutputError(_("{name} is read-only").format(name=name), _("name another file"))
    return stat.S_IMODE(found)
