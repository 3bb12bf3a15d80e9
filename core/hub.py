"""Models by their name on the Hugging Face hub: out of its cache, else downloaded into it.

`huggingface_hub` comes with `tokenizers`. It takes a quarter of a second to import, so it is
imported for a download alone; what is in the cache is found without it.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.checkpoints.config import Config
from core.checkpoints.families import check_family
from core.checkpoints.folder import INDEX, SINGLE, shards_of
from core.checkpoints.marian_tokenizer import SOURCE, TARGET, VOCABULARY
from core.checkpoints.plain import json_object, listed, pickled, shown, unreadable
from core.checkpoints.target import SETTINGS
from core.errors import ModelError
from core.language import _, counted

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
# Any of these groups is a tokenizer: the usual one, and Marian's.
TOKENIZERS = ((TOKENIZER,), (SOURCE, TARGET, VOCABULARY))
_NAMED = 5  # models or files that a message lists
_SECONDS = 10  # to wait for the hub's first answer
_REPO = r"(?P<repo>\w[\w.-]{0,95}/\w[\w.-]{0,95})"
_FILE = r"(?:/(?P<file>[^@:]+\.gguf)|:(?P<part>[^@:]+))?"
_NAME = re.compile(rf"{_REPO}{_FILE}(?:@(?P<revision>\w[\w./-]*))?", re.ASCII)
_COMMIT = re.compile("[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class HubName:
    """A model of the hub.

    Attributes
    ----------
    repo : str
        Owner and name.
    file : str, optional
        A ``.gguf`` file in it.
    revision : str
        A branch, a tag or a commit.
    """

    repo: str
    file: str | None = None
    revision: str = "main"

    def __str__(self) -> str:
        file = "" if self.file is None else f"/{self.file}"
        return f"{self.repo}{file}" + ("" if self.revision == "main" else f"@{self.revision}")


def read_name(text: str) -> HubName | None:
    """Read ``owner/name``, ``owner/name/file.gguf`` or ``owner/name:file``, each with a
    ``@revision`` if it has one; None where it is nothing of the kind.
    """
    found = _NAME.fullmatch(text)
    if found is None or ".." in text or "--" in found["repo"]:
        return None
    if found["repo"].endswith((".git", ".gguf", ".safetensors")):  # a path, then
        return None
    file = found["file"]
    if found["part"] is not None:
        file = found["part"].removesuffix(".gguf") + ".gguf"
    return HubName(found["repo"], file, found["revision"] or "main")


def cache_folder() -> Path:
    """Where the hub's client keeps what it has downloaded."""
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache"), "huggingface"
    )
    names = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")
    given = next((os.environ[name] for name in names if os.environ.get(name)), None)
    return Path(os.path.expandvars(os.path.expanduser(given or os.path.join(home, "hub"))))


def snapshot(folder: Path, revision: str | None = None) -> Path | None:
    """The files of a model in the cache, at a revision.

    Parameters
    ----------
    folder : Path
        Of the model, in the cache.
    revision : str, optional
        A branch or a tag as it was when it was last fetched, or a commit. None is the branch main,
        or else any.
    """
    snapshots = folder / "snapshots"
    if revision is not None and _COMMIT.fullmatch(revision):
        commit = revision
    else:
        try:
            commit = (folder / "refs" / (revision or "main")).read_text().strip()
        except (OSError, UnicodeDecodeError):
            commit = ""
    found = snapshots / commit
    if commit and found.parent == snapshots and found.is_dir():
        return found
    return None if revision else next(iter(sorted(snapshots.glob("*"))), None)


def cached(name: HubName) -> Path | None:
    """Its folder or file in the cache, if all of it is there.

    Raises
    ------
    ModelError
        Nobody may look into the cache.
    """
    folder = cache_folder() / f"models--{name.repo.replace('/', '--')}"
    try:
        found = snapshot(folder, None if name.revision == "main" else name.revision)
    except OSError as error:
        raise unreadable(folder, error) from error
    if found is None:
        return None
    if name.file is not None:
        return found / name.file if (found / name.file).is_file() else None
    return found if _is_whole(found) else None


def _is_whole(folder: Path) -> bool:
    def has(names: Sequence[str]) -> bool:
        return all(os.path.isfile(folder / name) for name in names)  # of any name

    if not (has([CONFIG]) and any(map(has, TOKENIZERS))):
        return False
    if (folder / SINGLE).is_file():
        return True
    try:
        return has(shards_of(folder))
    except ModelError:  # no index, or none that can be read
        return False


