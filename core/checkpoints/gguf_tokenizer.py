"""The tokenizer that a GGUF file brings: byte-level BPE, built anew with `tokenizers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from core.checkpoints.plain import shown
from core.errors import ModelError
from core.language import _

_WORDS = (  # how a text is cut before pairs of bytes are merged; {digits} differs
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}"
    r"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CONTROL, _TYPED = 3, 4  # the format's types of tokens: special, and added by a person


def build_tokenizer(metadata: dict[str, Any], path: Path) -> Tokenizer:
    """The tokenizer of a file's metadata.

    Raises
    ------
    ModelError
        The kind of tokenizer is not known, or its parts are missing or do not fit together.
    """
    kind = metadata.get("tokenizer.ggml.model")
    if kind != "gpt2":
        raise _unknown(path, "tokenizer.ggml.model", kind)
    pieces, merges = _strings(metadata, "tokens", path), _strings(metadata, "merges", path)
    pre = metadata.get("tokenizer.ggml.pre", "default")
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    if not all(" " in merge for merge in merges) or len(vocabulary) < len(pieces):
        raise _damaged(path, "merges")
    pairs = [(left, right) for left, _space, right in (merge.partition(" ") for merge in merges)]
    try:
        made = Tokenizer(models.BPE(vocabulary, pairs, ignore_merges=pre == "llama-bpe"))
    except Exception as error:  # the library raises nothing narrower
        raise _damaged(path, "merges") from error
    made.pre_tokenizer = _pre_tokenizer(pre, path)
    if pre == "qwen2":
        made.normalizer = normalizers.NFC()
    _add_special(made, metadata, pieces)
    made.post_processor = _post_processor(metadata, pieces, pre, path)
    return made


def _pre_tokenizer(pre: object, path: Path) -> pre_tokenizers.PreTokenizer:
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    if pre in ("llama-bpe", "qwen2"):
        digits = r"\p{N}{1,3}" if pre == "llama-bpe" else r"\p{N}"
        words = pre_tokenizers.Split(Regex(_WORDS.format(digits=digits)), "isolated")
        return pre_tokenizers.Sequence([words, byte_level])
    english = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if pre == "smollm":
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), english])
    if pre == "gpt-2":
        return english
    raise _unknown(path, "tokenizer.ggml.pre", pre)


def _add_special(made: Tokenizer, metadata: dict[str, Any], pieces: list[str]) -> None:
    types = metadata.get("tokenizer.ggml.token_type", [])
    if not isinstance(types, list):
        types = []
    named = list(zip(pieces, types, strict=False))
    made.add_special_tokens(
        [
            AddedToken(piece, special=True, normalized=False)
            for piece, kind in named
            if kind == _CONTROL
        ]
    )
    made.add_tokens(
        [AddedToken(piece, normalized=False) for piece, kind in named if kind == _TYPED]
    )


def _post_processor(
    metadata: dict[str, Any], pieces: list[str], pre: object, path: Path
) -> processors.PostProcessor:
    """The byte-level one, and the first token where the model was trained with it."""
    trimmed = processors.ByteLevel(trim_offsets=True)
    if not metadata.get("tokenizer.ggml.add_bos_token", pre == "llama-bpe"):
        return trimmed
    first = metadata.get("tokenizer.ggml.bos_token_id")
    if not isinstance(first, int) or not 0 <= first < len(pieces):
        raise _damaged(path, "bos_token_id")
    # By number, since a piece may hold what a template reads as its own marks.
    template = processors.TemplateProcessing(
        single=["<first>", "$A"], special_tokens=[("<first>", first)]
    )
    return processors.Sequence([trimmed, template])


def _strings(metadata: dict[str, Any], name: str, path: Path) -> list[str]:
    found = metadata.get(f"tokenizer.ggml.{name}")
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise _damaged(path, name)
    return found


def _unknown(path: Path, name: str, value: object) -> ModelError:
    return ModelError(
        _("{path}: {name} {value} is not supported").format(
            path=shown(path), name=name, value=shown(repr(value))
        ),
        _("put the model's tokenizer.json beside the file"),
    )


def _damaged(path: Path, name: str) -> ModelError:
    return ModelError(
        _("{path}: the tokenizer's {name} are missing or damaged").format(
            path=shown(path), name=name
        ),
        _("put the model's tokenizer.json beside the file"),
    )
