"""Tokenizers of Hugging Face, from a ``tokenizer.json``, and what can be wrong with one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import tokenizers
from tokenizers import Encoding, Tokenizer, models

from core.errors import TextError, TokenizerError
from core.language import _, counted
from core.text import visible
from core.tokenization import MAX_TOKENS, PATTERNS, clean, cut_notice, most_tokens, splitter
from core.types import Token, Tokens


class FileTokenizer:
    """A ``tokenizer.json`` of Hugging Face; typed ``[SEP]`` is text, not a special token.

    Parameters
    ----------
    path : Path
    as_saved : bool
        Keep the truncation and the padding that the file asks for.
    ready : Tokenizer, optional
        The tokenizer itself, where it is open already or comes from another file than `path`.
    limit : int, optional
        Cut texts to so many tokens, special ones included, which stay where they belong; not to
        `MAX_TOKENS`.
    """

    def __init__(
        self,
        path: Path,
        as_saved: bool = False,
        ready: Tokenizer | None = None,
        limit: int | None = None,
    ) -> None:
        self._path = path
        self._tokenizer = ready or load_tokenizer(path)
        if not as_saved:
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
        self.limit = limit
        if limit is not None:
            self._tokenizer.enable_truncation(limit)
        self._tokenizer.encode_special_tokens = True
        self._unknown = _unknown_id(path, self._tokenizer)

    def encode(self, text: str, limit: int | None = None) -> Tokens:
        if limit is None:
            # A real model reads what its positions are made for, unless a host allows less.
            limit = self.limit if self.limit and most_tokens() == MAX_TOKENS else most_tokens()
        text, notices = clean(text)
        encoding = self._encoding(text)
        rest = encoding.overflowing  # what the file's own truncation cut off
        offsets = [span for part in (encoding, *rest) for span in part.offsets]
        spans = _to_grapheme_ends(text, offsets)
        dropped = _dropped(text, spans)
        pieces = [self._piece(*pair) for pair in zip(encoding.ids, encoding.tokens, strict=True)]
        spans = [_without_prefix(text, *pair) for pair in zip(pieces, spans, strict=False)]
        special, parts = encoding.special_tokens_mask, _parts(spans)
        items = tuple(
            Token(
                text[start:end],
                pieces[i],
                encoding.ids[i],
                start,
                end,
                bool(special[i]),
                encoding.ids[i] == self._unknown and not special[i],
                parts[i],
            )
            for i, (start, end) in enumerate(spans[:limit])
        )
        padding = frozenset(i for i, kept in enumerate(encoding.attention_mask[:limit]) if not kept)
        cut = self._tokenizer.truncation or {"stride": 0, "direction": "right"}
        total = len(spans) + sum(part.special_tokens_mask.count(0) - cut["stride"] for part in rest)
        pads = encoding.attention_mask.count(0)
        kept = cut_notice(len(items) - len(padding), total - pads, cut["direction"])
        return Tokens(text, items, total, padding, (*notices, *dropped, *kept))

    def _encoding(self, text: str) -> Encoding:
        """What the library makes of a text, unless it loses some of it or makes nothing."""
        shown = visible(str(self._path))
        with _refused(
            _("tokenizer {name} cannot encode the text").format(name=shown),
            _("choose another tokenizer"),
        ):
            lost = _silently_dropped(self._tokenizer, text)
            encoding = self._tokenizer.encode(text)
        if lost:
            raise TokenizerError(
                _(
                    "tokenizer {name} has no piece for {lost} and no unknown token to stand for it"
                ).format(name=shown, lost=lost),
                _("take it out of the text or choose another tokenizer"),
            )
        if all(encoding.special_tokens_mask):
            raise TextError(
                _("tokenizer {name} makes no token of the text").format(name=shown),
                _("type a word it knows"),
            )
        return encoding

    def token(self, token_id: int) -> Token:
        """A row of the vocabulary, as a token that stands in no text."""
        from core.pieces import token_of

        return token_of(self._tokenizer, token_id)

    @property
    def around(self) -> tuple[Token, ...]:
        """The special tokens that stand around every text."""
        encoding = self._tokenizer.encode("")
        pairs = zip(encoding.ids, encoding.special_tokens_mask, strict=True)
        return tuple(self.special(token_id) for token_id, special in pairs if special)

    def special(self, token_id: int) -> Token:
        """A token that stands for no part of a text."""
        return Token("", self._piece(token_id, ""), token_id, 0, 0, special=True)

    def id_of(self, piece: str) -> int | None:
        """The id of a piece, None where the vocabulary has none."""
        return self._tokenizer.token_to_id(piece)

    def _piece(self, token_id: int, token: str) -> str:
        """The vocabulary's spelling; a template may name a token that no vocabulary has."""
        return self._tokenizer.id_to_token(token_id) or token or f"#{token_id}"


