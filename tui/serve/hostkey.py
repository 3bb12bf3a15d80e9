"""The host key: made once, kept where only its owner can read it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import asyncssh

from core.language import _
from core.text import visible
from tui.serve.errors import ServeError

KIND = "ssh-ed25519"
_READ_BY_OTHERS = 0o077


def usual_path(environ: Mapping[str, str]) -> Path:
    """Where the key is kept if nobody names a file.

    Raises
    ------
    ServeError
        The environment names no folder.
    """
    data, home = environ.get("XDG_DATA_HOME", ""), environ.get("HOME", "")
    if os.path.isabs(data):
        return Path(data, "attn-tui", "ssh_host_key")
    if os.path.isabs(home):
        return Path(home, ".local", "share", "attn-tui", "ssh_host_key")
    raise ServeError(
        _("there is no folder for the host key, since HOME is not set"),
        _("name a file with --host-key"),
    )


def host_key(path: Path) -> asyncssh.SSHKey:
    """The key in a file, made if there is none.

    Raises
    ------
    ServeError
        It can be neither read nor made, or others can read it.
    """
    try:
        if not path.exists():
            _make(path)
        if path.stat().st_mode & _READ_BY_OTHERS:
            raise ServeError(
                _("others can read the host key {file}").format(file=visible(str(path))),
                _("make it private with chmod 600, or remove it for a new one"),
            )
        return asyncssh.read_private_key(path)
    except OSError as error:
        raise ServeError(
            _("the host key cannot be kept in {file} ({reason})").format(
                file=visible(str(path)), reason=error.strerror or error
            ),
            _("make its folder writable, or name another file with --host-key"),
        ) from error
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError) as error:
        raise ServeError(
            _("{file} holds no host key that can be read").format(file=visible(str(path))),
            _("remove it, and a new one is made"),
        ) from error


def _make(path: Path) -> None:
    """Write a new key whole or not at all; where two servers start, the first one's stays."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        fileno = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(fileno, "wb") as file:
            file.write(asyncssh.generate_private_key(KIND).export_private_key())
        with suppress(FileExistsError):
            os.link(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
