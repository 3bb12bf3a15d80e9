"""The token list: index, label, id and span; the selected one is the query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from core import counts
from core.language import _
from core.text import describe, full_label
from core.types import Token, Tokens
from tui.labels import DROPPED, IN_PART, pad, run_of
from tui.scene import Scene, starts
from tui.theme import Palette
from tui.widgets.lines import Line
from tui.widgets.pane import Pane, window

if TYPE_CHECKING:
    from core.reading import Words

_LABEL_CELLS = 8  # kept free for labels before any fact is shown
_WIDEST_LABEL = 24  # labels push the facts further only when they are longer


class Table(NamedTuple):
    """The rows that are shown, their labels, and the facts that there is room for."""

    rows: range
    labels: list[str]
    label_cells: int
    index_cells: int
    columns: str
    facts: list[str]


def table(
    tokens: Tokens,
    width: int,
    height: int,
    top: int,
    beside: Sequence[Token] = (),
    words: Words | None = None,
) -> Table:
    """Divide the width: id and span leave when there is no room for them.

    The columns are wide enough for the tokens of a list that stands `beside` it, too. Of `words`
    their tokens are shown in place of ids.
    """
    rows = range(top, min(top + height, len(tokens)))
    labels = [full_label(tokens[i]) for i in rows]
    longest = max(cell_len(text) for text in labels)
    index_cells = len(str(max(len(tokens), len(beside)) - 1))
    room = width - index_cells - 4
    columns, facts = "", [""] * len(rows)
    for name, values, cells in _facts(tokens, rows, beside, words):
        if len(facts[0]) + 2 + cells <= room - min(longest, _LABEL_CELLS):
            facts = [f"{fact}  {value:>{cells}}" for fact, value in zip(facts, values, strict=True)]
            columns += f" · {name}"
    label_cells = min(room - len(facts[0]), max(_WIDEST_LABEL, longest))
    return Table(rows, labels, label_cells, index_cells, columns, facts)


def _facts(
    tokens: Tokens, rows: range, beside: Sequence[Token], words: Words | None
) -> list[tuple[str, list[str], int]]:
    """Name, values and cells of id and span, wide enough for every token, so that nothing moves."""
    spans = [_span(tokens[i]) for i in rows]
    widest = (tokens[-1], *(tokens[i] for i in rows), *beside[-1:])
    span_cells = max(len(_span(token)) for token in widest)
    if words is None:
        name, made = _("id"), [str(tokens[i].id) for i in rows]
        cells = len(str(max(token.id for token in (*tokens, *beside))))
    else:
        name, made = _("tokens"), [run_of(words[i]) for i in rows]
        cells = max(len(run_of(word)) for word in words)
    return [(name, made, cells), (_("characters"), spans, span_cells)]


class Cursor(NamedTuple):
    """The selected token of a list and its sign, the blocked ones, and words blocked in part."""

    at: int
    sign: str
    blocked: frozenset[int] = frozenset()
    partly: frozenset[int] = frozenset()


def token_lines(tokens: Tokens, cursor: Cursor, palette: Palette, shown: Table) -> list[Line]:
    """A row for each token: index, label, id and span."""
    lines: list[Line] = []
    for i, name, fact in zip(shown.rows, shown.labels, shown.facts, strict=True):
        quiet = tokens[i].special or tokens[i].unknown or i in cursor.blocked
        chosen = i == cursor.at
        style = palette.selected if chosen else palette.dim if quiet else palette.base
        cut = DROPPED if i in cursor.blocked else IN_PART if i in cursor.partly else " "
        mark = cursor.sign if chosen else cut
        lines.append(
            [
                (f"{mark} {i:>{shown.index_cells}}  ", palette.selected if chosen else palette.dim),
                (pad(name, shown.label_cells), style),
                (fact, palette.dim),
            ]
        )
    return lines


def _keys_of(scene: Scene, cursor: Cursor) -> Cursor:
    """A cursor with the keys that are blocked or dropped, whole or in part."""
    cut = scene.attention.rule.blocked
    if scene.read is not None and not scene.read.reading.cap:
        cut = cut.union(scene.read.columns)
    if scene.key_words is None or not cut:
        return cursor._replace(blocked=cut)
    touched = [i for i, word in enumerate(scene.key_words) if not cut.isdisjoint(word)]
    whole = frozenset(i for i in touched if cut.issuperset(scene.key_words[i]))
    return cursor._replace(blocked=whole, partly=frozenset(touched) - whole)


def _done_to(scene: Scene, place: int) -> list[str]:
    """That a key is blocked, and what was done to its column."""
    word = range(place, place + 1) if scene.key_words is None else scene.key_words[place]
    blocked = scene.attention.rule.blocked - scene.plain.keys.padding
    facts = [_share(blocked, word, _("blocked as a key"), _("{n} of {count} tokens blocked"))]
    if scene.read is not None:
        said = _("dropped as a key"), _("{n} of {count} tokens dropped")
        if scene.read.reading.cap:
            said = _("capped as a key"), _("{n} of {count} tokens capped")
        facts.append(_share(frozenset(scene.read.columns), word, *said))
    return facts


def _share(those: frozenset[int], word: range, whole: str, part: str) -> str:
    """What is said of a word with all or with some of its tokens among those."""
    n = len(those.intersection(word))
    if n == len(word):
        return whole
    return part.format(n=n, count=len(word)) if n else ""


def _pieces(scene: Scene) -> str:
    """The tokens that the query's word is made of, where they are several."""
    words = scene.query_words
    if words is None or len(words[scene.query]) == 1:
        return ""
    pieces = [full_label(scene.plain.queries[i]) for i in words[scene.query]]
    return _("{n} tokens: {pieces}").format(n=len(pieces), pieces=" ".join(pieces))


