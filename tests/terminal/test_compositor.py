"""Changed spans, cropped at both ends, show the same screen as Textual's own update."""

import pyte
import pytest
from rich.console import Console
from textual._compositor import Compositor

from tests.tui.helpers import explorer_of, find, line_text, make_view, open_app, settle
from tui.terminal.compositor import SpansCompositor
from tui.widgets.lines import Lines

SIZE = (120, 36)


def cells(screen):
    return [[screen.buffer[y][x] for x in range(SIZE[0])] for y in range(SIZE[1])]


def shown(screen, widget):
    """What a screen shows in the place of a widget."""
    x, y, width, height = widget.region
    return [line[x : x + width] for line in screen.display[y : y + height]]


@pytest.mark.parametrize("no_color", [False, True])
@pytest.mark.parametrize("text", ["The black cat drank the milk", "我想吃 酸菜鱼 cafe\u0301 milk"])
async def test_an_update_shows_the_same_and_sends_less(text, no_color, monkeypatch):
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    console = Console(color_system="truecolor", force_terminal=True)
    ours, theirs = pyte.Screen(*SIZE), pyte.Screen(*SIZE)
    kinds = {Compositor: pyte.Stream(theirs), SpansCompositor: pyte.Stream(ours)}
    sent = dict.fromkeys(kinds, 0)
    partial, whole = SpansCompositor.render_partial_update, SpansCompositor.render_full_update
    async with open_app(make_view(text), SIZE) as pilot:

        def render_whole(self, simplify=False):
            update = whole(self, simplify)
            for stream in kinds.values():
                stream.feed(update.render_segments(console))
            return update

        def render(self):
            seen = self._patched & self.visible_widgets.keys()
            patched = {self.visible_widgets[widget][0] for widget in seen}
            dirty, update = self._dirty_regions.copy(), None
            for kind, stream in kinds.items():
                self._dirty_regions = dirty if kind is SpansCompositor else dirty | patched
                if kind is SpansCompositor:
                    update = partial(self)
                else:
                    with monkeypatch.context() as patch:
                        patch.setattr(SpansCompositor, "_render_chops", kind._render_chops)
                        update = kind.render_partial_update(self)
                written = update.render_segments(console) if update else ""
                sent[kind] += len(written)
                stream.feed(written)
            return update

        monkeypatch.setattr(SpansCompositor, "render_partial_update", render)
        monkeypatch.setattr(SpansCompositor, "render_full_update", render_whole)
        explorer_of(pilot.app)._compositor.render_full_update()
        for key in (
            "down",
            "right",
            "3",
            "right",
            "Z",
            "m",
            "e",
            "x",
            "backspace",
            "escape",
            "9",
            "z",
        ):
            await pilot.press(key)
            await settle(pilot)
            assert cells(ours) == cells(theirs)
            for widget in filter(lambda widget: widget.region, pilot.app.screen.query(Lines)):
                if text.isascii():
                    assert shown(ours, widget) == [line_text(line) for line in widget.lines]
    assert 0 < sent[SpansCompositor] < sent[Compositor]


@pytest.mark.parametrize("shift", [0, 1])
async def test_what_lies_in_front_is_cut_by_nothing_behind_it(shift):
    """No wide character of a notice is lost where a pane under it ends."""
    said = " " * shift + "一二三四五六七八九十一二三四五六七八九十"
    async with open_app(make_view(), SIZE) as pilot:
        pilot.app.notify(said.replace(" ", "."), markup=False)
        await settle(pilot)
        find(pilot, said.replace(" ", "."))
