"""Every message has its Chinese, and the compiled catalogue is that of the written one."""

from gettext import GNUTranslations
from io import BytesIO
from string import Formatter

import pytest
from babel.messages.mofile import write_mo

from tests.language.messages import MO, extracted, translated


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
