"""SentencePiece's own files (Kudo and Richardson 2018), as far as a unigram model needs them.

They are protocol buffers: fields of a number, a kind and a value, one after the other.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, normalizers, processors

from core.checkpoints.plain import shown, size_of
from core.errors import ModelError
from core.language import _

_NORMAL, _UNKNOWN, _CONTROL, _UNUSED = 1, 2, 3, 5  # kinds of pieces; others are refused
_UNIGRAM = 1
_LARGEST = 2**26  # bytes; such a model has some thousand pieces and a table of characters
# Stands for a piece that no text has; two noncharacters begin it.
_NOWHERE = "\U0010ffff\U0010fffe{index}"


@dataclass(frozen=True, slots=True)
class Pieces:
    """A unigram model.

    Attributes
    ----------
    texts : tuple of str
    scores : tuple of float
    kinds : tuple of int
    rules : bytes
        How texts are normalised, compiled; empty where they are not.
    prefix, trim : bool
        A space is put before a text; spaces at its ends, and all but one in a row, are dropped.
    """

    texts: tuple[str, ...]
    scores: tuple[float, ...]
    kinds: tuple[int, ...]
    rules: bytes
    prefix: bool
    trim: bool


def read_pieces(path: Path) -> Pieces:
    """Read a ``.spm`` file.

    Raises
    ------
    ModelError
        It is damaged, no unigram model, or has pieces of a kind that is not known.
    """
    try:
        found = _pieces(path.read_bytes() if size_of(path) <= _LARGEST else b"")
    except (ValueError, IndexError, struct.error, OSError) as error:
        raise ModelError(
            _("{path} is no SentencePiece model, or a damaged one").format(path=shown(path)),
            _("download it again"),
        ) from error
    if found is None or not set(found.kinds) <= {_NORMAL, _UNKNOWN, _CONTROL, _UNUSED}:
        raise ModelError(
            _("{path} is no plain unigram model").format(path=shown(path)),
            _("put the model's tokenizer.json beside the file"),
        )
    return found


def build_unigram(pieces: Pieces, last: str) -> Tokenizer:
    """A tokenizer that cuts texts into these pieces, and puts the piece `last` behind each."""
    found = zip(pieces.texts, pieces.scores, pieces.kinds, strict=True)
    vocabulary = [
        (text, score) if kind == _NORMAL else (_NOWHERE.format(index=index), 0.0)
        for index, (text, score, kind) in enumerate(found)
    ]
    made = Tokenizer(models.Unigram(vocabulary, unk_id=pieces.kinds.index(_UNKNOWN)))
    steps: list[normalizers.Normalizer] = []
    if pieces.rules:
        steps.append(normalizers.Precompiled(pieces.rules))
    if pieces.trim:
        steps += [
            normalizers.Replace(Regex(r"\A +| +\z"), ""),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    if pieces.prefix:
        steps.append(normalizers.Prepend("\u2581"))
    steps.append(normalizers.Replace(" ", "\u2581"))
    made.normalizer = normalizers.Sequence(steps)
    made.post_processor = processors.TemplateProcessing(
        single=["$A", "<last>"], special_tokens=[("<last>", pieces.texts.index(last))]
    )
    return made


def _pieces(raw: bytes) -> Pieces | None:
    """What a model says; None where it is not unigram."""
    texts, scores, kinds = [], [], []
    training: dict[int, int | bytes] = {}
    normalising: dict[int, int | bytes] = {}
    for number, value in _fields(raw):
        if number == 1:
            piece = dict(_fields(_bytes(value)))
            texts.append(_bytes(piece[1]).decode())
            scores.append(float(struct.unpack("<f", _bytes(piece.get(2, b"\0" * 4)))[0]))
            kind = piece.get(3, _NORMAL)
            kinds.append(kind if isinstance(kind, int) else 0)
        elif number == 2:
            training = dict(_fields(_bytes(value)))
        elif number == 3:
            normalising = dict(_fields(_bytes(value)))
    if not texts or not all(map(math.isfinite, scores)) or kinds.count(_UNKNOWN) != 1:
        raise ValueError
    if training.get(3, _UNIGRAM) != _UNIGRAM or training.get(24):  # 24: spaces end words
        return None
    rules = _bytes(normalising.get(2, b""))
    prefix, trim = bool(normalising.get(3, 1)), bool(normalising.get(4, 1))
    return Pieces(tuple(texts), tuple(scores), tuple(kinds), rules, prefix, trim)


def _fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field: whole numbers, or the bytes of anything else."""
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            whole, at = _varint(raw, at)
            yield number, whole
            continue
        if wire == 2:
            size, at = _varint(raw, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError
        if at + size > len(raw):
            raise ValueError
        yield number, raw[at : at + size]
        at += size


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """A whole number of seven bits a byte, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError
    return value
