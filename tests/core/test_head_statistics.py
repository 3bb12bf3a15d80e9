"""Statistics and badges of heads, against plain loops over what each of them means."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.head_statistics import HeadFacts, badge, layer_facts, meant
from core.names import BADGES, STATISTICS
from core.reading import Reading, read_layer
from core.runner import run
from core.trained import describe
from core.types import Mask, ModelSpec, Request, Switches
from tests.core.small_checkpoints import REFERENCE as CHECKPOINTS
from tests.core.small_checkpoints import expected_of, speaking

REFERENCE = CHECKPOINTS.parent

TEXTS = (
    "the black cat saw the cat and the black cat saw the dog",
    "a a a a b",
    "one",
    "a b",
    "no word is here twice",
)
MASKS = {
    "none": Mask(),
    "causal": Mask(causal=True),
    "window": Mask(window=1),
    "itself": Mask(window=0),
    "blocked": Mask(causal=True, blocked=frozenset({0, 3})),
    "all blocked": Mask(blocked=frozenset(range(5))),
}


def is_meant(name, tokens, query, key):
    """What a statistic means, a pair at a time."""
    earlier = [i for i in range(query) if tokens[i].id == tokens[query].id]
    near = key == 0 or abs(query - key) <= 1
    return {
        "first": key == 0,
        "special": tokens[key].special,
        "self": key == query,
        "previous": key == query - 1,
        "next": key == query + 1,
        "duplicate": key in earlier and not near,
        "induction": any(key == i + 1 for i in earlier) and not near,
    }[name]


def by_hand(pattern, mask, tokens):
    """Every statistic of one head, by loops; None where no row counts."""
    found = dict.fromkeys(STATISTICS)
    rows = range(len(tokens))
    for name in STATISTICS[2:]:
        values = []
        for query in rows:
            allowed = [key for key in rows if mask[query, key]]
            on = [key for key in allowed if is_meant(name, tokens, query, key)]
            if on and len(on) < len(allowed):
                values.append(sum(float(pattern[query, key]) for key in on))
        if values:
            found[name] = sum(values) / len(values)
    bits, evenness = [], []
    for query in rows:
        allowed = [key for key in rows if mask[query, key]]
        if len(allowed) > 1:
            weights = [float(pattern[query, key]) for key in allowed]
            bits.append(-sum(w * math.log2(w) for w in weights if w > 0))
            evenness.append(bits[-1] / math.log2(len(allowed)))
    if bits:
        found["entropy"] = sum(bits) / len(bits)
        found["evenness"] = sum(evenness) / len(evenness)
    return found


def facts_of(trace, name="encoder"):
    attention = trace.attentions[name]
    about = meant(attention)
    layers = range(len(attention.layers))
    return [layer_facts(trace, attention, layer, about) for layer in layers]


def assert_as_by_hand(trace, patterns=None):
    tokens = trace.tokens
    for layer, heads in enumerate(facts_of(trace)):
        for head, found in enumerate(heads):
            pattern = (patterns or [each.pattern for each in trace.layers])[layer][head]
            expected = by_hand(pattern, trace.encoder.masks[layer], tokens)
            assert (found.layer, found.head) == (layer, head)
            assert list(found.values) == list(STATISTICS)
            for name in STATISTICS:
                if expected[name] is None:
                    assert found.values[name] is None, name
                else:
                    assert found.values[name] == pytest.approx(expected[name], abs=1e-5), name


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("text", TEXTS)
def test_statistics_are_those_of_plain_loops(text, mask):
    if max(mask.blocked, default=0) < len(text.split()):
        trace = run(Request(text, model=ModelSpec(2, 3, 12), switches=Switches(mask)))
        assert_as_by_hand(trace)


@pytest.mark.parametrize("mask", [Mask(), Mask(causal=True)])
def test_statistics_of_a_text_that_is_looked_at_in_parts(mask, monkeypatch):
    monkeypatch.setattr("core.head_statistics.BAND", 5)
    assert_as_by_hand(run(Request(TEXTS[0], model=ModelSpec(1, 2, 4), switches=Switches(mask))))


@pytest.mark.parametrize("name", ["bert-legacy", "gpt2-head", "gemma3-kinds"])
def test_statistics_of_the_attentions_of_transformers(name, tmp_path):
    """The patterns here are the reference library's own, so nothing of ours made them."""
    expected, text = expected_of(name)
    trace = run(Request(text, model=describe(speaking(name, tmp_path))))
    patterns = expected["attentions"]
    for layer, heads in enumerate(facts_of(trace)):
        for head, found in enumerate(heads):
            mask = trace.encoder.masks[layer]
            by_loops = by_hand(patterns[layer][head], mask, trace.tokens)
            for each in STATISTICS:
                if by_loops[each] is None:
                    assert found.values[each] is None
                else:
                    assert found.values[each] == pytest.approx(by_loops[each], abs=1e-3)


