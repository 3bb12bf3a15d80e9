"""What a person does to the wishes and to learning: from a scene to the learning asked for next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.errors import SettingError
from core.language import _
from core.learning_types import Learning, Wish
from core.names import MAX_STEPS
from core.types import Trace
from core.wishes import painted, read_weights, weights_in_words, with_wish
from tui.choices import beside
from tui.scene import Scene

RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
NEAR = 0.001  # of its wish, where a weight has learned enough
_TENTHS = 10


def wish_of(learning: Learning | None, query: int) -> Wish | None:
    """The wish for the row of a query."""
    wishes = learning.wishes if learning else ()
    return next((wish for wish in wishes if wish.query == query), None)


def wished_row(trace: Trace, query: int) -> list[float] | None:
    """The whole row that is wished for, None where there is no wish."""
    history = trace.history
    if history is None or query not in history.queries:
        return None
    row: list[float] = history.wished[history.queries.index(query)].tolist()
    return row


def with_weight(scene: Scene, key: int, weight: float) -> Learning:
    """The selected head shall learn another weight for the selected query.

    Raises
    ------
    SettingError
        The key is masked.
    """
    view = scene.view
    allowed = scene.trace.mask[view.query].tolist()
    if not allowed[key]:
        raise SettingError(
            _("query {query} may not attend to key {key}").format(query=view.query, key=key),
            _("change the mask first"),
        )
    learning = view.request.learning
    wishes = learning.wishes if learning else ()
    return _wishing(scene, painted(wishes, view.query, key, weight, allowed))


def with_tenths(scene: Scene, by: int) -> Learning:
    """The next tenth above (by = 1) or below (by = -1) the selected key's weight."""
    view = scene.view
    row = wished_row(scene.trace, view.query)
    if row is None:
        row = scene.trace.layers[0].pattern[view.head, view.query].tolist()
    tenths = round(row[view.key] * _TENTHS, 6)
    tenth = np.floor(tenths) + 1 if by > 0 else np.ceil(tenths) - 1
    return with_weight(scene, view.key, min(max(float(tenth), 0.0), _TENTHS) / _TENTHS)


def with_words(scene: Scene, text: str) -> Learning | None:
    """The wish for the selected query as a person typed it; nothing takes it back.

    Raises
    ------
    SettingError
        It is written otherwise than ``3=0.6,2=0.3``.
    """
    if not text.strip():
        return without_wish(scene)
    learning = scene.view.request.learning
    wish = Wish(scene.view.query, read_weights(text))
    return _wishing(scene, with_wish(learning.wishes if learning else (), wish))


def words_of(scene: Scene) -> str:
    """The wish for the selected query, to be typed over."""
    wish = wish_of(scene.view.request.learning, scene.view.query)
    return weights_in_words(wish) if wish else ""


def without_wish(scene: Scene) -> Learning | None:
    """Take back the wish for the selected query."""
    learning = scene.view.request.learning
    kept = [w for w in (learning.wishes if learning else ()) if w.query != scene.view.query]
    return _wishing(scene, tuple(kept)) if kept else None


def whole_pattern(scene: Scene, back: int) -> Learning:
    """Every token shall attend to the one so many places before it, or else to the first."""
    count = len(scene.keys)
    return _wishing(scene, tuple(Wish(q, ((max(0, q - back), 1.0),)) for q in range(count)))


def _wishing(scene: Scene, wishes: tuple[Wish, ...]) -> Learning:
    """Other wishes, for the selected head; they are learned from the start."""
    learning = scene.view.request.learning or Learning(())
    return replace(learning, wishes=wishes, head=scene.view.head, steps=0)


def stepped(learning: Learning, by: int) -> Learning:
    """Some steps on or back, as far as there are."""
    return replace(learning, steps=max(0, min(learning.steps + by, MAX_STEPS)))


def with_next_rate(learning: Learning, by: int) -> Learning:
    """The next of `RATES` above (by = 1) or below (by = -1)."""
    return replace(learning, rate=beside(RATES, learning.rate, by))


def is_reached(trace: Trace) -> bool:
    """Whether every weight of the rows with a wish is within `NEAR` of it."""
    learning, history = trace.request.learning, trace.history
    if learning is None or history is None:
        return False
    rows = trace.layers[0].pattern[learning.head, list(history.queries)]  # [row, key]
    return bool(np.abs(rows - history.wished).max() <= NEAR)


def ending(trace: Trace) -> str | None:
    """Why learning ends here; None where it may go on."""
    learning = trace.request.learning
    if is_reached(trace):
        return _("reached to within {near} of the wish").format(near=NEAR)
    if learning is not None and learning.steps >= MAX_STEPS:
        return _("{count} steps are the limit").format(count=f"{MAX_STEPS:,}")
    return None
