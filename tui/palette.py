"""The command palette: panes, heads, layers, tokens, examples, tokenizers, themes, actions."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from core.errors import AttnError
from core.language import N_, _, spoken
from core.lessons import Lesson, bundled_lessons
from core.resources import data_path
from core.stacks import stack_of
from core.text import label, visible
from core.tokenization import PATTERNS
from core.types import CheckpointModel, Mask
from tui.choices import SHOWN
from tui.keys import CHANGE, LOOK, PROGRAM, goes_with, parsed
from tui.labels import capitalized
from tui.scene import panes, translates
from tui.screens.explorer import ExplorerScreen
from tui.screens.once import LeftOnce
from tui.wording import mask_in_words

MASKS = (
    Mask(),
    Mask(causal=True),
    *(Mask(window=n) for n in (0, 1, 2, 3, 4, 8, 16)),
    *(Mask(causal=True, window=n) for n in (1, 2, 4, 8)),
)
WHOLE_PATTERNS = (  # by how many places each token looks back
    N_("Wish: every token attends to itself"),
    N_("Wish: every token attends to the one before it"),
)
_MOST_TOKENS = 20  # hits for one search


class Command(NamedTuple):
    """What can be chosen."""

    name: str
    help: str
    run: Callable[[], object]


def examples() -> list[tuple[str, str]]:
    """Title and text of each example sentence."""
    with data_path("examples.toml").open("rb") as file:
        entries = tomllib.load(file)["examples"]
    return [(entry["title"][spoken()], entry["text"]) for entry in entries]


def lessons() -> list[Lesson]:
    """The lessons of the program; a faulty file must not take the palette away."""
    try:
        return list(bundled_lessons())
    except AttnError:
        return []


class SteadyList(CommandList):
    """Textual's list, which looks for a line that was clicked on and is gone."""

    async def _on_click(self, event: events.Click) -> None:
        if event.style.meta.get("option", 0) >= self.option_count:
            event.prevent_default()


class SteadyPalette(LeftOnce, CommandPalette):
    """Textual's palette, whose page keys fail as long as its list has no line to show, and which
    begins to search also when it is closed.
    """

    BINDINGS: ClassVar = [
        Binding("pagedown", "page('page_down')", "next page", show=False),
        Binding("pageup", "page('page_up')", "page before", show=False),
    ]

    def compose(self) -> ComposeResult:
        for widget in super().compose():
            yield SteadyList() if isinstance(widget, CommandList) else widget

    def _on_mount(self, event: events.Mount) -> None:
        if self.left:  # before it has opened: there is nobody to search for
            event.prevent_default()

    def action_page(self, name: str) -> None:
        commands = self.query_one(CommandList)
        if commands.size.height:
            getattr(commands, f"action_{name}")()

    def dismiss(self, result: Any = None) -> AwaitComplete:
        self._cancel_gather_commands()  # one may have begun since Textual cancelled the last
        return super().dismiss(result)


