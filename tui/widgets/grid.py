"""The grid of heads: layers down and heads across, each a number, a word or a small matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding

from core.head_statistics import HeadFacts
from core.language import _
from core.names import STATISTICS
from core.stacks import stack_of
from tui.choices import CELLS, ORDERS
from tui.grid import BADGE, SHORT, Layout, Place, is_nowhere, layout, moved, ordered, shown_value
from tui.keys import GRID_BINDINGS
from tui.labels import ELLIPSIS, MASKED, pad, short_weight, weight, wrap
from tui.messages import Missing, Pressed
from tui.scene import Scene
from tui.survey import Survey, Wanted
from tui.terminal.plain import table
from tui.theme import Palette, ramp_step
from tui.widgets.lines import Line, append
from tui.widgets.pane import Pane, window
from tui.widgets.small_matrix import has_pixels, matrix_lines

_DETAILS = 2  # lines about the selected head, where its statistics have room in them
_GAPS = "  ", " "  # between statistics, and between short ones
_BOTH = 10  # cells for a number and a short word
_CHOSEN, _CHOSEN_IN_ASCII = "▌", "|"  # the stand-in of the first is also a cell of a matrix


def full_value(scene: Scene, statistic: str) -> float:
    """The number of full colour: the same for every head, layer and text of this length."""
    return max(1.0, log2(len(scene.keys))) if statistic == "entropy" else 1.0


def number(value: float | None, statistic: str) -> str:
    """A number as it stands in a cell of the grid."""
    if value is None:
        return MASKED
    return f"{value:.2f}" if statistic == "entropy" else short_weight(value, 2)


def value_texts(facts: HeadFacts, statistic: str, name: str, cells: int, lines: int) -> list[str]:
    """What a cell says of a head: a number and a badge, the less important left out."""
    figure = number(shown_value(facts, statistic), statistic)
    word = _(facts.badge or MASKED)
    short = _(SHORT.get(facts.badge or "", facts.badge or MASKED))
    start = f"{name} " if name else ""
    if lines > 1:
        return [start + figure, word if cell_len(word) <= cells else short]
    if cells >= _BOTH:
        return [f"{start}{figure} {short}"]
    return [start + (short if statistic == BADGE else figure)]


def filled(words: Sequence[str], cells: int, gap: str) -> list[list[str]]:
    """Words in lines, each word whole, with a gap between them."""
    lines: list[list[str]] = [[]]
    for word in words:
        if lines[-1] and cell_len(gap.join([*lines[-1], word])) > cells:
            lines.append([])
        lines[-1].append(word)
    return lines


def statistic_words(
    values: Mapping[str, float | None], precision: int, short: bool = False
) -> list[str]:
    """Every statistic with its number; short ones as badges and cells of the grid have them."""
    words = []
    for name in STATISTICS:
        value = values[name]
        write = short_weight if short and name != "entropy" else weight
        text = MASKED if value is None else write(value, precision)
        words.append(f"{_(SHORT.get(name, name) if short else name)} {text}")
    return words


def statistic_lines(
    values: Mapping[str, float | None], precision: int, cells: int, most: int
) -> tuple[list[list[str]], str]:
    """Every statistic in lines, and the gap between two; in short words where long ones take more
    than so many lines.
    """
    for short, gap in enumerate(_GAPS):
        lines = filled(statistic_words(values, precision, bool(short)), cells, gap)
        if len(lines) <= most:
            break
    return lines, gap


def lines_for_statistics(entropy: float, precision: int, cells: int) -> int:
    """Lines for the widest numbers, up to an entropy: the grid above has one height for all."""
    tiny = dict.fromkeys(STATISTICS, 0.1 ** (precision + 1))
    widest = {**tiny, "entropy": entropy}
    return max(_DETAILS, len(statistic_lines(widest, precision, cells, _DETAILS)[0]))


def _fields(scene: Scene, layer: int, head: int) -> dict[str, int]:
    """A head as fields of the view; in the last layer that is there, where its own is to come."""
    there = layer if scene.trace.whole else min(layer, len(scene.trace.layers) - 1)
    return {"layer": there, "head": head}


class GridPane(Pane):
    """All heads at a glance."""

    reads = True

    BINDINGS: ClassVar[list[Binding]] = GRID_BINDINGS  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.survey: Survey | None = None
        self._left = 0
        self._asked: tuple[object, ...] = ()
        self._drawn: dict[Place, list[Line]] = {}  # small matrices
        self._drawn_of: tuple[object, ...] = ()

    def forget(self) -> None:
        """Let go of a survey, and with it of its trace."""
        self.survey, self._drawn, self._drawn_of, self._asked = None, {}, (), ()

    # What is shown.

    def _layout(self, scene: Scene) -> Layout:
        view, shape = scene.view, self._shape(scene)
        by_layer, matrices = view.order == ORDERS[0], view.cell != CELLS[0]
        width = self.size.width - 2
        height = self.size.height - 2 - self._details_height(scene, width) - by_layer
        return layout(shape, by_layer, matrices, width, max(1, height))

    @staticmethod
    def _shape(scene: Scene) -> Place:
        stack = stack_of(scene.view.request.model, scene.view.attention)
        return stack.layers, stack.heads

    def _places(self, scene: Scene) -> list[Place]:
        """Every head, in the order of the grid."""
        by_layer = scene.view.order == ORDERS[0]
        return ordered(None if by_layer else self.survey, self._shape(scene), scene.view.statistic)

    def _window(self, scene: Scene, shown: Layout, place: int) -> tuple[range, range]:
        """Rows and columns that are seen, with the head at a place among them."""
        row, across = divmod(place, shown.columns)
        top = self.follow_cursor(shown.rows, shown.high, row)
        self._left = window(shown.columns, shown.wide, across, self._left)
        return range(top, top + shown.high), range(self._left, self._left + shown.wide)

    def wanted(self, scene: Scene) -> Wanted:
        """What has to be known to draw a scene: the layers that are seen, or all to sort them."""
        if not self.size.width:
            return Wanted()
        view, shown = scene.view, self._layout(scene)
        bins = self._bins(scene, shown) if view.cell != CELLS[0] else None
        if view.order != ORDERS[0]:
            return Wanted(tuple(range(self._shape(scene)[0])), bins)
        place = view.layer * shown.columns + view.head
        return Wanted(tuple(self._window(scene, shown, place)[0]), bins)

    def _bins(self, scene: Scene, shown: Layout) -> tuple[int, int, str]:
        lines = shown.lines - (scene.view.order != ORDERS[0])
        pixels = self.palette is not None and has_pixels(self.palette)
        return lines * 2 - 1 if pixels else lines, shown.cell - 1, scene.view.pool

    # Drawing.

    def title(self, scene: Scene, palette: Palette) -> Line:
        view = scene.view
        words = [_("layer ↓ head →")] if view.order == ORDERS[0] else []
        if view.order != ORDERS[0]:
            said = _("by {statistic}, the largest first")
            if is_nowhere(self.survey, self._shape(scene)[0], view.statistic):
                said = _("by {statistic}, which no head has")
            words.append(said.format(statistic=_(view.statistic)))
        elif view.cell == CELLS[0]:
            words.append(_(view.statistic))
        if view.cell != CELLS[0]:
            words.append(_("matrices, {pool} of each cell").format(pool=_(view.pool)))
        return [
            (_("Heads"), palette.strong),
            (scene.which + "".join(f" · {each}" for each in words), palette.dim),
        ]

    def foot(self, scene: Scene) -> list[str]:
        view, shown = scene.view, self._layout(scene)
        place = _("layer {layer} · head {head}").format(layer=view.layer, head=view.head)
        found = self._found(view.layer, view.head)
        if found is not None and found.badge is not None and found.number is not None:
            place += f" · {_(found.badge)} {weight(found.number, view.precision)}"
        facts = [place]
        if not scene.trace.whole:
            facts.append(_("… until all layers are there"))
        if shown.high < shown.rows:
            some = _("layers {first}–{last} of {n}")
            if view.order != ORDERS[0]:
                some = _("rows {first}–{last} of {n}")
            last = self.top + shown.high - 1
            facts.append(some.format(first=self.top, last=last, n=shown.rows))
        if shown.wide < shown.columns:
            last = self._left + shown.wide - 1
            some = _("heads {first}–{last} of {n}")
            facts.append(some.format(first=self._left, last=last, n=shown.columns))
        if view.cell != CELLS[0]:
            facts.append(_("full colour: the largest of each head"))
        elif not scene.signed:
            full = full_value(scene, view.statistic)
            facts.append(_("full colour {value:g}").format(value=round(full, 2)))
        return facts

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        view = scene.view
        if scene.signed and view.cell == CELLS[0]:
            text = _(
                "Scores that nothing normalises are no shares of a row, so there is nothing to"
                " measure; n changes the normalizer, z shows the matrices."
            )
            return [[], *([(f" {line}", palette.base)] for line in wrap(text, width - 2))]
        self._ask(self.wanted(scene))
        shown, places = self._layout(scene), self._places(scene)
        rows, across = self._window(scene, shown, places.index((view.layer, view.head)))
        lines: list[Line] = []
        if view.order == ORDERS[0]:
            lines.append(self._header(scene, palette, shown, across))
        for row in rows:
            lines += self._row(scene, palette, shown, places, row, across)
        room = max(0, height - self._details_height(scene, width) - len(lines))
        return lines + [[]] * min(room, 1) + self._details(scene, palette, width)

    def _ask(self, wanted: Wanted) -> None:
        """Say once that something is missing."""
        asked = (self.survey, wanted)
        if asked != self._asked and self.survey is not None and self.survey.missing(wanted):
            self._asked = asked
            self.post_message(Missing())

    def _header(self, scene: Scene, palette: Palette, shown: Layout, across: range) -> Line:
        line: Line = [(" " * shown.label, palette.base)]
        for head in across:
            style = palette.selected if head == scene.view.head else palette.dim
            append(line, " " + pad(str(head), shown.cell - 1), style)
        return line

    def _row(
        self,
        scene: Scene,
        palette: Palette,
        shown: Layout,
        places: list[Place],
        row: int,
        across: range,
    ) -> list[Line]:
        """The lines of one row of the grid."""
        view, by_layer = scene.view, scene.view.order == ORDERS[0]
        mark = _CHOSEN if table() is None else _CHOSEN_IN_ASCII
        lines: list[Line] = []
        for at in range(shown.lines):
            chosen = by_layer and row == view.layer
            text = f"{row:>{shown.label - 2}} " if by_layer and not at else " " * (shown.label - 1)
            lines.append([(text + " ", palette.selected if chosen else palette.dim)])
        for place in places[row * shown.columns :][across.start : across.stop]:
            chosen = place == (view.layer, view.head)
            cell = self._cell(scene, palette, shown, place, chosen)
            for line, part in zip(lines, cell, strict=True):
                append(line, *((mark, palette.selected) if chosen else (" ", palette.base)))
                for text, style in part:
                    append(line, text, style)
        return lines

    def _cell(
        self, scene: Scene, palette: Palette, shown: Layout, place: Place, chosen: bool
    ) -> list[Line]:
        """The lines of one head, without the gap."""
        view, cells = scene.view, shown.cell - 1
        name = "" if view.order == ORDERS[0] else f"{place[0]}·{place[1]}"
        found = self._found(*place)
        if view.cell != CELLS[0]:
            top: list[Line] = []
            if name:
                text = name if found is None else value_texts(found, view.statistic, name, 0, 2)[0]
                top = [[(pad(text, cells), palette.selected if chosen else palette.dim)]]
            return top + self._matrix(scene, palette, shown, place)
        if found is None:
            texts, style = [f"{name} {ELLIPSIS}".strip()], palette.dim
        else:
            texts = value_texts(found, view.statistic, name, cells, shown.lines)
            value = shown_value(found, view.statistic)
            style = palette.dim
            if value is not None:
                style = palette.ramp[ramp_step(value / full_value(scene, view.statistic))]
        texts += [""] * (shown.lines - len(texts))
        return [[(pad(text, cells), palette.cursor if chosen else style)] for text in texts]

    def _matrix(self, scene: Scene, palette: Palette, shown: Layout, place: Place) -> list[Line]:
        bins = self._bins(scene, shown)
        cells, lines = shown.cell - 1, shown.lines - (scene.view.order != ORDERS[0])
        found = None if self.survey is None else self.survey.matrix(*place, bins)
        if found is None:
            blank: Line = [(" " * cells, palette.base)]
            return [[(pad(ELLIPSIS, cells), palette.dim)], *[blank] * (lines - 1)]
        drawn_of = (self.survey, bins, palette)
        if self._drawn_of != drawn_of:
            self._drawn, self._drawn_of = {}, drawn_of
        if place not in self._drawn:
            self._drawn[place] = matrix_lines(found, palette, cells, lines)
        return self._drawn[place]

    def _found(self, layer: int, head: int) -> HeadFacts | None:
        return None if self.survey is None else self.survey.of_head(layer, head)

    def _details(self, scene: Scene, palette: Palette, width: int) -> list[Line]:
        """Every statistic of the selected head; that of the grid stands out, which sorts it even
        where it shows matrices.
        """
        view, found = scene.view, self._found(scene.view.layer, scene.view.head)
        if found is None:
            return []
        most = self._details_height(scene, width)
        lines, gap = statistic_lines(found.values, view.precision, width - 2, most)
        names = iter(STATISTICS)
        drawn: list[Line] = []
        for words in lines:
            line: Line = [(" ", palette.base)]
            for place, word in enumerate(words):
                chosen = next(names) == view.statistic
                append(line, gap if place else "", palette.base)
                append(line, word, palette.selected if chosen else palette.base)
            drawn.append(line)
        return drawn

    @staticmethod
    def _details_height(scene: Scene, width: int) -> int:
        full = full_value(scene, "entropy")
        return lines_for_statistics(full, scene.view.precision, width - 2)

    # Moving and clicking.

    def neighbour(self, scene: Scene, down: int, across: int) -> dict[str, int]:
        """The head beside the selected one, as fields of the view."""
        places, columns = self._places(scene), self._layout(scene).columns
        here = (scene.view.layer, scene.view.head)
        if scene.view.order == ORDERS[0]:
            return _fields(scene, here[0] + down, here[1] + across)
        return _fields(scene, *moved(places, here, down * columns + across))

    def end(self, scene: Scene, last: bool) -> dict[str, int]:
        """The first head of the grid, or the last."""
        return _fields(scene, *self._places(scene)[-1 if last else 0])

    def page(self, scene: Scene, by: int) -> dict[str, int]:
        return self.neighbour(scene, by * self._layout(scene).high, 0)

    def places_at(self, scene: Scene, x: int, y: int) -> dict[str, int | str]:
        shown, places = self._layout(scene), self._places(scene)
        y -= scene.view.order == ORDERS[0]
        row, column = y // shown.lines, (x - shown.label) // shown.cell
        if not (0 <= row < shown.high and 0 <= column < shown.wide and x >= shown.label):
            return {}
        at = (self.top + row) * shown.columns + self._left + column
        if at >= len(places):
            return {}
        return dict(_fields(scene, *places[at]))

    def on_click(self, event: events.Click) -> None:
        """Select a head; a click on the selected one opens it."""
        inside = event.get_content_offset(self)
        if self.scene is None or inside is None:
            return
        place = self.places_at(self.scene, inside.x - 1, inside.y - 1)
        here = {"layer": self.scene.view.layer, "head": self.scene.view.head}
        if place == here:
            self.post_message(Pressed("enter"))
        else:
            super().on_click(event)
