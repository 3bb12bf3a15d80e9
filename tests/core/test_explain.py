import math

import numpy as np
import pytest

from core.explain import entropy_bits, nice_ceiling


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


@pytest.mark.parametrize("value", [1e-300, 3e-5, 0.15, 0.1500001, 0.31, 0.999, 1, 2.1, 7.1, 123.4])
def test_a_nice_ceiling_is_near_above(value):
    assert value * (1 - 1e-9) <= nice_ceiling(value) <= value * 5 / 3


def test_the_nice_ceiling_of_nothing_is_one():
    assert nice_ceiling(0.0) == 1
