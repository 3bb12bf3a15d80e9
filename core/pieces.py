"""Pieces of a vocabulary as tokens that stand in no text, such as those that a model predicts."""

from __future__ import annotations

import re
from functools import cache

from tokenizers import Tokenizer

from core.types import Token


def token_of(tokenizer: Tokenizer, token_id: int) -> Token:
    """A row of a vocabulary as a token; one without a piece is called ``#id``.

    The text of a piece of a byte-level vocabulary is what its letters stand for; bytes that are no
    whole characters are written as SentencePiece writes them, ``<0xE6>``. The text of all others
    stays empty: they are read as they are spelled.
    """
    piece = tokenizer.id_to_token(token_id) or f"#{token_id}"
    added = tokenizer.get_added_tokens_decoder().get(token_id)
    text = ""
    if added is None and is_byte_level(tokenizer):
        text = _spelled(piece)
    return Token(text, piece, token_id, 0, 0, special=added is not None and added.special)


def is_byte_level(tokenizer: Tokenizer) -> bool:
    """Whether letters of pieces stand for bytes: its way of cutting words makes two of an é."""
    cuts = tokenizer.pre_tokenizer
    return cuts is not None and "Ã©" in "".join(piece for piece, _ in cuts.pre_tokenize_str("é"))


def _spelled(piece: str) -> str:
    """What the letters of a byte-level piece stand for."""
    letters = _bytes()
    if any(letter not in letters for letter in piece):
        return ""
    text = bytes(letters[letter] for letter in piece).decode("utf-8", "surrogateescape")
    return re.sub("[\udc80-\udcff]", lambda lone: f"<0x{ord(lone[0]) - 0xDC00:02X}>", text)


@cache
def _bytes() -> dict[str, int]:
    """The byte that each letter stands for: a printable one for itself, the others, in order, for
    the letters from U+0100 on (Radford et al. 2019).
    """
    plain = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
    rest = [byte for byte in range(256) if byte not in plain]
    letters = {chr(byte): byte for byte in plain}
    return letters | {chr(0x100 + place): byte for place, byte in enumerate(rest)}
