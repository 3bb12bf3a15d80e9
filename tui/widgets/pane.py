"""A framed pane: a title that says what it shows, lines, a foot that says what is left out."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style
from textual import events

from core.language import _
from tui.labels import clip, wrap
from tui.messages import Selected
from tui.scene import Scene
from tui.theme import Palette
from tui.widgets.lines import Line, Lines, fit

WHEEL_ROWS = 3
_FOOT_EDGES = 4  # cells of a corner and a blank at either side of the facts
_TITLE_EDGES = 6
_LEAST_TOKEN = 6  # cells of a token in a title
_BETWEEN = " · "


def window(count: int, size: int, cursor: int, top: int) -> int:
    """First of `size` rows to show out of `count`, moved no more than the cursor needs."""
    top = min(max(top, cursor - size + 1), cursor)
    return max(0, min(top, count - size))


def frame(
    lines: Sequence[Line],
    title: Line,
    foot: Sequence[str],
    width: int,
    height: int,
    palette: Palette,
    active: bool,
) -> list[Line]:
    """Put a rounded frame around lines: a title, and as many facts in the foot as fit whole."""
    edge = palette.selected if active else palette.dim
    inner = width - 2
    side = "│", edge
    foot_line: Line = [(_fitting(foot, inner - _FOOT_EDGES), palette.dim)]
    rows = [lines[y] if y < len(lines) else [] for y in range(height - 2)]
    return [
        _edge("╭", title, "╮", width, edge),
        *(fit(row, inner, palette.base, side) for row in rows),
        _edge("╰", foot_line, "╯", width, edge, right=True),
    ]


def around(message: str, token: str, palette: Palette, cells: int) -> Line:
    """A title with the label of a token in the place of ``{token}``, which gives way where there
    are fewer cells.
    """
    before, after = message.split("{token}")
    quoted = _("“{text}”")
    room = cells - cell_len(before + quoted.format(text="") + after)
    return [
        (before, palette.strong),
        (quoted.format(text=clip(token, max(_LEAST_TOKEN, room))), palette.selected),
        (after, palette.strong),
    ]


def cells_of(facts: Sequence[str]) -> int:
    """What some facts of a foot take, with dots between them."""
    return cell_len(_BETWEEN.join(facts))


def _fitting(facts: Sequence[str], cells: int) -> str:
    """Facts with dots between them, the last ones left out where they do not fit."""
    for count in range(len(facts), 1, -1):
        if cells_of(facts[:count]) <= cells:
            return _BETWEEN.join(facts[:count])
    return clip(facts[0], cells) if facts else ""


def _edge(
    left: str, title: Line, corner: str, width: int, edge: Style, right: bool = False
) -> Line:
    """A horizontal edge with a title in it, clipped with a sign."""
    room = width - _TITLE_EDGES
    shown: Line = []
    for text, style in title:
        part = clip(text, room)
        room -= cell_len(part)
        shown.append((part, style))
        if part != text:
            break
    used = width - _TITLE_EDGES - room
    if not used:
        return [(left + "─" * (width - 2) + corner, edge)]
    rest = "─" * (width - 5 - used)
    before = f"{left}{rest} " if right else f"{left}─ "
    after = f" ─{corner}" if right else f" {rest}{corner}"
    line: Line = [(before, edge), *shown, (after, edge)]
    return fit(line, width, edge)


class Pane(Lines, can_focus=True):
    """A framed view of a scene; subclasses say what stands in it."""

    def __init__(self, name: str) -> None:
        super().__init__(id=f"pane-{name}")
        self.pane = name
        self.top = 0
        self.absent: int | None = None  # a layer that there is no scene of yet
        self._followed = -1

    # What a subclass provides.

    def title(self, scene: Scene, palette: Palette) -> Line:
        return []

    def foot(self, scene: Scene) -> list[str]:
        """Facts about what is shown and what is left out, most important first."""
        return []

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        return []

    def places_at(self, scene: Scene, x: int, y: int) -> dict[str, int | str]:
        """Fields of the view that a click at a cell inside the frame selects."""
        return {}

    def page(self, scene: Scene, by: int) -> dict[str, int]:
        """A page up (-1) or down (1): scrolls, or gives the fields of the view that move."""
        self.top += by * max(1, self.size.height - 4)
        self.redraw()
        return {}

    def neighbour(self, scene: Scene, down: int, across: int) -> dict[str, int]:
        """Fields of the view that an arrow selects; empty where it moves the cursor by one."""
        return {}

    def end(self, scene: Scene, last: bool) -> dict[str, int]:
        """Fields of the view at the first or the last place; empty for those of the cursor."""
        return {}

    # What all share.

    @property
    def foot_cells(self) -> int:
        """Room for the facts of the foot."""
        return self.size.width - 2 - _FOOT_EDGES

    @property
    def title_cells(self) -> int:
        """Room for the title."""
        return self.size.width - _TITLE_EDGES

    def follow_cursor(self, count: int, size: int, cursor: int) -> int:
        """Scroll to a cursor that moved; leave a place that the wheel chose."""
        if cursor != self._followed:
            self.top = window(count, size, cursor, self.top)
            self._followed = cursor
        self.top = max(0, min(self.top, count - size))
        return self.top

    def draw(self, palette: Palette, width: int, height: int) -> list[Line]:
        if width < 8 or height < 3:
            return []
        lines: list[Line] = []
        title: Line = []
        foot: list[str] = []
        if self.absent is not None:
            said = _("Layer {n} is not there yet.").format(n=self.absent)
            lines = [[], *([(f" {line}", palette.base)] for line in wrap(said, width - 4))]
        if self.scene is not None:
            lines = self.body(self.scene, palette, width - 2, height - 2)
            title = self.title(self.scene, palette)
            foot = self.foot(self.scene)
            if self.scene.view.reading is not None and self.scene.read is None:
                foot = [_("nothing merged or dropped here"), *foot]
        return frame(lines, title, foot, width, height, palette, self.has_focus)

    def on_resize(self, event: events.Resize) -> None:
        self._followed = -1  # `Lines` then draws

    def on_focus(self) -> None:
        self.post_message(Selected(pane=self.pane))

    def watch_has_focus(self, _has_focus: bool) -> None:
        super().watch_has_focus(_has_focus)
        self.redraw()  # the frame says it

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -WHEEL_ROWS)

    def _wheel(self, event: events.MouseEvent, rows: int) -> None:
        self.top = max(0, self.top + rows)
        self.redraw()
        event.stop()

    def on_click(self, event: events.Click) -> None:
        inside = event.get_content_offset(self)
        if self.scene is None or inside is None:
            return
        width, height = self.size
        if 1 <= inside.x < width - 1 and 1 <= inside.y < height - 1:
            places = self.places_at(self.scene, inside.x - 1, inside.y - 1)
            if places:
                self.post_message(Selected(**places))
