"""Limits as constraints: they do nothing to a pose inside, and bring one that is outside back to them."""

import bpy
import numpy as np
import pytest

from knuckle.hand import kinematics, proportions
from knuckle.hand import rotations as rot
from knuckle.hand.joints import SIDES, Side
from knuckle.rig.keys.take_scene import new_hand
from knuckle.rig.limits.limit_constraints import CONSTRAINT_NAME, add_limits
from knuckle.tests.blender.making import motion


@pytest.mark.parametrize("side", SIDES)
def test_a_pose_inside_is_not_changed_and_one_outside_is_clamped(side: Side) -> None:
    measures = proportions.adult(side)
    hand = proportions.build(measures)
    armature, _ = new_hand(measures, hand, bpy.context.scene.collection)
    pose = motion(hand, 60)
    low, high = hand.limits.T
    # Outside by up to 20 degrees, which no second triple of Euler angles brings back in.
    beyond = pose.angles + np.random.default_rng(1).uniform(-0.35, 0.35, pose.angles.shape)
    free = high > low
    for angles, expected in ((pose.angles, pose.angles), (beyond, np.clip(beyond, low, high))):
        turns = kinematics.joint_rotations(hand, np.where(free, angles, 0.0))
        wanted = kinematics.joint_rotations(hand, np.where(free, expected, 0.0))
        worst = 0.0
        for frame in range(len(turns)):
            for joint, name in enumerate(hand.joints[1:], 1):
                armature.pose.bones[name].rotation_quaternion = turns[frame, joint]
            bpy.context.view_layer.update()
            worst = max(worst, _worst_turn(armature, hand.joints, wanted[frame]))
        assert worst < 1e-4, f"{worst:.1e} degrees > 1e-4"


def _worst_turn(armature: bpy.types.Object, joints: tuple[str, ...], wanted: np.ndarray) -> float:
    """Degrees between the local turns of the bones and those wanted (J, 4)."""
    worst = 0.0
    for joint, name in enumerate(joints[1:], 1):
        bone = armature.pose.bones[name]
        if CONSTRAINT_NAME not in bone.constraints:
            continue
        local = bone.bone.convert_local_to_pose(
            bone.matrix,
            bone.bone.matrix_local,
            parent_matrix=bone.parent.matrix,
            parent_matrix_local=bone.parent.bone.matrix_local,
            invert=True,
        )
        seen = rot.from_matrix(np.array(local.to_3x3().normalized(), float))
        apart = rot.multiply(rot.conjugate(wanted[joint]), seen)
        worst = max(worst, float(np.degrees(2 * np.linalg.norm(apart[1:]))))
    return worst


def test_bones_that_do_not_move_are_locked_and_limits_are_replaced_not_added() -> None:
    measures = proportions.adult("right")
    hand = proportions.build(measures)
    armature, binding = new_hand(measures, hand, bpy.context.scene.collection)
    add_limits(armature, binding, hand)
    for joint, name in enumerate(hand.joints):
        bone = armature.pose.bones[name]
        moves = joint in hand.axis_joint
        assert [constraint.name for constraint in bone.constraints] == ([CONSTRAINT_NAME] if moves else [])
        if joint and not moves:
            assert all(bone.lock_rotation)
    pip = armature.pose.bones["index-finger-phalanx-intermediate"]
    assert list(pip.lock_rotation) == [False, True, True]
    assert np.degrees(pip.constraints[CONSTRAINT_NAME].min_x) == pytest.approx(-110)
