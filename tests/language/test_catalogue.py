"""Every message has its Chinese, and the compiled catalogue is that of the written one."""

import ast
from gettext import GNUTranslations
from io import BytesIO
from string import Formatter

import pytest
from babel.messages.mofile import write_mo

from tests.language.messages import KEYWORDS, MO, ROOT, extracted, translated


def ids(message) -> tuple[str, ...]:
    return message.id if isinstance(message.id, tuple) else (message.id,)


def strings(message) -> tuple[str, ...]:
    return message.string if isinstance(message.string, tuple) else (message.string,)


def fields(text) -> set[tuple[str, str | None, str | None]]:
    """Names, formats and conversions of the replacement fields."""
    return {part[1:] for part in Formatter().parse(text) if part[1] is not None}


def test_the_catalogue_has_every_message_and_no_other():
    wanted = {ids(message) for message in extracted() if message.id}
    found = {ids(message) for message in translated() if message.id}
    assert found - wanted == set()  # python -m tests.language.messages
    assert wanted - found == set()
    assert len(wanted) > 400


def marked(tree):
    """The texts that are marked, also in f-strings, where the extraction may see none."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    first = [call.args[0] for call in calls if getattr(call.func, "id", "") in KEYWORDS]
    return {text.value for text in first if isinstance(text, ast.Constant)}


def test_what_is_marked_is_extracted():
    found = {ids(message)[0] for message in translated()}
    for package in ("core", "tui"):
        for path in (ROOT / package).rglob("*.py"):
            assert marked(ast.parse(path.read_text("utf-8"))) - found == set(), path


@pytest.mark.parametrize("message", [m for m in translated() if m.id], ids=lambda m: ids(m)[0])
def test_a_message_is_translated(message):
    assert not message.fuzzy
    for string in strings(message):
        assert string
        assert fields(string) == fields(ids(message)[-1])


def test_the_compiled_catalogue_is_that_of_the_written_one():
    written = BytesIO()
    write_mo(written, translated())
    written.seek(0)
    with MO.open("rb") as file:
        assert GNUTranslations(file)._catalog == GNUTranslations(written)._catalog
