import math
import sys

import numpy as np
import pytest

from core.embedding import embed, piece_id, sinusoidal_positions, table_row
from core.seeded import draw
from core.tokenization import open_tokenizer
from tests.core.keccak import shake_128


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        ("The", 3007633422),
        ("the", 3111611773),
        ("我", 3070997676),
        ("e\u0301", 3205658235),
        ("👩\u200d👩\u200d👧", 2179506271),
        ("", 0xE3B0C442),
        ("abc", 0xBA7816BF),  # FIPS 180-2, example B.1
    ],
)
def test_ids(piece, expected):
    """Golden ids: the first four bytes of the SHA-256 of the piece."""
    assert piece_id(piece) == expected < 2**32


@pytest.mark.parametrize(
    ("seed", "row", "expected"),
    [
        (0, 3070997676, [-0.3489949175508063, 1.1259017404454297, -0.3496820714967602]),
        (7, 0, [0.21148484136626672, 1.3357215549426544, 1.5425284636768506]),
        (0, 2**32 - 1, [-0.34812276061940334, -2.4468759145479972, 1.0238858084692002]),
    ],
)
def test_rows(seed, row, expected):
    """Golden rows, to the last bit."""
    assert table_row(seed, row, 3).tolist() == expected
    assert table_row(seed, row, 48)[:3].tolist() == expected


def test_shake_in_plain_python():
    """The sponge of the next test is SHAKE-128, by the test vector of NIST for no input."""
    assert shake_128(b"", 16).hex() == "7f9c2ba4e88f827d616045507605853e"


def test_row_recomputed_in_plain_python():
    """A row needs nothing but SHAKE-128, integer sums, one subtraction and one division."""
    count = 48
    raw = shake_128(b"embedding 11 3070997676", 8 * count)
    assert len(raw) > 2 * 168  # more than two blocks
    deviation = math.sqrt(4 * (2**32 - 1) / 12)
    expected = []
    for start in range(0, len(raw), 8):
        terms = [raw[i] + 256 * raw[i + 1] for i in range(start, start + 8, 2)]
        expected.append((sum(terms) - 2 * 65535) / deviation)
    assert table_row(11, 3070997676, count).tolist() == expected


def test_row_stands_alone():
    """A piece has one row, whatever stands around it and however it is spaced."""
    rows = []
    for name, text in [
        ("mixed", "我"),
        ("mixed", "a 我 b"),
        ("chars", "x我"),
        ("spaces", "p 我 q"),
    ]:
        tokens = open_tokenizer(name).encode(text)
        place = [token.piece for token in tokens].index("我")
        rows.append(embed(tokens, 3, 16)[place].tobytes())
    assert len(set(rows)) == 1
    assert rows[0] == draw("embedding 3 3070997676", 16).tobytes()


def test_rows_differ():
    """Another id and another seed give other rows."""
    rows = {table_row(seed, row, 8).tobytes() for seed in (0, 1, 10, 11) for row in (0, 1, 10, 11)}
    assert len(rows) == 16


def test_row_cannot_be_written_to():
    """Nobody can change the table."""
    with pytest.raises(ValueError, match="read-only"):
        table_row(0, 1, 4)[0] = 5


def test_distribution():
    """Mean 0 and variance 1, symmetric, without outliers."""
    numbers = draw("a long draw", 100_000)
    assert abs(numbers.mean()) < 0.02
    assert abs(numbers.var() - 1) < 0.02
    assert abs((numbers**3).mean()) < 0.05
    assert np.abs(numbers).max() < 3.47
    assert numbers.dtype == np.float64
    assert sys.float_info.mant_dig == 53


@pytest.mark.parametrize("d_model", [1, 2, 5, 16])
def test_sinusoidal_positions(d_model):
    """The formula of the paper, number by number; an odd size ends with a sine."""
    encoding = sinusoidal_positions(9, d_model)
    assert encoding.shape == (9, d_model)
    for pos in range(9):
        for dim in range(d_model):
            angle = pos / 10000 ** ((dim - dim % 2) / d_model)
            expected = math.cos(angle) if dim % 2 else math.sin(angle)
            assert encoding[pos, dim] == pytest.approx(expected, abs=1e-12)


def test_first_position():
    """Position 0 is 0 1 0 1 …"""
    assert sinusoidal_positions(1, 4).tolist() == [[0.0, 1.0, 0.0, 1.0]]
