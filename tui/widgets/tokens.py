"""The token list: index, label, id and span; the selected one is the query."""

from __future__ import annotations

from rich.cells import cell_len

from core.text import describe, label
from core.types import Token, Tokens
from tui.labels import pad, plural
from tui.scene import Scene
from tui.theme import Palette
from tui.widgets.lines import Line
from tui.widgets.pane import Pane

_LABEL_CELLS = 8  # kept free for labels before any fact is shown
_WIDEST_LABEL = 24  # labels push the facts further only when they are longer


def token_lines(scene: Scene, palette: Palette, width: int, height: int, top: int) -> list[Line]:
    """Rows of the list from `top`; id and span leave when there is no room for them."""
    tokens = scene.tokens
    rows = range(top, min(top + height, len(tokens)))
    blocked = scene.view.request.switches.mask.blocked | tokens.padding
    names = [label(tokens[i]) for i in rows]
    index_cells = len(str(len(tokens) - 1))
    room = width - index_cells - 4
    facts = _facts(tokens, rows, room - _LABEL_CELLS)
    longest = max(cell_len(name) for name in names)
    name_cells = min(room - len(facts[0]), max(_WIDEST_LABEL, longest))
    lines: list[Line] = []
    for i, name, fact in zip(rows, names, facts, strict=True):
        quiet = tokens[i].special or tokens[i].unknown or i in blocked
        chosen = i == scene.view.query
        style = palette.selected if chosen else palette.dim if quiet else palette.base
        mark = "▶" if chosen else "×" if i in blocked else " "
        lines.append(
            [
                (f"{mark} {i:>{index_cells}}  ", palette.selected if chosen else palette.dim),
                (pad(name, name_cells), style),
                (fact, palette.dim),
            ]
        )
    return lines


def _facts(tokens: Tokens, rows: range, room: int) -> list[str]:
    """Id and span of each row in columns, as far as there is room."""
    ids = [str(tokens[i].id) for i in rows]
    spans = [_span(tokens[i]) for i in rows]
    facts = [""] * len(rows)
    # Wide enough for every token, so that the columns stay where they are while scrolling.
    id_cells = len(str(max(token.id for token in tokens)))
    span_cells = max(len(_span(token)) for token in (tokens[-1], *(tokens[i] for i in rows)))
    for values, cells in ((ids, id_cells), (spans, span_cells)):
        if len(facts[0]) + 2 + cells <= room:
            facts = [f"{fact}  {value:>{cells}}" for fact, value in zip(facts, values, strict=True)]
    return facts


def _span(token: Token) -> str:
    return "" if token.start == token.end else f"{token.start}–{token.end}"


class TokensPane(Pane):
    """Choose the query here."""

    def title(self, scene: Scene, palette: Palette) -> Line:
        return [("Tokens", palette.strong), (" · id · characters", palette.dim)]

    def foot(self, scene: Scene) -> list[str]:
        blocked = scene.view.query in scene.view.request.switches.mask.blocked
        facts = [describe(scene.query_token), "blocked as a key" if blocked else ""]
        return [fact for fact in facts if fact] or [plural(len(scene.tokens), "token")]

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        top = self.follow_cursor(len(scene.tokens), height, scene.view.query)
        return token_lines(scene, palette, width, height, top)

    def places_at(self, scene: Scene, x: int, y: int) -> dict[str, int | str]:
        index = self.top + y
        return {"query": index} if index < len(scene.tokens) else {}

    def page(self, scene: Scene, by: int) -> dict[str, int]:
        return {"query": scene.view.query + by * (self.size.height - 3)}
