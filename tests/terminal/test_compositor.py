"""Changed spans, cropped at both ends, show the same screen as Textual's own update."""

import pyte
import pytest
from rich.console import Console
from textual._compositor import Compositor

from tests.tui.helpers import explorer_of, make_view, open_app, settle
from tui.terminal.compositor import SpansCompositor

SIZE = (120, 36)


def cells(screen):
    return [[screen.buffer[y][x] for x in range(SIZE[0])] for y in range(SIZE[1])]


@pytest.mark.parametrize("text", ["The black cat drank the milk", "我想吃 酸菜鱼 cafe\u0301 milk"])
async def test_an_update_shows_the_same_and_sends_less(text, monkeypatch):
    console = Console(color_system="truecolor", force_terminal=True)
    ours, theirs = pyte.Screen(*SIZE), pyte.Screen(*SIZE)
    kinds = {SpansCompositor: pyte.Stream(ours), Compositor: pyte.Stream(theirs)}
    sent = dict.fromkeys(kinds, 0)
    partial = SpansCompositor.render_partial_update
    async with open_app(make_view(text), SIZE) as pilot:
        full = explorer_of(pilot.app)._compositor.render_full_update().render_segments(console)
        for stream in kinds.values():
            stream.feed(full)

        def render(self):
            dirty, update = self._dirty_regions.copy(), None
            for kind, stream in kinds.items():
                self._dirty_regions = dirty.copy()
                make = partial if kind is SpansCompositor else kind.render_partial_update
                update = make(self)
                written = update.render_segments(console) if update else ""
                sent[kind] += len(written)
                stream.feed(written)
            return update

        monkeypatch.setattr(SpansCompositor, "render_partial_update", render)
        for key in ("down", "right", "3", "right", "Z", "m", "e", "x", "backspace", "escape", "z"):
            await pilot.press(key)
            await settle(pilot)
    assert cells(ours) == cells(theirs)
    assert 0 < sent[SpansCompositor] < sent[Compositor]
