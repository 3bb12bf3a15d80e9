"""Text to tokens: pieces, ids and spans in the original text, over the `tokenizers` library."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Protocol

from tokenizers import Regex, pre_tokenizers

from core.embedding import piece_id
from core.errors import TextError, TokenizerError
from core.language import _, counted
from core.types import Token, Tokens

MAX_TOKENS = 2048
_most = MAX_TOKENS  # of this process

# Scripts that are written without spaces between words, and the two length marks of kana
# that belong to no script: one token a character.
_UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Yi}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\p{Tibetan}\u30fc\uff70"
)
_LETTERS = rf"(?:(?![{_UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}_])+"
_WORD = rf"{_LETTERS}(?:(?:['\u2019\u200c\u200d]|(?<=\d)[.,](?=\d)){_LETTERS})*"

PATTERNS = {
    "mixed": rf"(?=[{_UNSPACED}])\X|{_WORD}|(?!\s)\X",
    "chars": r"\X",
    "spaces": r"\S+",
}


def set_most_tokens(count: int) -> None:
    """Cut every text from now on into at most `count` tokens, `MAX_TOKENS` where nobody says so."""
    global _most
    _most = count


def most_tokens() -> int:
    """How many tokens a text is cut into where nobody names a limit."""
    return _most


class TokenizerLike(Protocol):
    """What every tokenizer here can do."""

    def encode(self, text: str, limit: int | None = None) -> Tokens:
        """Cut `text` into at most `limit` tokens.

        Raises
        ------
        TextError
            The text is empty or blank, or the tokenizer makes no token of it.
        TokenizerError
            The library cannot encode the text.
        """


class ModelTokenizer(TokenizerLike, Protocol):
    """What the tokenizer of a model can do besides."""

    @property
    def limit(self) -> int | None:
        """The most tokens that it makes, special ones included."""

    @property
    def around(self) -> tuple[Token, ...]:
        """The special tokens that stand around every text."""

    def special(self, token_id: int) -> Token:
        """A token that stands for no part of a text."""

    def token(self, token_id: int) -> Token:
        """A row of the vocabulary, as a token that stands in no text."""

    def id_of(self, piece: str) -> int | None:
        """The id of a piece, None where the vocabulary has none."""


@lru_cache(maxsize=8)
def open_tokenizer(name: str, as_saved: bool = False) -> TokenizerLike:
    """Open a tokenizer by name, or from a ``tokenizer.json`` by path.

    Parameters
    ----------
    name : str
        ``mixed``, ``chars``, ``spaces`` or a path.
    as_saved : bool
        Keep the truncation and the padding that the file asks for; without it both are off.

    Raises
    ------
    TokenizerError
        The file is missing, damaged, of another version or lacks its unknown token.
    """
    if name in PATTERNS:
        if as_saved:
            raise TokenizerError(
                _("tokenizer {name} saves no truncation and no padding").format(name=name),
                _("leave --as-saved out"),
            )
        return PatternTokenizer(PATTERNS[name])

    from core.tokenizer_files import FileTokenizer  # most sessions open none

    return FileTokenizer(Path(name), as_saved)


class PatternTokenizer:
    """Pieces are the matches of a pattern; ids are hashes, so no piece is ever unknown."""

    def __init__(self, pattern: str) -> None:
        self._split = splitter(pattern)

    def encode(self, text: str, limit: int | None = None) -> Tokens:
        limit = _most if limit is None else limit
        text, notices = clean(text)
        pieces = self._split.pre_tokenize_str(text)
        if not pieces:
            raise _no_text()
        items = tuple(
            Token(piece, piece, piece_id(piece), start, end)
            for piece, (start, end) in pieces[:limit]
        )
        return Tokens(text, items, len(pieces), notices=(*notices, *cut_notice(limit, len(pieces))))


@cache
def splitter(pattern: str) -> pre_tokenizers.Split:
    """The library's own cutter for the matches of a pattern."""
    return pre_tokenizers.Split(Regex(pattern), "removed", invert=True)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where the words of a text are, as ``mixed`` cuts them."""
    return [span for _piece, span in splitter(PATTERNS["mixed"]).pre_tokenize_str(text)]


def clean(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace what UTF-8 cannot carry; the count of code points stays."""
    if not text.strip():
        raise _no_text()
    cleaned = re.sub("[\ud800-\udfff]", "\ufffd", text)
    count = sum(a != b for a, b in zip(text, cleaned, strict=True))
    if not count:
        return text, ()
    notice = counted(
        "{n} invalid character replaced by {sign}",
        "{n} invalid characters replaced by {sign}",
        count,
    )
    return cleaned, (notice.format(n=count, sign="\ufffd"),)


def _no_text() -> TextError:
    return TextError(_("the text is empty"), _("type a word or a sentence"))


def cut_notice(shown: int, total: int, direction: str = "right") -> tuple[str, ...]:
    """What is said where not all tokens are shown; `direction` is the side that was cut off."""
    if total <= shown:
        return ()
    last = direction == "left"
    notice = _("last {n:,} of {total:,} tokens") if last else _("first {n:,} of {total:,} tokens")
    return (notice.format(n=shown, total=total),)
