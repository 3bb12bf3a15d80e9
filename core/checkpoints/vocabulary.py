"""A model's own tokenizer, and whether it belongs to the model."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer

from core.checkpoints.plain import HEAD, refuse_foreign, shown, size_of, unreadable
from core.errors import ModelError
from core.language import _
from core.tokenization import MAX_TOKENS, ModelTokenizer
from core.tokenizer_files import FileTokenizer, load_tokenizer
from core.transformer_types import Facts
from core.types import Token

# Embeddings are often padded to a round number of rows; one with more rows to spare than this
# was made for another vocabulary.
_SPARE_PART, _SPARE_ROWS = 1.1, 1024
_MASKS = ("[MASK]", "<mask>")  # of BERT and of RoBERTa, and of all that came from them


def open_vocabulary(source: Path | Tokenizer, path: Path, facts: Facts) -> FileTokenizer:
    """The tokenizer of a model, cutting texts at the model's limit.

    Parameters
    ----------
    source : Path or Tokenizer
        A ``tokenizer.json``, or the tokenizer that another format brings.
    path : Path
        What messages name.
    facts : Facts
        Of the stack that reads the text.

    Raises
    ------
    TokenizerError
        The file cannot be read.
    ModelError
        It makes ids that the embedding has no row for, or leaves most of the rows unused.
    """
    tokenizer = _read(source) if isinstance(source, Path) else source
    _check_vocabulary(tokenizer, path, facts.vocabulary)
    return FileTokenizer(path, ready=tokenizer, limit=facts.limit or MAX_TOKENS)


def find_mask(tokenizer: ModelTokenizer) -> Token | None:
    """The token that hides another from a model, by the names that it has; None without one."""
    ids = (found for found in map(tokenizer.id_of, _MASKS) if found is not None)
    return next(map(tokenizer.token, ids), None)


def _read(path: Path) -> Tokenizer:
    try:
        size_of(path)
        with path.open("rb") as file:
            refuse_foreign(path, file.read(HEAD))
    except OSError as error:
        raise unreadable(path, error) from error
    return load_tokenizer(path)


def _check_vocabulary(tokenizer: Tokenizer, path: Path, rows: int) -> None:
    """Special tokens may lie beyond the embedding: no text makes them (Gemma 3's picture token)."""
    added = tokenizer.get_added_tokens_decoder()
    special = {token_id for token_id, token in added.items() if token.special}
    check_rows(tokenizer.get_vocab(with_added_tokens=True), special, path, rows)


def check_rows(ids: dict[str, int], special: set[int], path: Path, rows: int) -> None:
    """Raise ModelError unless a vocabulary and an embedding of so many rows go together."""
    beyond = [(i, piece) for piece, i in ids.items() if i >= rows and i not in special]
    if beyond:
        token_id, piece = min(beyond)
        raise ModelError(
            _("{path}: token {piece} has the id {id:,}, the embedding only {rows:,} rows").format(
                path=shown(path), piece=shown(piece), id=token_id, rows=rows
            ),
            _("the tokenizer and the weights belong to different models"),
        )
    highest = max(ids.values(), default=0) + 1
    if rows > max(highest * _SPARE_PART, highest + _SPARE_ROWS):
        raise ModelError(
            _(
                "{path}: the tokenizer knows {known:,} tokens, the embedding has {rows:,} rows"
            ).format(path=shown(path), known=highest, rows=rows),
            _("the tokenizer and the weights belong to different models"),
        )
