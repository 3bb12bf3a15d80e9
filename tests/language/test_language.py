"""Which language is spoken, and how it is chosen."""

import os
import subprocess
import sys

import click
import pytest

from core.errors import SettingError, TextError
from core.language import _, counted, of_locale, set_language, spoken
from tests.cli.command import attn_tui, environment
from tui.usage import take_language

VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("", "", ""), "en"),
        (("C", "zh_CN", "zh_CN"), "en"),
        (("", "zh_CN", "en_GB"), "zh"),
        (("", "", "zh_CN.UTF-8"), "zh"),
        (("zh_TW", "", ""), "zh"),
    ],
)
def test_the_first_variable_of_the_locale_that_is_set_decides(values, expected, monkeypatch):
    for name, value in zip(VARIABLES, values, strict=True):
        monkeypatch.setenv(name, value)
    assert of_locale() == expected


def test_messages_numbers_and_refusals_are_in_the_language_spoken():
    assert (_("Help"), counted("{n:,} token", "{n:,} tokens", 2)) == ("Help", "{n:,} tokens")
    assert str(TextError("a", "b")) == "a: b."
    set_language("zh")
    assert (_("Help"), counted("{n:,} token", "{n:,} tokens", 2)) == ("帮助", "{n:,} 个词元")
    assert _("nobody has marked this") == "nobody has marked this"
    assert str(SettingError("甲", "乙")) == "甲：乙。"
    assert spoken() == "zh"
    set_language("en")
    assert _("Help") == "Help"


@pytest.mark.parametrize(
    ("words", "rest", "language"),
    [
        (["a"], ["a"], None),
        (["--lang", "zh", "show", "a"], ["show", "a"], "zh"),
        (["show", "a", "--lang=en", "b"], ["show", "a", "b"], "en"),
        (["--lang", "zh", "--lang", "en"], [], "en"),
        (["--lang", "zh", "--", "--lang"], ["--", "--lang"], "zh"),
        (["--", "--lang", "de"], ["--", "--lang", "de"], None),
    ],
)
def test_lang_stands_anywhere_before_two_hyphens(words, rest, language):
    assert take_language(words) == (rest, language)


@pytest.mark.parametrize("words", [["--lang"], ["--lang="], ["--lang", "de"], ["--lang=ZH"]])
def test_another_language_is_refused(words):
    with pytest.raises(click.UsageError, match="choose one of en, zh"):
        take_language(words)


@pytest.mark.parametrize(
    ("arguments", "locale", "said"),
    [
        (["--help"], "zh_CN.UTF-8", "用法：attn-tui [选项] [TEXT]"),
        (["--help", "--lang", "en"], "zh_CN.UTF-8", "Usage: attn-tui [OPTIONS] [TEXT]"),
        (["--lang", "zh", "show", "--help"], "C", "打印 TEXT 的注意力"),
        (["worksheet", "--lang", "zh", "--help"], "C", "练习"),
        (["lesson", "--help", "--lang=zh"], "C", "打开课程"),
        (["lessons", "--help", "--lang=zh"], "C", "列出课程"),
        (["lessons", "--lang", "zh"], "C", "词序"),
        (["show", "我爱你", "--lang", "zh"], "C", "随机权重：只演示机制，不含语义"),
        (["--lang", "zh", "worksheet", "我爱你"], "C", "## 答案"),
        (["--lang", "zh", "show", "--derive", "我爱你"], "C", "缩放：÷ √d_head × 温度"),
    ],
)
def test_every_command_speaks(arguments, locale, said):
    done = attn_tui(*arguments, env=environment(LC_ALL=locale))
    assert (done.returncode, done.stderr) == (0, b"")
    assert said in done.stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--lang", "zh"], "需要终端，而标准输入、标准输出和标准错误不是终端"),
        (["show", "--lang", "zh", "--qqqq"], "没有选项 '--qqqq'。"),
        (["show", "--lang", "zh", "--sed", "1"], "没有选项 '--sed'，是否想用"),
        (["show", "--lang", "zh", "--layers"], "选项 '--layers' 需要一个值。"),
        (["show", "--lang", "zh", "--scale=1"], "选项 '--scale' 不带值。"),
        (["show", "--lang", "zh", "--seed", "x"], "'--seed' 的值无效：'x' 不是至多 20 位的整数。"),
        (["show", "--lang", "zh", "--format", "x"], "'--format' 的值无效：'x' 不是"),
        (["lesson", "--lang", "zh"], "缺少参数 'NAME'。"),
        (["lessons", "--lang", "zh", "a"], "多余的参数（a）"),
        (["show", "--lang", "zh", ""], "文本是空的：请输入一个词或一句话。"),
        (["show", "--lang", "zh", "--heads", "3", "a"], "3 个头无法平分 d_model 16"),
    ],
)
def test_every_refusal_speaks(arguments, said):
    done = attn_tui(*arguments, env=environment(LC_ALL="C"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()
    assert done.stderr.decode().endswith(("。\n", "）\n"))


def test_an_unknown_language_is_refused_in_that_of_the_locale():
    done = attn_tui("--lang", "de", env=environment(LC_ALL="zh_CN.UTF-8"))
    assert (done.returncode, done.stderr.decode()) == (
        2,
        "attn-tui: --lang 'de' 不是可用的语言：可选 en, zh。\n",
    )


def test_english_needs_no_catalogue():
    code = (
        "import sys, tui.cli\n"
        "try: tui.cli.main(['--help'])\n"
        "except SystemExit: print('core.resources' in sys.modules)\n"
    )
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, timeout=60)
    assert done.stdout.decode().splitlines()[-1] == "False"
