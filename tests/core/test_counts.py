import pytest

from core import counts


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0 tokens"), (1, "1 token"), (2, "2 tokens"), (2048, "2,048 tokens")]
)
def test_a_number_and_its_noun(count, shown):
    assert counts.tokens(count) == shown
