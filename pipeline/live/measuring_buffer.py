"""Collect the first frames of a hand until it can be measured."""

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
"""Frames in which a hand must be seen before it is measured."""
LONGEST = 1.0
"""s after which a hand is measured even if fewer frames have arrived."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuringResult:
    """A measured hand, and the frames it was measured on."""

    labels: tuple[str, ...]
    """(T,)"""
    side: Side
    """Found from its shape."""
    measured: MeasuredHand
    times: Floats
    """(F,) s"""
    positions: Floats
    """(F, T, 3) m, NaN where not seen."""
    turns: Floats
    """(F, T, 4) wxyz in the device's joint frames, NaN where unknown."""


@dataclass(slots=True, eq=False)
class MeasuringBuffer:
    """The labels (T,) of one hand, and its frames so far."""

    labels: tuple[str, ...]
    _seen: list[tuple[float, Floats, Floats]] = field(default_factory=list)

    def add(self, time: float, positions: Floats, turns: Floats) -> bool:
        """Add a frame: positions (T, 3) in m and rotations (T, 4). Returns whether there are enough frames."""
        if self._seen and time < self._seen[-1][0]:
            # The device's clock was reset.
            self._seen.clear()
        if not np.isfinite(positions).any() or (self._seen and time == self._seen[-1][0]):
            return False
        self._seen.append((time, positions, turns))
        return len(self._seen) >= ENOUGH or time - self._seen[0][0] >= LONGEST

    def end(self, recipe: Recipe) -> MeasuringResult:
        """Take the hand from the recipe's performer, or measure it on the frames so far. Clears the frames.

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
    """Return the part of the recipe's marker map for these labels; None if there is none."""
    parts = {
        side: {label: spot for label, spot in own.items() if label in labels}
        for side, own in (recipe.markers or {}).items()
    }
    return {side: own for side, own in parts.items() if own} or None
