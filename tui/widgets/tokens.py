"""The token list: index, label, id and span; the selected one is the query."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len

from core import counts
from core.language import _
from core.text import describe, label
from core.types import Token, Tokens
from tui.labels import pad
from tui.scene import Scene
from tui.theme import Palette
from tui.widgets.lines import Line
from tui.widgets.pane import Pane

_LABEL_CELLS = 8  # kept free for labels before any fact is shown
_WIDEST_LABEL = 24  # labels push the facts further only when they are longer


class Table(NamedTuple):
    """The rows that are shown, their labels, and the facts that there is room for."""

    rows: range
    labels: list[str]
    label_cells: int
    columns: str
    facts: list[str]


def table(tokens: Tokens, width: int, height: int, top: int) -> Table:
    """Divide the width: id and span leave when there is no room for them."""
    rows = range(top, min(top + height, len(tokens)))
    labels = [label(tokens[i]) for i in rows]
    longest = max(cell_len(text) for text in labels)
    room = width - len(str(len(tokens) - 1)) - 4
    columns, facts = "", [""] * len(rows)
    for name, values, cells in _facts(tokens, rows):
        if len(facts[0]) + 2 + cells <= room - min(longest, _LABEL_CELLS):
            facts = [f"{fact}  {value:>{cells}}" for fact, value in zip(facts, values, strict=True)]
            columns += f" · {name}"
    label_cells = min(room - len(facts[0]), max(_WIDEST_LABEL, longest))
    return Table(rows, labels, label_cells, columns, facts)


def _facts(tokens: Tokens, rows: range) -> list[tuple[str, list[str], int]]:
    """Name, values and cells of id and span, wide enough for every token, so that nothing moves."""
    ids = [str(tokens[i].id) for i in rows]
    spans = [_span(tokens[i]) for i in rows]
    id_cells = len(str(max(token.id for token in tokens)))
    span_cells = max(len(_span(token)) for token in (tokens[-1], *(tokens[i] for i in rows)))
    return [(_("id"), ids, id_cells), (_("characters"), spans, span_cells)]


def token_lines(scene: Scene, palette: Palette, shown: Table) -> list[Line]:
    """A row for each token: index, label, id and span."""
    tokens = scene.tokens
    blocked = scene.view.request.switches.mask.blocked | tokens.padding
    index_cells = len(str(len(tokens) - 1))
    lines: list[Line] = []
    for i, name, fact in zip(shown.rows, shown.labels, shown.facts, strict=True):
        quiet = tokens[i].special or tokens[i].unknown or i in blocked
        chosen = i == scene.view.query
        style = palette.selected if chosen else palette.dim if quiet else palette.base
        mark = "▶" if chosen else "×" if i in blocked else " "
        lines.append(
            [
                (f"{mark} {i:>{index_cells}}  ", palette.selected if chosen else palette.dim),
                (pad(name, shown.label_cells), style),
                (fact, palette.dim),
            ]
        )
    return lines


def _span(token: Token) -> str:
    return "" if token.start == token.end else f"{token.start}–{token.end}"


class TokensPane(Pane):
    """Choose the query here."""

    _columns = ""

    def title(self, scene: Scene, palette: Palette) -> Line:
        return [(_("Tokens"), palette.strong), (self._columns, palette.dim)]

    def foot(self, scene: Scene) -> list[str]:
        blocked = scene.view.query in scene.view.request.switches.mask.blocked
        facts = [describe(scene.query_token), _("blocked as a key") if blocked else ""]
        return [fact for fact in facts if fact] or [counts.tokens(len(scene.tokens))]

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        top = self.follow_cursor(len(scene.tokens), height, scene.view.query)
        shown = table(scene.tokens, width, height, top)
        self._columns = shown.columns
        return token_lines(scene, palette, shown)

    def places_at(self, scene: Scene, x: int, y: int) -> dict[str, int | str]:
        index = self.top + y
        return {"query": index} if index < len(scene.tokens) else {}

    def page(self, scene: Scene, by: int) -> dict[str, int]:
        return {"query": scene.view.query + by * (self.size.height - 3)}
