"""Small things that every format needs: JSON read with care, names from files made showable."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from core.errors import ModelError
from core.language import N_, _
from core.text import brief

_LONGEST = 200  # characters of a name that a message shows
MAX_JSON = 100_000_000


def shown(name: object) -> str:
    """A name out of a file, or a path, fit to be shown."""
    return brief(str(name), _LONGEST)


_DOWNLOAD = N_("download the file itself again")
_CONVERT = N_("save the model as safetensors: model.save_pretrained(folder)")
_FOREIGN = (  # how something else begins
    (
        b"version https://git-lfs",
        N_("is a Git LFS pointer, not the file itself"),
        N_("run git lfs pull"),
    ),
    (b"<", N_("is a web page, not the file itself"), _DOWNLOAD),
    (b"PK\x03\x04", N_("is a zip file, as of a pickle, and could run code"), _CONVERT),
    (b"\x80", N_("is a pickle and could run code"), _CONVERT),
    (b"GGUF", N_("is a GGUF file"), N_("name it .gguf and open the file itself")),
)
HEAD = 64  # bytes that tell
_PICKLES = (".bin", ".pt", ".pth")


def listed(names: Sequence[str], most: int) -> str:
    """The first of some names, with a sign where there are more."""
    return ", ".join(map(shown, names[:most])) + (" …" if len(names) > most else "")


def unreadable(path: Path, error: OSError) -> ModelError:
    """What is said of a file that the system does not give."""
    reason = shown(error.strerror or type(error).__name__)
    return ModelError(
        _("{path} cannot be read ({reason})").format(path=shown(path), reason=reason),
        _("check the path and its permissions"),
    )


def damaged(path: Path, what: str) -> ModelError:
    """What is said of a file whose contents cannot be right."""
    return ModelError(f"{shown(path)} {what}", _(_DOWNLOAD))


def refuse_foreign(path: Path, head: bytes) -> None:
    """Raise ModelError where a file that should be something else begins as one of `_FOREIGN`."""
    for start, what, hint in _FOREIGN:
        if head.lstrip().startswith(start):
            raise ModelError(f"{shown(path)} {_(what)}", _(hint))


def is_there(path: Path) -> bool:
    """Whether there is a file; raises ModelError where the system keeps it to itself."""
    try:
        return path.exists()
    except OSError as error:
        raise unreadable(path, error) from error


def size_of(path: Path) -> int:
    """Bytes of a file that can be read.

    Raises
    ------
    OSError
        The system does not say.
    ModelError
        It is a pipe or a device: reading it may never begin, or never end.
    """
    found = path.stat()
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise damaged(path, _("is a pipe or a device, not a file"))
    return found.st_size


def pickled(model: object, files: Iterable[str]) -> ModelError | None:
    """Why a model without other weights is refused, where one of its files is a pickle."""
    found = sorted(file for file in files if file.endswith(_PICKLES))
    if not found:
        return None
    return ModelError(
        _("{name} has its weights as a pickle ({file}), which could run code").format(
            name=shown(model), file=shown(found[0])
        ),
        _(
            "convert it where you trust it, with transformers:"
            " AutoModel.from_pretrained(name).save_pretrained(folder)"
        ),
    )


def json_object(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds.

    Raises
    ------
    ModelError
        The file is missing, too large, or holds no JSON object.
    """
    try:
        text = path.read_bytes() if size_of(path) <= MAX_JSON else b""
    except OSError as error:
        raise unreadable(path, error) from error
    refuse_foreign(path, text[:HEAD])
    try:
        values = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ModelError(
            _("{path} is no JSON ({reason})").format(path=shown(path), reason=shown(error)),
            _("the file is cut off or something else; download it again"),
        ) from error
    if not isinstance(values, dict):
        raise ModelError(
            _("{path} holds no JSON object").format(path=shown(path)), _("download it again")
        )
    return values


def whole(value: object) -> bool:
    """Whether a value out of JSON is a whole number from 0 on."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
