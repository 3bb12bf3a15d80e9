import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from core import run
from core.embedding import piece_id
from core.errors import TextError, TokenizerError
from core.text import describe, label
from core.tokenization import MAX_TOKENS, open_tokenizer
from core.types import Request
from tests.core.small_tokenizers import (
    bert_tokenizer,
    byte_level_tokenizer,
    unigram_tokenizer,
    word_level_tokenizer,
)

FAMILY = "👩\u200d👩\u200d👧"


def cut(name, text, **settings):
    return open_tokenizer(name, **settings).encode(text)


def labels(tokens):
    return [label(token) for token in tokens]


def texts(name, text):
    return [token.text for token in cut(name, text)]


def spans(tokens):
    return [(token.start, token.end) for token in tokens]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The ball is blue.", ["The", "ball", "is", "blue", "."]),
        ("我想吃酸菜鱼", list("我想吃酸菜鱼")),
        ("ラーーメン ーx", [*"ラーーメン", "ー", "x"]),
        ("東京tower 2号", ["東", "京", "tower", "2", "号"]),
        ("나는 학교에", ["나는", "학교에"]),
        ("ไทย", list("ไทย")),
        ("don't l’eau", ["don't", "l’eau"]),
        ("3.14, 1,000.", ["3.14", ",", "1,000", "."]),
        ("(a-b)", ["(", "a", "-", "b", ")"]),
        ("cafe\u0301 नमस्ते", ["cafe\u0301", "नमस्ते"]),
        (f"x{FAMILY}y", ["x", FAMILY, "y"]),
        ("🇨🇳🇯🇵1️⃣❤️", ["🇨🇳", "🇯🇵", "1️⃣", "❤️"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("a\u200bb", ["a", "\u200b", "b"]),
        ("\t a \r\n b \u3000", ["a", "b"]),
    ],
)
def test_mixed(text, expected):
    """Words where a script has spaces, one token a character where it has none."""
    assert texts("mixed", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", ["a", " ", "b"]),
        (f"{FAMILY}e\u0301", [FAMILY, "e\u0301"]),
        ("🇨🇳🇯🇵", ["🇨🇳", "🇯🇵"]),
        ("\r\nx", ["\r\n", "x"]),
        ("각", ["각"]),
    ],
)
def test_chars(text, expected):
    """One token a grapheme cluster, white space too."""
    assert texts("chars", text) == expected


def test_spaces():
    """Exactly as spaced: nothing but white space cuts."""
    assert texts("spaces", " don't  stop!\n我想 吃\u3000x ") == [
        "don't",
        "stop!",
        "我想",
        "吃",
        "x",
    ]


def test_ids_are_hashes_of_pieces():
    """A piece has one id, in every tokenizer without a vocabulary and wherever it stands."""
    for name in ("mixed", "chars", "spaces"):
        first, *_, last = cut(name, "我 a 我")
        assert first.id == last.id == piece_id("我") == 3070997676
        assert not first.unknown
        assert not first.special
        assert first.part is None
        assert first.piece == "我"