def fetch(name: HubName, known: Sequence[str], tell: Callable[[str], None]) -> Path:
    """Download what a model needs and the cache has not, and say where it is.

    Parameters
    ----------
    name : HubName
    known : sequence of str
        Names of the models that are on this machine, for a message.
    tell : function
        Is told what is going to be downloaded, before it is.

    Raises
    ------
    ModelError
        The hub cannot be reached, has no such model or does not give it away; or the model could
        not be opened: its weights are a pickle, it has no tokenizer or its family is not known.
    """
    sizes = _listed(name, known)

    def download(file: str) -> Path:
        from huggingface_hub import hf_hub_download

        with _in_our_words(name, known):
            return Path(hf_hub_download(name.repo, file, revision=name.revision))

    if name.file is not None:
        if name.file not in sizes:
            raise _no_file(name, sizes)
        _announce(name, {name.file: sizes[name.file]}, tell)
        return download(name.file)
    wanted = _needed(name, sizes)
    with _without_bars():
        folder = download(CONFIG).parent
        config = json_object(folder / CONFIG)
        check_family(Config(config, shown(f"{name.repo}/{CONFIG}")))  # before gigabytes come
        if INDEX in wanted:
            download(INDEX)
            wanted += shards_of(folder)
        if config.get("is_encoder_decoder") and SETTINGS in sizes:
            wanted.append(SETTINGS)  # how a target begins
    missing = {file: sizes.get(file, 0) for file in wanted if not (folder / file).is_file()}
    _announce(name, missing, tell)
    for file in missing:
        download(file)
    if not _is_whole(folder):
        raise ModelError(
            _("{name} has changed on the hub while it came").format(name=shown(name)),
            _("name it again"),
        )
    return folder


def _listed(name: HubName, known: Sequence[str]) -> dict[str, int]:
    """The files that the hub has of a model, and the bytes of each."""
    try:
        import huggingface_hub.errors
    except ImportError as error:
        raise ModelError(
            _("downloading needs the package huggingface_hub, not older than 0.25"),
            _("pip install -U huggingface_hub"),
        ) from error
    # Its warnings are English, and one of them is what the server says.
    huggingface_hub.logging.set_verbosity(logging.CRITICAL)
    with _in_our_words(name, known):
        info = huggingface_hub.HfApi().model_info(
            name.repo,
            revision=name.revision,
            files_metadata=True,
            timeout=_SECONDS,
        )
        return {each.rfilename: each.size or 0 for each in info.siblings or ()}


@contextmanager
def _without_bars() -> Iterator[None]:
    """For what comes in a moment; a person who has set how it is to be is not overruled."""
    from huggingface_hub.constants import HF_HUB_DISABLE_PROGRESS_BARS
    from huggingface_hub.utils.tqdm import disable_progress_bars, enable_progress_bars

    if HF_HUB_DISABLE_PROGRESS_BARS is not None:
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


def _needed(name: HubName, files: dict[str, int]) -> list[str]:
    """The files of a model that are read here; its shards are known once there is the index."""
    weights = next((file for file in (SINGLE, INDEX) if file in files), None)
    if weights is None:
        raise _no_weights(name, files)
    if CONFIG not in files:
        raise ModelError(
            _("{name} has no {file}").format(name=shown(name), file=CONFIG),
            _("name a model of Hugging Face's layout"),
        )
    tokenizer = next((each for each in TOKENIZERS if all(file in files for file in each)), None)
    if tokenizer is None:
        raise ModelError(
            _("{name} has no {file}").format(name=shown(name), file=TOKENIZER),
            _(
                "make one with transformers: AutoTokenizer.from_pretrained(name)"
                ".save_pretrained(folder), beside the model's files"
            ),
        )
    return [*tokenizer, weights]


def _no_weights(name: HubName, files: dict[str, int]) -> ModelError:
    ggufs = sorted(file for file in files if file.endswith(".gguf"))
    if ggufs:
        return _no_file(name, files)
    refused = pickled(name, files)
    if refused is not None:
        return refused
    return ModelError(
        _("{name} has no {file}").format(name=shown(name), file=SINGLE),
        _("name a model with weights as safetensors or .gguf"),
    )


