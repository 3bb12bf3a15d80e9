"""What a decoder reads of a target: against the ``decoder_input_ids`` of transformers."""

import json
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from core.checkpoints.model import open_model
from core.checkpoints.sentencepiece import read_pieces
from core.errors import ModelError, TextError
from tests.core.small_checkpoints import copied, edit_config, edit_tensors, f32, read_tensors

TARGETS = Path(__file__).parents[1] / "reference" / "targets"
MODELS = {"t5": "t5-relu", "bart": "bart-head", "mbart": "mbart-head", "mbart50": "mbart-head"}
RO = 37  # id of a language's code in both vocabularies of mBART


def opened(name, tmp_path):
    """A small model with its family's own tokenizer, and what transformers makes of texts."""
    folder = copied(MODELS[name], tmp_path)
    for file in (TARGETS / name).glob("tokenizer*"):
        shutil.copy(file, folder)
    return folder, json.loads((TARGETS / name / "expected.json").read_text())


@pytest.mark.parametrize("name", MODELS)
def test_ids_are_those_of_transformers(name, tmp_path):
    folder, expected = opened(name, tmp_path)
    model = open_model(folder)
    for text, ids in expected.items():
        found = model.target_tokens(text)
        assert [token.id for token in found] == ids["read"], text
        assert len(found) == found.total == len(ids["read"])
        if text.strip():
            read = [token.id for token in model.tokenizer.encode(text)]
            assert read == ids["source"]


@pytest.mark.parametrize("name", MODELS)
def test_words_keep_their_places_and_what_is_added_is_special(name, tmp_path):
    model = open_model(opened(name, tmp_path)[0])
    found = model.target_tokens("the black cat")
    assert found[0].special
    assert found.text == "the black cat"
    for token in found:
        assert found.text[token.start : token.end] == token.text
        assert not (token.special and token.text)
    assert "".join(token.text for token in found).replace(" ", "") == "theblackcat"


def test_a_tokenizer_that_marks_no_end_loses_no_word(tmp_path):
    from tests.core.small_checkpoints import speaking

    found = open_model(speaking("bart-head", tmp_path)).target_tokens("t5 t6")
    assert [token.id for token in found] == [2, 5, 6]


def without_language(name, tmp_path, **settings):
    folder, _expected = opened(name, tmp_path)
    (folder / "tokenizer_config.json").write_text('{"src_lang": "en_XX"}')
    edit_config(folder, **settings)
    return open_model(folder)


@pytest.mark.parametrize(
    ("name", "settings", "read"),
    [
        ("mbart", {"decoder_start_token_id": RO}, [RO, 15, 2]),  # made for one language
        ("mbart50", {"forced_bos_token_id": RO}, [2, RO, 15]),
    ],
)
def test_language_that_the_configuration_names(name, settings, read, tmp_path):
    found = without_language(name, tmp_path, **settings).target_tokens("cat")
    assert [token.id for token in found] == read
    assert [token.piece for token in found if token.id == RO] == ["ro_RO"]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("mbart", {}),
        ("mbart", {"decoder_start_token_id": 2}),  # no language's code
        ("mbart", {"forced_bos_token_id": RO}),  # stands behind the text in this family
        ("mbart50", {"decoder_start_token_id": 2}),
        ("mbart50", {"forced_bos_token_id": True}),
        ("mbart50", {"forced_bos_token_id": 4000}),
    ],
)
def test_language_that_nobody_names_is_refused(name, settings, tmp_path):
    model = without_language(name, tmp_path, **settings)
    with pytest.raises(ModelError, match="does not say which language a target is in: add"):
        model.target_tokens("cat")


def test_language_that_the_tokenizer_does_not_have(tmp_path):
    folder, _expected = opened("mbart", tmp_path)
    (folder / "tokenizer_config.json").write_text('{"tgt_lang": "xx_\\u001bXX"}')
    with pytest.raises(ModelError, match=r"tgt_lang 'xx_.*XX' is no token") as caught:
        open_model(folder).target_tokens("cat")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("start", [37, -1, "2", True, 2.0])
def test_start_that_is_no_token_is_refused(start, tmp_path):
    folder, _expected = opened("bart", tmp_path)
    edit_config(folder, decoder_start_token_id=start)
    with pytest.raises(ModelError, match="names no token that starts a target"):
        open_model(folder).target_tokens("cat")


# Marian: a SentencePiece model a language.


