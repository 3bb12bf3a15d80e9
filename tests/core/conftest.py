"""Fixtures of the tests of core."""

import pytest

from tests.core.small_checkpoints import copied


@pytest.fixture
def saved(tmp_path):
    """Save a tokenizer and give its path."""

    def save(tokenizer):
        path = tmp_path / f"tokenizer {len(list(tmp_path.iterdir()))}.json"
        tokenizer.save(str(path))
        return str(path)

    return save


@pytest.fixture
def bert(tmp_path):
    """A small BERT that a test may break."""
    return copied("bert-plain", tmp_path)
