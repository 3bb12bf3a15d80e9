"""The tokenizer that a GGUF file brings, built anew with `tokenizers`: BPE in its two kinds, and
BERT's WordPiece.
"""

from __future__ import annotations

import unicodedata
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
_WORD = "\u2581"  # before what begins a word
_CONTROL, _TYPED = 3, 4  # the format's types of tokens: special, and added by a person


def check_tokenizer(metadata: dict[str, Any], path: Path) -> None:
    """Raise what `build_tokenizer` raises for a kind that is not known, in no time."""
    kind = metadata.get("tokenizer.ggml.model")
    if kind == "gpt2":
        _pre_tokenizer(metadata.get("tokenizer.ggml.pre", "default"), path)
    elif kind == "bert":
        _check_reach(metadata, _word_pieces(metadata, path), path)
    elif kind != "llama":
        raise _unknown(path, "tokenizer.ggml.model", kind)


def build_tokenizer(metadata: dict[str, Any], path: Path) -> Tokenizer:
    """The tokenizer of a file's metadata.

    Raises
    ------
    ModelError
        The kind of tokenizer is not known, or its parts are missing or do not fit together.
    """
    check_tokenizer(metadata, path)
    if metadata["tokenizer.ggml.model"] == "bert":
        return _word_piece(metadata, path)
    pieces = _strings(metadata, "tokens", path)
    if metadata["tokenizer.ggml.model"] == "gpt2":
        made = _byte_level(metadata, pieces, path)
        after: list[processors.PostProcessor] = [processors.ByteLevel(trim_offsets=True)]
        starts = metadata.get("tokenizer.ggml.pre") == "llama-bpe"
    else:
        made, after, starts = _sentence_pieces(metadata, pieces, path), [], True
    _add_special(made, metadata, pieces)
    if metadata.get("tokenizer.ggml.add_bos_token", starts):
        after.append(_first_token(metadata, pieces, path))
    made.post_processor = processors.Sequence(after)
    return made


def _byte_level(metadata: dict[str, Any], pieces: list[str], path: Path) -> Tokenizer:
    """BPE over bytes that stand as letters (Radford et al. 2019); the file has its merges."""
    merges = _strings(metadata, "merges", path)
    pre = metadata.get("tokenizer.ggml.pre", "default")
    if not all(" " in merge for merge in merges):
        raise _damaged(path, "merges")
    pairs = [(left, right) for left, _space, right in (merge.partition(" ") for merge in merges)]
    made = _bpe(path, pieces, pairs, ignore_merges=pre == "llama-bpe")
    made.pre_tokenizer = _pre_tokenizer(pre, path)
    if pre == "qwen2":
        made.normalizer = normalizers.NFC()
    return made


def _sentence_pieces(metadata: dict[str, Any], pieces: list[str], path: Path) -> Tokenizer:
    """BPE of SentencePiece: the best piece that two neighbours make is merged first.

    The file has a score for each piece and no merges; the pairs that make a piece have its score.
    What has no piece becomes its bytes.
    """
    scores = metadata.get("tokenizer.ggml.scores")
    if not isinstance(scores, list) or len(scores) != len(pieces):
        raise _damaged(path, "scores")
    ids = {piece: index for index, piece in enumerate(pieces)}
    found = []
    for piece, score in zip(pieces, scores, strict=True):
        splits = [(piece[:cut], piece[cut:]) for cut in range(1, len(piece))]
        known = [pair for pair in splits if pair[0] in ids and pair[1] in ids]
        found += [(score, pair) for pair in sorted(known, key=lambda p: (ids[p[0]], ids[p[1]]))]
    found.sort(key=lambda item: -item[0])
    unknown = metadata.get("tokenizer.ggml.unknown_token_id", 0)
    if not isinstance(unknown, int) or not 0 <= unknown < len(pieces):
        raise _damaged(path, "unknown_token_id")
    made = _bpe(
        path,
        pieces,
        [pair for _score, pair in found],
        unk_token=pieces[unknown],
        fuse_unk=True,
        byte_fallback=True,
    )
    spaces = normalizers.Replace(" ", "\u2581")
    if metadata.get("tokenizer.ggml.add_space_prefix", True):
        made.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), spaces])
    else:
        made.normalizer = spaces
    return made


