"""The language that the program speaks: English as the code has it, or that of a catalogue."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gettext import NullTranslations

LANGUAGES = ("en", "zh")
_spoken = "en"
_catalogue: NullTranslations | None = None


def of_locale() -> str:
    """``zh`` where the locale is Chinese, else ``en``."""
    names = map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "zh" if next(filter(None, names), "").startswith("zh") else "en"


def set_language(language: str) -> None:
    """Speak one of `LANGUAGES` from now on."""
    global _spoken, _catalogue
    _spoken, _catalogue = language, None if language == "en" else _opened(language)


def spoken() -> str:
    """The one of `LANGUAGES` that is spoken."""
    return _spoken


def _opened(language: str) -> NullTranslations:
    from gettext import GNUTranslations  # English needs none of it

    from core.resources import data_path

    path = data_path("locale") / language / "LC_MESSAGES" / "attn-tui.mo"
    with path.open("rb") as file:
        return GNUTranslations(file)


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
