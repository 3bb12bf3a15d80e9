import subprocess
import sys

import pytest


def modules_after(code):
    """Top-level names of the modules that a fresh interpreter has after the code."""
    program = f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_run_needs_no_screen():
    """Running a request imports nothing of a screen or a command line."""
    names = modules_after("import core; core.run(core.Request('The ball is blue'))")
    assert "numpy" in names
    assert not names & {"textual", "rich", "click", "tui", "torch"}


def test_import_is_light():
    """Importing core alone imports neither NumPy nor the tokenizers."""
    assert not modules_after("import core") & {"numpy", "tokenizers"}


def test_public_names():
    """Every public name is there, and no other."""
    import core

    assert all(getattr(core, name) is not None for name in core.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = core.nothing
