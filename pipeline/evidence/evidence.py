"""Evidence of the reliability of each frame of a solved take, by hand, part of the hand and measure."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import DIGITS, Side

Values = NDArray[np.float32]
Floats = NDArray[np.float64]

PARTS = (*DIGITS, "palm")
"""The parts of a hand that have evidence."""
PALM = len(DIGITS)
"""Index of the palm in PARTS."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One kind of evidence."""

    name: str
    unit: str
    """mm, deg, m/s3, or a fraction from 0 to 1."""
    meaning: str
    """Description for documentation and error messages."""

    @property
    def figure(self) -> str:
        """The name with its unit, such as `tip_error_mm`, as conditions on a take call it."""
        return self.name + {"mm": "_mm", "deg": "_deg", "m/s3": "_m_s3"}.get(self.unit, "")


MEASURES = (
    Measure("tip_error", "mm", "distance of the fingertip from its marker"),
    Measure("marker_error", "mm", "distance of the part's markers from the hand, of the farthest"),
    Measure("marker_leap", "mm", "how far a marker left the straight line through the frames before and after"),
    Measure("joint_leap", "deg", "rotation of a joint since the frame before beyond what its markers' motion explains"),
    Measure("jerk", "m/s3", "jerk of the fingertip in the hand, or of the wrist in the world"),
    Measure("predicted", "share", "joints of the part that no measured marker determines"),
    Measure("unseen", "share", "markers of the part that were not measured"),
    Measure("corrected", "share", "markers of the part that cleaning removed, or whose swapped labels were undone"),
    Measure("at_limit", "share", "angles of the part that are at a joint limit"),
    Measure("depth", "mm", "how deep the part's skin is in other digits or the palm"),
    Measure("label_doubt", "share", "probability that a label of the part is wrong, of the most doubtful"),
)
MEASURE_INDEX: Mapping[str, int] = {measure.name: index for index, measure in enumerate(MEASURES)}


@dataclass(frozen=True, slots=True, eq=False)
class HandEvidence:
    """The evidence of one hand of a take."""

    side: Side
    values: Values
    """(F, P, K) for F frames, the P parts and the K measures, in their units; NaN where it is not known."""

    def of(self, measure: str) -> Values:
        """Return (F, P), the values of a measure."""
        measure_values: Values = self.values[..., MEASURE_INDEX[measure]]
        return measure_values


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The evidence of a take of F frames."""

    times: Floats
    """(F,) s, on the capture's clock."""
    hands: tuple[HandEvidence, ...]

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays of `--evidence`: times, names and units, and for each hand `left_evidence` (F, P, K)."""
        arrays: dict[str, NDArray[np.generic]] = {
            "times": self.times,
            "parts": np.array(PARTS),
            "measures": np.array([measure.name for measure in MEASURES]),
            "units": np.array([measure.unit for measure in MEASURES]),
        }
        return arrays | {f"{hand.side}_evidence": hand.values for hand in self.hands}