def _word_piece(metadata: dict[str, Any], path: Path) -> Tokenizer:
    """BERT's (Devlin et al. 2018): words are cut at spaces and signs, then into the longest pieces
    from the left.
    """
    pieces = _word_pieces(metadata, path)
    unknown, first, last = (
        _special_id(metadata, name, piece, pieces, path)
        for name, piece in (("unknown", "[UNK]"), ("cls", "[CLS]"), ("seperator", "[SEP]"))
    )
    vocabulary = _numbered(pieces, path)
    made = Tokenizer(models.WordPiece(vocabulary, unk_token=pieces[unknown]))
    lowered, stripped = _normal_forms(metadata)
    made.normalizer = normalizers.BertNormalizer(lowercase=lowered, strip_accents=stripped)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    _add_special(made, metadata, pieces)
    marks = [pieces[unknown], pieces[first], pieces[last], *({"[MASK]", "[PAD]"} & set(pieces))]
    made.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    made.post_processor = processors.TemplateProcessing(
        single=["<first>", "$A", "<last>"], special_tokens=[("<first>", first), ("<last>", last)]
    )
    return made


def _word_pieces(metadata: dict[str, Any], path: Path) -> list[str]:
    """The pieces as BERT writes them: the format marks what begins a word, not what goes on."""

    def piece(stored: str) -> str:
        if stored.startswith(_WORD) and len(stored) > 1:
            return stored[1:]
        return stored if stored.startswith("[") and stored.endswith("]") else f"##{stored}"

    return [piece(stored) for stored in _strings(metadata, "tokens", path)]


def _normal_forms(metadata: dict[str, Any]) -> tuple[bool, bool]:
    """Whether texts lose capital letters, and accents; both where the file does not say."""
    lowered, stripped = (
        bool(metadata.get(f"tokenizer.ggml.normalizer.{name}", True))
        for name in ("lowercase", "strip_accents")
    )
    return lowered, stripped


def _check_reach(metadata: dict[str, Any], pieces: list[str], path: Path) -> None:
    """Raise ModelError where pieces have what texts lose: the model was trained on other texts."""
    letters = "".join(piece for piece in pieces if not piece.startswith("["))
    lowered, stripped = _normal_forms(metadata)
    apart = unicodedata.normalize("NFD", letters) if stripped and not letters.isascii() else ""
    if (lowered and letters != letters.lower()) or "Mn" in map(unicodedata.category, apart):
        raise ModelError(
            _(
                "{path}: the tokenizer has pieces with capital letters or accents, and the file"
                " does not say that texts keep them"
            ).format(path=shown(path)),
            _("put the model's tokenizer.json beside the file"),
        )


def _special_id(
    metadata: dict[str, Any], name: str, piece: str, pieces: list[str], path: Path
) -> int:
    """The number of a special token: what the file says, else that of its usual name."""
    usual = pieces.index(piece) if piece in pieces else -1
    found = metadata.get(f"tokenizer.ggml.{name}_token_id", usual)
    if not isinstance(found, int) or not 0 <= found < len(pieces):
        raise _damaged(path, f"{name}_token_id")
    return found


def _numbered(pieces: list[str], path: Path) -> dict[str, int]:
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    if len(vocabulary) < len(pieces):
        raise _damaged(path, "tokens")
    return vocabulary


def _bpe(path: Path, pieces: list[str], pairs: list[tuple[str, str]], **settings: Any) -> Tokenizer:
    vocabulary = _numbered(pieces, path)
    try:
        return Tokenizer(models.BPE(vocabulary, pairs, **settings))
    except Exception as error:  # the library raises nothing narrower
        raise _damaged(path, "merges") from error


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


def _first_token(
    metadata: dict[str, Any], pieces: list[str], path: Path
) -> processors.PostProcessor:
    """Puts the token before every text that the model was trained with there."""
    first = metadata.get("tokenizer.ggml.bos_token_id")
    if not isinstance(first, int) or not 0 <= first < len(pieces):
        raise _damaged(path, "bos_token_id")
    # By number, since a piece may hold what a template reads as its own marks.
    return processors.TemplateProcessing(
        single=["<first>", "$A"], special_tokens=[("<first>", first)]
    )


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
