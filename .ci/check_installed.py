"""Use an installed ``attn-tui`` as a stranger would: print, then explore in a pseudo-terminal."""

import json
import os
import subprocess
import sys

import pexpect
import pyte

SIZE = (24, 80)


def printed(command: str) -> None:
    result = subprocess.run(
        [command, "show", "--format", "json", "The ball is blue"],
        check=True,
        capture_output=True,
        text=True,
    )
    answer = json.loads(result.stdout)
    weights = answer["layers"][0]["heads"][0]["pattern"][0]
    assert [token["text"] for token in answer["tokens"]] == ["The", "ball", "is", "blue"]
    assert abs(sum(weights) - 1) < 1e-12, weights


def listed(command: str) -> None:
    """The lessons are files that the wheel must carry."""
    result = subprocess.run([command, "lessons"], check=True, capture_output=True, text=True)
    assert result.stdout.startswith("by-hand "), result.stdout
    lesson = [command, "show", "--lesson", "by-hand", "--format", "json"]
    answer = json.loads(subprocess.run(lesson, check=True, capture_output=True, text=True).stdout)
    assert answer["layers"][0]["heads"][0]["dot"][2] == [4, 1, 5], answer


def explored(command: str) -> None:
    environment = {**os.environ, "TERM": "xterm-256color"}
    child = pexpect.spawn(
        command, ["我想吃酸菜鱼"], env=environment, dimensions=SIZE, timeout=30, encoding="utf-8"
    )
    screen = pyte.Screen(SIZE[1], SIZE[0])
    stream = pyte.Stream(screen)
    shown = ""
    while "“我” attends to" not in shown or "quit" not in shown:
        stream.feed(child.read_nonblocking(65536, timeout=30))
        shown = "\n".join(screen.display).replace(" ", " ")
        shown = shown.replace("我 ", "我")  # pyte keeps an empty cell behind a wide character
    child.send("\x10")  # the palette reads the examples, which the wheel must carry
    while "Example: " not in shown:
        stream.feed(child.read_nonblocking(65536, timeout=30))
        shown = "\n".join(screen.display)
    child.send("\x11")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0, child.exitstatus


def served(command: str) -> None:
    """What serving needs beside is named, and what OpenSSH needs is printed without it."""
    refused = subprocess.run([command, "serve", "--ssh", "--open"], capture_output=True, text=True)
    assert refused.returncode == 2, refused
    assert "pip install 'attn-tui[ssh]'" in refused.stderr, refused.stderr
    printed = subprocess.run(
        [command, "serve", "--print-sshd"], check=True, capture_output=True, text=True
    )
    assert "ForceCommand" in printed.stdout, printed.stdout


if __name__ == "__main__":
    printed(sys.argv[1])
    listed(sys.argv[1])
    served(sys.argv[1])
    explored(sys.argv[1])
    print("installed command: show, lessons, serve and explorer work")
