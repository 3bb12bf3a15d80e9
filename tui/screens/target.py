"""What the explorer does for a target: its sentence, and which attention is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.language import _
from core.types import CheckpointModel, Request
from tui.choices import EXAMPLE_TARGET
from tui.labels import capitalized
from tui.screens.tracing import Part
from tui.widgets.sentence import CaptionedLine, Sentence


class TargetScreen(Part):
    """The part of the explorer that knows of two texts."""

    if TYPE_CHECKING:  # what the explorer itself provides

        def action_cycle(self, name: str, by: int) -> None: ...

        def action_focus_pane(self) -> None: ...

        def watch_sentence(self, sentence: Sentence) -> None: ...

        def refuse_edit(self) -> bool: ...

    _target: CaptionedLine | None = None  # mounted when there is a first one

    @property
    def sentence(self) -> Sentence:
        return self.query_one("#sentence", Sentence)

    def typed(self) -> Request:
        """What was asked last, with the texts as they stand on the screen."""
        target = self.state.asked.target
        if target is not None and self._target is not None:
            target = self._target.sentence.true_text
        return replace(self.state.with_text(self.sentence.true_text), target=target)

    def show_texts(self, request: Request) -> None:
        """Let the lines be what was just asked for, so that they ask for nothing new."""
        if self.sentence.true_text != request.text:
            self.sentence.set_true_text(request.text)
        box = self.query_one("#sentence-box")
        box.border_title = _("Sentence") if request.target is None else _("Sentences")
        self.set_class(request.target is not None, "-target")
        if request.target is None:
            return
        self._target = self.show_line(self._target, _("target"), request.target, "target")
        self.query_one("#sentence-line", CaptionedLine).say(_("source"))

    def show_line(
        self, line: CaptionedLine | None, caption: str, text: str, id: str
    ) -> CaptionedLine:
        """Another line of the box with a text in it, which is made when there is none."""
        if line is None:
            line = CaptionedLine(caption, text, id=id)
            self.query_one("#sentence-box").mount(line)
            self.watch_sentence(line.sentence)
        elif line.sentence.true_text != text:
            line.sentence.set_true_text(text)
        return line

    def set_target(self, target: str | None) -> None:
        """Ask for another target, or for none."""
        if target is not None and self.refuse_edit():
            return
        if target is not None and self.state.view.compare is not None:
            self.warn(_("two texts are compared; stop comparing (^p) before you add a target"))
            return
        self.submit(self.state.with_target(target))
        self.show_texts(self.state.asked)  # what is refused changes nothing

    @property
    def first_target(self) -> str:
        """What a target begins as: an example, but of a real model nothing written yet."""
        return "" if isinstance(self.state.asked.model, CheckpointModel) else EXAMPLE_TARGET

    def add_target(self) -> None:
        """Show what a target does, with the words of an example to write over."""
        self.set_target(self.first_target)
        if self.state.asked.target is None or self._target is None:
            return
        self.action_focus_pane()
        if not self.first_target:
            self.set_focus(self._target.sentence)

    def remove_target(self) -> None:
        self.set_target(None)
        self.action_focus_pane()

    def action_edit_target(self) -> None:
        if self.state.asked.target is None:
            self.add_target()
        elif self._target is not None:
            self.set_focus(self._target.sentence)

    def action_attention(self) -> None:
        if self.state.asked.target is None:
            real = isinstance(self.state.view.request.model, CheckpointModel)
            said = _("there is no target: A adds one, for the decoder")
            self.warn(said if real else _("there is no target: A adds one, and a decoder"))
        else:
            self.action_cycle("attention", 1)

    def action_mask(self) -> None:
        if self.state.view.attention == "encoder":
            self.submit(self.state.next_mask())
        elif self.state.view.attention == "decoder":
            self.warn(_("the decoder's mask is always causal; m switches the encoder's (a)"))
        else:
            self.warn(_("cross-attention has no mask; m switches the encoder's (a)"))

    def action_block(self) -> None:
        view = self.state.view
        if self.state.scene is None:
            return
        if view.attention == "decoder":
            self.warn(_("words of the source can be blocked, in the encoder and in cross"))
            return
        chosen = self.state.as_read(self.state.scene).selected(
            "key" if view.attention == "cross" else "query"
        )
        self.submit(self.state.toggle_blocked(chosen))

    def warn(self, sentence: str) -> None:
        """Say why nothing was done, or not all of it."""
        self.notify(capitalized(sentence), severity="warning", markup=False)
