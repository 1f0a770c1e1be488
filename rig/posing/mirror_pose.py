"""Mirror the state of a hand onto the other hand."""

import numpy as np
from numpy.typing import NDArray

from ...hand import mirror
from ...hand import rotations as rot
from ...hand.joints import DIGITS, digit_of
from ...hand.kinematics import Pose
from .rig_hand import HandState, RigHand

Floats = NDArray[np.float64]


def digit_joints(rig_hand: RigHand, digits: tuple[str, ...] = DIGITS) -> list[int]:
    """Return the joints of digits that have a bone, parents first, without the wrist."""
    joints = rig_hand.hand.joints
    return [joint for joint in rig_hand.binding.mapped if digit_of(joints[joint]) in digits]


def mirrored(rig_hand: RigHand, state: HandState, other: RigHand, there: HandState) -> HandState:
    """Return the state of a hand that is the mirror image of another hand's state; its wrist stays.

    Angles are equal on both hands. A bone's rotation on top of them is transformed into its joint's frame, mirrored,
    and transformed into the other bone's frame. Joints that only one hand has keep their state.

    Args:
        held: the hand to be mirrored.
        stands: its state.
        other: the other hand.
        there: its present state.
    """
    angles = there.pose.angles.copy()
    for dof, movement in enumerate(other.hand.movements):
        like = rig_hand.hand.dof(other.hand.joints[other.hand.axis_joint[dof]], movement)
        if like is not None:
            angles[0, dof] = np.clip(state.pose.angles[0, like], *other.hand.limits[dof])
    beyond = dict(there.beyond)
    for joint in set(digit_joints(rig_hand)) & set(digit_joints(other)):
        beyond[joint] = _seen(rig_hand, other, joint, state.beyond[joint])
    return HandState(Pose(other.hand, there.pose.root, angles), beyond)


def _seen(rig_hand: RigHand, other: RigHand, joint: int, on_top: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Return the mirrored translation (3,) and rotation (4,) for the other hand's bone."""
    frames = [one.binding.rest_to_bone[joint, :3, :3] for one in (rig_hand, other)]
    turns = [rot.from_matrix(frame) for frame in frames]
    way, turn = on_top
    in_joint = rot.multiply(rot.multiply(turns[0], turn), rot.conjugate(turns[0])) * [1.0, *mirror.AXIS_SIGNS]
    axes = [frame @ one.binding.location_axes[joint] for frame, one in zip(frames, (rig_hand, other), strict=True)]
    moved: Floats = axes[1].T @ (mirror.POINT_SIGNS * (axes[0] @ way))
    return moved, rot.multiply(rot.multiply(rot.conjugate(turns[1]), in_joint), turns[1])