def _words(scene: Scene) -> str:
    """How many words, of how many tokens."""
    tokens = counts.tokens(len(scene.plain.keys))
    return _("{n:,} words of {tokens}").format(n=len(scene.keys), tokens=tokens)


def _span(token: Token) -> str:
    return "" if token.start == token.end else f"{token.start}–{token.end}"


def shares(rows: int, queries: int, keys: int) -> tuple[int, int]:
    """Divide rows between two lists: what one leaves is the other's."""
    first = min(queries, max(rows // 2, rows - keys))
    return first, min(keys, rows - first)


class TokensPane(Pane):
    """Choose the query here; where two texts meet, the key too."""

    reads = True

    _columns = ""
    _keys_top = 0
    _lists = (0, 0)  # rows of the queries and of the keys, where there are two lists

    def title(self, scene: Scene, palette: Palette) -> Line:
        name = _("Tokens") if scene.query_words is None else _("Words")
        if scene.trace.decoder is not None and not scene.crosses:
            name = _("Source") if scene.view.attention == "encoder" else _("Target")
        return [(name, palette.strong), (self._columns, palette.dim)]

    def foot(self, scene: Scene) -> list[str]:
        place = scene.key if scene.crosses else scene.query
        pieces = _pieces(scene)
        facts = [
            _("starts every target") if starts(scene) else "",
            "" if pieces else describe(scene.query_token),
            *_done_to(scene, place),
            pieces,
        ]
        number = counts.tokens(len(scene.keys)) if scene.key_words is None else _words(scene)
        if scene.crosses:
            number = f"{len(scene.queries)} × {number}"
        return [fact for fact in facts if fact] or [number]

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        if scene.crosses:
            return self._both(scene, palette, width, height)
        self._lists = (0, 0)
        top = self.follow_cursor(len(scene.queries), height, scene.query)
        shown = table(scene.queries, width, height, top, words=scene.query_words)
        self._columns = shown.columns
        cursor = _keys_of(scene, Cursor(scene.query, "▶"))
        return token_lines(scene.queries, cursor, palette, shown)

    def _both(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        """Those that ask above those that answer, each under its name."""
        queries, keys = scene.queries, scene.keys
        self._lists = shares(max(2, height - 3), len(queries), len(keys))
        first, second = self._lists
        top = self.follow_cursor(len(queries), first, scene.query)
        self._keys_top = window(len(keys), second, scene.key, self._keys_top)
        upper = table(queries, width, first, top, keys.items, scene.query_words)
        lower = table(keys, width, second, self._keys_top, queries.items, scene.key_words)
        self._columns = upper.columns
        asks = Cursor(scene.query, "▶")
        answers = _keys_of(scene, Cursor(scene.key, "›"))
        return [
            [(_(" target: queries"), palette.dim)],
            *token_lines(queries, asks, palette, upper),
            [],
            [(_(" source: keys and values"), palette.dim)],
            *token_lines(keys, answers, palette, lower),
        ]

    def places_at(self, scene: Scene, x: int, y: int) -> dict[str, int | str]:
        first, second = self._lists
        if scene.crosses:
            if 1 <= y <= first:
                return {"query": scene.query_at(self.top + y - 1)}
            row = y - first - 3
            return {"key": scene.key_at(self._keys_top + row)} if 0 <= row < second else {}
        index = self.top + y
        return {"query": scene.query_at(index)} if index < len(scene.queries) else {}

    def page(self, scene: Scene, by: int) -> dict[str, int]:
        rows = self._lists[0] or self.size.height - 3
        return {"query": scene.moved("query", by * rows)}
