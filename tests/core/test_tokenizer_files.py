import json

import pytest
from tokenizers import Tokenizer, models

from core.errors import TokenizerError
from core.text import label
from core.tokenization import open_tokenizer
from tests.core.small_tokenizers import bert_tokenizer


def damage(path, **changes):
    with open(path, encoding="utf-8") as file:
        content = json.load(file) | changes
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)
    return path


@pytest.mark.parametrize("changes", [{"normalizer": {"type": "Odd"}}, {"version": "2.0"}])
def test_file_of_another_version(saved, changes):
    """T17: a file of another version is one clear line with the library's version."""
    path = damage(saved(bert_tokenizer()), **changes)
    with pytest.raises(TokenizerError, match=r"cannot be read by tokenizers \d+\.\d+"):
        open_tokenizer(path)


def test_damaged_file(saved, tmp_path):
    """T17: a file that is cut off, of another kind or of another encoding is refused too."""
    with open(saved(bert_tokenizer()), "rb") as file:
        start = file.read(200)
    for number, content in enumerate([start, b"", b"[]", b"\x80\x04K\x01.", b"\xce\xd2"]):
        path = tmp_path / f"damaged {number}.json"
        path.write_bytes(content)
        with pytest.raises(TokenizerError, match="cannot be read"):
            open_tokenizer(str(path))


@pytest.mark.parametrize(
    "name", ["no such file", "a\0b", "x" * 5000, "\udcff", "mixed/", "\x1b]0;title\x07"]
)
def test_no_such_file(name):
    """T17: a name that is no file is refused, with nothing in it that a terminal obeys."""
    with pytest.raises(TokenizerError, match="does not exist: name one of mixed") as caught:
        open_tokenizer(name)
    assert str(caught.value).isprintable()


def test_folder(tmp_path):
    """T17: a folder is called a folder."""
    with pytest.raises(TokenizerError, match="is a folder"):
        open_tokenizer(str(tmp_path))


def test_byte_order_mark(saved, tmp_path):
    """X11: a byte order mark before the JSON does no harm."""
    path = tmp_path / "marked.json"
    with open(saved(bert_tokenizer()), "rb") as file:
        path.write_bytes(b"\xef\xbb\xbf" + file.read())
    assert [label(token) for token in open_tokenizer(str(path)).encode("a")] == [
        "[CLS]",
        "a",
        "[SEP]",
    ]


def test_panic_of_the_library(saved):
    """T17: a panic, which is no Exception, is refused like any other failure."""
    path = saved(bert_tokenizer())
    with open(path, encoding="utf-8") as file:
        processor = json.load(file)["post_processor"] | {"special_tokens": {}}
    with pytest.raises(TokenizerError, match="cannot encode the text"):
        open_tokenizer(damage(path, post_processor=processor)).encode("a")


def test_template_beyond_the_vocabulary(saved):
    """A special token whose id is in no vocabulary still has a label."""
    path = saved(bert_tokenizer())
    with open(path, encoding="utf-8") as file:
        processor = json.load(file)["post_processor"]
    processor["special_tokens"]["[CLS]"]["ids"] = [77]
    tokens = open_tokenizer(damage(path, post_processor=processor)).encode("a")
    assert (label(tokens[0]), tokens[0].id) == ("[CLS]", 77)


def test_bpe_that_would_drop_characters(saved):
    """Without unknown token and bytes, BPE drops characters and the library's spans shift."""
    made = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    opened = open_tokenizer(saved(made))
    assert [token.piece for token in opened.encode("abab")] == ["ab", "ab"]
    with pytest.raises(TokenizerError, match="has no piece for x 我 and no unknown token"):
        opened.encode("xa我b")


def test_bpe_pieces_with_suffix(saved):
    """A vocabulary that knows a character only at the end of a word knows it."""
    made = Tokenizer(models.BPE({"a</w>": 0}, [], end_of_word_suffix="</w>"))
    assert open_tokenizer(saved(made)).encode("a")[0].text == "a"
