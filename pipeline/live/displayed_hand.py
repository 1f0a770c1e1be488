"""Hands that a live session displays, and the rigs that they drive."""

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
    """The rig's hand, or new hand, that a live hand drives."""

    limits: Mapping[Side, RigLimits] = field(default_factory=dict)
    """The rig's limits for each side, since the hand's side is not known before it is measured."""
    needs_skin: bool = False
    """Whether the driven hand is a new one, which needs a skin."""


RigOf = Callable[[str], DrivenHand]
"""Returns the rig's hand that a live hand drives. Argument: the live hand's name."""


def no_rig(_hand: str) -> DrivenHand:
    """Return no rig's hand: the live hand has only its own limits."""
    return DrivenHand()


class FollowedHand(Protocol):
    """A hand of any device that is measured and followed."""

    @property
    def side(self) -> Side:
        """Its side, determined by its shape."""

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
    """A hand as it is currently displayed."""

    name: str
    """Name for messages, such as 'right' or 'Anna left'."""
    side: Side
    pose: Pose
    """One frame."""
    lost: bool
    """Whether the hand is not seen, and eases to rest or is at rest."""
    missing: int
    """Number of points that are not seen now but have been before."""
    predicted: bool = False
    """Whether the pose is not measured, because the last frame had no valid detection of the hand."""
    forearm: WristForearm | None = None
    """The performer's forearm, one frame; None if the device does not send it."""
