"""A command line that is written can be read again."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.helpers import make_view
from tui.command import command_line
from tui.serve.words import words_of


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_every_text_comes_back(text):
    assert words_of(command_line(make_view(text)))[-1] == text


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))))
def test_what_is_quoted_as_usual_is_read_as_usual(words):
    assert words_of(shlex.join(words)) == words


@pytest.mark.parametrize("command", ["a $(id)", "`id`", "'open", '"$HOME"', "a\\ b"])
def test_nothing_else_is_read(command):
    with pytest.raises(ValueError, match=r"."):
        words_of(command)
