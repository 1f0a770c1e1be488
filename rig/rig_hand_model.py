"""The model of a rig's hand: with its size, palm, bone lengths and limits."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..hand import joint_rotations
from ..hand import rotations as rot
from ..hand.joints import JOINTS
from ..hand.limits import AngleLimits
from ..hand.measured_hand import MeasuredHand
from ..hand.model import HandModel
from ..hand.proportions import adult
from ..pipeline.retarget import build_character
from .armature_hands import FoundHand
from .binding import RigBinding
from .bound_hand import bound_hand
from .limits.rig_limits import found_hand_limits
from .rig_query import rest_hand

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RigHandModel:
    """A hand of an armature as a model, and its bones."""

    binding: RigBinding
    hand: HandModel
    digits: tuple[str, ...]
    """Digits that the rig has, thumb first."""


def rig_hand_model(
    armature: "Object", found: FoundHand, *, limited: bool = True, further: AngleLimits | None = None
) -> RigHandModel:
    """Return the model of a detected hand.

    Args:
        armature: the armature.
        found: its hand, from armature_hands.find_hands.
        limited: whether the rig's own limits apply.
        further: degrees, limits of movements besides the usual ones, such as those of the metacarpals; those of joints
            without a bone are left out. Their zero, and the twist of relaxed fingers, are then the rig's rest pose.

    Raises:
        RigError: as bound_hand and rig_limits.allowed do.
        HandError: the hand has no length.
    """
    more = {of_joint: low_high for of_joint, low_high in (further or {}).items() if of_joint[0] in found.bones}
    person = MeasuredHand(adult(found.side), {}, limits=more)
    if limited:
        person = person.with_rig_limits(found_hand_limits(armature, found, person.model).limits)
    binding = bound_hand(armature, found, person.model, limited=limited)
    character = build_character(person.model, rest_hand(armature, found, binding, person.model))
    hand = character.hand
    if further is not None:
        rotations, mapped = (
            _rest_rotations(armature, binding.rest),
            np.array([bone is not None for bone in binding.bones]),
        )
        hand = _with_neutral_twist(
            _with_palm(hand, rotations, {JOINTS.index(joint) for joint, _ in more}), rotations, mapped
        )
    return RigHandModel(binding, hand, character.digits)


def _with_neutral_twist(hand: HandModel, rotations: Floats, mapped: NDArray[np.bool_]) -> HandModel:
    """Return the hand with the rig's own twist of the fingers as their neutral angles; thumbs twist to oppose.

    rotations: (J, 3, 3) rotations of the joints at rest. mapped: (J,) which joints have a bone.
    """
    at_rest = joint_rotations.angles_from_rotations(hand, rot.from_matrix(rotations)[None], mapped)[0]
    thumb = np.array([hand.joints[joint].startswith("thumb") for joint in hand.axis_joint])
    twists = (np.array(hand.movements) == "twist") & ~thumb & np.isfinite(at_rest)
    return replace(hand, neutral=np.where(twists, at_rest, hand.neutral))


def _with_palm(hand: HandModel, rotations: Floats, joints: Collection[int]) -> HandModel:
    """Return the hand with the zero of some joints at their bones' rest, so that the palm is the rig's.

    rotations: (J, 3, 3) rotations of all joints at rest.
    """
    rest = np.array(hand.rest)
    for joint in joints:
        rotation = np.eye(4)
        rotation[:3, :3] = rest[joint, :3, :3].T @ (rotations[0].T @ rotations[joint])
        rest[joint] = rest[joint] @ rotation
        for child in [child for child, parent in enumerate(hand.parents) if parent == joint]:
            rest[child] = rotation.T @ rest[child]
    return replace(hand, rest=rest)


def _rest_rotations(armature: "Object", frames: Floats) -> Floats:
    """Return rotations (J, 3, 3) in the world of frames (J, 4, 4) in armature space, which may be mirrored."""
    axes = np.array(armature.matrix_world)[:3, :3] @ frames[:, :3, :3]
    return rot.orthonormal(axes)
