"""Who watches a long computation reads how far it is; a file or a pipe gets nothing of it."""

import sys
from io import StringIO

import pytest

from core.progress import LAYERS, step
from tui import traced


class Screen(StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Seconds, in a list so that a test moves them."""
    now = [0.0]
    monkeypatch.setattr(traced, "monotonic", lambda: now[0])
    monkeypatch.setattr(traced, "_BETWEEN", 1.0)
    return now


def told(monkeypatch, clock, stream, seconds):
    """What is written while nine layers run, so many seconds each."""
    monkeypatch.setattr(sys, "stderr", stream)
    with traced.steps_told():
        for layer in range(9):
            clock[0] += seconds
            step(LAYERS, layer, 9)
    return stream.getvalue()


def test_a_long_run_is_told_and_leaves_no_trace(monkeypatch, clock):
    words = told(monkeypatch, clock, Screen(), 0.5).split("\r")
    layers = [f"computing: layer {n} of 9" for n in (2, 4, 6, 8)]
    assert words == ["", *layers, " " * len(layers[0]), ""]


@pytest.mark.parametrize(("stream", "seconds"), [(StringIO(), 0.5), (Screen(), 0.01)])
def test_nothing_where_nobody_watches_or_nothing_is_long(monkeypatch, clock, stream, seconds):
    assert told(monkeypatch, clock, stream, seconds) == ""


def test_words_are_taken_away_before_a_refusal(monkeypatch, clock):
    def refused():
        with traced.steps_told():
            clock[0] += 1
            step(LAYERS, 0, 2)
            raise ValueError("refused")

    monkeypatch.setattr(sys, "stderr", Screen())
    with pytest.raises(ValueError, match="refused"):
        refused()
    assert sys.stderr.getvalue() == "\rcomputing: layer 1 of 2\r" + " " * 23 + "\r"
