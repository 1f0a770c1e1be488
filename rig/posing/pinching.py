"""Bring a dragged fingertip to the tip of another digit so that their skins touch."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, DIGITS, digit_of
from ...hand.kinematics import Pose, joint_frames, joint_position
from ...posing.dragging import DragStep
from ...posing.dragging.pinch import distance_to_contact, outward_normals
from ...posing.grasping.contact_frames import hand_length
from ...posing.grasping.skin_samples import SkinPoints, thinned
from ..armature_hands import FoundHand
from .dragging import RigDrag, move
from .rig_skin import flesh_of

Floats = NDArray[np.float64]

SPACING = 0.008
"""Hand lengths between the skin points that are used."""
ROUNDS = 4
"""Iterations: the rotation of a fingertip depends on its position."""
DEPTH_TOLERANCE = 5e-4
"""Hand lengths, a tenth of a millimetre of an adult's: the change of depth at which the iteration ends."""
REACH_TOLERANCE = 0.003
"""Hand lengths, half a millimetre of an adult's: a tip that ends farther from its goal does not touch."""


@dataclass(frozen=True, slots=True, eq=False)
class OtherTip:
    """A fingertip that does not move."""

    position: Floats
    """(3,) m in the world."""
    skin: Floats
    """(N, 3) m in the world, of its last phalanx."""
    normals: Floats
    """(N, 3) unit, outwards."""


@dataclass(frozen=True, slots=True, eq=False)
class Pinching:
    """A dragged fingertip and its possible partners: the thumb's tip for a finger, the fingers' tips for a thumb."""

    dragged: RigDrag
    skin: SkinPoints
    others: dict[str, OtherTip]

    def pinch(self, digit: str, goal: Floats, along: Floats, last: DragStep | None) -> tuple[DragStep, Floats] | None:
        """Pose the hand with the skin of the dragged tip on that of another digit.

        Args:
            digit: the other digit.
            goal: (3,) m in the world, under the mouse.
            along: (3,) unit direction of the view. The tip approaches from the side on which it started, or else
                from the other.
            last: the previous step.

        Returns the step and the goal (3,) m in the world; None if the tips do not meet under the mouse.
        """
        drag, tip = self.dragged.drag, self.others[digit]
        goal_at_depth = goal + ((tip.position - goal) @ along) * along
        towards = along if (tip.position - drag.position) @ along >= 0.0 else -along
        for direction in (towards, -towards):
            contact_goal = self._touching(tip, goal_at_depth, direction, last)
            if contact_goal is not None:
                return move(self.dragged, contact_goal, last), contact_goal
        return None

    def _touching(self, tip: OtherTip, goal: Floats, towards: Floats, last: DragStep | None) -> Floats | None:
        """Return the goal (3,) m in the world at which the skins touch; None if they do not or it is out of reach."""
        drag, step = self.dragged.drag, last
        size, change = hand_length(drag.hand), np.inf
        for _ in range(ROUNDS):
            distance = distance_to_contact(
                goal + self._skin_about_tip(step.pose if step else drag.start), tip.skin, tip.normals, towards, size
            )
            if distance is None:
                return None
            goal, change = goal + distance * towards, abs(distance)
            step = drag.step(goal, step)
            if change < DEPTH_TOLERANCE * size:
                break
        off = float(np.linalg.norm(joint_position(step.pose, drag.joint)[0] - goal)) if step else np.inf
        return goal if off < REACH_TOLERANCE * size and change < REACH_TOLERANCE * size else None

    def _skin_about_tip(self, pose: Pose) -> Floats:
        """Return the skin (N, 3) m of the dragged tip in world axes, relative to the tip."""
        points = self.skin.posed(joint_frames(pose.hand, pose))[0]
        about_tip: Floats = points - joint_position(pose, self.dragged.drag.joint)[0]
        return about_tip


def pinching(dragged: RigDrag, found: FoundHand) -> Pinching:
    """Return a dragged fingertip with its partners. Raises RigError if the hand no longer exists."""
    rig_hand, start = dragged.hand_arm.rig_hand, dragged.start.pose
    flesh = flesh_of(rig_hand.armature_object(), found, rig_hand)
    own, spacing = str(digit_of(dragged.drag.joint)), SPACING * hand_length(rig_hand.hand)
    fingers = tuple(digit for digit in DIGITS[1:] if digit in rig_hand.digits)
    others = {}
    for digit in fingers if own == "thumb" else ("thumb",):
        skin = _last_phalanx(flesh, digit, spacing).posed(joint_frames(start.hand, start))[0]
        position = joint_position(start, CHAIN_JOINTS[digit][-1])[0]
        if len(skin) > 8:
            others[digit] = OtherTip(position, skin, outward_normals(skin))
    return Pinching(dragged, _last_phalanx(flesh, own, spacing), others)


def _last_phalanx(flesh: SkinPoints, digit: str, spacing: float) -> SkinPoints:
    own = (flesh.digit == DIGITS.index(digit)) & (flesh.link == 2)
    return thinned(flesh.subset(np.flatnonzero(own)), spacing)
