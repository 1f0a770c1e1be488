"""Rigs dragged: the bone's end comes to where it is dragged, pins hold, and all comes back exactly."""

from dataclasses import replace

import bpy
import numpy as np
import pytest

from knuckle.errors import RigError
from knuckle.hand import kinematics
from knuckle.hand import rotations as rot
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, KNUCKLES
from knuckle.hand.kinematics import Pose
from knuckle.posing.dragging import NEAREST, WRIST, Pin
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.posing.dragging import RigDrag, move, restore_pose, start_rig_drag
from knuckle.rig.posing.following import HandArm, hand_arm_of
from knuckle.rig.posing.posable_model import fitted_to_evaluated
from knuckle.rig.posing.rig_hand import HandState
from knuckle.tests.blender.making import Floats, motion
from knuckle.tests.blender.test_held import armature, channels, default

__all__ = ["armature"]

TIPS = {digit: joints[-1] for digit, joints in CHAIN_JOINTS.items()}


@pytest.fixture
def hand_arm(armature: bpy.types.Object) -> HandArm:
    """A hand somewhat bent, and each bone that a person may turn turned a little as no hand moves."""
    bpy.context.view_layer.update()
    hand_arm = hand_arm_of(armature, find_hands(armature)[-1])
    stands = hand_arm.rig_hand.read()
    bends = np.array(hand_arm.rig_hand.hand.movements) == "flexion"
    low, high = hand_arm.rig_hand.hand.limits.T
    angles = np.where(bends, np.clip(0.35, low, high), 0.0)[None]
    hand_arm.rig_hand.write(HandState(Pose(hand_arm.rig_hand.hand, stands.pose.root, angles), stands.beyond))
    rng = np.random.default_rng(1)
    for joint in hand_arm.rig_hand.binding.mapped[1:]:
        bone = armature.pose.bones[str(hand_arm.rig_hand.binding.bones[joint])]
        if all(bone.lock_rotation):
            continue
        turn = rot.multiply(np.array(bone.matrix_basis.to_quaternion()), _small(rng))
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = turn.tolist()
    bpy.context.view_layer.update()
    return hand_arm


def _small(rng: np.random.Generator) -> Floats:
    turn = np.array([1.0, *(0.04 * rng.normal(size=3))])
    small: Floats = turn / np.linalg.norm(turn)
    return small


def place(hand_arm: HandArm, joint: str) -> Floats:
    """(3,) m, where the rig has a joint."""
    bpy.context.view_layer.update()
    seen: Floats = hand_arm.rig_hand.evaluated_frames()[JOINT_INDEX[joint], :3, 3]
    return seen


def dragged_to(of: RigDrag, goal: Floats, steps: int = 8) -> Pose:
    last = None
    for part in np.linspace(0.0, 1.0, steps + 1):
        last = move(of, of.position + part * (goal - of.position), last)
    assert last is not None
    bpy.context.view_layer.update()
    return last.pose


def inwards(hand_arm: HandArm, way: tuple[float, float, float]) -> Floats:
    """A way in the wrist's frame, in hands of 100 mm, in the world."""
    hand = hand_arm.rig_hand.hand
    size = float(np.linalg.norm([hand.rest[JOINT_INDEX[joint], :3, 3] for joint in CHAIN_JOINTS["middle-finger"][1:]]))
    turned: Floats = hand_arm.rig_hand.evaluated_frames()[0, :3, :3] @ np.array(way) * size
    return turned


def test_a_drag_to_where_it_is_moves_no_bone_and_is_taken_back_exactly(hand_arm: HandArm) -> None:
    rig = bpy.data.objects[hand_arm.rig_hand.binding.armature]
    before, exact = np.array([bone.matrix for bone in rig.pose.bones]), channels(rig)
    for joint in (WRIST, KNUCKLES[1], "index-finger-phalanx-intermediate", *TIPS.values()):
        if joint == WRIST and hand_arm.fixed:
            with pytest.raises(RigError):
                start_rig_drag(hand_arm, joint)
            continue
        of = start_rig_drag(hand_arm, joint)
        np.testing.assert_allclose(of.position, place(hand_arm, joint), atol=1e-6)
        move(of, of.position)
        bpy.context.view_layer.update()
        np.testing.assert_allclose([np.array(bone.matrix) for bone in rig.pose.bones], before, atol=2e-5)
        dragged_to(of, of.position + inwards(hand_arm, (0.1, -0.2, -0.3)), 2)
        assert np.abs(channels(rig) - exact).max() > 1e-3
        restore_pose(of)
        assert np.array_equal(channels(rig), exact)
        bpy.context.view_layer.update()


