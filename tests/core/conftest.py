"""Fixtures of the tests of core."""

import pytest


@pytest.fixture
def saved(tmp_path):
    """Save a tokenizer and give its path."""

    def save(tokenizer):
        path = tmp_path / f"tokenizer {len(list(tmp_path.iterdir()))}.json"
        tokenizer.save(str(path))
        return str(path)

    return save