def test_bytes_of_a_character(saved):
    """T01: byte pieces are labelled by their character and their place in it."""
    tokens = cut(saved(byte_level_tokenizer()), "我想吃酸菜鱼")
    assert len(tokens) == 18
    assert labels(tokens)[:4] == ["我 1/3", "我 2/3", "我 3/3", "想 1/3"]
    assert spans(tokens) == [(i // 3, i // 3 + 1) for i in range(18)]
    assert tokens[0].piece == "æ"
    assert describe(tokens[1]) == "piece Ī · part 2 of 3"


def test_bytes_of_an_emoji(saved):
    """T02: the joiners inside an emoji have a name, no label is empty."""
    tokens = cut(saved(byte_level_tokenizer()), FAMILY)
    assert [token.part[1] for token in tokens] == [4] * 4 + [3] * 3 + [4] * 4 + [3] * 3 + [4] * 4
    assert labels(tokens)[3:6] == ["👩 4/4", "U+200D 1/3", "U+200D 2/3"]
    assert describe(tokens[4]).endswith("part 1 of 3 · zero width joiner")


def test_parts_at_the_cap(saved):
    """A character cut by the cap still counts all its parts."""
    tokens = open_tokenizer(saved(byte_level_tokenizer())).encode("我想", limit=2)
    assert labels(tokens) == ["我 1/3", "我 2/3"]
    assert tokens.total == 6
    assert tokens.notices == ("first 2 of 6 tokens",)


def test_byte_merges(saved):
    """A piece over the end of one character and the start of the next shares both."""
    made = byte_level_tokenizer()
    pieces = made.get_vocab() | {"ĳæ": 256}
    made.model = models.BPE(pieces, [("ĳ", "æ")])
    tokens = cut(saved(made), "我想")
    assert [token.text for token in tokens] == ["我", "我", "我想", "想", "想"]
    assert [token.part for token in tokens] == [(i, 5) for i in range(1, 6)]


def test_one_unknown_for_a_run(saved):
    """T05: an unknown token says so and shows what it stands for."""
    trace = run(Request("💩💩💩💩", saved(bert_tokenizer())))
    assert labels(trace.tokens) == ["[CLS]", "💩💩💩💩 [UNK]", "[SEP]"]
    assert describe(trace.tokens[1]) == "unknown: [UNK] stands for “💩💩💩💩”"
    assert describe(trace.tokens[0]) == "special token [CLS]"
    assert trace.layers[0].pattern.shape == (4, 3, 3)


def test_unknown_word_of_han(saved):
    """T06: two characters that the file leaves together are one unknown token."""
    tokens = cut(saved(bert_tokenizer(handle_chinese_chars=False)), "我想")
    assert labels(tokens) == ["[CLS]", "我想 [UNK]", "[SEP]"]
    assert spans(tokens)[1] == (0, 2)


def test_stripped_accent(saved):
    """T07: the label is the person's text, the vocabulary's piece is a detail."""
    tokens = cut(saved(bert_tokenizer()), "リバ")
    assert labels(tokens) == ["[CLS]", "リ", "バ", "[SEP]"]
    assert tokens[2].piece == "##ハ"
    assert describe(tokens[2]) == "piece ##ハ"


@pytest.mark.parametrize("text", ["Cafe\u0301", "Caf\u00e9"])
def test_dropped_combining_mark(saved, text):
    """T08: a span reaches to the end of the grapheme whose accent the normalizer dropped."""
    tokens = cut(saved(bert_tokenizer()), text)
    assert (tokens[1].piece, tokens[1].text) == ("cafe", text)
    assert tokens.notices == ()


def test_normalizer_that_lengthens(saved):
    """T09: spans are of the original text although NFKC changes its length."""
    vocabulary = {piece: i for i, piece in enumerate(["[UNK]", "a", ".", "1", "株式会社"])}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", continuing_subword_prefix=""))
    made.normalizer = normalizers.NFKC()
    tokens = cut(saved(made), "a…")
    assert labels(tokens) == ["a", "… 1/3", "… 2/3", "… 3/3"]
    tokens = cut(saved(made), "㍿a")
    assert labels(tokens) == ["㍿", "a"]
    assert describe(tokens[0]) == "piece 株式会社"
    assert spans(tokens) == [(0, 1), (1, 2)]
    assert labels(cut(saved(made), "①")) == ["①"]


def test_dropped_characters_are_named(saved):
    """T10: what the normalizer throws away is said, and offsets stay right."""
    tokens = cut(saved(bert_tokenizer()), "HELLO\x00\u200b world\ufffd")
    assert spans(tokens)[1:3] == [(0, 5), (8, 13)]
    assert tokens.notices == ("3 characters in no token: ␀ ‹U+200B› \ufffd",)


@pytest.mark.parametrize("name", ["mixed", "chars", "spaces"])
def test_lone_surrogate(name):
    """T11: what UTF-8 cannot carry is replaced, with one notice and no shift."""
    tokens = cut(name, "ok\ud83dbad \udcff")
    assert tokens.text == "ok\ufffdbad \ufffd"
    assert tokens.notices == ("2 invalid characters replaced by \ufffd",)
    assert tokens[-1].end == 8


def test_lone_surrogate_in_a_file(saved):
    """T11: so too before the library, which would raise TypeError."""
    tokens = cut(saved(byte_level_tokenizer()), "ok\ud83d")
    assert labels(tokens)[2:] == ["\ufffd 1/3", "\ufffd 2/3", "\ufffd 3/3"]
    assert tokens.notices == ("1 invalid character replaced by \ufffd",)


@pytest.mark.parametrize("text", ["", "   ", "\n\t\u3000", "\x1c\x85\u2028"])
def test_empty_text(saved, text):
    """T12: empty and blank text is refused in words by every tokenizer."""
    paths = [saved(byte_level_tokenizer()), saved(bert_tokenizer())]
    for name in ["mixed", "chars", "spaces", *paths]:
        with pytest.raises(TextError, match="the text is empty: type a word"):
            run(Request(text, name))


def test_text_of_which_nothing_is_left(saved):
    """T12: text that the tokenizer throws away entirely is not called empty."""
    with pytest.raises(TextError, match="makes no token of the text"):
        cut(saved(bert_tokenizer()), "\u200b")


def test_typed_special_token_is_text(saved):
    """T13: typed [SEP] is text."""
    tokens = cut(saved(bert_tokenizer()), "hello [CLS] [SEP] world")
    assert [token.special for token in tokens] == [True] + [False] * 8 + [True]
    assert labels(tokens)[1:5] == ["hello", "[ [UNK]", "CLS [UNK]", "] [UNK]"]


def test_empty_spans_are_not_special(saved):
    """T14: a real token may have an empty span; only the mask makes it special."""
    tokens = cut(saved(byte_level_tokenizer(add_prefix_space=True)), "hello  world")
    empty = [token for token in tokens if token.start == token.end]
    assert spans(empty) == [(0, 0), (6, 6), (7, 7)]
    assert labels(empty) == ["␠", "␠", "␠"]
    assert not any(token.special for token in empty)


@pytest.mark.parametrize("trim", [True, False])
def test_added_space_is_no_part_of_the_first_character(saved, trim):
    """T14: the space that a tokenizer adds in front does not share the first character."""
    made = byte_level_tokenizer(add_prefix_space=True, trim_offsets=trim)
    tokens = cut(saved(made), "我a")
    assert labels(tokens) == ["␠", "我 1/3", "我 2/3", "我 3/3", "a"]
    tokens = cut(saved(unigram_tokenizer()), "我")
    assert labels(tokens) == ["␠", "我"]
    assert spans(tokens) == [(0, 0), (0, 1)]


def test_saved_padding_and_truncation_are_off(saved):
    """T15: padding and truncation found in the file are off."""
    made = bert_tokenizer()
    made.enable_padding(length=128, pad_id=0, pad_token="[PAD]")
    made.enable_truncation(128)
    path = saved(made)
    assert labels(cut(path, "a a")) == ["[CLS]", "a", "a", "[SEP]"]
    tokens = cut(path, "a " * 200)
    assert (len(tokens), tokens.total, tokens.notices) == (202, 202, ())


def test_saved_padding_is_blocked_when_asked_for(saved):
    """T15: padding that is kept can be attended to by nobody."""
    made = bert_tokenizer()
    made.enable_padding(length=6, pad_id=0, pad_token="[PAD]")
    path = saved(made)
    tokens = cut(path, "a a", as_saved=True)
    assert labels(tokens) == ["[CLS]", "a", "a", "[SEP]", "[PAD]", "[PAD]"]
    assert tokens.padding == {4, 5}
    assert tokens.total == 6
    assert tokens.notices == ()


@pytest.mark.parametrize(
    ("settings", "kept", "notice"),
    [
        ({"max_length": 6}, "a a hello world", "first 6 of 10 tokens"),
        ({"max_length": 6, "stride": 2}, "a a hello world", "first 6 of 10 tokens"),
        ({"max_length": 6, "direction": "left"}, "a hello cafe world", "last 6 of 10 tokens"),
    ],
)
def test_saved_truncation_says_its_counts(saved, settings, kept, notice):
    """T15: a cut that the file asks for is announced, and what it cut off is not called lost."""
    made = bert_tokenizer()
    made.enable_truncation(**settings)
    tokens = cut(saved(made), "a a hello world a hello cafe world", as_saved=True)
    assert labels(tokens) == ["[CLS]", *kept.split(), "[SEP]"]
    assert tokens.total == 10
    assert tokens.notices == (notice,)


def test_truncation_and_padding_together(saved):
    """T15: padding is not counted among the tokens that were kept."""
    made = bert_tokenizer()
    made.enable_truncation(4)
    made.enable_padding(length=7, pad_id=0, pad_token="[PAD]")
    tokens = cut(saved(made), "a b a b a", as_saved=True)
    assert tokens.padding == {4, 5, 6}
    assert tokens.notices == ("first 4 of 7 tokens",)


@pytest.mark.parametrize("name", ["mixed", "spaces"])
def test_long_text_is_capped(name):
    """T18: a long text is cut before anything is allocated, and says so."""
    tokens = cut(name, "word " * 10_000)
    assert len(tokens) == MAX_TOKENS == 2048
    assert tokens.total == 10_000
    assert tokens.notices == ("first 2,048 of 10,000 tokens",)


def test_long_text_of_a_file_is_capped(saved):
    """T18: a tokenizer.json is capped in the same way."""
    tokens = cut(saved(byte_level_tokenizer()), "x" * 5000)
    assert (len(tokens), tokens.total) == (2048, 5000)
    assert tokens.notices == ("first 2,048 of 5,000 tokens",)


def test_unknown_of_unigram(saved):
    """T20: unknown is decided by the id, not by what the library calls the token."""
    tokens = cut(saved(unigram_tokenizer()), "a xyz")
    assert labels(tokens) == ["a", "␠", "xyz <unk>"]
    assert [(token.id, token.unknown) for token in tokens] == [(3, False), (1, False), (0, True)]


def test_bytes_of_unigram_are_not_unknown(saved):
    """T20: a Unigram model that falls back on bytes has no unknown token to show."""
    made = unigram_tokenizer(
        "▁ a " + " ".join(f"<0x{byte:02X}>" for byte in range(256)), byte_fallback=True
    )
    tokens = cut(saved(made), "a\U00100000")
    assert labels(tokens)[2:] == [f"U+100000 {i}/4" for i in range(1, 5)]
    assert not any(token.unknown for token in tokens)


def test_unknown_of_word_level(saved):
    """T20: a word that the list lacks is unknown."""
    tokens = cut(saved(word_level_tokenizer(normalizer=normalizers.NFKC())), "a x… b")
    assert labels(tokens) == ["a", "x… [UNK]", "b"]


def test_missing_unknown_token(saved):
    """T20: a vocabulary without its unknown token is refused when it is opened."""
    word_piece = Tokenizer(models.WordPiece({"a": 0}, unk_token="[UNK]"))
    unigram = unigram_tokenizer(unk_id=None)
    for made in (word_piece, word_level_tokenizer("a b"), unigram):
        with pytest.raises(TokenizerError, match="has no unknown token"):
            open_tokenizer(saved(made))


def test_bpe_with_bytes_to_fall_back_on(saved):
    """Byte fallback of BPE is marked as parts of the character too."""
    pieces = ["▁", "a", *(f"<0x{byte:02X}>" for byte in range(256))]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    made = Tokenizer(models.BPE(vocabulary, [], byte_fallback=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    assert labels(cut(saved(made), "a 我")) == ["␠", "a", "␠", "我 1/3", "我 2/3", "我 3/3"]
