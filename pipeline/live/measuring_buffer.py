"""The first moment of a hand: what comes of it is gathered until the hand can be measured."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ...capture.markers import Markers
from ...hand.joints import Side
from ...hand.measured_hand import MeasuredHand
from .. import assignment as assigning
from ..recipe import Recipe

Floats = NDArray[np.float64]

ENOUGH = 30
"""Frames in which a hand is seen before it is measured."""
LONGEST = 1.0
"""s of frames after which what there is must do."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuringResult:
    """A hand of which enough was seen."""

    labels: tuple[str, ...]
    """(T,)"""
    side: Side
    """As its shape says."""
    measured: MeasuredHand
    times: Floats
    """(F,) s"""
    positions: Floats
    """(F, T, 3) m, NaN where not seen."""
    turns: Floats
    """(F, T, 4) wxyz as the device has them, NaN where not told."""


@dataclass(slots=True, eq=False)
class MeasuringBuffer:
    """One hand's labels (T,) and what came of them so far."""

    labels: tuple[str, ...]
    _seen: list[tuple[float, Floats, Floats]] = field(default_factory=list)

    def add(self, time: float, positions: Floats, turns: Floats) -> bool:
        """Takes a frame, positions (T, 3) m and turns (T, 4); whether there is enough."""
        if self._seen and time < self._seen[-1][0]:
            # The device's clock began anew.
            self._seen.clear()
        if not np.isfinite(positions).any() or (self._seen and time == self._seen[-1][0]):
            return False
        self._seen.append((time, positions, turns))
        return len(self._seen) >= ENOUGH or time - self._seen[0][0] >= LONGEST

    def end(self, recipe: Recipe) -> MeasuringResult:
        """The hand, as the recipe's performer has it or measured on what was seen; what was seen is forgotten.

        Raises KnuckleError for a hand that cannot be solved, or that the recipe does not ask for.
        """
        seen, self._seen = self._seen, []
        times = np.array([time for time, _, _ in seen])
        positions = np.stack([places for _, places, _ in seen])
        markers = Markers(self.labels, times, positions, source=recipe.capture, rate=0.0, unit="m")
        own = replace(recipe, markers=_map_of(recipe, self.labels), markers_on="joints")
        person, assigned = assigning.calibrate(own, markers, assigning.assignment(own, markers))
        (side,) = assigned.hands
        return MeasuringResult(
            self.labels, side, person.hands[side], times, positions, np.stack([turns for _, _, turns in seen])
        )


def _map_of(recipe: Recipe, labels: tuple[str, ...]) -> "dict[str, dict[str, object]] | None":
    """What the recipe's marker map says of some labels."""
    parts = {
        side: {label: spot for label, spot in own.items() if label in labels}
        for side, own in (recipe.markers or {}).items()
    }
    return {side: own for side, own in parts.items() if own} or None