@pytest.fixture
def marian(tmp_path):
    """A small Marian with files as OPUS-MT has them, its embedding as long as their vocabulary."""
    folder = copied("marian-head", tmp_path)
    for file in (TARGETS / "marian").iterdir():
        shutil.copy(file, folder)
    rows = len(json.loads((folder / "vocab.json").read_text()))
    longer = {"final_logits_bias": f32(np.zeros((1, rows)))}
    for name, (_dtype, shape, _raw) in read_tensors(folder / "model.safetensors").items():
        if name.endswith(("shared.weight", "embed_tokens.weight", "lm_head.weight")):
            longer[name.replace(".", "__")] = f32(np.ones((rows, shape[1])))
    edit_tensors(folder, **longer)
    settings = {"vocab_size": rows, "decoder_vocab_size": rows}
    edit_config(folder, **settings, pad_token_id=rows - 1, decoder_start_token_id=rows - 1)
    return folder


def test_marian_cuts_each_language_by_its_own_model(marian):
    expected = json.loads((TARGETS / "marian" / "expected.json").read_text())
    model = open_model(marian)
    for text, ids in expected.items():
        assert [token.id for token in model.tokenizer.encode(text)] == ids["source"], text
        read = [token.id for token in model.target_tokens(text)]
        assert read == [model.tokenizer.id_of("<pad>"), *ids["labels"][:-1]], text


def test_marian_before_the_first_word(marian):
    (start,) = open_model(marian).target_tokens("")
    assert (start.piece, start.special) == ("<pad>", True)


def test_code_of_a_language_stands_before_a_text(marian):
    found = open_model(marian).tokenizer.encode(">>spa<< the ball")
    assert [(token.text, token.start) for token in found][:2] == [(">>spa<<", 0), ("", 8)]
    assert found.text == ">>spa<< the ball"
    assert all(found.text[token.start : token.end] == token.text for token in found)
    assert not found[0].unknown
    other = open_model(marian).tokenizer.encode(">>xyz<< the ball")
    assert other[0].unknown
    with pytest.raises(TextError):
        open_model(marian).tokenizer.encode(">>spa<<")


def test_code_of_a_language_counts_among_the_tokens(marian):
    tokenizer = open_model(marian).tokenizer
    for count in (8, 9, 10, 30):
        found = tokenizer.encode(">>spa<< " + " ".join(["x"] * count))
        assert len(found) == min(tokenizer.limit, 2 * count + 2)
        assert (found[0].piece, found[-1].piece) == (">>spa<<", "</s>")
        assert found.total == 2 * count + 2


def test_typed_marks_are_text(marian):
    tokenizer = open_model(marian).tokenizer
    found = tokenizer.encode("a </s> b <pad>")
    assert [token.piece for token in found if token.special] == ["</s>"]
    marks = {tokenizer.id_of("</s>"), tokenizer.id_of("<pad>")}
    assert not marks & {token.id for token in found if not token.special}


def test_what_one_model_does_not_know_the_vocabulary_may(marian):
    """As transformers does: what is unknown to the pieces is looked up as it is written."""
    found = open_model(marian).tokenizer.encode("zebra 日本")
    assert [token.piece for token in found if token.text == "z"] == ["z"]
    assert [token.text for token in found if token.unknown] == ["日本"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"1234567",
        b"\x0a",  # cut off behind a field's number
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",  # longer than the file
        b"\x0a" + b"\xff" * 12,  # a length that never ends
        b"\x0a\x02\x0a\x00",  # one piece, and none is unknown
        b"\x0a\x05\x0a\x01a\x18\x02" + b"\x0b",  # a kind of field that is gone
        b"\x0a\x04\x0a\x02\xff\xfe",  # no UTF-8
        b"\x0a\x0a\x0a\x01a\x15\x00\x00\xc0\x7f\x18\x02",  # a score that is no number
        b"version https://git-lfs.github.com/spec/v1\n",
    ],
)
def test_damaged_pieces_are_refused(raw, marian):
    (marian / "source.spm").write_bytes(raw)
    with pytest.raises(ModelError, match=r"source\.spm is no SentencePiece model, or"):
        open_model(marian)


def test_every_cut_of_a_file_is_refused_or_read(marian):
    raw = (marian / "source.spm").read_bytes()
    for end in range(0, len(raw), 7):
        (marian / "source.spm").write_bytes(raw[:end])
        with suppress(ModelError):  # and nothing else
            read_pieces(marian / "source.spm")


