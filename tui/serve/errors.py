"""What keeps a host from serving."""

from core.errors import AttnError
from core.language import N_


class ServeError(AttnError):
    """Something on the host does not allow to serve."""

    title = N_("Serving")
