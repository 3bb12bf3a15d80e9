"""Run a command and print its wall time in seconds and its peak memory in bytes.

The peak that the kernel reports for a child is at least the size of the process that started it,
so this small script stands between the bench and the command.
"""

import os
import sys
import time


def main(command: list[str]) -> int:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, nowhere, 1)]
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    print(seconds, usage.ru_maxrss * 1024)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
