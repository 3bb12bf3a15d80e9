"""Where the project's data files lie, in a checkout and in an installed wheel alike."""

from __future__ import annotations

from pathlib import Path


def data_path(name: str) -> Path:
    """Path of ``data/<name>``: inside the installed package, or beside it in a checkout."""
    here = Path(__file__).resolve().parent
    installed = here / "data"
    return (installed if installed.is_dir() else here.parent / "data") / name
