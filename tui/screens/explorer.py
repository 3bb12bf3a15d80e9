"""The explorer: wires keys, edits and clicks to the state, and the state to the widgets."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, cast

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from core.language import _
from core.text import visible
from tui.choices import SMALLEST
from tui.keys import (
    AWAITING,
    BINDINGS,
    BROWSING,
    BROWSING_LAST,
    EDITING,
    EDITING_LAST,
    OF_PANE,
    Hint,
    works,
)
from tui.labels import capitalized
from tui.messages import Pressed, Selected
from tui.scene import Scene, View, cursor, panes
from tui.screens.compare import CompareScreen
from tui.screens.grid import GridScreen
from tui.screens.learning import LearningScreen
from tui.screens.numbers import NumbersScreen
from tui.screens.on_demand import make_pane
from tui.screens.pairs import PairsScreen
from tui.screens.switches import SwitchesScreen
from tui.screens.tracing import TracingScreen
from tui.screens.trained import PREDICTIONS, TrainedScreen
from tui.terminal.compositor import SpansCompositor
from tui.theme import Palette
from tui.widgets.bars import Header, KeyBar, Status, Tabs, ViewLine
from tui.widgets.lines import Lines
from tui.widgets.matrix import MatrixPane
from tui.widgets.pane import Pane
from tui.widgets.sentence import CaptionedLine, Sentence
from tui.widgets.tokens import TokensPane
from tui.widgets.vectors import VectorsPane
from tui.widgets.weights import WeightsPane
from tui.wording import notices

# Where there is room, the panes of the middle are seen together and those beside it in turn.
MIDDLE = ("weights", "matrix")
SIDE = ("vectors", "numbers", "learning", "compare", "predictions")
WHOLE = ("derivation", "grid")  # in the place of all others
WIDE = (100, 28)
# Edits closer than this are one: a paste that a terminal types out, or a held key.
BURST_SECONDS = 0.03

if TYPE_CHECKING:
    from core.lessons import Lesson
    from tui.widgets.derivation import DerivationPane


class ExplorerScreen(
    GridScreen,
    PairsScreen,
    CompareScreen,
    NumbersScreen,
    TrainedScreen,
    LearningScreen,
    SwitchesScreen,
    TracingScreen,
):
    """One sentence, its tokens, its weights and its vectors."""

    BINDINGS = BINDINGS  # type: ignore[assignment]
    AUTO_FOCUS = ""

    def __init__(
        self, view: View, palette: Palette, lesson: Lesson | None = None, step: int = 0
    ) -> None:
        super().__init__(view, lesson, step, SIDE[0])
        self._compositor = SpansCompositor()
        self.palette = palette
        self._burst: Timer | None = None
        self._edited_at = 0.0
        self._focus_before: Widget | None = None
        self._notices = ""
        self._lines: list[Lines] = []
        self._panes: dict[str, Pane] = {}
        self._marked: tuple[str, str, int] | None = None  # what `_show_active` has shown

    @property
    def scene(self) -> Scene | None:
        return self.state.scene

    def compose(self) -> ComposeResult:
        yield Header()
        with Vertical(id="sentence-box") as box:
            box.border_title = _("Sentence")
            yield CaptionedLine("", self.state.view.request.text, id="sentence")
        made = TokensPane("tokens"), WeightsPane("weights"), MatrixPane("matrix")
        tokens, weights, self._matrix = made
        self._panes = {pane.pane: pane for pane in (*made, VectorsPane(SIDE[0]))}
        self._middle, self._beside = Vertical(id="middle"), Vertical(id="side")
        self._show_active()  # before the style sheet is read for them
        with Horizontal(id="body"):
            yield tokens
            with self._middle:
                yield weights
                yield self._matrix
            with self._beside:
                yield self._panes[SIDE[0]]
        yield Status()
        yield KeyBar()

    def on_mount(self) -> None:
        self._lines = list(self.query(Lines))
        self._status = self.query_one(Status)
        self.set_palette(self.palette)
        self._fit(self.app.size.width, self.app.size.height)
        self.show_lesson()
        self.show_other(self.state.view.compare)
        self.submit(self.state.view.request)
        self.show_texts(self.state.view.request)
        self.watch_sentence(self.sentence)
        self.action_focus_pane()

    def answered(self) -> None:
        if self.select_of_step() and not isinstance(self.focused, Sentence):
            self.action_focus_pane()
        else:
            self._publish()

    def say_work(self, words: str) -> None:
        self._status.work = words

    def awaited(self) -> int | None:
        view = self.state.view
        return None if {view.pane, self._side} & {"grid", PREDICTIONS} else view.layer

    def cancels(self) -> str:
        return _("esc cancels")

    def _publish(self) -> None:
        """Hand the state to the widgets."""
        error = self.state.error
        self.set_class(error is not None, "-refused")
        if error is not None:
            sentence = visible(str(error))
            text = Content.assemble(
                (_(error.title), "bold $warning"), "\n\n", capitalized(sentence)
            )
            self._say_instead("message", text)
        scene, trace = self.state.scene, self.state.trace
        read = None if scene is None else self.state.as_read(scene)
        said = " · ".join(notices(trace.tokens, trace.target_tokens)) if trace else ""
        if said != self._notices:
            self._notices = said
            self.query_one("#sentence-box").border_subtitle = Content(said)
        self._bring()
        blocks = self.blocks()
        if self._derivation is not None:
            self._derivation.blocks = blocks
        self.survey(scene)
        self._matrix.rank = self.rank()
        for widget in self._lines:
            if isinstance(widget, ViewLine):
                widget.view = self.state.view
            if isinstance(widget, Pane):
                widget.absent = self.state.view.layer if self.state.lacks_layer else None
            if widget.draws_scene:
                widget.scene = read if widget.reads else scene
        self._show_active()
        self._update_keys()
        if PREDICTIONS in (self.state.view.pane, self._side):
            self.predict()

    def _bring(self) -> None:
        """Make the panes that are to be seen, where they are not there yet."""
        active = self.state.view.pane
        if active in SIDE:
            self._side = active
        elif self._side not in panes(self.state.view):
            self._side = SIDE[0]
        for name in {active, self._side} - self._panes.keys():
            pane, place = make_pane(name)
            self._panes[name] = pane
            self.add_lines(pane)
            self.query_one(place).mount(pane)

    def add_lines(self, widget: Lines) -> None:
        """Draw a widget too that is about to be mounted."""
        widget.palette = self.palette
        self._lines.append(widget)

    @property
    def _derivation(self) -> DerivationPane | None:
        return cast("DerivationPane | None", self._panes.get("derivation"))

    def _say_instead(self, id: str, words: Content) -> None:
        """Say what there is in place of the panes; the style sheet knows when it is seen."""
        if self.query(f"#{id}"):
            self.query_one(f"#{id}", Static).update(words)
        else:
            self.mount(Static(words, id=id), after="#body")

    # The sentences.

    def watch_sentence(self, sentence: Sentence) -> None:
        self.watch(sentence, "edits", self._edited, init=False)

    def _edited(self) -> None:
        now = monotonic()
        recent, self._edited_at = now - self._edited_at < BURST_SECONDS, now
        if self._burst is not None:
            self._burst.reset()
        elif recent:
            self._burst = self.set_timer(BURST_SECONDS, self._submit_text)
        else:
            self._submit_text()

    def _submit_text(self) -> None:
        if self._burst is not None:
            self._burst.stop()
            self._burst = None
        if self.restore_sentence():
            return
        typed = self.typed()
        if self.other_edited() or typed != self.state.asked:
            self.submit(typed)

    @property
    def settled(self) -> bool:
        """Whether what is shown belongs to what was asked for."""
        return self._burst is None and not (self.busy or self.predicting)

    # Places.

    @on(Selected)
    def _selected(self, event: Selected) -> None:
        event.stop()
        self.select(**event.places)

    def select(self, **places: object) -> None:
        before = self.state.view
        self.state.select(**places)
        if self.state.view != before:
            self._publish()

    @on(Pressed)
    def _pressed(self, event: Pressed) -> None:
        event.stop()
        key = events.Key(event.key, None)
        key.set_sender(self.app)  # what a screen sends does not bubble up to that screen
        self.app.post_message(key)

    def action_step(self, name: str, by: int) -> None:
        self.state.step(name, by)
        self._publish()

    def action_cycle(self, name: str, by: int) -> None:
        self.state.cycle(name, by)
        self._publish()

    def action_move(self, down: int, across: int) -> None:
        if across and self.state.view.pane == "compare":
            self.step_in_ranking(across)
            return
        places = {}
        if self.scene is not None:
            places = self._pane(self.state.view.pane).neighbour(self.scene, down, across)
        if places:
            self.state.select(**places)
        else:
            self.state.move(down, across)
        self._publish()

    def action_next_shown(self, by: int) -> None:
        """The next vector, or the next array where the numbers are beside."""
        self.action_cycle("array" if self._side == "numbers" else "vector", by)

    def action_guess(self) -> None:
        self.action_pane("derivation")
        if self._derivation is not None:
            self._derivation.guess()

    def action_show_results(self) -> None:
        if self._derivation is not None:
            self._derivation.show_results()

    def action_stage(self, by: int) -> None:
        self.state.cycle("stage", by)
        self.action_pane("derivation")

    def action_jump(self, to: int) -> None:
        """The first row of the pane's cursor, or the last."""
        places = {cursor(self.state.view)[0]: sys.maxsize if to < 0 else 0}
        if self.scene is not None:
            places = self._pane(self.state.view.pane).end(self.scene, to < 0) or places
        self.select(**places)

    def action_page(self, by: int) -> None:
        pane = self._pane(self.state.view.pane)
        if pane.scene is not None:
            self.select(**pane.page(pane.scene, by))

    def action_next_pane(self, by: int) -> None:
        if not isinstance(self.focused, Sentence):
            self.state.cycle("pane", by)
        self.action_focus_pane()

    def action_pane(self, name: str) -> None:
        if name == "learning" and name not in panes(self.state.view):
            self.warn(_("with a target nothing is learned; remove the target (^p) first"))
            return
        if name == PREDICTIONS and name not in panes(self.state.view):
            self.warn_of_predictions()
            return
        if name not in panes(self.state.view):  # it has something to show once there are two texts
            self.action_other()
            return
        self.state.select(pane=name)
        self.action_focus_pane()

    def _pane(self, name: str) -> Pane:
        return self._panes[name]

    def action_leave(self) -> None:
        """Do what was announced: cancel what takes long. Else leave the sentence."""
        in_sentence = isinstance(self.focused, Sentence)
        if (self._announced or not in_sentence) and self.cancel():
            self.stop_learning()
        else:
            self.action_focus_pane()

    def action_again(self) -> None:
        self.again()

    def action_focus_pane(self) -> None:
        self._publish()
        self.set_focus(self._pane(self.state.view.pane))

    # The rest.

    def action_help(self) -> None:
        from tui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self.state.view.request.model))

    # Layout, colours and keys.

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size.width, event.size.height)

    def _fit(self, width: int, height: int) -> None:
        small = width < SMALLEST[0] or height < SMALLEST[1]
        if small and not self.has_class("-too-small"):
            self._focus_before = self.focused  # Textual takes the focus from what is hidden
        elif not small and self._focus_before is not None:
            self.call_after_refresh(self.set_focus, self._focus_before)
            self._focus_before = None
        self.set_class(small, "-too-small")
        compact = width < WIDE[0] or height < WIDE[1]
        self.set_class(compact, "-compact")
        if compact and not self.query(Tabs):
            tabs = Tabs()
            tabs.view = self.state.view
            tabs.scene = self.scene
            self.add_lines(tabs)
            self.mount(tabs, before="#body")
        if small:
            need = _("attn-tui needs {width} × {height} cells.")
            need = need.format(width=SMALLEST[0], height=SMALLEST[1])
            has = _("This terminal has {width} × {height}.").format(width=width, height=height)
            self._say_instead("too-small", Content(f"{need}\n{has}"))

    def _show_active(self) -> None:
        active = self.state.view.pane
        if self._marked == (active, self._side, len(self._panes)):
            return
        self._marked = (active, self._side, len(self._panes))
        for pane in self._panes.values():
            _mark(pane, active=pane.pane == active, beside=pane.pane == self._side)
        _mark(self._middle, active=active in MIDDLE)
        _mark(self._beside, active=active in SIDE, compare=self._side == "compare")
        _mark(self, whole=active in WHOLE)

    def set_palette(self, palette: Palette) -> None:
        self.palette = palette
        for widget in self._lines:
            widget.palette = palette

    def on_descendant_focus(self) -> None:
        self._update_keys()

    def on_descendant_blur(self) -> None:
        self.leave_other()
        self._update_keys()

    def _update_keys(self) -> None:
        if isinstance(self.focused, Sentence):
            hints: tuple[Hint, ...] = EDITING
            last = EDITING_LAST
        else:
            pool = OF_PANE.get(self.state.view.pane, BROWSING)
            view, seen = self.state.view, self.scene is not None
            beside = None if self.has_class("-compact") else self._side
            switched = self.state.undone() is not None
            hints = tuple(hint for hint in pool if works(hint.key, view, seen, beside, switched))
            if self.state.lacks_layer:
                hints = AWAITING
            last = BROWSING_LAST
        self.query_one(KeyBar).hints = (hints, last)


def _mark(widget: Widget, **classes: bool) -> None:
    """Give a widget the classes that are true; what is not mounted yet is styled later."""
    for name, true in classes.items():
        widget.set_class(true, f"-{name}", update=widget.is_attached)
