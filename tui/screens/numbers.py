"""What the explorer does with numbers: types one over, puts the original back, copies them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.edits import check_used
from core.errors import AttnError
from core.language import _
from core.names import ATTENTIONS
from tui.following import cut_alike
from tui.labels import clip
from tui.screens.lesson import LessonScreen
from tui.theme import DARK

if TYPE_CHECKING:
    from textual import events

    from core.types import Request, Trace
    from tui.printing.derivation import Block
    from tui.widgets.derivation import DerivationPane

_SHOWN_CELLS = 300  # of a copied command
_FRAME = 2  # cells beside a derivation, which is as wide as the screen


class NumbersScreen(LessonScreen):
    """The part of the explorer that knows numbers typed over, and the derivation's."""

    if TYPE_CHECKING:  # what the explorer itself provides

        @property
        def _derivation(self) -> DerivationPane | None: ...

        def action_pane(self, name: str) -> None: ...

    _derived: tuple[tuple[object, ...], tuple[Block, ...]] | None = None

    def blocks(self) -> tuple[Block, ...]:
        """The derivation of what is selected, as far as the stage; made when that changes."""
        scene = self.state.scene
        if scene is None or scene.view.pane != "derivation":
            self._derived = None  # which would keep a trace alive
            return ()
        from tui.printing.derivation import WIDTH, blocks_of  # not needed for the first frame

        view, width = scene.view, min(WIDTH, self.app.size.width - _FRAME)
        place = (view.attention, view.layer, view.head, view.query, view.key, view.component)
        key: tuple[Trace | object, ...] = (scene.trace, place, view.precision, view.stage, width)
        if self._derived is None or self._derived[0] != key:
            self._derived = (key, blocks_of(scene, view.stage, width))
        return self._derived[1]

    def on_resize(self, event: events.Resize) -> None:
        if self._derivation is not None:
            self._derivation.blocks = self.blocks()

    # Typing over.

    def action_type_over(self) -> None:
        """Ask for a number in place of the one under the cursor of the numbers."""
        scene = self.state.scene
        if scene is None:
            return
        if scene.view.pane != "numbers":
            self.action_pane("numbers")
            return
        from tui.numbers import ELSEWHERE, place_of, question
        from tui.screens.number import NumberPrompt

        if scene.view.attention != ATTENTIONS[0]:
            self.warn(_(ELSEWHERE))
            return
        array, place = scene.view.array, place_of(scene.view)
        try:
            check_used(self.state.asked, array, scene.view.layer)
        except AttnError as error:
            self.warn(str(error))
            return

        def typed(value: float | None) -> None:
            if value is not None:
                self.submit(self.state.typed(array, place, value))

        self.app.push_screen(NumberPrompt(question(scene)), typed)

    def keeps(self, request: Request, error: AttnError) -> bool:
        """What the arithmetic refuses of numbers typed over leaves all as it was."""
        if super().keeps(request, error):
            return True
        trace = self.state.trace
        if trace is None or not request.switches.edits or not cut_alike(request, trace.request):
            return False
        self.state.asked = trace.request
        self.warn(str(error))
        return True

    def action_put_back(self) -> None:
        """Put the original number back under the cursor of the numbers."""
        from tui.numbers import edit_of

        view = self.state.view
        edit = edit_of(view)
        if view.pane == "numbers" and edit is not None:
            self.submit(self.state.put_back(edit.array, edit.place))

    def action_word(self, name: str) -> None:
        """The next word of a switch, without those that a number typed over does not go with."""
        for by in (1, 2):
            request = self.state.next_word(name, by)
            refused = self.state.refused_edits(request)
            if refused is None:
                if request != self.state.asked:
                    self.submit(request)
                return
            self.warn(str(refused))

    # Copying.

    def action_copy(self) -> None:
        """Copy the derivation where it is shown, and elsewhere the command."""
        if self.state.view.pane == "derivation":
            self.action_copy_derivation("text")
        else:
            self.action_copy_command()

    def action_copy_command(self) -> None:
        from tui.command import command_line  # not needed for the first frame

        try:
            theme = self.app.theme if self.app.theme != DARK.name else None
            command = command_line(self.state.view, theme, self.guide)
        except AttnError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        self.app.copy_to_clipboard(command)
        # All of it where it is short; of a long text a message would cover the screen.
        self.notify(clip(command, _SHOWN_CELLS), title=_("Copied"), markup=False)

    def action_copy_derivation(self, form: str) -> None:
        from tui.printing.derivation import as_markdown, as_text, blocks_of

        scene = self.state.scene
        if scene is None:
            return
        lines = (as_markdown if form == "markdown" else as_text)(blocks_of(scene))
        self.app.copy_to_clipboard("\n".join(lines))
        as_it_is = _("the derivation, as Markdown") if form == "markdown" else _("the derivation")
        self.notify(as_it_is, title=_("Copied"), markup=False)
