"""Distinguish a left hand's landmarks from a right one's.

The picture alone does not distinguish a right hand's palm from a left hand's back. The detector's depths do, unless
the hand is flat and faces the camera: then only the look of skin and nails does, which the detector has seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ..joints import SIDES, Side
from ..mirror import other_side

CERTAIN_DIFFERENCE = 0.2
"""Difference of the costs of both sides, as a fraction of their sum, below which the landmarks hardly show the side."""


@dataclass(frozen=True, slots=True)
class SideCosts:
    """The costs of fitting landmarks as those of a left and of a right hand."""

    costs: Mapping[Side, float]
    claim: Side | None
    """The side that the source claims; None if that is not known, or may be a mirror's."""

    @property
    def is_certain(self) -> bool:
        """Whether one side costs much more than the other."""
        low, high = sorted(self.costs.values())
        return high - low > CERTAIN_DIFFERENCE * (high + low)

    @property
    def is_known(self) -> bool:
        """Whether anything shows the side."""
        return self.is_certain or self.claim is not None

    @property
    def side(self) -> Side:
        """The likelier side: the one that costs less, unless that is not certain and the source claims the other."""
        cheaper = min(SIDES, key=lambda candidate: self.costs[candidate])
        return cheaper if self.is_certain or self.claim is None else self.claim

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that are possible, the likelier first."""
        return (self.side,) if self.is_certain else (self.side, other_side(self.side))
