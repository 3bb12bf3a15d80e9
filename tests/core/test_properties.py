import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import Mask, ModelSpec, Request, Switches, run
from core.attention import build_mask, masked_softmax
from core.errors import TextError
from core.text import label, visible
from core.tokenization import open_tokenizer
from tests.core.small_tokenizers import byte_level_tokenizer

settings.register_profile("core", derandomize=True, deadline=None, max_examples=150, database=None)
CORE = settings.get_profile("core")

# Arbitrary text, and text made of what breaks code: joiners, controls, marks, wide characters.
ODD = "a1.' \t\r\n\x00\x1b\x85\u00a0\u0301\u200b\u200d\u202e\ufe0f\u2028\u3000\ud83d\udcff"
ODD += "我カー가ท👩👧🇨🏴\U000e0067‹▁Ġ"
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=())), st.text(st.sampled_from(ODD), max_size=24)
)
WORDS = st.lists(st.sampled_from(["a", "b", "c", "the", "我", "cat", "x1"]), min_size=1, max_size=7)


@pytest.fixture(scope="module")
def byte_level(tmp_path_factory):
    """A byte-level tokenizer, opened once for all examples."""
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    byte_level_tokenizer().save(str(path))
    return open_tokenizer(str(path))


@st.composite
def masks(draw, count):
    window = draw(st.none() | st.integers(0, count))
    return Mask(draw(st.booleans()), window, draw(st.frozensets(st.integers(0, count - 1))))


@st.composite
def requests(draw):
    words = draw(WORDS)
    heads = draw(st.integers(1, 4))
    model = ModelSpec(
        draw(st.integers(1, 3)),
        heads,
        heads * draw(st.integers(1, 6)),
        draw(st.integers(0, 2**64 - 1)),
    )
    switches = Switches(
        draw(masks(len(words))), draw(st.booleans()), draw(st.booleans()), draw(st.floats(0.05, 20))
    )
    return Request(" ".join(words), "spaces", model, switches)


@CORE
@given(requests())
def test_rows_of_patterns(request):
    """Rows sum to 1 or are all 0; a masked cell is exactly 0; nothing is below 0."""
    trace = run(request)
    some = trace.mask.any(axis=1)
    for layer in trace.layers:
        np.testing.assert_allclose(
            layer.pattern.sum(axis=-1), np.broadcast_to(some, layer.pattern.shape[:2]), atol=1e-12
        )
        assert (layer.pattern[:, ~trace.mask] == 0).all()
        assert (layer.pattern >= 0).all()
        assert np.isfinite(layer.resid_post).all()


@CORE
@given(requests(), st.randoms(use_true_random=False))
def test_order_is_nothing_without_positions(request, random):
    """With positions off and no mask, shuffling the tokens shuffles the outputs alike."""
    words = request.text.split()
    order = list(range(len(words)))
    random.shuffle(order)
    switches = Switches(positions=False, temperature=request.switches.temperature)
    shuffled = " ".join(words[i] for i in order)
    one = run(Request(request.text, "spaces", request.model, switches)).layers[-1]
    two = run(Request(shuffled, "spaces", request.model, switches)).layers[-1]
    np.testing.assert_allclose(two.resid_post, one.resid_post[order], atol=1e-7)
    np.testing.assert_allclose(two.pattern, one.pattern[:, order][:, :, order], atol=1e-7)


@CORE
@given(requests())
def test_causal_masks_hide_the_future(request):
    """Under a causal mask, what follows changes nothing before it."""
    model, switches = request.model, Switches(Mask(causal=True), temperature=2.0)
    short = run(Request(request.text, "spaces", model, switches))
    longer = run(Request(f"{request.text} more words", "spaces", model, switches))
    count = len(short.tokens)
    for one, two in zip(short.layers, longer.layers, strict=True):
        np.testing.assert_allclose(two.resid_post[:count], one.resid_post, atol=1e-9)


@CORE
@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), masks(n))))
def test_masks_combine_as_booleans(drawn):
    """A combined mask is the conjunction of its parts."""
    count, mask = drawn
    parts = [
        Mask(causal=mask.causal),
        Mask(window=mask.window),
        *(Mask(blocked=frozenset({key})) for key in mask.blocked),
    ]
    expected = np.all([build_mask(count, part) for part in parts], axis=0)
    np.testing.assert_array_equal(build_mask(count, mask), expected)


@CORE
@given(
    st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=6),
    st.floats(-100, 100),
)
def test_softmax_ignores_a_shift(scores, shift):
    """N01: no finite score gives NaN; adding the same to all scores changes nothing."""
    row = np.array([scores])
    every = np.ones(row.shape, bool)
    pattern = masked_softmax(row, every)
    np.testing.assert_allclose(pattern.sum(), 1)
    small = np.clip(row, -50, 50)
    np.testing.assert_allclose(
        masked_softmax(small + shift, every), masked_softmax(small, every), atol=1e-9
    )


@CORE
@given(st.sampled_from(["mixed", "chars", "spaces"]), TEXTS)
def test_nothing_is_lost(name, text):
    """T11: whatever the text, tokens are slices of it, in order, and leave out white space only."""
    try:
        tokens = open_tokenizer(name).encode(text)
    except TextError:
        assert not text.strip()
        return
    assert len(tokens.text) == len(text)
    covered, end = set(), 0
    for token in tokens:
        assert end <= token.start < token.end
        assert token.text == token.piece == tokens.text[token.start : token.end]
        assert not token.unknown
        end = token.end
        covered |= set(range(token.start, token.end))
    assert all(char.isspace() for i, char in enumerate(text) if i not in covered)
    if name == "chars":
        assert len(covered) == len(text)


@CORE
@given(text=TEXTS)
def test_bytes_cover_the_text(byte_level, text):
    """T01: byte-level pieces cover every character, and each character of several says so."""
    if not text.strip():
        return
    tokens = byte_level.encode(text)
    sizes = [len(char.encode()) for char in tokens.text]
    assert len(tokens) == sum(sizes)
    assert [token.part for token in tokens] == [
        (i, size) if size > 1 else None for size in sizes for i in range(1, size + 1)
    ]


def is_safe(shown):
    """Whether all that is invisible joins something visible before it."""
    before = ""
    for char in shown:
        category = unicodedata.category(char)
        if category in ("Cc", "Cs", "Co", "Zl", "Zp"):
            return False
        if category == "Cf":
            flag = before == "🏴" or "\U000e0020" <= before <= "\U000e007e"
            joiner = char in "\u200c\u200d" and before not in ("", " ", "\u200c", "\u200d")
            if not (joiner or (flag and "\U000e0020" <= char <= "\U000e007f")):
                return False
        before = char
    return True


@CORE
@given(TEXTS)
def test_visible_is_harmless(text):
    """X01: nothing that a terminal obeys or hides is left, and marking twice changes nothing."""
    shown = visible(text)
    assert is_safe(shown)
    assert visible(shown) == shown


@CORE
@given(st.sampled_from(["mixed", "chars", "spaces"]), TEXTS)
def test_labels_are_seen(name, text):
    """T02: no label is empty, blank or harmful."""
    if not text.strip():
        return
    for token in open_tokenizer(name).encode(text):
        shown = label(token)
        assert shown.strip()
        assert is_safe(shown)
