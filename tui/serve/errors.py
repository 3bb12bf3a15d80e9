"""What keeps a host from serving."""

from __future__ import annotations

from core.errors import AttnError
from core.language import N_, _
from core.text import visible


class ServeError(AttnError):
    """Something on the host does not allow to serve."""

    title = N_("Serving")


def cannot_listen(host: str, port: int, error: OSError) -> ServeError:
    """Why there is no listening at an address."""
    return ServeError(
        _("cannot listen on {host}, port {port} ({reason})").format(
            host=visible(host), port=port, reason=visible(error.strerror or str(error))
        ),
        _("choose another with --host and --port"),
    )
