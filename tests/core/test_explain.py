import math

import numpy as np
import pytest

from core.explain import entropy_bits, nice_ceiling, shades


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


def test_shades_by_matrix_by_row_and_by_powers_of_ten():
    values = np.array([[0.5, 0.05, 0.0], [0.004, 0.001, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(shades(values, 0.5, "matrix"), values * 2)
    by_row = [[1, 0.1, 0], [1, 0.25, 0], [0, 0, 0]]
    np.testing.assert_allclose(shades(values, 0.5, "row"), by_row)
    log = shades(values, 0.5, "log")
    np.testing.assert_allclose(log[0], [1, 2 / 3, 0])
    np.testing.assert_allclose(log[1:, 0], [1 + np.log10(0.008) / 3, 0])
    assert (shades(np.array([[1e-9, -0.5]]), 0.5, "log") == [[0, 1]]).all()


def test_a_weight_that_rounding_left_above_1_has_no_entropy():
    assert str(float(entropy_bits(np.array([1 + 1e-9, 0.0])))) == "0.0"
