"""The tokenizer of a model: what is refused of it, and how it cuts a text."""

import numpy as np
import pytest

from core.checkpoints.model import open_model
from core.errors import ModelError, TokenizerError
from tests.core.small_checkpoints import (
    edit_config,
    edit_tensors,
    f32,
    refused,
)
from tests.core.small_tokenizers import bert_tokenizer, word_level_tokenizer


def test_model_without_a_tokenizer(bert):
    with pytest.raises(ModelError, match=r"no tokenizer\.json"):
        open_model(bert).tokenizer  # noqa: B018 - it is the access that raises


def test_tokenizer_that_is_damaged(bert):
    """T17: the library raises a plain Exception."""
    (bert / "tokenizer.json").write_text('{"version": "1.0"')
    assert "tokenizer" in refused(bert, TokenizerError)


def vocabulary(count, folder):
    made = word_level_tokenizer(" ".join(["[UNK]", *(f"w{i}" for i in range(count - 1))]))
    made.save(str(folder / "tokenizer.json"))
    return made


def test_vocabulary_larger_than_the_embedding(bert):
    """C14: the first token without a row is named when the model is opened."""
    vocabulary(38, bert)
    message = refused(bert)
    assert "token w36 has the id 37" in message
    vocabulary(37, bert)
    assert open_model(bert).tokenizer.encode("w3 w4")[1].id == 5


def test_special_token_beyond_the_embedding_that_no_text_makes(bert):
    """Gemma 3's picture token has no row in its text models, and needs none."""
    made = vocabulary(37, bert)
    made.add_special_tokens(["<picture>"])
    made.save(str(bert / "tokenizer.json"))
    tokens = open_model(bert).tokenizer.encode("w1 <picture>")
    assert max(token.id for token in tokens) < 37
    made.add_tokens(["plain"])
    made.save(str(bert / "tokenizer.json"))
    assert "token plain has the id 38" in refused(bert)


def test_tokenizer_of_a_smaller_model(bert):
    """A tokenizer that leaves most rows unused belongs to something else."""
    rows = np.zeros((5000, 24))
    edit_tensors(bert, embeddings__word_embeddings__weight=f32(rows))
    edit_config(bert, vocab_size=5000)
    vocabulary(37, bert)
    assert "knows 37 tokens, the embedding has 5,000 rows" in refused(bert)


def test_long_text_is_cut_at_the_limit_and_said_so(bert):
    """T18: [CLS] and [SEP] stay, and the notice has the numbers."""
    bert_tokenizer().save(str(bert / "tokenizer.json"))
    tokens = open_model(bert).tokenizer.encode("a b " * 20)
    assert len(tokens) == 19
    assert tokens[18].piece == "[SEP]"
    assert tokens.notices == ("first 19 of 42 tokens",)
    assert len(open_model(bert).run([token.id for token in tokens]).last.final) == 19


def test_saved_padding_and_truncation_are_off(bert):
    """T15: neither 128 columns of [PAD] nor a silent cut."""
    made = bert_tokenizer()
    made.enable_padding(length=12)
    made.enable_truncation(4)
    made.save(str(bert / "tokenizer.json"))
    tokens = open_model(bert).tokenizer.encode("a b a b a")
    assert len(tokens) == 7
    assert not tokens.padding


def test_typed_special_token_is_text(bert):
    """T13: [SEP] that a person types is no control token."""
    bert_tokenizer().save(str(bert / "tokenizer.json"))
    tokens = open_model(bert).tokenizer.encode("a [SEP] b")
    assert [token.special for token in tokens].count(True) == 2
