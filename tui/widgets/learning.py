"""Learning: the wished-for weights of a row beside those there are, and how the loss falls."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.binding import Binding
from textual.reactive import reactive

from core.language import _
from core.text import label
from tui.keys import LEARNING_BINDINGS
from tui.labels import MASKED, pad, weight, weight_cells, wrap
from tui.learning import ending, wished_row
from tui.messages import Painted
from tui.plot import plot_lines
from tui.scene import Scene
from tui.theme import Palette, bar
from tui.widgets.lines import Line, line_cells
from tui.widgets.pane import Pane, around
from tui.widgets.weights import label_column
from tui.wording import honest, steps_in_words

_MARK = 2
_BESIDE = 56  # cells from which on the curve stands beside the row
_TALL = 26  # lines from which on it stands below in any case
_FACTS = 31  # cells of the facts at its side, with the gap before them
_GAP = 3
_LOWEST_PLOT = 5
_HIGHEST_PLOT = 14
WISHED = "┃"


class Columns(NamedTuple):
    """Where a row's columns stand: label, wish, weight, bar."""

    label: int
    digits: int
    bar: int

    @property
    def at_bar(self) -> int:
        return _MARK + self.label + 2 * (self.digits + 1) + 1


def columns(scene: Scene, width: int) -> Columns:
    """Divide the width."""
    digits = weight_cells(scene.view.precision)
    labels = label_column(scene.keys, width // 4)
    return Columns(labels, digits, max(1, width - _MARK - labels - 2 * (digits + 1) - 1))


def row_lines(scene: Scene, palette: Palette, cols: Columns, rows: range) -> list[Line]:
    """A header, and a line a key: its wish, its weight, and a bar with a mark at the wish."""
    view = scene.view
    wished = wished_row(scene.trace, view.query)
    pattern = scene.trace.layers[0].pattern[view.head, view.query].tolist()
    allowed = scene.trace.mask[view.query].tolist()
    names = "".join(pad(name, cols.digits, ">") + " " for name in (_("wish"), _("now")))
    lines: list[Line] = [[(" " * (_MARK + cols.label) + names, palette.dim)]]
    for key in rows:
        at_key = key == view.key
        wish = None if wished is None or not allowed[key] else wished[key]
        wish_text = "" if wish is None else weight(wish, view.precision)
        now = weight(pattern[key], view.precision) if allowed[key] else MASKED
        style = palette.strong if at_key else palette.base
        lines.append(
            [
                ("› " if at_key else "  ", palette.selected),
                (pad(label(scene.keys[key]), cols.label), style),
                (f"{wish_text:>{cols.digits}} ", palette.other),
                (f"{now:>{cols.digits}}  ", palette.head),
                *_marked_bar(pattern[key], wish, cols.bar, palette),
            ]
        )
    return lines


def _marked_bar(value: float, wish: float | None, cells: int, palette: Palette) -> Line:
    """A bar on a scale from 0 to 1, with a mark in the cell where the wished-for one would end."""
    text = bar(value, cells)
    if wish is None:
        return [(text, palette.head)]
    place = min(int(wish * cells), cells - 1)
    return [
        (text[:place], palette.head),
        (WISHED, palette.strong),
        (text[place + 1 :], palette.head),
    ]


def facts_lines(scene: Scene, palette: Palette, width: int) -> list[Line]:
    """How far learning is, in words."""
    learning, history = scene.view.request.learning, scene.trace.history
    if learning is None or history is None:
        text = _(
            "Wish for the weights of this row: → and ←, or a click on its bar, paint the weight of"
            " a key; enter types the row. Then space learns it."
        )
        return [[(line, palette.dim)] for line in wrap(text, width)]
    loss = _("loss {now:.4f} · at best {least:.4f}").format(
        now=history.losses[-1], least=history.least
    )
    rate = _("rate {rate:g}").format(rate=learning.rate)
    parts = [loss, f"{steps_in_words(learning)} · {rate}"]
    if learning.head != scene.view.head:
        parts.append(_("head {head} learns, not this one").format(head=learning.head))
    end = ending(scene.trace)
    lines: list[Line] = [[(line, palette.base)] for part in parts for line in wrap(part, width)]
    lines += [[(line, palette.selected)] for line in wrap(end or "", width) if line]
    return lines


def curve_lines(scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
    """The loss of every step so far, from the highest down to the least that there can be."""
    history = scene.trace.history
    if history is None or height < _LOWEST_PLOT:
        return []
    high, low = max(history.losses), history.least
    shown = plot_lines(history.losses, low, high, 3, width, min(height, _HIGHEST_PLOT))
    return [[(axis, palette.dim), (line, palette.head)] for axis, line in shown]


class LearningPane(Pane):
    """Wish for a row here, and see it come."""

    BINDINGS: ClassVar[list[Binding]] = LEARNING_BINDINGS  # type: ignore[assignment]

    running: reactive[bool] = reactive(False, repaint=False)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._columns: Columns | None = None
        self._first_row = 0  # line of the first key
        self._keys = range(0)

    def draw(self, palette: Palette, width: int, height: int) -> list[Line]:
        if self.scene is not None and self.scene.trace.decoder is not None:
            return []  # nothing is learned with a target, and this pane is about to be hidden
        return super().draw(palette, width, height)

    def watch_running(self) -> None:
        self.redraw()

    def title(self, scene: Scene, palette: Palette) -> Line:
        places = [_("head {n}").format(n=scene.view.head)]
        if len(scene.trace.layers) > 1:
            places.insert(0, _("layer {n}").format(n=0))
        place = "".join(f" · {place}" for place in places)
        cells = self.title_cells - cell_len(place)
        return [
            *around(_("Learn {token}"), label(scene.query_token), palette, cells),
            (place, palette.dim),
        ]

    def foot(self, scene: Scene) -> list[str]:
        facts = [_("running") if self.running else _("full bar {value:g}").format(value=1)]
        if 0 < len(self._keys) < len(scene.keys):
            some = _("keys {first}–{last} of {n:,}")
            first, last = self._keys.start, self._keys.stop - 1
            facts.append(some.format(first=first, last=last, n=len(scene.keys)))
        return facts

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        normalizer = scene.view.request.switches.normalizer
        if normalizer != "softmax":
            self._columns, self._keys = None, range(0)
            text = _(
                "Learning goes through softmax, and the normalizer is {name}; n changes it in every"
                " other pane."
            ).format(name=_(normalizer))
            return [[(line, palette.dim)] for line in wrap(text, width)]
        what = honest(scene.view.request.learning)
        lines: list[Line] = [[(line, palette.dim)] for line in wrap(what, width)]
        room = height - len(lines)
        if width >= _BESIDE and height < _TALL:
            right = max(width - width // 2, _FACTS) - _GAP
            left = width - right - _GAP
            aside = facts_lines(scene, palette, right)
            aside += curve_lines(scene, palette, right, room - len(aside))
            row = self._row(scene, palette, left, room, len(lines))
            return lines + _beside(row, aside, left, room, palette)
        facts = facts_lines(scene, palette, width)
        count = len(scene.keys) + 1
        row = self._row(scene, palette, width, max(3, min(count, room // 2)), len(lines))
        lines += [*row, [], *facts]
        return lines + curve_lines(scene, palette, width, height - len(lines))

    def _row(
        self, scene: Scene, palette: Palette, width: int, height: int, above: int
    ) -> list[Line]:
        """The keys that there is room for."""
        count = len(scene.keys)
        top = self.follow_cursor(count, height - 1, scene.view.key)
        self._keys = range(top, min(top + height - 1, count))
        self._columns, self._first_row = columns(scene, width), above + 1
        return row_lines(scene, palette, self._columns, self._keys)

    def _at_row(self, y: int) -> int | None:
        key = self._keys.start + y - self._first_row
        return key if y >= self._first_row and key in self._keys else None

    def places_at(self, scene: Scene, x: int, y: int) -> dict[str, int | str]:
        key = self._at_row(y)
        return {} if key is None else {"key": key}

    def on_click(self, event: events.Click) -> None:
        """Paint, where the bars are; every click also selects, as in any pane."""
        inside, cols = event.get_content_offset(self), self._columns
        if self.scene is None or inside is None or cols is None:
            return
        key, cell = self._at_row(inside.y - 1), inside.x - 1 - cols.at_bar
        if key is not None and 0 <= cell < cols.bar:
            # The first cell is nothing, the last one all.
            self.post_message(Painted(key, round(cell / max(1, cols.bar - 1), 2)))


def _beside(
    left: list[Line], right: list[Line], cells: int, height: int, palette: Palette
) -> list[Line]:
    """Two blocks of lines side by side, with a gap between them."""
    lines: list[Line] = []
    for y in range(min(height, max(len(left), len(right)))):
        line = list(left[y]) if y < len(left) else []
        gap = " " * (cells + _GAP - line_cells(line))
        lines.append([*line, (gap, palette.base), *(right[y] if y < len(right) else [])])
    return lines