@contextmanager
def _refused(what: str, hint: str) -> Iterator[None]:
    """Say in our words whatever the library raises: plain Exception, or a panic, which is none."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        reason = visible(str(error))
        raise TokenizerError(
            _("{what} ({reason})").format(what=what, reason=reason), hint
        ) from error


def load_tokenizer(path: Path) -> Tokenizer:
    """Open a ``tokenizer.json``; `open_tokenizer` says what it raises."""
    shown = visible(str(path)) if str(path) != "." else _("without a name")
    if not os.path.isfile(path):  # unlike Path.is_file it raises for no path
        folder = os.path.isdir(path)
        what = _("tokenizer {name} is a folder") if folder else _("tokenizer {name} does not exist")
        raise TokenizerError(
            what.format(name=shown),
            _("name one of {names} or the path of a tokenizer.json").format(
                names=", ".join(PATTERNS)
            ),
        )
    with _refused(
        _("tokenizer {name} cannot be read by tokenizers {version}").format(
            name=shown, version=tokenizers.__version__
        ),
        _("the file is cut off, no tokenizer.json, or of another version; save it again"),
    ):
        return Tokenizer.from_str(path.read_text(encoding="utf-8-sig"))


def _unknown_id(path: Path, tokenizer: Tokenizer) -> int | None:
    """Id of the unknown token, None where the model has none and needs none."""
    model = tokenizer.model
    if isinstance(model, models.Unigram):
        try:
            found = model.tokenize("\U0010ffff")[0]  # a noncharacter is in no vocabulary
        except Exception as error:  # the library raises nothing narrower
            raise _lacks_unknown(path, "unk_id") from error
        return None if found.value.startswith("<0x") else int(found.id)  # bytes stand in for it
    name = model.unk_token
    token_id = None if name is None else model.token_to_id(name)
    if token_id is None and isinstance(model, models.WordPiece | models.WordLevel):
        raise _lacks_unknown(path, str(name))
    return token_id


def _silently_dropped(tokenizer: Tokenizer, text: str) -> str:
    """Characters that BPE without an unknown token drops; the library's spans are then wrong."""
    model = tokenizer.model
    if not isinstance(model, models.BPE) or model.unk_token is not None or model.byte_fallback:
        return ""
    if tokenizer.normalizer is not None:
        text = tokenizer.normalizer.normalize_str(text)
    words = [text]
    if tokenizer.pre_tokenizer is not None:
        words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
    before, after = model.continuing_subword_prefix or "", model.end_of_word_suffix or ""
    lost = [
        char
        for char in dict.fromkeys("".join(words))
        if all(
            model.token_to_id(piece) is None
            for piece in (char, before + char, char + after, before + char + after)
        )
    ]
    return " ".join(visible(char) for char in lost[:8])


def _lacks_unknown(path: Path, name: str) -> TokenizerError:
    return TokenizerError(
        _("tokenizer {name} has no unknown token (its vocabulary lacks {token})").format(
            name=visible(str(path)), token=visible(name)
        ),
        _("add the token to its vocabulary or choose another tokenizer"),
    )


def _to_grapheme_ends(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Lengthen spans over the combining marks that a normalizer dropped (cafe + U+0301)."""
    covered = _covered(text, spans)
    if all(covered):
        return list(spans)
    inside = [False] * (len(text) + 1)  # does the cluster go on at this position?
    for _piece, (start, end) in splitter(PATTERNS["chars"]).pre_tokenize_str(text):
        inside[start + 1 : end] = [True] * (end - start - 1)

    def lengthen(end: int) -> int:
        while end < len(text) and inside[end] and not covered[end]:
            end += 1
        return end

    return [(start, lengthen(end) if end > start else end) for start, end in spans]


def _without_prefix(text: str, piece: str, span: tuple[int, int]) -> tuple[int, int]:
    """Empty the span of a lone space that the tokenizer put before the text.

    The library lays such a space over the first character, which belongs to the next token.
    """
    start, end = span
    source = text[start:end]
    added = piece in ("\u2581", "\u0120") and source != piece and not source.isspace()
    return (start, start) if added else span


def _covered(text: str, spans: Sequence[tuple[int, int]]) -> list[bool]:
    covered = [False] * len(text)
    for start, end in spans:
        covered[start:end] = [True] * (end - start)
    return covered


def _dropped(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Name the characters, other than white space, that no token covers."""
    covered = _covered(text, spans)
    lost = [
        char for char, kept in zip(text, covered, strict=True) if not kept and not char.isspace()
    ]
    if not lost:
        return ()
    shown = " ".join(dict.fromkeys(visible(char) for char in lost[:8]))
    more = " …" if len(lost) > 8 else ""
    notice = counted(
        "{n} character in no token: {shown}", "{n} characters in no token: {shown}", len(lost)
    )
    return (notice.format(n=len(lost), shown=shown + more),)


def _parts(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int] | None]:
    """(i, n) for each token of a run whose spans overlap, None for the others."""
    parts: list[tuple[int, int] | None] = [None] * len(spans)
    run: list[int] = []
    reach = -1

    def close() -> None:
        if len(run) > 1:
            for place, index in enumerate(run, 1):
                parts[index] = (place, len(run))
        run.clear()

    for index, (start, end) in enumerate(spans):
        if start == end:
            continue
        if start >= reach:
            close()
        run.append(index)
        reach = max(reach, end)
    close()
    return parts
