"""Who may come in."""

from __future__ import annotations

import hmac
import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path

from core.language import _
from core.text import visible
from tui.serve.errors import ServeError

WRONG = 1.0  # seconds that a wrong password takes
PASSWORD = "ATTN_TUI_PASSWORD"  # noqa: S105 - the name of a variable


@dataclass(frozen=True)
class Access:
    """Who may come in.

    Attributes
    ----------
    keys : str, optional
        A file as OpenSSH's ``authorized_keys``.
    password : bytes, optional
    open : bool
        Everybody may.
    """

    keys: str | None = None
    password: bytes | None = field(default=None, repr=False)
    open: bool = False

    def admits(self, password: str) -> bool:
        """Whether a password is the right one, in a time that does not depend on it."""
        given = password.encode("utf-8", "surrogateescape")
        return self.password is not None and hmac.compare_digest(given, self.password)


def access(keys: str | None, password_file: str | None, anybody: bool) -> Access:
    """Who may come in, by the options and the environment.

    Raises
    ------
    ServeError
        Nobody could, or a file cannot be read.
    """
    password = _password(password_file)
    if anybody and (keys or password):
        raise ServeError(
            _("--open lets everybody in, whatever keys and passwords say"),
            _("leave out --open, or the others"),
        )
    if not (anybody or keys or password):
        raise ServeError(
            _("nobody could come in"),
            _(
                "give --authorized-keys FILE, --password-file FILE or a password in {name}, or say"
                " --open"
            ).format(name=PASSWORD),
        )
    if keys is not None:
        _read(keys)
    return Access(keys, password.encode("utf-8", "surrogateescape") or None, anybody)


def access_by_page(password_file: str | None, anybody: bool, host: str) -> Access:
    """Who may open a page; one that only this machine can reach needs no password.

    Raises
    ------
    ServeError
        Others could come in without a password, or the file cannot be read.
    """
    password = _password(password_file)
    if password and anybody:
        raise ServeError(
            _("--open lets everybody in, whatever keys and passwords say"),
            _("leave out --open, or the others"),
        )
    if not (password or anybody or _is_loopback(host)):
        raise ServeError(
            _("others can reach a page at {host}, and it has no password").format(
                host=visible(host)
            ),
            _("give --password-file FILE or a password in {name}, or say --open").format(
                name=PASSWORD
            ),
        )
    return Access(password=password.encode("utf-8", "surrogateescape") or None, open=not password)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _password(file: str | None) -> str:
    """The password of the file, else of the environment, where no other process finds it."""
    password = os.environ.pop(PASSWORD, "")
    if file is None:
        return password
    password = _read(file).partition("\n")[0].rstrip("\r")
    if not password:
        raise ServeError(
            _("the first line of {file}, the password, is empty").format(file=visible(file)),
            _("write one there"),
        )
    return password


def _read(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise ServeError(
            _("{file} cannot be read ({reason})").format(
                file=visible(name), reason=error.strerror or error
            ),
            _("name a file that can"),
        ) from error