def test_the_attentions_of_a_real_model_have_the_badges_that_they_show():
    """MiniLM's, as transformers gives them: a head of the token before, and heads that rest on
    [CLS].
    """
    with np.load(REFERENCE / "minilm.npz") as file:
        patterns = file["attentions"]
    words = "[CLS] the black cat drank the milk [SEP]"
    trace = run(Request(words, "spaces", ModelSpec(6, 12, 24)))
    tokens = [replace(each, special=each.text[0] == "[") for each in trace.tokens]
    side = replace(trace.encoder.queries, tokens=replace(trace.tokens, items=tuple(tokens)))
    layers = tuple(
        replace(layer, pattern=pattern)
        for layer, pattern in zip(trace.layers, patterns, strict=True)
    )
    real = replace(trace, encoder=replace(trace.encoder, queries=side, keys=side, layers=layers))
    found = {(each.layer, each.head): each for heads in facts_of(real) for each in heads}
    assert found[0, 2].badge == "previous"
    assert found[0, 2].number == pytest.approx(patterns[0, 2][range(1, 8), range(7)].mean())
    assert found[0, 2].number > 0.98
    rests = [place for place, each in found.items() if patterns[place][:, 0].mean() >= 0.5]
    assert len(rests) > 10
    assert {found[place].badge for place in rests} == {"first"}


def test_padding_counts_nowhere():
    trace = run(Request(TEXTS[0], model=ModelSpec(1, 2, 8)))
    attention = trace.encoder
    tokens = replace(trace.tokens, padding=frozenset({0, 12}))
    side = replace(attention.queries, tokens=tokens)
    mask = attention.mask.copy()
    mask[:, [0, 12]] = False
    padded = replace(attention, queries=side, keys=side, masks=(mask,))
    about = meant(padded)
    assert set(about.pairs["first"][1].tolist()) == {1}
    counted = np.array([query not in (0, 12) for query in range(13)])
    np.testing.assert_array_equal(about.counted, counted)
    found = layer_facts(trace, padded, 0, about)
    pattern = attention.layers[0].pattern
    rows = list(range(1, 12))
    for head, each in enumerate(found):
        assert each.values["first"] == pytest.approx(pattern[head][rows, 1].mean())


def test_cross_attention_has_no_places_and_no_repeats():
    trace = run(Request("a b a b", model=ModelSpec(2, 2, 8), target="c d e"))
    for heads in facts_of(trace, "cross"):
        for each in heads:
            assert {name for name in STATISTICS if each.values[name] is not None} == {
                "entropy",
                "evenness",
                "first",
            }
            pattern = trace.cross.layers[each.layer].pattern[each.head]
            assert each.values["first"] == pytest.approx(pattern[:, 0].mean())


def test_scores_that_nothing_normalises_have_no_statistics():
    trace = run(Request(TEXTS[0], switches=Switches(normalizer="none")))
    for each in facts_of(trace)[0]:
        assert each == HeadFacts(0, each.head, dict.fromkeys(STATISTICS), None, None)


# Badges: patterns that do one thing, with what is left spread evenly.


def badge_of(make, text="the black cat saw the dog and the black cat ran", share=0.8, mask=None):
    """The badge of a head whose rows have `share` of their weight where `make` says."""
    mask = mask or Mask()
    trace = run(Request(text, model=ModelSpec(1, 1, 8), switches=Switches(mask)))
    allowed = trace.mask
    count = len(trace.tokens)
    pattern = np.zeros((1, count, count))
    for query in range(count):
        keys = [key for key in range(count) if allowed[query, key]]
        on = [key for key in keys if make(trace.tokens, query, key)]
        for key in keys:
            pattern[0, query, key] = (1 - (share if on else 0)) / len(keys)
        for key in on:
            pattern[0, query, key] += share / len(on)
    attention = replace(trace.encoder, layers=(replace(trace.encoder.layers[0], pattern=pattern),))
    found = layer_facts(trace, attention, 0, meant(attention))[0]
    if found.badge in STATISTICS:
        assert found.number == found.values[found.badge]
    elif found.badge is not None:
        assert found.number == found.values["evenness"]
    return found.badge


