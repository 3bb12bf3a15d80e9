"""What a decoder reads of a target: against the ``decoder_input_ids`` of transformers."""

import json
import shutil
from pathlib import Path

import pytest

from core.checkpoints.model import open_model
from core.errors import ModelError
from tests.core.small_checkpoints import copied, edit_config

TARGETS = Path(__file__).parents[1] / "reference" / "targets"
MODELS = {"t5": "t5-relu", "bart": "bart-head", "mbart": "mbart-head", "mbart50": "mbart-head"}
RO, EN = 37, 18  # ids of two languages' codes in both vocabularies of mBART


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