def test_file_of_pieces_that_is_too_large_is_not_read(marian):
    """X05: its size is looked at first."""
    with (marian / "source.spm").open("r+b") as file:
        file.truncate(2**34)  # no block of it is on the disk
    with pytest.raises(ModelError, match=r"source\.spm is no SentencePiece model, or"):
        open_model(marian)


@pytest.mark.parametrize("name", ["source.spm", "target.spm", "vocab.json"])
def test_link_out_of_the_folder(name, marian, tmp_path):
    """X04: a file of a tokenizer is one of the model's own folder."""
    (marian / name).rename(tmp_path / name)
    (marian / name).symlink_to(tmp_path / name)
    with pytest.raises(ModelError, match="outside itself"):
        open_model(marian)


def test_settings_of_a_tokenizer_out_of_the_folder(tmp_path):
    """X04: nor are its settings read from elsewhere."""
    folder, _expected = opened("mbart", tmp_path)
    (folder / "tokenizer_config.json").rename(tmp_path / "other.json")
    (folder / "tokenizer_config.json").symlink_to(tmp_path / "other.json")
    with pytest.raises(ModelError, match="outside itself"):
        open_model(folder).target_tokens("cat")


def test_pieces_of_another_kind_are_refused(marian):
    raw = (marian / "source.spm").read_bytes()
    (marian / "source.spm").write_bytes(raw + b"\x12\x02\x18\x02")  # trained as BPE
    with pytest.raises(ModelError, match=r"source\.spm is no plain unigram model"):
        open_model(marian)


def test_vocabulary_without_its_marks_is_refused(marian):
    (marian / "vocab.json").write_text('{"a": 0}')
    with pytest.raises(ModelError, match=r"vocab\.json has no <unk> or no </s>"):
        open_model(marian)


def test_vocabulary_of_another_model_is_refused(marian):
    """C14: a piece without a row of the embedding is named."""
    ids = json.loads((marian / "vocab.json").read_text()) | {"more": 4000}
    (marian / "vocab.json").write_text(json.dumps(ids))
    with pytest.raises(ModelError, match="token more has the id 4,000"):
        open_model(marian)


# Settings that the files on the hub have besides.
OLD_BART = {
    "add_bias_logits": False, "add_final_layer_norm": False, "classif_dropout": 0.0,
    "extra_pos_embeddings": 2, "force_bos_token_to_be_generated": False, "normalize_before": False,
    "do_blenderbot_90_layernorm": False, "gradient_checkpointing": False, "num_beams": 4,
    "normalize_embedding": True, "static_position_embeddings": False, "output_past": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("bart-head", OLD_BART),
        ("mbart-head", OLD_BART | {"add_final_layer_norm": True, "normalize_before": True}),
        (
            "marian-head",
            OLD_BART
            | {"extra_pos_embeddings": 37, "static_position_embeddings": True, "_num_labels": 3}
            | {
                "normalize_embedding": False,
                "bad_words_ids": [[36]],
                "activation_function": "swish",
            },
        ),
        (
            "t5-relu",
            {"n_positions": 512, "output_past": True, "initializer_factor": 1.0}
            | {"task_specific_params": {"translation_en_to_de": {"prefix": "translate: "}}},
        ),
        ("t5-gated", {"dense_act_fn": "gelu_new", "is_gated_act": True, "classifier_dropout": 0.0}),
        ("mt5-gated", {"output_past": True, "tokenizer_class": "T5Tokenizer", "use_cache": True}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_settings_of_old_files_change_nothing(name, settings, tmp_path):
    from tests.core.test_checkpoints import expected_of

    folder = copied(name, tmp_path)
    edit_config(folder, **settings)
    expected = expected_of(name)
    pads = frozenset(expected["pads"].tolist())
    run = open_model(folder).run(expected["ids"].tolist(), pads, expected["target"].tolist())
    cross = np.stack([block.cross.pattern[:] for block in run.decoder.blocks])
    np.testing.assert_allclose(cross, expected["cross_attentions"], atol=1e-4)


def test_other_positions_of_bart_are_refused(tmp_path):
    folder = copied("bart-head", tmp_path)
    edit_config(folder, extra_pos_embeddings=3)
    with pytest.raises(ModelError, match="extra_pos_embeddings 3 is not supported"):
        open_model(folder)