@pytest.mark.parametrize("solver", [NEAREST, "cga", "whole-hand"])
def test_the_rigs_own_fingertip_comes_to_where_it_is_dragged(hand_arm: HandArm, solver: str) -> None:
    low, high = hand_arm.rig_hand.hand.limits.T
    for digit in DIGITS:
        of = start_rig_drag(hand_arm, TIPS[digit], solver=solver)
        own = np.isin(of.drag.hand.axis_joint, list(of.joints))
        bends = own & (np.array(hand_arm.rig_hand.hand.movements) == "flexion")
        angles = of.start.pose.angles + np.where(bends, 0.3, 0.0)
        there = Pose(of.drag.hand, of.start.pose.root, np.clip(angles, low, high))
        goal = kinematics.joint_frames(of.drag.hand, there)[0, JOINT_INDEX[TIPS[digit]], :3, 3]
        dragged_to(of, goal)
        off = 1000 * float(np.linalg.norm(place(hand_arm, TIPS[digit]) - goal))
        assert off < 0.5, f"{digit} {off:.2f} mm > 0.5 mm"
        assert set(of.joints) <= {JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]}


def test_pinned_fingertips_of_the_rig_stay_while_the_hand_moves(hand_arm: HandArm) -> None:
    places = {digit: place(hand_arm, TIPS[digit]) for digit in ("thumb", "index-finger", "ring-finger")}
    for joint in (KNUCKLES[2], WRIST) if not hand_arm.fixed else (KNUCKLES[2],):
        of = start_rig_drag(hand_arm, joint, [Pin(digit, there) for digit, there in places.items()])
        dragged_to(of, of.position + inwards(hand_arm, (0.02, -0.05, 0.06)))
        for digit, there in places.items():
            off = 1000 * float(np.linalg.norm(place(hand_arm, TIPS[digit]) - there))
            assert off < 0.5, f"{digit} {off:.2f} mm > 0.5 mm"
        assert np.linalg.norm(place(hand_arm, joint) - of.position) > 0.01 * np.linalg.norm(
            inwards(hand_arm, (1.0, 0.0, 0.0))
        )


def test_the_palm_comes_along_with_the_arm_and_keeps_its_turn(hand_arm: HandArm) -> None:
    if hand_arm.fixed:
        pytest.skip("nothing moves its wrist")
    bones = bpy.data.objects[hand_arm.rig_hand.binding.armature].pose.bones
    turn = hand_arm.rig_hand.evaluated_frames()[0, :3, :3]
    shoulder = bones[hand_arm.arm.upper].matrix.translation.copy() if hand_arm.arm else None
    of = start_rig_drag(hand_arm, WRIST)
    goal = of.position + inwards(hand_arm, (-0.3, -0.4, 0.2))
    dragged_to(of, goal)
    assert 1000 * np.linalg.norm(place(hand_arm, WRIST) - goal) < 0.5
    np.testing.assert_allclose(hand_arm.rig_hand.evaluated_frames()[0, :3, :3], turn, atol=2e-3)
    if hand_arm.arm and shoulder:
        assert (bones[hand_arm.arm.upper].matrix.translation - shoulder).length < 1e-5


def test_a_hand_bent_as_it_stands_is_where_the_bones_are(hand_arm: HandArm) -> None:
    held, stands = fitted_to_evaluated(hand_arm.rig_hand, hand_arm.rig_hand.read())
    there = [JOINT_INDEX[TIPS[digit]] for digit in held.digits]
    for angles in (stands.pose.angles[0], *motion(held.hand, 3).angles):
        pose = Pose(held.hand, stands.pose.root, angles[None])
        held.write(HandState(pose, stands.beyond))
        bpy.context.view_layer.update()
        frames, seen = kinematics.joint_frames(held.hand, pose)[0], hand_arm.rig_hand.evaluated_frames()
        np.testing.assert_allclose(frames[there, :3, 3], seen[there, :3, 3], atol=1e-5)


def test_a_digit_that_the_rig_lacks_is_reported() -> None:
    armature = default()
    found = find_hands(armature)[0]
    lacking = {joint: bone for joint, bone in found.bones.items() if not joint.startswith("ring")}
    hand_arm = hand_arm_of(armature, replace(found, bones=lacking))
    with pytest.raises(RigError, match="no ring-finger-tip"):
        start_rig_drag(hand_arm, "ring-finger-tip")
