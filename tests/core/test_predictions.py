"""What real models expect, against the logits of transformers, and what predicts nothing."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from core.checkpoints.model import Model
from core.checkpoints.weights import Head
from core.compare import compare
from core.errors import ModelError, SettingError
from core.pieces import token_of
from core.predictions import MOST, follows, places, predict, predictions
from core.runner import run
from core.text import describe, full_label, label
from core.trained import describe as described
from core.trained import opened
from core.types import GivenModel, Mask, Request, Switches
from tests.core.small_checkpoints import edit_config, edit_tensors, expected_of, f32, speaking
from tests.core.small_tokenizers import bert_tokenizer, byte_level_tokenizer, unigram_tokenizer
from tests.reference.checkpoint_cases import CASES

HEADS = [name for name, case in CASES.items() if case.get("logits", True) and "target" not in case]
MASKED = [
    name
    for name in HEADS
    if CASES[name]["config"].startswith(("Bert", "Dist", "Rob", "Alb", "El", "XLM"))
]
NEXT = [name for name in HEADS if name not in MASKED and name != "opt-before"]
HIDDEN = 17  # a token of every reference's text, at these places
PLACES = {1, 6}


def chances(logits):
    """Softmax by Python's own floats."""
    powers = [math.exp(float(value) - float(max(logits))) for value in logits]
    return [power / math.fsum(powers) for power in powers]


def check_prediction(made, logits, there):
    """A prediction is what a row of logits says."""
    expected = chances(logits)
    assert made.vocabulary == len(expected)
    assert len(made.top) == MOST
    for each in made.top:
        assert each.probability == pytest.approx(expected[each.token.id], abs=1e-4)
    shown = [each.probability for each in made.top]
    assert shown == sorted(shown, reverse=True)
    others = set(range(len(expected))) - {each.token.id for each in made.top}
    assert max(expected[index] for index in others) <= shown[-1] + 1e-4
    assert [each.rank for each in made.top] == list(range(1, MOST + 1))
    if there is None:
        assert made.actual is None
        return
    assert made.actual.token.id == there
    assert made.actual.probability == pytest.approx(expected[there], abs=1e-4)
    near = sum(abs(value - expected[there]) < 1e-5 for value in expected)
    assert abs(made.actual.rank - 1 - sum(value > expected[there] for value in expected)) < near


@pytest.mark.parametrize("name", NEXT)
def test_next_tokens_are_those_of_transformers(name, tmp_path):
    expected, text = expected_of(name)
    pads = frozenset(expected["pads"].tolist())
    request = Request(text, model=described(speaking(name, tmp_path)))
    trace = run(replace(request, switches=Switches(Mask(blocked=pads))))
    ids = expected["ids"].tolist()
    assert follows(trace)
    assert list(places(trace)) == list(range(len(ids)))
    for position in set(range(len(ids))) - pads:
        there = ids[position + 1] if position + 1 < len(ids) else None
        check_prediction(predict(trace, position), expected["logits"][position], there)


def hiding(name, tmp_path, **changes):
    """A trace whose ids are those of the reference: others are typed where its text has token 17,
    and masked; here 17 is the mask token.
    """
    expected, _text = expected_of(name)
    ids = expected["ids"].tolist()
    masked = frozenset(index for index, token in enumerate(ids) if token == HIDDEN)
    typed = [30 + index % 3 if index in masked else token for index, token in enumerate(ids)]
    pads = frozenset(expected["pads"].tolist())
    model = described(speaking(name, tmp_path, mask=HIDDEN))
    switches = Switches(Mask(blocked=pads), masked=masked, **changes)
    trace = run(Request(" ".join(f"t{i}" for i in typed), model=model, switches=switches))
    assert [token.id for token in trace.tokens] == ids
    return trace, expected, typed


@pytest.mark.parametrize("name", MASKED)
def test_masked_tokens_are_those_of_transformers(name, tmp_path):
    trace, expected, typed = hiding(name, tmp_path)
    assert not follows(trace)
    assert set(places(trace)) == PLACES.intersection(range(len(typed))) - set(expected["pads"])
    for position in places(trace):
        check_prediction(predict(trace, position), expected["logits"][position], typed[position])
    for index, layer in enumerate(trace.layers):
        kept = [i for i in range(len(typed)) if i not in expected["pads"]]
        np.testing.assert_allclose(
            layer.pattern[:, kept], expected["attentions"][index][:, kept], atol=1e-4
        )


def test_masked_token_says_what_it_hides(tmp_path):
    trace, _expected, _typed = hiding("bert-legacy", tmp_path)
    token = trace.tokens[1]
    assert (token.piece, token.id, token.text, token.special) == ("[MASK]", HIDDEN, "t31", False)
    assert token.hides.id == 31
    assert (token.start, token.end) == (token.hides.start, token.hides.end)
    assert label(token) == "[MASK]"
    assert full_label(token) == "[MASK] (t31)"
    assert describe(token) == "hides “t31”"
    assert trace.request.text.split()[1] == "t31"  # what was typed stays


