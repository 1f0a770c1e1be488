"""A hand as a live session displays it, and what the session knows of the rig that the hand drives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ...hand.forearm import WristForearm
from ...hand.joints import Side
from ...hand.kinematics import Pose
from ...hand.limits import RigLimits
from ...hand.measured_hand import MeasuredHand
from ...hand.mesh.surface import Surface
from ...hand.model import HandModel


@dataclass(frozen=True, slots=True, eq=False)
class DrivenHand:
    """What a hand drives."""

    limits: Mapping[Side, RigLimits] = field(default_factory=dict)
    """The rig's limits for each side: the hand's side is not known before it is measured."""
    needs_skin: bool = False
    """Whether it drives a new hand, which needs a skin."""


RigOf = Callable[[str], DrivenHand]
"""Returns what the hand of a name drives."""


def no_rig(_hand: str) -> DrivenHand:
    """Drive no rig: the hand has no limits besides its own."""
    return DrivenHand()


class FollowedHand(Protocol):
    """A hand that is measured and followed, whatever device sends it."""

    @property
    def side(self) -> Side:
        """Its side, found from its shape."""

    @property
    def measured(self) -> MeasuredHand:
        """Its measurements."""

    @property
    def hand(self) -> HandModel:
        """The model of its poses."""

    @property
    def skin(self) -> Surface | None:
        """The skin mesh of a new hand; None if the hand drives a rig."""


@dataclass(frozen=True, slots=True, eq=False)
class DisplayedHand:
    """A hand as it is displayed now."""

    name: str
    """Such as 'right' or 'Anna left'."""
    side: Side
    pose: Pose
    """One frame."""
    lost: bool
    """Whether it is not seen, and is easing to rest or has reached it."""
    missing: int
    """Number of points that were seen before and are not seen now."""
    predicted: bool = False
    """Whether the pose was not measured: the hand was not found in the last frame, or what was found was no hand."""
    forearm: WristForearm | None = None
    """The performer's, one frame; None if the device does not send it."""
