"""The messages of the program, and their catalogue: ``python -m tests.language.messages``.

Extracts all that ``_``, ``N_`` and ``counted`` mark, brings the Chinese catalogue up to date with
it (new messages come without a translation, those that are gone leave) and compiles it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parents[2]
PO = ROOT / "data/locale/zh/LC_MESSAGES/attn-tui.po"
MO = PO.with_suffix(".mo")
KEYWORDS = {"_": None, "N_": None, "counted": (1, 2)}
HEADER = (
    "# Simplified Chinese messages of attn-tui; python -m tests.language.messages updates them."
)


def extracted() -> Catalog:
    """Every message that core and tui mark."""
    found = Catalog()
    for package in ("core", "tui"):
        messages = extract_from_dir(
            ROOT / package, [("**.py", "python")], {}, KEYWORDS, strip_comment_tags=True
        )
        for file, line, message, _comments, context in messages:
            found.add(message, locations=[(f"{package}/{file}", line)], context=context)
    return found


def translated() -> Catalog:
    """The Chinese catalogue as it lies in its file."""
    with PO.open("rb") as file:
        return read_po(file, locale="zh")


def update() -> Catalog:
    """The Chinese catalogue with every message extracted and no other."""
    catalogue = translated()
    catalogue.update(extracted(), no_fuzzy_matching=True)
    catalogue.obsolete.clear()
    catalogue.project, catalogue.version = "attn-tui", ""
    catalogue.header_comment = HEADER
    # Always the same: a date would change with every update, and tell nothing that git does not.
    catalogue.creation_date = catalogue.revision_date = datetime(2026, 1, 1, tzinfo=UTC)
    return catalogue


def main() -> None:
    catalogue = update()
    with PO.open("wb") as file:
        write_po(file, catalogue, sort_by_file=True, include_lineno=False, width=100)
    with MO.open("wb") as file:
        write_mo(file, catalogue)
    missing = [message.id for message in catalogue if message.id and not message.string]
    print(f"{len(catalogue)} messages, {len(missing)} without a translation", *missing, sep="\n")


if __name__ == "__main__":
    main()
