"""What a session's process runs: it takes its terminal, then explores."""

from __future__ import annotations

import fcntl
import sys
import termios

# Isolated: neither the folder nor the environment adds a module. The words follow.
COMMAND = (sys.executable, "-I", "-c", "from tui.serve.child import main; main()")


def main() -> None:
    """Make standard input the terminal that hangs this session up, then run the command line."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    from tui.cli import main as explore

    explore()
