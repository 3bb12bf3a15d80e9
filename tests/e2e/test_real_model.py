"""The command on a real pseudo-terminal with a real model, small, whose weights are held back."""

import os
import sys

import pytest

from tests.core.small_checkpoints import speaking
from tests.terminal.pty_session import PtySession

# Each reading of a layer's weights waits for a byte from the pipe.
HELD = """
import sys
from core.checkpoints.weights import Weights
read, gate = Weights.block, open(sys.argv[1], "rb", buffering=0)
def block(self, index):
    gate.read(1)
    return read(self, index)
Weights.block = block
sys.argv[:] = ["attn-tui", *sys.argv[2:]]
from tui.cli import main
main()
"""


@pytest.fixture
def gate(tmp_path):
    """A named pipe; what is written to it lets layers be read."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    end = os.open(path, os.O_RDWR)  # which waits for nobody
    yield path, lambda count: os.write(end, b"." * count)
    os.close(end)


def held(gate, model):
    arguments = ["-c", HELD, str(gate), "--model", model, "t5 t17 t3 t29"]
    return PtySession([sys.executable, *arguments], size=(80, 24))


def test_first_frame_before_any_weight_is_read_then_layer_by_layer(tmp_path, gate):
    path, let = gate
    with held(path, speaking("bert-plain", tmp_path)) as session:
        session.wait_for("q quit")
        assert "bert-plain" in session.text
        assert "trained" in session.text
        assert "t5 t17 t3 t29" in session.text
        session.wait_for("reading weights: layer 1 of 3 · esc cancels")
        let(1)
        session.wait_for("reading weights: layer 2 of 3 · esc cancels")
        let(1000)
        session.wait_for("What “t5” attends to")
        session.wait_for("layer 0 · head 0")
        session.send("q")
        assert session.wait_for_exit() == 0


def test_cancelled_and_computed_again(tmp_path, gate):
    path, let = gate
    with held(path, speaking("gpt2-head", tmp_path)) as session:
        session.wait_for("reading weights: layer 1 of")
        session.send("\x1b")
        session.wait_for("cancelled · ^r computes it")
        let(1000)
        session.send("\x12")
        session.wait_for("What “t5” attends to")
        session.send("q")
        assert session.wait_for_exit() == 0


def test_quitting_before_the_first_layer_is_read(tmp_path, gate):
    path, let = gate
    with held(path, speaking("gpt2-head", tmp_path)) as session:
        session.wait_for("reading weights: layer 1 of")
        session.send("q")
        let(1)  # the layer that is being read ends, and no other begins
        assert session.wait_for_exit() == 0
        assert "Traceback" not in session.output