def _no_file(name: HubName, files: dict[str, int]) -> ModelError:
    ggufs = sorted(file for file in files if file.endswith(".gguf"))
    if not ggufs:
        return ModelError(
            _("{name} has no {file}").format(name=name.repo, file=shown(name.file)),
            _("name the model without a file"),
        )
    first = HubName(name.repo, ggufs[0], name.revision)
    return ModelError(
        _("{name} has these files: {files}").format(
            name=shown(name.repo), files=listed(ggufs, _NAMED)
        ),
        _("name one of them, as in {example}").format(example=shown(first)),
    )


def _announce(name: HubName, files: dict[str, int], tell: Callable[[str], None]) -> None:
    """Say what is going to come and where to, unless it has no room there."""
    if not files:
        return
    folder, size = cache_folder(), sum(files.values())
    place = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(place).free
    if size > free:
        raise ModelError(
            _("{name} takes {size:,.1f} GiB, and {folder} has {free:,.1f} GiB left").format(
                name=shown(name), size=size / 2**30, folder=shown(folder), free=free / 2**30
            ),
            _("make room, or name another folder with HF_HUB_CACHE"),
        )
    tell(
        counted(
            "downloading {name} into {folder}: {n} file, {size:,.1f} MiB",
            "downloading {name} into {folder}: {n} files, {size:,.1f} MiB",
            len(files),
        ).format(name=shown(name), folder=shown(folder), n=len(files), size=size / 2**20)
    )


@contextmanager
def _in_our_words(name: HubName, known: Sequence[str]) -> Iterator[None]:
    """What the hub's client says, as one sentence.

    Which exceptions there are for a broken network depends on its version and on the HTTP client
    below it, so all that are not known by name count as such.
    """
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        yield
    except GatedRepoError as error:
        raise ModelError(
            _("{name} is gated: the hub gives it to those who accepted its terms").format(
                name=shown(name)
            ),
            _(
                "accept them at https://huggingface.co/{repo}, then log in with: hf auth login"
            ).format(repo=name.repo),
        ) from error
    except RevisionNotFoundError as error:
        raise ModelError(
            _("{name} has no revision {revision}").format(
                name=name.repo, revision=shown(name.revision)
            ),
            _("name a branch, a tag or a commit that the hub has"),
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelError(
            _(
                "{name} is nothing on this machine, and the hub has no such model, or hides it"
            ).format(name=shown(name.repo)),
            _("check the name; a private model needs: hf auth login"),
        ) from error
    except (OfflineModeIsEnabled, LocalEntryNotFoundError) as error:
        raise _unreachable(name, known, error) from error
    except EntryNotFoundError as error:
        raise ModelError(
            _("{name} lacks a file that its index names").format(name=shown(name)),
            _("tell its owner, or name another model"),
        ) from error
    except HfHubHTTPError as error:
        code = getattr(error.response, "status_code", "?")
        raise ModelError(
            _("the hub answers {code} for {name}").format(code=code, name=shown(name)),
            _("try again later"),
        ) from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM):
            raise _unreachable(name, known, error) from error
        raise ModelError(
            _("cannot write into {folder} ({reason})").format(
                folder=shown(cache_folder()), reason=shown(error.strerror)
            ),
            _("make room, or name another folder with HF_HUB_CACHE"),
        ) from error
    except Exception as error:
        raise _unreachable(name, known, error) from error


def _unreachable(name: HubName, known: Sequence[str], error: Exception) -> ModelError:
    from huggingface_hub.constants import HF_HUB_OFFLINE

    others = sorted(set(known) - {str(name)})  # a part of it may be here
    if HF_HUB_OFFLINE and len(others) < len(known):
        message = _(
            "the cache has a part of {name}, and HF_HUB_OFFLINE keeps"
            " the rest from being downloaded"
        )
    elif HF_HUB_OFFLINE:
        message = _("{name} is not in the cache, and HF_HUB_OFFLINE keeps it from being downloaded")
    else:
        message = _("cannot reach the hub for {name} ({reason})")
    said = message.format(name=shown(name), reason=shown(error.__cause__ or error))
    return ModelError(
        _("{message}; on this machine: {names}").format(
            message=said, names=listed(others, _NAMED) if others else _("no model")
        ),
        _("name one of them, or a folder"),
    )