class ExplorerCommands(Provider):
    """Everything that the explorer can do, to search."""

    @property
    def explorer(self) -> ExplorerScreen:
        """The explorer, also when the help lies over it."""
        return next(s for s in self.app.screen_stack if isinstance(s, ExplorerScreen))

    def lessons(self) -> Iterable[Lesson]:
        """The lessons to offer."""
        return lessons()

    def tokenizers(self) -> Iterable[tuple[str, str]]:
        """The tokenizers to offer: what is shown, and the name."""
        return zip(PATTERNS, PATTERNS, strict=True)

    async def discover(self) -> Hits:
        for command in self._commands():
            yield DiscoveryHit(
                Content(command.name), command.run, text=command.name, help=command.help
            )

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        named = [(matcher.match(command.name), command) for command in self._commands()]
        hits = [(score, command) for score, command in named if score > 0]
        for command in self._tokens(query.strip().lower()):
            hits.append((max(0.5, matcher.match(command.name)), command))
        for score, command in hits or [(1.0, self._nothing())]:
            yield self._hit(score, command)

    def _hit(self, score: float, command: Command) -> Hit:
        return Hit(score, Content(command.name), command.run, text=command.name, help=command.help)

    def _commands(self) -> Iterator[Command]:
        explorer = self.explorer
        for title, text in examples():
            name = _("Example: {title}").format(title=title)
            yield Command(name, visible(text), partial(explorer.explore, text))
        for lesson in self.lessons():
            name = _("Lesson: {title}").format(title=lesson.title.of(spoken()))
            run = partial(explorer.open_lesson, lesson)
            yield Command(name, lesson.about.of(spoken()), run)
        if explorer.guide is not None:
            yield Command(_("Leave the lesson"), _("explore on"), explorer.leave_lesson)
        if explorer.state.view.compare is not None:
            yield Command(_("Stop comparing"), _("one text again"), explorer.stop_comparing)
        seeded = not isinstance(explorer.state.view.request.model, CheckpointModel)
        view = explorer.state.view
        yield from self._attentions() if seeded or translates(view.request.model) else ()
        for pane in panes(explorer.state.view):
            run = partial(explorer.action_pane, pane)
            name = _("Pane: {pane}").format(pane=_(pane))
            yield Command(name, _("show the {pane}").format(pane=_(pane)), run)
        for statistic in SHOWN:
            run = partial(explorer.show_statistic, statistic)
            name = _("Grid of heads: {statistic}").format(statistic=_(statistic))
            yield Command(name, _("show it of every head"), run)
        stack = stack_of(view.request.model, view.attention)
        for head in range(stack.heads):
            run = partial(explorer.select, head=head)
            yield Command(_("Head {n}").format(n=head), _("select this head"), run)
        for layer in range(stack.layers):
            run = partial(explorer.select, layer=layer)
            yield Command(_("Layer {n}").format(n=layer), _("select this layer"), run)
        yield from self._of_seeded() if seeded else ()
        for title, text in examples():
            run = partial(explorer.compare_with, text)
            yield Command(_("Compare with: {title}").format(title=title), visible(text), run)
        for theme in sorted(self.app.available_themes):
            if not self.app.available_themes[theme].ansi:
                title, run = _("Theme: {name}").format(name=theme), partial(self._theme, theme)
                yield Command(title, _("change the colours"), run)
        for key in (*LOOK, *CHANGE, *PROGRAM):
            fits = goes_with(*parsed(key), explorer.state.view)
            if fits and key.action != "app.command_palette":
                act = partial(explorer.run_action, key.action)
                title = capitalized(_(key.help))
                yield Command(title, _("key {key}").format(key=key.shown), act)

    def _of_seeded(self) -> Iterator[Command]:
        """What can be switched of the seeded model."""
        explorer = self.explorer
        for mask in MASKS:
            run = partial(self._mask, mask)
            name = _("Mask: {mask}").format(mask=mask_in_words(mask))
            yield Command(name, _("which keys a query may attend to"), run)
        for back, name in enumerate(WHOLE_PATTERNS):
            run = partial(explorer.wish_whole, back)
            yield Command(_(name), _("a wish for every row, to be learned"), run)
        for shown, name in self.tokenizers():
            title, run = _("Tokenizer: {name}").format(name=shown), partial(self._tokenize, name)
            yield Command(title, _("cut the sentence this way"), run)

    def _attentions(self) -> Iterator[Command]:
        """A target, to add or to take away, and what it is for."""
        explorer = self.explorer
        if explorer.state.asked.target is None:
            name = _("Translate: add a target")
            help_ = explorer.first_target or _("what the decoder reads and writes on")
            yield Command(name, help_, explorer.add_target)
            return
        help_ = _("the encoder alone")
        yield Command(_("Translate: remove the target"), help_, explorer.remove_target)
        about = {
            "encoder": _("the source attends to itself"),
            "decoder": _("the target attends to what it has so far"),
            "cross": _("the target attends to the source"),
        }
        for name, words in about.items():
            run = partial(explorer.select, attention=name)
            title = _("Attention: {name}").format(name=_(name))
            yield Command(title, words, run)

    def _nothing(self) -> Command:
        """Textual has words of its own for this, in English and after a while."""
        return Command(_("Nothing found"), _("try another word, or part of one"), lambda: None)

    def _tokens(self, query: str) -> Iterator[Command]:
        """Tokens whose label or index holds the query, from the first on."""
        scene, found = self.explorer.scene, 0
        for index, token in enumerate(scene.queries if scene else ()):
            name = _("Token {n}: {label}").format(n=index, label=label(token))
            if query in name.lower():
                run = partial(self.explorer.select, query=index)
                yield Command(name, _("make it the query"), run)
                found += 1
                if found == _MOST_TOKENS:
                    return

    def _mask(self, mask: Mask) -> None:
        blocked = self.explorer.state.asked.switches.mask.blocked
        self.explorer.submit(self.explorer.state.with_switch(mask=replace(mask, blocked=blocked)))

    def _tokenize(self, name: str) -> None:
        self.explorer.submit(self.explorer.state.with_tokenizer(name))

    def _theme(self, name: str) -> None:
        self.app.theme = name
