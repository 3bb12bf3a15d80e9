import pytest

from core.text import describe, is_unseen, label, visible
from core.types import Token


def token(text, **facts):
    return Token(text, facts.pop("piece", text), 0, 0, len(text), **facts)


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "[CLS] [/INST] [bold]",
        "我想吃酸菜鱼",
        "👩\u200d👩\u200d👧",
        "❤\u200d🔥 1\u20e3 🇨🇳",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "می\u200cخواهم",
        "র\u200d্য",
        "cafe\u0301",
        "葛\U000e0100",
        "a b",
    ],
)
def test_visible_text_stays(text):
    """What can be seen, joined emoji and scripts with joiners included, is left alone."""
    assert visible(text) == text


def test_emoji_selector_is_left_out():
    """Terminals disagree about the width of ❤ with U+FE0F; without it none does."""
    assert visible("❤\ufe0f 1\ufe0f\u20e3 ☀\ufe0f") == "❤ 1\u20e3 ☀"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("A\x1b]0;PWN\x07B\x1b[2JC\x9b31mD\u202eE", "A␛]0;PWN␇B␛[2JC‹U+009B›31mD‹U+202E›E"),
        ("a\r\n\tb\x7f\0", "a␍␊␉b␡␀"),
        ("\u200b\ufeff\u00ad", "‹U+200B›‹U+FEFF›‹U+00AD›"),
        ("\u2066a\u2069\u200e\u061c", "‹U+2066›a‹U+2069›‹U+200E›‹U+061C›"),
        ("a\u2028b\u2029", "a‹U+2028›b‹U+2029›"),
        ("\ud800\ue000\uffff\U0001fffe", "‹U+D800›‹U+E000›‹U+FFFF›‹U+1FFFE›"),
        ("\u200d", "‹U+200D›"),
        (" \u200dx", " ‹U+200D›x"),
        ("\u0301a \u0301", "◌\u0301a ◌\u0301"),
        ("\ufe0f", "‹U+FE0F›"),
        ("\u3164\u2800\u115f\uffa0", "‹U+3164›‹U+2800›‹U+115F›‹U+FFA0›"),
        ("a\u200d\u200d\u200c", "a\u200d‹U+200D›‹U+200C›"),
        ("a\ufe00\ufe01", "a\ufe00‹U+FE01›"),
        ("a\U000e0068\U000e0069", "a‹U+E0068›‹U+E0069›"),
        ("🏴 \U000e0067", "🏴 ‹U+E0067›"),
    ],
)
def test_hidden_text_is_marked(text, shown):
    """X01: what a terminal would obey, hide or reorder becomes a visible mark."""
    assert visible(text) == shown
    assert visible(shown) == shown


@pytest.mark.parametrize(
    ("shown", "made"),
    [
        ("milk", token("milk")),
        ("␠the", token(" the", piece="Ġthe")),
        ("我 1/3", token("我", piece="æ", part=(1, 3))),
        ("[CLS]", token("", piece="[CLS]", special=True)),
        ("U+200D", token("\u200d")),
        ("U+FE0F 2/3", token("\ufe0f", part=(2, 3))),
        ("💩 [UNK]", token("💩", piece="[UNK]", unknown=True)),
        ("␠", token("", piece="Ġ")),
        ("␠the", token("", piece="▁the")),
        ("␠␠␤␉", token("  \n\t")),
        ("U+00A0", token("\u00a0")),
        ("U+3000", token("\u3000")),
        ("␍␤", token("\r\n")),
        ("a b␠", token("a b ")),
        ("‹", token("‹")),
        ("‹x›", token("‹x›")),
        ("◌\u0301", token("\u0301")),
        ("␛ ␛[m", token("\x1b", piece="\x1b[m", unknown=True)),
        ("[/]", token("[/]")),
    ],
)
def test_label(shown, made):
    """T02: every token has a label that can be seen."""
    assert label(made) == shown


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("", token("milk")),
        ("special token [SEP]", token("", piece="[SEP]", special=True)),
        ("piece Ġthe", token(" the", piece="Ġthe")),
        ("piece æ · part 1 of 3", token("我", piece="æ", part=(1, 3))),
        ("unknown: [UNK] stands for “我想”", token("我想", piece="[UNK]", unknown=True)),
        ("zero width joiner", token("\u200d")),
        ("control U+001B", token("\x1b")),
        ("space", token(" ")),
        ("variation selector-16", token("\ufe0f")),
        ("hangul filler", token("\u3164")),
    ],
)
def test_describe(words, made):
    """T07: the details say what the label leaves out."""
    assert describe(made) == words


def test_is_unseen():
    """X01: the test for one character agrees with what is marked."""
    assert [char for char in "a\x1b我\u202e🔥\u200d\u0301" if is_unseen(char)] == [
        "\x1b",
        "\u202e",
        "\u200d",
    ]
