"""What the explorer does for the strongest pairs of a head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.language import _
from tui.scene import Scene
from tui.screens.tracing import Part

if TYPE_CHECKING:
    from core.pooling import RankedPair

PANES = ("matrix", "derivation")  # which show a pair


class PairsScreen(Part):
    """The part of the explorer that goes from pair to pair."""

    if TYPE_CHECKING:  # what the explorer itself provides

        def action_pane(self, name: str) -> None: ...
        def _publish(self) -> None: ...
        def warn(self, sentence: str) -> None: ...

    _ranked: tuple[tuple[object, ...], tuple[RankedPair, ...]] = ((), ())
    _reached: RankedPair | None = None  # by the last jump

    def _key(self, scene: Scene) -> tuple[object, ...]:
        """What decides a ranking; the request stands for its trace, which would be kept alive."""
        view = scene.view
        reading = view.reading if self._as_ranked(scene).read is not None else None
        return scene.trace.request, view.attention, view.layer, view.head, reading

    def _as_ranked(self, scene: Scene) -> Scene:
        """As the pane reads it where the pair is seen: the matrix, unless the derivation is."""
        return scene if scene.view.pane == "derivation" else self.state.as_read(scene)

    def rank(self) -> int | None:
        """Which pair was jumped to, counted from 0; None once something else is selected."""
        scene, reached = self.state.scene, self._reached
        if scene is None or reached is None or self._ranked[0] != self._key(scene):
            return None
        if (scene.view.query, scene.view.key) != (reached.query, reached.key):
            return None
        places = ((pair.query, pair.key) for pair in self._ranked[1])  # their weights may be new
        return next((n for n, at in enumerate(places) if at == reached[:2]), None)

    def _ranking(self, scene: Scene) -> tuple[RankedPair, ...]:
        """The strongest pairs of the selected head, found once."""
        key = self._key(scene)
        if self._ranked[0] != key:
            from tui.widgets.pooled import strongest_pairs  # not needed for the first frame

            self._ranked = (key, strongest_pairs(self._as_ranked(scene)))
        return self._ranked[1]

    def action_pair(self, by: int) -> None:
        """Select the next weaker pair (1) or the next stronger one (-1); the strongest first."""
        scene = self.state.scene
        if scene is None:
            return
        pairs, view = self._ranking(scene), scene.view
        if not pairs:
            self.warn(_("this head has no pair: every key is masked or dropped"))
            return
        rank, last = self.rank(), len(pairs) - 1
        place = 0 if rank is None else rank + by
        if place > last:
            said = _("these are the {n} strongest pairs of the head; B goes back")
            self.warn(said.format(n=len(pairs)))
        self._reached = pairs[max(0, min(place, last))]
        self.state.select(query=self._reached.query, key=self._reached.key)
        if view.pane in PANES:
            self._publish()  # its rank too, where the pair was selected before
        else:
            self.action_pane("matrix")
