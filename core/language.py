"""The language that the program speaks: English as the code has it, or that of a catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.resources import data_path

if TYPE_CHECKING:
    from gettext import NullTranslations

LANGUAGES = ("en", "zh")
_catalogue: NullTranslations | None = None


def set_language(language: str) -> None:
    """Speak one of `LANGUAGES` from now on."""
    global _catalogue
    if language == "en":
        _catalogue = None
        return
    from gettext import GNUTranslations  # English needs none of it

    path = data_path("locale") / language / "LC_MESSAGES" / "attn-tui.mo"
    with path.open("rb") as file:
        _catalogue = GNUTranslations(file)


def _(message: str) -> str:
    """A message in the language spoken."""
    return message if _catalogue is None else _catalogue.gettext(message)


def counted(one: str, many: str, count: int) -> str:
    """The form of a message that goes with a number, in the language spoken."""
    if _catalogue is None:
        return one if count == 1 else many
    return _catalogue.ngettext(one, many, count)


def N_(message: str) -> str:  # noqa: N802 - gettext's own name
    """Mark a message of a constant; `_` translates it where it is shown."""
    return message