def test_only_what_is_asked_is_computed(tmp_path, monkeypatch):
    trace = run(Request("t5 t17 t3", model=described(speaking("gpt2-head", tmp_path))))
    asked = []
    logits_of = Model.logits_of

    def counts(model, final, positions=None):
        asked.append(list(positions))
        return logits_of(model, final, positions)

    monkeypatch.setattr(Model, "logits_of", counts)
    predict(trace, 1)
    assert asked == [[1]]
    both = list(predictions(trace, [0, 2]))
    assert [each.position for each in both] == [0, 2]
    assert asked[1:] == [[0, 2]]


def test_many_places_are_made_in_parts(tmp_path, monkeypatch):
    from core import predictions as module

    trace = run(Request("t5 t17 t3 t29 t4", model=described(speaking("gpt2-head", tmp_path))))
    whole = [predict(trace, place) for place in places(trace)]
    monkeypatch.setattr(module, "_BLOCK", 2 * 37)
    parts = list(predictions(trace, places(trace)))
    assert [each.position for each in parts] == [0, 1, 2, 3, 4]
    for part, made in zip(parts, whole, strict=True):
        assert [each.token for each in part.top] == [each.token for each in made.top]
        assert part.top[0].probability == pytest.approx(made.top[0].probability, rel=1e-5)


def test_unembedding_is_read_once(tmp_path):
    model = opened(speaking("gpt2-untied", tmp_path))  # BF16, to be made float32
    trace = model.run([5, 17]).last
    model.logits(trace, [1])
    head = model._head
    assert isinstance(head, Head)
    assert head.rows(0, 37) is head.rows(0, 37)


def test_equal_logits_are_ranked_alike_and_in_order(tmp_path):
    path = speaking("gpt2-untied", tmp_path)
    edit_tensors(tmp_path / "gpt2-untied", lm_head__weight=f32(np.zeros((37, 20))))
    made = predict(run(Request("t5 t6", model=described(path))), 0)
    assert [each.token.id for each in made.top] == list(range(MOST))
    assert {each.rank for each in (*made.top, made.actual)} == {1}
    assert [each.probability for each in made.top] == pytest.approx([1 / 37] * MOST)


def test_head_that_is_not_finite_is_refused(tmp_path):
    path = speaking("gpt2-untied", tmp_path)
    edit_tensors(tmp_path / "gpt2-untied", lm_head__weight=f32(np.full((37, 20), np.nan)))
    trace = run(Request("t5 t6", model=described(path)))
    with pytest.raises(ModelError, match=r"the language head of .* are not finite"):
        predict(trace, 0)


def test_what_a_model_says_of_itself(tmp_path):
    found = described(speaking("bert-legacy", tmp_path, mask=9))
    assert (found.predicts, found.mask_token) == (True, "[MASK]")
    found = described(speaking("gpt2-plain", tmp_path, mask=9))
    assert (found.predicts, found.mask_token) == (True, None)  # it sees one side only
    found = described(speaking("bert-plain", tmp_path))
    assert (found.predicts, found.mask_token) == (False, None)


@pytest.mark.parametrize(
    ("name", "mask", "masked", "words"),
    [
        ("bert-legacy", None, {0}, "bert-legacy has no mask token: open a model"),
        ("gpt2-head", 17, {0}, "has no mask token, since it predicts what follows"),
        ("bert-legacy", 17, {2}, "token 2 to mask is out of range: choose 0 to 1"),
        ("bert-legacy", 17, {-1}, "token -1 to mask is out of range"),
    ],
)
def test_masks_that_are_refused(name, mask, masked, words, tmp_path):
    model = described(speaking(name, tmp_path, mask))
    with pytest.raises(SettingError, match=words):
        run(Request("t5 t6", model=model, switches=Switches(masked=frozenset(masked))))


def test_special_token_is_not_masked(tmp_path):
    from tests.core.small_checkpoints import copied

    folder = copied("bert-legacy", tmp_path)
    made = bert_tokenizer()
    made.add_special_tokens(["[MASK]"])
    pieces = {f"t{i}": 12 + i for i in range(25)}  # 37 in all
    made.add_tokens(list(pieces))
    made.save(str(folder / "tokenizer.json"))
    model = described(str(folder))
    assert model.mask_token == "[MASK]"
    request = Request("hello world", model=model)
    assert label(run(request).tokens[0]) == "[CLS]"
    with pytest.raises(SettingError, match=r"token 0, \[CLS\], is not of the text"):
        run(replace(request, switches=Switches(masked=frozenset({0}))))
    trace = run(replace(request, switches=Switches(masked=frozenset({1}))))
    assert [label(token) for token in trace.tokens] == ["[CLS]", "[MASK]", "world", "[SEP]"]


