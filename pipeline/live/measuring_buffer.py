"""Collect the first frames of a hand until it can be measured."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ...capture.markers import Markers
from ...hand.joints import Side
from ...hand.measured_hand import MeasuredHand
from .. import assignment
from ..recipe import Recipe

Floats = NDArray[np.float64]

MIN_FRAMES = 30
"""Number of frames in which a hand must be seen before it is measured."""
MAX_SECONDS = 1.0
"""s after which a hand is measured even if fewer frames have arrived."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuringResult:
    """A measured hand, and the frames it was measured on."""

    labels: tuple[str, ...]
    """(T,)"""
    side: Side
    """Determined by the hand's shape."""
    measured: MeasuredHand
    times: Floats
    """(F,) s"""
    positions: Floats
    """(F, T, 3) m, NaN where not seen."""
    rotations: Floats
    """(F, T, 4) wxyz in the device's joint frames, NaN where unknown."""


@dataclass(slots=True, eq=False)
class MeasuringBuffer:
    """A buffer for the first frames of one hand with labels (T,)."""

    labels: tuple[str, ...]
    _frames: list[tuple[float, Floats, Floats]] = field(default_factory=list)

    def add(self, time: float, positions: Floats, rotations: Floats) -> bool:
        """Add a frame: positions (T, 3) in m and rotations (T, 4). Returns whether there are enough frames."""
        if self._frames and time < self._frames[-1][0]:
            # The device's clock was reset.
            self._frames.clear()
        if not np.isfinite(positions).any() or (self._frames and time == self._frames[-1][0]):
            return False
        self._frames.append((time, positions, rotations))
        return len(self._frames) >= MIN_FRAMES or time - self._frames[0][0] >= MAX_SECONDS

    def measure(self, recipe: Recipe) -> MeasuringResult:
        """Return the hand of the recipe's performer, or measure it on the frames so far. The frames are cleared.

        Raises KnuckleError for a hand that cannot be solved, or that is not in the recipe.
        """
        times, positions, rotations = (np.array(column) for column in zip(*self._frames, strict=True))
        self._frames = []
        markers = Markers(self.labels, times, positions, source=recipe.capture, rate=0.0, unit="m")
        marker_map = {
            side: {label: spot for label, spot in spots.items() if label in self.labels}
            for side, spots in (recipe.markers or {}).items()
        }
        marker_map = {side: spots for side, spots in marker_map.items() if spots}
        recipe = replace(recipe, markers=marker_map or None)
        # So few frames show too few poses to fit a hand with the markers on its skin.
        performer, assigned = assignment.measure_performer(
            recipe, markers, assignment.assign_hands(recipe, markers), fit_skin=False
        )
        (side,) = assigned.hands
        return MeasuringResult(self.labels, side, performer.hands[side], times, positions, rotations)
