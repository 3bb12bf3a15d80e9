import math

import numpy as np
import pytest

from core.explain import entropy_bits


@pytest.mark.parametrize(
    ("row", "bits"),
    [
        ([1.0, 0.0], 0.0),
        ([0.5, 0.5], 1.0),
        ([0.25] * 4, 2.0),
        ([0.0, 0.0], 0.0),
        ([0.9, 0.1], -(0.9 * math.log2(0.9) + 0.1 * math.log2(0.1))),
    ],
)
def test_entropy(row, bits):
    """N12: 0 log 0 counts as 0, and no entropy is −0."""
    with np.errstate(all="raise"):
        entropy = entropy_bits(np.array(row))
    assert entropy == pytest.approx(bits)
    assert not np.signbit(entropy)