def test_nothing_is_predicted(tmp_path):
    request = Request("t5 t6", model=described(speaking("bert-plain", tmp_path)))
    with pytest.raises(SettingError, match="bert-plain has no language head, so it predicts no"):
        predict(run(request), 0)
    with pytest.raises(SettingError, match="the seeded model predicts nothing, since its weights"):
        predict(run(Request("a b")), 0)
    rows = ((1.0, 0.0), (0.0, 1.0))
    given = GivenModel("worked", rows, rows, rows, rows)
    with pytest.raises(SettingError, match="given matrices predict nothing"):
        predict(run(Request("a b", model=given)), 0)
    with pytest.raises(SettingError, match="the seeded model has no mask token"):
        run(Request("a b", switches=Switches(masked=frozenset({0}))))
    trace = run(Request("t5 t6", model=described(speaking("bert-legacy", tmp_path, mask=9))))
    with pytest.raises(SettingError, match="token 1 is not masked, so there is nothing to predict"):
        predict(trace, 1)
    with pytest.raises(SettingError, match="query 2 is out of range: choose 0 to 1"):
        predict(trace, 2)


def test_masks_go_along_to_the_other_text(tmp_path):
    model = described(speaking("bert-legacy", tmp_path, mask=9))
    switches = Switches(masked=frozenset({1}))
    one = run(Request("t5 t17 t3", model=model, switches=switches))
    found = compare(one, "t4 t5 t17")
    assert [label(token) for token in found.other.tokens] == ["t4", "t5", "[MASK]"]
    assert found.alignment == ((None, 0), (0, 1), (1, 2), (2, None))


def test_byte_level_pieces_are_what_their_letters_stand_for():
    made = byte_level_tokenizer()
    found = {token_of(made, i).text for i in range(256)}
    ascii_ = {chr(i) for i in range(128)}
    assert found == ascii_ | {f"<0x{byte:02X}>" for byte in range(128, 256)}
    assert {label(token_of(made, i)) for i in range(256)} >= {"␠", "␤", "␛", "a", "<0xE6>"}
    pieces = "Ġ ĠParis Ġæ Ã© å¥½"
    words = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces.split())}, []))
    words.pre_tokenizer = pre_tokenizers.ByteLevel()
    shown = [label(token_of(words, i)) for i in range(5)]
    assert shown == ["␠", "␠Paris", "␠<0xE6>", "é", "好"]


def test_other_pieces_are_read_as_they_are_spelled():
    bert, llama = bert_tokenizer(), unigram_tokenizer("▁ ▁the the <0xE6> é")
    pieces = ["[CLS]", "##ハ", "hello"]
    tokens = [token_of(bert, bert.token_to_id(piece)) for piece in pieces]
    assert [label(token) for token in tokens] == pieces
    assert [token.special for token in tokens] == [True, False, False]
    assert [label(token_of(llama, i)) for i in range(1, 6)] == ["␠", "␠the", "the", "<0xE6>", "é"]
    assert label(token_of(bert, 999)) == "#999"  # a row beyond the vocabulary


def test_hostile_piece_is_made_harmless():
    made = Tokenizer(models.WordLevel({"\x1b[2J": 0, "[/]": 1}, unk_token="[/]"))
    assert label(token_of(made, 0)) == "␛[2J"
    assert label(token_of(made, 1)) == "[/]"


WRITING = [name for name, case in CASES.items() if case.get("logits", True) and "target" in case]


@pytest.mark.parametrize("name", WRITING)
def test_decoders_predict_what_transformers_does(name, tmp_path):
    trace, expected = translated(name, tmp_path)
    assert follows(trace)
    ids = expected["target"].tolist()
    assert list(places(trace)) == list(range(len(ids)))
    for position, there in enumerate([*ids[1:], None]):
        check_prediction(predict(trace, position), expected["logits"][position], there)
    first = run(replace(trace.request, target=""))  # what starts every target, and no word yet
    check_prediction(predict(first, 0), expected["logits"][0], None)


def translated(name, tmp_path):
    """A reference's text with its target."""
    expected, text = expected_of(name)
    path = speaking(name, tmp_path)
    folder = Path(path)
    edit_config(folder, decoder_start_token_id=int(expected["target"][0]))
    pads = frozenset(expected["pads"].tolist())
    target = " ".join(f"t{i}" for i in expected["target"][1:])
    switches = Switches(Mask(blocked=pads))
    return run(Request(text, model=described(path), switches=switches, target=target)), expected


def test_decoder_without_a_target_predicts_nothing(tmp_path):
    model = described(speaking("bart-head", tmp_path))
    trace = run(Request("t5 t6", model=model))
    assert follows(trace)
    assert not places(trace)
    with pytest.raises(SettingError, match="next token of a target, and there is none: give one"):
        predict(trace, 0)
    assert model.mask_token is None
