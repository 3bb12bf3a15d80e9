"""What the model expects: the token behind the query, or under its mask, and how probable it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from core.errors import AttnError
from core.explain import nice_ceiling
from core.language import _
from core.text import full_label, label, visible
from core.types import CheckpointModel, Tokens
from tui.labels import capitalized, pad, weight, weight_cells, wrap
from tui.predicted import actual_in_words, place_in_words, rest_in_words
from tui.scene import Scene
from tui.theme import Palette, bar
from tui.widgets.lines import Line
from tui.widgets.pane import Pane, around

if TYPE_CHECKING:
    from core.predictions import Prediction

_MARK = 2
_BAR = range(4, 31)  # cells
_LABEL = range(5, 25)


def prediction_lines(
    prediction: Prediction, tokens: Tokens, precision: int, palette: Palette, width: int
) -> list[Line]:
    """Where in the text, what stands there, and the most probable tokens, a row each."""
    lines: list[Line] = [[(f" {place_in_words(prediction, tokens, width - 2)}", palette.dim)]]
    lines += [
        [(f" {line}", palette.strong)]
        for line in wrap(actual_in_words(prediction, tokens, precision), width - 2)
    ]
    return [*lines, [], *_rows(prediction, precision, palette, width)]


def _rows(prediction: Prediction, precision: int, palette: Palette, width: int) -> list[Line]:
    top, actual = prediction.top, prediction.actual
    names = [label(each.token) for each in top]
    rank, digits = len(str(len(top))), weight_cells(precision)
    id_cells = max(cell_len(_("id")), len(str(prediction.vocabulary - 1)))
    room = width - _MARK - rank - 1 - digits - 1 - id_cells - 2
    longest = max(_LABEL.start, *map(cell_len, names))
    name = min(longest, _LABEL.stop - 1, max(room - _BAR.start - 1, _LABEL.start))
    cells = max(0, min(room - name - 1, _BAR.stop - 1))
    full = full_bar(prediction)
    header = pad(_("token"), name) + " " + pad(_("probability"), digits + 1 + cells)
    left = " " * (_MARK + rank + 1)
    lines: list[Line] = [[(f"{left}{header} {pad(_('id'), id_cells, '>')}", palette.dim)]]
    for each, text in zip(top, names, strict=True):
        there = actual is not None and each.token.id == actual.token.id
        lines.append(
            [
                ("› " if there else "  ", palette.selected),
                (f"{each.rank:>{rank}} ", palette.dim),
                (pad(text, name) + " ", palette.strong if there else palette.base),
                (f"{weight(each.probability, precision):>{digits}} ", palette.head),
                (bar(each.probability / full, cells), palette.head),
                (f" {each.token.id:>{id_cells}}", palette.dim),
            ]
        )
    rest = rest_in_words(prediction, precision)
    return lines + [[(f" {line}", palette.dim)] for line in wrap(rest, width - 2) if rest]


def full_bar(prediction: Prediction) -> float:
    """The probability of a full bar."""
    return min(1.0, nice_ceiling(prediction.top[0].probability))


class PredictionsPane(Pane):
    """See what the model expects, at each place of the text."""

    _count = 0  # lines, shown or not

    def title(self, scene: Scene, palette: Palette) -> Line:
        from core.predictions import follows  # not needed for the first frame

        ahead = follows(scene.trace)
        message = _("What follows {token}") if ahead else _("What {token} could be")
        return around(message, label(scene.query_token), palette, self.title_cells)

    def foot(self, scene: Scene) -> list[str]:
        prediction = scene.prediction
        if prediction is None or isinstance(prediction, AttnError):
            return []
        facts = []
        shown = self.size.height - 2
        if self._count > shown:
            last = min(self.top + shown, self._count) - 1
            some = _("lines {first}–{last} of {n}")
            facts.append(some.format(first=self.top, last=last, n=self._count))
        return [*facts, _("full bar {value:g}").format(value=full_bar(prediction))]

    def body(self, scene: Scene, palette: Palette, width: int, height: int) -> list[Line]:
        lines = self._lines(scene, palette, width)
        self._count = len(lines)
        self.top = max(0, min(self.top, len(lines) - height))
        return lines[self.top : self.top + height]

    def _lines(self, scene: Scene, palette: Palette, width: int) -> list[Line]:
        prediction = scene.prediction
        if prediction is None or isinstance(prediction, AttnError):
            said = nothing_in_words(scene, prediction)
            return [[], *([(f" {line}", palette.base)] for line in wrap(said, width - 2))]
        return prediction_lines(prediction, scene.queries, scene.view.precision, palette, width)


def nothing_in_words(scene: Scene, error: AttnError | None) -> str:
    """Why no prediction is shown."""
    from core.predictions import places, predicted_at

    view = scene.view
    if error is not None:
        return capitalized(visible(str(error)))
    if not scene.trace.whole:
        return _("The last layer is not there yet.")
    if predicted_at(scene.trace, view.attention, view.query) is not None:
        return _("computing…")
    model = scene.trace.request.model
    if isinstance(model, CheckpointModel) and model.writes is not None:
        if scene.trace.decoder is None:
            return _("The decoder predicts the next token of a target: A adds one.")
        return _("The decoder predicts the next token of the target: a chooses its attention.")
    said = (
        _("Choose a token of the text: M masks it, and the model says what could stand there.")
        if scene.query_token.special
        else _(
            "“{token}” can be seen, so there is nothing to guess. M masks it; then the model says"
            " what could stand there."
        ).format(token=label(scene.query_token))
    )
    masked = [f"{index} {full_label(scene.queries[index])}" for index in places(scene.trace)]
    if not masked:
        return said
    return _("{said} Masked so far: {tokens}.").format(said=said, tokens=", ".join(masked[:8]))
