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


def mirrored(rig_hand: RigHand, state: HandState, target_hand: RigHand, present: HandState) -> HandState:
    """Return the state of a hand that is the mirror image of another hand's state; its wrist stays.

    Angles are equal on both hands. A bone's rotation on top of them is transformed into its joint's frame, mirrored,
    and transformed into the other bone's frame. Joints that only one hand has keep their state.

    Args:
        rig_hand: the hand to mirror.
        state: its state.
        target_hand: the other hand.
        present: the current state of the other hand.
    """
    angles = present.pose.angles.copy()
    for dof, movement in enumerate(target_hand.hand.movements):
        source_dof = rig_hand.hand.dof(target_hand.hand.joints[target_hand.hand.axis_joint[dof]], movement)
        if source_dof is not None:
            angles[0, dof] = np.clip(state.pose.angles[0, source_dof], *target_hand.hand.limits[dof])
    beyond = dict(present.beyond)
    for joint in set(digit_joints(rig_hand)) & set(digit_joints(target_hand)):
        beyond[joint] = _mirrored_bone(rig_hand, target_hand, joint, state.beyond[joint])
    return HandState(Pose(target_hand.hand, present.pose.root, angles), beyond)


def _mirrored_bone(
    rig_hand: RigHand, target_hand: RigHand, joint: int, on_top: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return the mirrored translation (3,) and rotation (4,) for the other hand's bone."""
    bindings = rig_hand.binding, target_hand.binding
    frames = [binding.rest_to_bone[joint, :3, :3] for binding in bindings]
    source, target_frame = (rot.from_matrix(frame) for frame in frames)
    translation, rotation = on_top
    in_joint = rot.multiply(rot.multiply(source, rotation), rot.conjugate(source)) * [1.0, *mirror.AXIS_SIGNS]
    axes = [frame @ binding.location_axes[joint] for frame, binding in zip(frames, bindings, strict=True)]
    moved: Floats = axes[1].T @ (mirror.POINT_SIGNS * (axes[0] @ translation))
    return moved, rot.multiply(rot.multiply(rot.conjugate(target_frame), in_joint), target_frame)
