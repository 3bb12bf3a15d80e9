"""Spans that are cropped at both ends show the same screen as Textual's own update."""

import pyte
import pytest
from rich.console import Console
from textual._compositor import ChopsUpdate

from tests.tui.helpers import explorer_of, make_view, open_app, settle
from tui.terminal.compositor import SpansUpdate

SIZE = (120, 36)


def cells(screen):
    return [[screen.buffer[y][x] for x in range(SIZE[0])] for y in range(SIZE[1])]


@pytest.mark.parametrize("text", ["The black cat drank the milk", "我想吃 酸菜鱼 cafe\u0301 milk"])
async def test_an_update_shows_the_same_and_sends_less(text, monkeypatch):
    console = Console(color_system="truecolor", force_terminal=True)
    ours, theirs = (pyte.Screen(*SIZE) for _ in range(2))
    streams = [(pyte.Stream(ours), SpansUpdate), (pyte.Stream(theirs), ChopsUpdate)]
    sent = {SpansUpdate: 0, ChopsUpdate: 0}
    async with open_app(make_view(text), SIZE) as pilot:
        explorer = explorer_of(pilot.app)
        compositor = explorer._compositor
        full = compositor.render_full_update().render_segments(console)
        for stream, _ in streams:
            stream.feed(full)

        def record(update):
            for stream, kind in streams:
                made = kind(update.chops, update.spans, update.chop_ends)
                written = made.render_segments(console)
                sent[kind] += len(written)
                stream.feed(written)

        original = type(compositor).render_partial_update

        def render(self):
            update = original(self)
            if update is not None:
                record(update)
            return update

        monkeypatch.setattr(type(compositor), "render_partial_update", render)
        for key in ("down", "right", "3", "right", "Z", "m", "e", "x", "backspace", "escape", "z"):
            await pilot.press(key)
            await settle(pilot)
    assert cells(ours) == cells(theirs)
    assert 0 < sent[SpansUpdate] < sent[ChopsUpdate]
