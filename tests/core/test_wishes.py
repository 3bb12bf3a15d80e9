"""Wishes: as people write them, as rows, painted, and after an edit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Learning, Mask, Wish
from core.attention import build_mask
from core.errors import SettingError
from core.wishes import moved, painted, read_weights, read_wish, wish_in_words, wished_rows
from tests.core.test_properties import CORE

ALL = np.ones((4, 4), dtype=bool)


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("5:3=0.6,2=0.3", Wish(5, ((2, 0.3), (3, 0.6)))),
        (" 5 : 3 = .6 , 2=1e-3 ", Wish(5, ((2, 0.001), (3, 0.6)))),
        ("0:0=1", Wish(0, ((0, 1.0),))),
        ("0:1=0.5 2=0.25", Wish(0, ((1, 0.5), (2, 0.25)))),
    ],
)
def test_reading(text, wish):
    assert read_wish(text) == wish
    assert read_wish(wish_in_words(wish)) == wish


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("3=0.6", "the wish “3=0.6” does not begin with a query: write QUERY:KEY=WEIGHT"),
        ("", "the wish “” does not begin"),
        ("-1:3=0.6", "the wish “-1:3=0.6” does not begin"),
        ("5:", "“” is no wished-for weight: write KEY=WEIGHT"),
        ("5:3", "“3” is no wished-for weight"),
        ("5:3=-0.6", "“3=-0.6” is no wished-for weight"),
        ("5:3=nan", "“3=nan” is no wished-for weight"),
        ("5:3=0.6,3=0.1", "key 3 is wished for twice: name each key once"),
        ("5:\x1b[2J=1", "“␛[2J=1” is no wished-for weight"),
        ("5:" + "x" * 99, "“" + "x" * 40 + "…” is no"),
    ],
)
def test_what_cannot_be_read(text, fault):
    with pytest.raises(SettingError) as refused:
        read_wish(text)
    assert fault in str(refused.value)


def test_keys_that_are_not_named_share_the_rest():
    wishes = [Wish(2, ((1, 0.4),)), Wish(3, ((0, 1.0),)), Wish(0, ((2, 0.0),))]
    third = 1 / 3
    expected = [[0.2, 0.4, 0.2, 0.2], [1, 0, 0, 0], [third, third, 0, third]]
    assert wished_rows(wishes, ALL) == pytest.approx(np.array(expected))


def test_masked_keys_get_nothing():
    mask = build_mask(4, Mask(causal=True))
    wishes = [Wish(1, ((1, 0.4),)), Wish(2, ((3, 0.0), (0, 0.5)))]
    expected = [[0.6, 0.4, 0, 0], [0.5, 0.25, 0.25, 0]]
    assert wished_rows(wishes, mask) == pytest.approx(np.array(expected))


def test_a_sum_of_written_tenths_is_1():
    tenths = Wish(0, ((0, 0.1), (1, 0.2), (2, 0.3), (3, 0.4)))
    assert wished_rows([tenths], ALL).sum() == 1


def test_painting_takes_from_the_rest_and_then_from_the_largest():
    wishes = painted((), 1, 3, 0.6, ALL[1])
    assert wishes == (Wish(1, ((3, 0.6),)),)
    wishes = painted(wishes, 1, 0, 0.3, ALL[1])
    assert wishes == (Wish(1, ((0, 0.3), (3, 0.6))),)
    wishes = painted(wishes, 1, 2, 0.5, ALL[1])
    assert wishes == (Wish(1, ((0, 0.3), (2, 0.5), (3, 0.2))),)
    assert painted(wishes, 0, 0, 1.0, ALL[0]) == (Wish(0, ((0, 1.0),)), *wishes)


def test_where_every_key_is_named_painting_gives_to_the_largest():
    two = (True, True)
    wishes = (Wish(0, ((0, 0.3), (1, 0.7))),)
    assert painted(wishes, 0, 0, 0.1, two) == (Wish(0, ((0, 0.1), (1, 0.9))),)
    assert painted((), 0, 0, 0.4, (True, False)) == (Wish(0, ((0, 1.0),)),)


@CORE
@given(
    st.lists(st.booleans(), min_size=1, max_size=5).filter(any),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 20)), min_size=1, max_size=12),
)
def test_whatever_is_painted_can_be_wished_for(allowed, strokes):
    mask = np.array([allowed] * len(allowed))
    wishes = ()
    for key, twentieths in strokes:
        if key < len(allowed) and allowed[key]:
            wishes = painted(wishes, 0, key, twentieths / 20, allowed)
            row = wished_rows(wishes, mask)[0]
            assert row.sum() == pytest.approx(1)
            if sum(allowed) > 1:
                assert row[key] == pytest.approx(twentieths / 20)


def test_wishes_follow_their_tokens():
    learning = Learning((Wish(0, ((1, 0.5),)), Wish(2, ((0, 0.2), (1, 0.8)))), steps=9)
    later = moved(learning, lambda index: index + 1, 4)
    assert later == Learning((Wish(1, ((2, 0.5),)), Wish(3, ((1, 0.2), (2, 0.8)))))
    without_first = moved(learning, lambda index: index - 1 if index else None, 2)
    assert without_first == Learning((Wish(1, ((0, 0.8),)),))
    assert moved(learning, lambda index: None, 2) is None


def test_a_wish_that_could_not_be_met_any_more_is_dropped():
    """Of three keys that were all named one is gone, and nothing is left for the rest."""
    whole = Learning((Wish(1, ((0, 0.5), (1, 0.25), (2, 0.25))),))
    assert moved(whole, lambda index: None if index == 0 else index - 1, 2) is None
    assert read_weights("0=1") == ((0, 1.0),)
