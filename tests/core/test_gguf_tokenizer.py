"""The tokenizer that a GGUF file brings: it cuts as the library that made it, or is refused."""

import json
import shutil
import struct

import gguf
import pytest
from tokenizers import pre_tokenizers
from tokenizers.implementations import BertWordPieceTokenizer

from core.checkpoints.gguf_tokenizer import build_tokenizer
from core.checkpoints.model import open_model
from core.errors import ModelError
from tests.core.gguf_files import edited, refused, text
from tests.core.small_checkpoints import REFERENCE
from tests.core.small_tokenizers import word_level_tokenizer


@pytest.fixture
def llama(tmp_path):
    return shutil.copy(REFERENCE / "gguf-llama" / "model.gguf", tmp_path / "model.gguf")


def metadata(**changes):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*alphabet, "th", "the", "Ġthe", "<s>", "<|tool|>"]
    found = {
        "model": "gpt2",
        "pre": "gpt-2",
        "tokens": pieces,
        "token_type": [1] * (len(pieces) - 2) + [3, 4],
        "merges": ["t h", "th e", "Ġ the"],
        "bos_token_id": len(pieces) - 2,
        "add_bos_token": False,
    }
    return {f"tokenizer.ggml.{name}": value for name, value in (found | changes).items()}


def pieces_of(changes, sentence, tmp_path):
    made = build_tokenizer(metadata(**changes), tmp_path)
    return made.encode(sentence).tokens


def test_tokenizer_of_the_file(tmp_path):
    assert pieces_of({}, "the the", tmp_path) == ["the", "Ġthe"]
    made = build_tokenizer(metadata(add_bos_token=True), tmp_path)
    assert [made.id_to_token(i) for i in made.encode("the").ids] == ["<s>", "the"]
    assert pieces_of({}, "a<|tool|>", tmp_path) == ["a", "<|tool|>"]


@pytest.mark.parametrize(
    ("pre", "digits"),
    [("gpt-2", ["1234"]), ("smollm", ["1", "2", "3", "4"]), ("qwen2", ["1", "2", "3", "4"]),
     ("llama-bpe", ["123", "4"])],
)  # fmt: skip
def test_how_each_kind_cuts_numbers(tmp_path, pre, digits):
    """Digits stay together, stand alone or come in threes, as each tokenizer was trained."""
    changes = {"pre": pre, "tokens": [*metadata()["tokenizer.ggml.tokens"], "12", "123", "1234"]}
    changes["token_type"] = [1] * len(changes["tokens"])
    changes["merges"] = ["1 2", "12 3", "123 4"]
    changes["add_bos_token"] = False
    assert pieces_of(changes, "1234", tmp_path) == digits


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"model": "t5"}, "tokenizer.ggml.model 't5'"),
        ({"model": "llama"}, "scores"),
        ({"model": "llama", "scores": [0.0]}, "scores"),
        ({"pre": "mystery"}, "tokenizer.ggml.pre 'mystery'"),
        ({"tokens": "abc"}, "tokens"),
        ({"tokens": ["a", "a"]}, "tokens"),
        ({"merges": ["th"]}, "merges"),
        ({"merges": ["x yz"]}, "merges"),
        ({"bos_token_id": 10**6, "add_bos_token": True}, "bos_token_id"),
    ],
)
def test_tokenizer_that_is_not_known(tmp_path, changes, what):
    with pytest.raises(ModelError, match=r"tokenizer\.json beside") as caught:
        build_tokenizer(metadata(**changes), tmp_path)
    assert what in caught.value.message


@pytest.mark.parametrize("index", [0, 1])
def test_sentence_pieces_against_the_library(tmp_path, index):
    """A tokenizer of scores alone cuts as SentencePiece itself does, unknown characters too."""
    facts = json.loads((REFERENCE.parent / "sentencepiece.json").read_text())[index]
    expected = facts.pop("ids")
    changes = {"model": "llama", "bos_token_id": 1, "add_bos_token": True} | facts
    made = build_tokenizer(metadata(**changes), tmp_path)
    for sentence, ids in expected.items():
        assert made.encode(sentence).ids == [1, *ids], sentence


def test_tokenizer_beside_the_file_comes_first(llama):
    made = word_level_tokenizer(" ".join(["[UNK]", *(f"w{i}" for i in range(36))]))
    made.save(str(llama.with_name("tokenizer.json")))
    assert [token.id for token in open_model(llama).tokenizer.encode("w3 w1")] == [4, 2]


def test_built_tokenizer_gives_spans_of_the_text(llama):
    """T01: the pieces of the file's own tokenizer lie on the text; the first token is added."""
    tokens = open_model(llama).tokenizer.encode("ABBA")
    assert [token.text for token in tokens] == ["", "AB", "B", "A"]
    assert tokens[0].special


WORD_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat", "##s", "the", "我", "[", "##[",
    "un", "##believ", "##able", "!", "cafe", "[unused1]")  # fmt: skip


