"""A job's interface to the armature that it drives: implements pipeline/rig_constraints.py: Rig."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import RigError
from ..hand.joints import Side
from ..hand.limits import RigLimits
from ..hand.model import HandModel
from ..pipeline.recipe import AlignChoice
from ..pipeline.retarget import RestHand
from ..pipeline.rig_constraints import Frames
from ..pipeline.take import SolvedHand
from .armature_hands import FoundHand, find_hands, hands_and_problems
from .binding import RigBinding, joint_points, points_to_world
from .bound_hand import bound_hand
from .character_frames import between_points, forearm_frame_of, hand_to_align, positions_of, wrist_frame
from .keys.keyed_tips import KeyedTips
from .limits.rig_limits import armature_limits
from .linked import ObjectName
from .rest_frames import rest_rotations
from .skin_bones import skin_radii

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RigQuery:
    """Armatures of the open file, looked up by name. Its methods raise RigError if one is gone."""

    names: tuple[ObjectName, ...]
    """One, or more if each has a hand of its own."""

    @classmethod
    def of(cls, *armatures: "Object") -> "RigQuery":
        """Return the query for one or more armatures."""
        return cls(tuple(ObjectName.of(armature) for armature in armatures))

    def limits_of(self, hand: HandModel) -> RigLimits:
        """Return the rig's limits within the hand model's own. Raises RigError as rig_limits.allowed does."""
        return armature_limits(self._with_hand(hand.side), hand)

    def rest_hand(self, hand: HandModel, limited: bool) -> RestHand | None:
        """Return the rig's hand of this side, None without one; see rest_hand_of_side."""
        return rest_hand_of_side(self._with_hand(hand.side), hand, limited)

    def sides_to_align(self, align: AlignChoice, points: Sequence[str] | None, sides: Sequence[Side]) -> set[Side]:
        """Return the sides that have a frame to align to. Raises RigError as character_frames does."""
        if points is not None:
            positions_of(points, len(sides))
            return set(sides)
        found = [hand_to_align(self._with_hand(side), side, align) for side in sides]
        return {hand.side for hand in found if hand is not None}

    def frames_to_align(self, align: AlignChoice, points: Sequence[str] | None, hands: Sequence[SolvedHand]) -> Frames:
        """Return where the rig's hands or forearms are, as pipeline.alignment needs it.

        Raises RigError as character_frames does.
        """
        if points is not None:
            return between_points(hands, points)
        frames: Frames = {}
        for solved in hands:
            armature = self._with_hand(solved.side)
            if align == "forearms":
                frames |= forearm_frame_of(armature, solved)
            else:
                frames |= wrist_frame(armature, solved, at_rest=align == "rest")
        return frames

    def _with_hand(self, side: Side) -> "Object":
        """Return the armature that has a hand of this side, the first of all if none has."""
        armatures = [_found(name) for name in self.names]
        if len(armatures) == 1:
            return armatures[0]
        return next((armature for armature in armatures if side in hands_and_problems(armature)[0]), armatures[0])


def _found(name: ObjectName) -> "Object":
    found = name.find()
    if found is None:
        raise RigError(f"armature '{name.name}' is no longer in this file: nothing was changed")
    return found


def rest_hand_of_side(armature: "Object", hand: HandModel, limited: bool) -> RestHand | None:
    """Return an armature's hand of this side in its world size; None if there is none.

    The wrist's frame is the one used for keying: the hand model's, fitted to the rig's palm. limited: whether to read
    the rig's limits.
    """
    found = next((found for found in find_hands(armature, [hand.side]) if found.side == hand.side), None)
    if found is None:
        return None
    at_rest = rest_hand(armature, found, bound_hand(armature, found, hand, limited=limited), hand)
    return replace(at_rest, radii=skin_radii(armature, found))


def rest_hand(armature: "Object", found: FoundHand, binding: RigBinding, hand: HandModel) -> RestHand:
    """Return a found hand in its world size; the wrist's frame is the hand model's, fitted to the rig's palm."""
    points = joint_points(armature, found.bones)
    world_joints = points_to_world(armature, points)
    joints: Floats = (world_joints - world_joints[0]) @ rest_rotations(hand, world_joints)[0]
    tips = KeyedTips(binding, points, np.array(armature.matrix_world)) if binding.limits else None
    return RestHand(joints, tips)
