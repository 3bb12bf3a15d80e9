"""Marian's tokenizers: a SentencePiece model a language, and one vocabulary for both.

OPUS-MT has no ``tokenizer.json``. The pieces of ``source.spm`` and ``target.spm`` get their ids
from ``vocab.json``; what has none there is unknown. A text may begin with the code of the language
that it is to be put into, such as ``>>fra<<``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tokenizers import Tokenizer

from core.checkpoints.folder import inside
from core.checkpoints.plain import json_object, shown
from core.checkpoints.sentencepiece import build_unigram, read_pieces
from core.checkpoints.vocabulary import check_rows
from core.errors import ModelError
from core.language import _
from core.tokenization import MAX_TOKENS
from core.tokenizer_files import FileTokenizer
from core.transformer_types import Facts
from core.types import Token, Tokens

SOURCE, TARGET, VOCABULARY = "source.spm", "target.spm", "vocab.json"
_UNKNOWN, _END = "<unk>", "</s>"
_NEVER_TYPED = (_UNKNOWN, _END, "<pad>")
_CODE = re.compile(r">>.*?<<", re.DOTALL)


class JointTokenizer:
    """One language's pieces under the ids of a vocabulary that two languages share.

    Parameters
    ----------
    path : Path
        What messages name.
    pieces : Tokenizer
        Cuts texts; its ids count the pieces of one language.
    ids : dict of str to int
        The vocabulary.
    limit : int
        The most tokens of a text.
    """

    def __init__(self, path: Path, pieces: Tokenizer, ids: dict[str, int], limit: int) -> None:
        self.limit = limit
        self._pieces = pieces
        self._cut = FileTokenizer(path, ready=pieces, limit=limit)
        self._ids = ids
        self._names = {token_id: piece for piece, token_id in ids.items()}

    def encode(self, text: str, limit: int | None = None) -> Tokens:
        found = _CODE.match(text)
        if found is None:
            return self._joint(self._cut.encode(text, limit))
        code, start = found[0], found.end()
        rest = self._joint(self._cut.encode(text[start:], limit))
        moved = [replace(token, start=token.start + start, end=token.end + start) for token in rest]
        first = Token(code, code, self._ids.get(code, self._ids[_UNKNOWN]), 0, start)
        first = replace(first, unknown=code not in self._ids)
        items = (first, *moved[: self.limit - 2], *moved[self.limit - 2 :][-1:])
        return replace(rest, text=code + rest.text, items=items, total=rest.total + 1)

    def _joint(self, tokens: Tokens) -> Tokens:
        pieces = self._pieces.encode(tokens.text).tokens  # of what is unknown, as it is written
        pairs = zip(tokens, pieces, strict=False)
        return replace(tokens, items=tuple(self._renumbered(*pair) for pair in pairs))

    def _renumbered(self, token: Token, piece: str) -> Token:
        """A token under its id in the vocabulary, which may know what one language does not."""
        if token.special:
            return self.special(self._ids[_END])
        known = piece in self._ids and piece not in _NEVER_TYPED
        name = piece if known else _UNKNOWN
        return replace(token, id=self._ids[name], piece=name, unknown=not known)

    @property
    def around(self) -> tuple[Token, ...]:
        """The special tokens that stand around every text."""
        return (self.special(self._ids[_END]),)

    def special(self, token_id: int) -> Token:
        """A token that stands for no part of a text."""
        piece = self._names.get(token_id, f"#{token_id}")
        return Token("", piece, token_id, 0, 0, special=True)

    def token(self, token_id: int) -> Token:
        """A row of the vocabulary, as a token that stands in no text."""
        special = self._names.get(token_id) in _NEVER_TYPED
        return replace(self.special(token_id), special=special)

    def id_of(self, piece: str) -> int | None:
        """The id of a piece, None where the vocabulary has none."""
        return self._ids.get(piece)


def has_own_tokenizers(folder: Path) -> bool:
    """Whether a folder has the files of Marian's tokenizers."""
    return all((folder / name).exists() for name in (SOURCE, TARGET, VOCABULARY))


def open_joint(folder: Path, name: str, facts: Facts) -> JointTokenizer:
    """The tokenizer of one language, `name` being its file.

    Raises
    ------
    ModelError
        A file is damaged, or the vocabulary and the embedding do not go together.
    """
    path = inside(folder, VOCABULARY)
    ids = {key: value for key, value in json_object(path).items() if type(value) is int}
    if not {_UNKNOWN, _END} <= ids.keys():
        raise ModelError(
            _("{path} has no {unknown} or no {end}").format(
                path=shown(path), unknown=_UNKNOWN, end=_END
            ),
            _("download it again"),
        )
    check_rows(ids, set(), path, facts.vocabulary)
    file = inside(folder, name)
    pieces = read_pieces(file)
    if _END not in pieces.texts:
        raise ModelError(
            _("{path} has no piece {end}").format(path=shown(file), end=_END),
            _("download it again"),
        )
    limit = min(MAX_TOKENS, facts.limit or MAX_TOKENS)
    return JointTokenizer(file, build_unigram(pieces, _END), ids, limit)