@pytest.mark.parametrize("mask", [Mask(), Mask(causal=True)])
@pytest.mark.parametrize("name", ["first", "self", "previous", "duplicate", "induction"])
def test_a_head_that_does_one_thing_is_called_by_it(name, mask):
    def make(tokens, query, key):
        return is_meant(name, tokens, query, key)

    assert badge_of(make, mask=mask) == name
    assert badge_of(make, mask=mask, share=0.1) in ("broad", "mixed")


def test_next():
    assert badge_of(lambda _tokens, query, key: key == query + 1) == "next"


def test_an_induction_head_that_rests_on_the_first_token_is_an_induction_head():
    def make(tokens, query, key):
        repeats = any(is_meant("induction", tokens, query, other) for other in range(len(tokens)))
        return is_meant("induction" if repeats else "first", tokens, query, key)

    assert badge_of(make, mask=Mask(causal=True)) == "induction"


def test_a_head_of_the_first_token_is_no_head_of_duplicates():
    """Its rows of repeated words look at the first word, which is one of them."""
    assert badge_of(lambda _tokens, _query, key: key == 0, "the cat saw the dog and the") == "first"


def test_a_head_of_the_token_before_is_no_induction_head():
    text = "a b a b a b a b"  # what follows the last a is the token before this one
    assert badge_of(lambda _tokens, query, key: key == query - 1, text) == "previous"


def test_one_row_is_no_evidence():
    make, text = (lambda tokens, q, k: is_meant("duplicate", tokens, q, k)), "x the cat saw the dog"
    assert badge_of(make, text) != "duplicate"
    assert badge_of(make, text + " and the") == "duplicate"


def test_focused_mixed_and_broad():
    far = lambda _tokens, query, key: key == (query + 4) % 9  # noqa: E731
    text = "no word of this long text is here again"
    assert badge_of(far, text, share=0.9) == "focused"
    assert badge_of(far, text, share=0.4) == "mixed"
    assert badge_of(far, text, share=0.0) == "broad"


def test_no_choice_no_badge():
    assert badge_of(lambda *_: True, "one") is None
    assert badge_of(lambda *_: True, mask=Mask(window=0)) is None


def test_the_first_token_is_called_so_also_where_it_is_special():
    values = dict.fromkeys(STATISTICS, 0.1)
    rows = dict.fromkeys(STATISTICS, 9)
    assert badge({**values, "first": 0.6, "special": 0.9}, rows) == ("first", 0.6)
    assert badge({**values, "first": 0.4, "special": 0.9}, rows) == ("special", 0.9)
    assert badge({**values, "previous": 0.5, "self": 0.6}, rows) == ("self", 0.6)


def test_every_badge_is_in_the_order_of_the_grid():
    assert set(BADGES) == {*STATISTICS[2:], "focused", "mixed", "broad"}
    assert len(BADGES) == len(set(BADGES))


@pytest.mark.parametrize("mask", ["none", "causal", "window"])
@pytest.mark.parametrize(
    "reading",
    [
        Reading(drop="first"),
        Reading(words=True),
        Reading(words=True, drop="first", keys=frozenset({4})),
        Reading(drop="first", keys=frozenset({5}), cap=0.1),
    ],
)
def test_statistics_of_what_is_read(reading, mask):
    """A dropped key cannot be attended to; words are the same where their tokens are."""
    switches = Switches(MASKS[mask])
    trace = run(Request("ab cd ab cd e ab", "chars", ModelSpec(2, 3, 12), switches))
    for layer in range(2):
        read = read_layer(reading, trace.encoder, layer)
        found = layer_facts(trace, trace.encoder, layer, meant(trace.encoder, read), read)
        texts = [token.text for token in read.queries]
        tokens = [replace(token, id=texts.index(token.text)) for token in read.queries]
        for head, each in enumerate(found):
            weights = read.rows(head, 0, len(tokens)).weights
            expected = by_hand(weights, read.kept, tokens)
            for name in STATISTICS:
                assert each.values[name] == pytest.approx(expected[name]), name
    assert (found[0].values["first"] is None) == read.dropped[0]
    assert found[0].values["duplicate"] is not None or mask == "window"
