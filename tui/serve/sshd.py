"""What a server of OpenSSH needs to serve demos: a wrapper, and a block of its configuration."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

WRAPPER = "/usr/local/bin/attn-tui-demo"
CONFIGURATION = "/etc/ssh/sshd_config.d/attn-tui.conf"
ACCOUNT = "demo"
_WRAPPER = """\
#!/bin/sh
# {wrapper}: owned by root, mode 755.
# Of the client's environment a session sees four variables. Python is isolated: no module comes
# from the environment, the home folder or the working one.
ulimit -c 0
cd /
exec /usr/bin/env -i PATH=/usr/bin:/bin \\
  TERM="${{TERM-}}" LANG="${{LANG-}}" LC_ALL="${{LC_ALL-}}" \\
  COLORTERM="${{COLORTERM-}}" \\
  OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false \\
  {command}
"""
_BLOCK = """\
# {configuration}: then sshd -t, and reload sshd.
Match User {account}
    ForceCommand {wrapper}
    PermitTTY yes
    DisableForwarding yes
    AllowTcpForwarding no
    AllowStreamLocalForwarding no
    AllowAgentForwarding no
    X11Forwarding no
    PermitTunnel no
    PermitOpen none
    PermitListen none
    PermitUserRC no
    MaxSessions 1
    ClientAliveInterval 15
    ClientAliveCountMax 3
"""


def wrapper(words: Sequence[str]) -> str:
    """The script that a connection runs, whatever it asks for."""
    python = [sys.executable, "-I", "-X", "utf8", "-c", "from tui.cli import main; main()"]
    return _WRAPPER.format(wrapper=WRAPPER, command=shlex.join([*python, *words]))


def block(path: str = WRAPPER, account: str = ACCOUNT) -> str:
    """The block of ``sshd_config``."""
    return _BLOCK.format(wrapper=path, account=account, configuration=CONFIGURATION)


def printed(words: Sequence[str]) -> list[str]:
    """Both files, one after the other."""
    return [*wrapper(words).splitlines(), "", *block().splitlines()]
