"""A hand of an armature taken hold of, to be posed by a person: what it is, how it stands now, how it shall stand."""

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...hand import joint_rotations
from ...hand import rotations as rot
from ...hand.joints import JOINTS
from ...hand.limits import AngleLimits
from ...hand.measured_hand import MeasuredHand
from ...hand.model import HandModel
from ...hand.proportions import adult
from ...pipeline.retarget import character
from ..armature_hands import FoundHand
from ..bound_hand import bound_hand
from ..limits.rig_limits import allowed_of
from ..rig_query import rig_hand
from .apply_pose import begin_bound
from .rig_hand import RigHand

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]


def take(armature: "Object", found: FoundHand, *, limited: bool = True, further: AngleLimits | None = None) -> RigHand:
    """Takes hold of a hand that `armature_hands.find_hands` found; limited: whether the rig's own limits are obeyed.

    further: degrees, movements that it shall have beside the usual ones, as those of its metacarpals; those of joints
    without a bone are left out. Zero of them, and the twist of fingers at ease, are then as the rig was built.
    Raises RigError as bound_hand and rig_limits.allowed do, HandError for a hand without length.
    """
    more = {of_joint: ends for of_joint, ends in (further or {}).items() if of_joint[0] in found.bones}
    person = MeasuredHand(adult(found.side), {}, limits=more)
    if limited:
        person = person.within(allowed_of(armature, found, person.model).limits)
    binding = bound_hand(armature, found, person.model, limited=limited)
    of = character(person.model, rig_hand(armature, found, binding, person.model))
    hand = of.hand
    if further is not None:
        seen, there = _seen(armature, binding.rest), np.array([bone is not None for bone in binding.bones])
        hand = _at_ease(_with_palm(hand, seen, {JOINTS.index(joint) for joint, _ in more}), seen, there)
    return begin_bound(armature, binding, hand, of.digits)


def _at_ease(hand: HandModel, seen: Floats, there: NDArray[np.bool_]) -> HandModel:
    """The hand at ease with its fingers twisted as its rig has them, which nobody poses; thumbs twist as they oppose.

    seen (J, 3, 3): how joints are turned at rest; there (J,): which have a bone.
    """
    at_rest = joint_rotations.angles_from_rotations(hand, rot.from_matrix(seen)[None], there)[0]
    thumb = np.array([hand.joints[joint].startswith("thumb") for joint in hand.axis_joint])
    twists = (np.array(hand.movements) == "twist") & ~thumb & np.isfinite(at_rest)
    return replace(hand, neutral=np.where(twists, at_rest, hand.neutral))


def _with_palm(hand: HandModel, seen: Floats, joints: Collection[int]) -> HandModel:
    """The hand with zero of some joints where their bones are at rest; seen (J, 3, 3), how all joints are turned there.

    A palm is as the rig has it, and not as the hand that it is measured by.
    """
    rest = np.array(hand.rest)
    for joint in joints:
        turn = np.eye(4)
        turn[:3, :3] = rest[joint, :3, :3].T @ (seen[0].T @ seen[joint])
        rest[joint] = rest[joint] @ turn
        for child in [child for child, parent in enumerate(hand.parents) if parent == joint]:
            rest[child] = turn.T @ rest[child]
    return replace(hand, rest=rest)


def _seen(armature: "Object", frames: Floats) -> Floats:
    """(J, 3, 3) how joints are turned in the world, from frames (J, 4, 4) in armature space, which may be mirrored."""
    axes = np.array(armature.matrix_world)[:3, :3] @ frames[:, :3, :3]
    return rot.frame_from_yz(axes[..., :, 1], axes[..., :, 2])