def word_pieces(pieces=WORD_PIECES, **changes):
    """Metadata as llama.cpp's converter writes a WordPiece: a mark before what begins a word."""

    def stored(piece):
        if piece.startswith("[") and piece.endswith("]"):
            return piece
        return piece[2:] if piece.startswith("##") else f"\u2581{piece}"

    found = {"model": "bert", "tokens": list(map(stored, pieces)), **changes}
    return {f"tokenizer.ggml.{name}": value for name, value in found.items()}


@pytest.mark.parametrize(
    ("changes", "lowercase", "strip_accents"),
    [
        ({}, True, True),
        ({"normalizer.lowercase": False, "normalizer.strip_accents": False}, False, False),
        ({"unknown_token_id": 1, "cls_token_id": 2, "seperator_token_id": 3}, True, True),
        ({"token_type": [3] * 5 + [1] * 11 + [5]}, True, True),
    ],
)
def test_word_pieces_cut_as_those_of_bert(tmp_path, changes, lowercase, strip_accents):
    """T05, T08, T13: against the library's own, with spans and what is special."""
    expected = BertWordPieceTokenizer(
        {piece: index for index, piece in enumerate(WORD_PIECES)},
        lowercase=lowercase,
        strip_accents=strip_accents,
    )
    made = build_tokenizer(word_pieces(**changes), tmp_path)
    for sentence in (
        "The cats the cat", "我想 unbelievable!", "Café CAFÉ cafe\u0301 \u200d\0", "[the[ 💩💩", "",
        "hello [CLS] [MASK] cat", "s" * 101, "[unused1]",
    ):  # fmt: skip
        here, there = made.encode(sentence), expected.encode(sentence)
        assert (here.ids, here.offsets) == (there.ids, there.offsets), sentence
        assert here.special_tokens_mask == there.special_tokens_mask
    assert made.id_to_token(6) == "##s"


@pytest.mark.parametrize("kept", ["lowercase", "strip_accents"])
@pytest.mark.parametrize(("piece", "lost"), [("Cat", "lowercase"), ("##é", "strip_accents")])
def test_pieces_that_no_text_could_reach_are_refused(tmp_path, piece, lost, kept):
    """A file of an older converter does not say whether capital letters and accents are kept."""
    found = word_pieces((*WORD_PIECES, piece), **{f"normalizer.{kept}": False})
    if kept == lost:
        assert build_tokenizer(found, tmp_path).token_to_id(piece) == len(WORD_PIECES)
        return
    with pytest.raises(ModelError, match=r"tokenizer\.json beside") as caught:
        build_tokenizer(found, tmp_path)
    assert "capital letters or accents" in caught.value.message


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"tokens": ["[UNK]", "[CLS]"]}, "seperator_token_id"),
        ({"cls_token_id": 17}, "cls_token_id"),
        ({"unknown_token_id": "x"}, "unknown_token_id"),
        ({"tokens": ["[UNK]", "[CLS]", "[SEP]", "a", "a"]}, "tokens"),
        ({"tokens": 5}, "tokens"),
    ],
)
def test_word_pieces_that_are_damaged(tmp_path, changes, what):
    with pytest.raises(ModelError, match=r"tokenizer\.json beside") as caught:
        build_tokenizer(word_pieces(**changes), tmp_path)
    assert f"the tokenizer's {what} are missing or damaged" in caught.value.message


def test_an_unknown_tokenizer_of_a_file_is_asked_for(tmp_path):
    kind = text(b"tokenizer.ggml.model") + struct.pack("<I", 8)
    path = edited("gguf-bert", tmp_path, (kind + text(b"gpt2"), kind + text(b"what")))
    message = refused(path)
    assert "tokenizer.ggml.model 'what' is not supported" in message
    assert "put the model's tokenizer.json beside the file" in message
    words = " ".join(["[UNK]", *(f"t{i}" for i in range(1, 37))])
    word_level_tokenizer(words).save(str(tmp_path / "tokenizer.json"))
    assert open_model(path).family == "BERT"


def test_a_file_of_bert_is_opened_with_its_own_word_pieces(tmp_path):
    pieces = (*WORD_PIECES, *(f"t{i}" for i in range(37 - len(WORD_PIECES))))
    path, reader = tmp_path / "bert.gguf", gguf.GGUFReader(REFERENCE / "gguf-bert" / "model.gguf")
    writer = gguf.GGUFWriter(path, "bert")
    for name, field in reader.fields.items():
        if not name.startswith(("GGUF.", "general.architecture", "tokenizer.")):
            writer.add_key_value(name, field.contents(), field.types[0])
    for name, value in word_pieces(pieces).items():
        strings = isinstance(value, list)
        kind = gguf.GGUFValueType.ARRAY if strings else gguf.GGUFValueType.STRING
        writer.add_key_value(name, value, kind, gguf.GGUFValueType.STRING if strings else None)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    model = open_model(path)
    tokens = model.tokenizer.encode("The cats t3")
    assert [token.piece for token in tokens] == ["[CLS]", "the", "cat", "##s", "t3", "[SEP]"]
    assert [token.special for token in tokens] == [True, *[False] * 4, True]
    assert [token.text for token in tokens][1:5] == ["The", "cat", "s", "t3"]
    assert model.mask_token.piece == "[MASK]"
