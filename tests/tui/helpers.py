"""An app on a view, a way to wait for it, and ways to read what it shows."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

from textual import events

from core.trained import describe
from core.types import Mask, ModelSpec, Request, Switches
from tests.core.small_checkpoints import speaking
from tui.app import AttnApp
from tui.scene import View
from tui.screens.explorer import ExplorerScreen

ROUNDS = 3000
QUIET_ROUNDS = 4  # a message on its way from one queue to the next is in neither
WORDS = "t5 t17 t3 t29"  # that a reference checkpoint knows
SENTENCE = "The black cat drank the milk"
# Markup, controls, a bidirectional override, a special token's name: nothing of it may act.
HOSTILE = ("[/]", "[CLS]", "[@click=app.quit]x[/]", "[a='", "A\x1b[2JB", "\u202eC", "D\x9b31m")


def make_view(text=SENTENCE, *, tokenizer="mixed", mask=None, switches=None, model=None, **fields):
    """A view on a request, from the few things that a test wants otherwise."""
    switches = {"mask": mask or Mask(), **(switches or {})}
    request = Request(text, tokenizer, ModelSpec(**(model or {})), Switches(**switches))
    return replace(View(request), **fields)


def real_view(name, tmp_path, text=WORDS, *, mask=None, target=None, switches=None, **fields):
    """A view on a reference checkpoint, as `speaking` makes it."""
    model = describe(speaking(name, tmp_path, mask))
    request = Request(text, model=model, target=target, switches=switches or Switches())
    return View(request, **fields)


def explorer_of(app) -> ExplorerScreen:
    """The explorer, also when the help or the palette lies over it."""
    return next(screen for screen in app.screen_stack if isinstance(screen, ExplorerScreen))


def _is_quiet(app) -> bool:
    """Whether no message waits, nothing is to be drawn and no worker or edit is under way."""
    screen = app.screen
    pumps = [app, *app.screen_stack, *screen.walk_children()]
    return (
        explorer_of(app).settled
        and all(worker.is_finished for worker in app.workers)
        and not any(pump.message_queue_size or pump._next_callbacks for pump in pumps)
        and not (screen._callbacks or screen._dirty_widgets or screen._layout_required)
        and not (screen._scroll_required or app._resize_event or app._resize_timer)
        and not (app.animator._animations or app.animator._scheduled)
    )


async def settle(pilot) -> None:
    """Wait until what is shown belongs to what was asked for, and nothing is under way.

    Textual's own pauses guess from the load of the processor and know nothing of threads.
    """
    quiet = 0
    for _ in range(ROUNDS):
        await pilot._wait_for_screen()
        if not pilot.app.is_running:
            return
        pilot.app.screen._on_timer_update()
        quiet = quiet + 1 if _is_quiet(pilot.app) else 0
        if quiet == QUIET_ROUNDS:
            return
        await asyncio.sleep(0 if quiet else 0.002)
    raise AssertionError("the explorer did not settle")


@asynccontextmanager
async def open_app(view=None, size=(120, 36), notifications=True, **options):
    """Run an app without a terminal; gives its pilot once it is settled."""
    app = AttnApp(view or make_view(), **options)
    async with app.run_test(size=size, notifications=notifications) as pilot:
        await settle(pilot)
        yield pilot


def screen_lines(app) -> list[str]:
    """What the terminal shows, as text."""
    return [strip.text for strip in app.screen._compositor.render_strips(app.size)]


def screen_text(app) -> str:
    return "\n".join(screen_lines(app))


def says(pilot, words) -> bool:
    """Whether the screen says so, in lines of any length and at the start of a sentence or not."""
    return words.lower() in " ".join(screen_text(pilot.app).split()).lower()


def view_of(pilot) -> View:
    return explorer_of(pilot.app).state.view


def sentence_of(pilot):
    return explorer_of(pilot.app).query_one("#sentence")


def shown_text(pilot) -> str | None:
    """The text of the trace on screen, None when there is none."""
    scene = explorer_of(pilot.app).scene
    return None if scene is None else scene.trace.request.text


async def press(pilot, *keys) -> None:
    for key in keys:
        await pilot.press(key)
        await settle(pilot)


async def press_in_one_read(pilot, *keys) -> None:
    """Keys that arrive together, as from a slow line; nothing is drawn between them."""
    texts = {"backspace": "\x7f", "enter": "\r"}
    for key in keys:
        event = events.Key(key, texts.get(key, key))
        event.set_sender(pilot.app)
        pilot.app.post_message(event)
    await settle(pilot)


async def paste(pilot, text) -> None:
    """As a terminal does: into what has the focus."""
    pilot.app.post_message(events.Paste(text))
    await settle(pilot)


def find(pilot, text, within=None) -> tuple[int, int]:
    """Column and line where `text` starts on screen, inside a widget if one is named."""
    region = pilot.app.screen.query_one(within).region if within else pilot.app.screen.region
    for y in range(region.y, region.bottom):
        strip = screen_lines(pilot.app)[y]
        column = strip.find(text, region.x, region.right)
        if column >= 0:
            return column, y
    raise AssertionError(f"{text!r} is not on screen")


async def click_on(pilot, text, within=None, dx=0, dy=0) -> None:
    x, y = find(pilot, text, within)
    await pilot.click(offset=(x + dx, y + dy))
    await settle(pilot)


def line_text(line):
    """What a line that a widget has drawn says."""
    return "".join(text for text, _ in line)
