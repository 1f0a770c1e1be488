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
from knuckle.rig.posing.dragging import RigDrag, begin, move, put_back
from knuckle.rig.posing.following import Follower, follower
from knuckle.rig.posing.posable_model import bent_as_seen
from knuckle.rig.posing.rig_hand import HandState
from knuckle.tests.blender.making import Floats, motion
from knuckle.tests.blender.test_held import armature, channels, default

__all__ = ["armature"]

TIPS = {digit: joints[-1] for digit, joints in CHAIN_JOINTS.items()}


@pytest.fixture
def who(armature: bpy.types.Object) -> Follower:
    """A hand somewhat bent, and each bone that a person may turn turned a little as no hand moves."""
    bpy.context.view_layer.update()
    who = follower(armature, find_hands(armature)[-1])
    stands = who.rig_hand.read()
    bends = np.array(who.rig_hand.hand.movements) == "flexion"
    low, high = who.rig_hand.hand.limits.T
    angles = np.where(bends, np.clip(0.35, low, high), 0.0)[None]
    who.rig_hand.write(HandState(Pose(who.rig_hand.hand, stands.pose.root, angles), stands.beyond))
    rng = np.random.default_rng(1)
    for joint in who.rig_hand.binding.mapped[1:]:
        bone = armature.pose.bones[str(who.rig_hand.binding.bones[joint])]
        if all(bone.lock_rotation):
            continue
        turn = rot.multiply(np.array(bone.matrix_basis.to_quaternion()), _small(rng))
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = turn.tolist()
    bpy.context.view_layer.update()
    return who


def _small(rng: np.random.Generator) -> Floats:
    turn = np.array([1.0, *(0.04 * rng.normal(size=3))])
    small: Floats = turn / np.linalg.norm(turn)
    return small


def place(who: Follower, joint: str) -> Floats:
    """(3,) m, where the rig has a joint."""
    bpy.context.view_layer.update()
    seen: Floats = who.rig_hand.seen_frames()[JOINT_INDEX[joint], :3, 3]
    return seen


def dragged_to(of: RigDrag, goal: Floats, steps: int = 8) -> Pose:
    last = None
    for part in np.linspace(0.0, 1.0, steps + 1):
        last = move(of, of.position + part * (goal - of.position), last)
    assert last is not None
    bpy.context.view_layer.update()
    return last.pose


def inwards(who: Follower, way: tuple[float, float, float]) -> Floats:
    """A way in the wrist's frame, in hands of 100 mm, in the world."""
    hand = who.rig_hand.hand
    size = float(np.linalg.norm([hand.rest[JOINT_INDEX[joint], :3, 3] for joint in CHAIN_JOINTS["middle-finger"][1:]]))
    turned: Floats = who.rig_hand.seen_frames()[0, :3, :3] @ np.array(way) * size
    return turned


def test_a_drag_to_where_it_is_moves_no_bone_and_is_taken_back_exactly(who: Follower) -> None:
    rig = bpy.data.objects[who.rig_hand.binding.armature]
    before, exact = np.array([bone.matrix for bone in rig.pose.bones]), channels(rig)
    for joint in (WRIST, KNUCKLES[1], "index-finger-phalanx-intermediate", *TIPS.values()):
        if joint == WRIST and who.fixed:
            with pytest.raises(RigError):
                begin(who, joint)
            continue
        of = begin(who, joint)
        np.testing.assert_allclose(of.position, place(who, joint), atol=1e-6)
        move(of, of.position)
        bpy.context.view_layer.update()
        np.testing.assert_allclose([np.array(bone.matrix) for bone in rig.pose.bones], before, atol=2e-5)
        dragged_to(of, of.position + inwards(who, (0.1, -0.2, -0.3)), 2)
        assert np.abs(channels(rig) - exact).max() > 1e-3
        put_back(of)
        assert np.array_equal(channels(rig), exact)
        bpy.context.view_layer.update()


@pytest.mark.parametrize("solver", [NEAREST, "cga", "whole-hand"])
def test_the_rigs_own_fingertip_comes_to_where_it_is_dragged(who: Follower, solver: str) -> None:
    low, high = who.rig_hand.hand.limits.T
    for digit in DIGITS:
        of = begin(who, TIPS[digit], solver=solver)
        own = np.isin(of.drag.hand.axis_joint, list(of.joints))
        bends = own & (np.array(who.rig_hand.hand.movements) == "flexion")
        angles = of.start.pose.angles + np.where(bends, 0.3, 0.0)
        there = Pose(of.drag.hand, of.start.pose.root, np.clip(angles, low, high))
        goal = kinematics.joint_frames(of.drag.hand, there)[0, JOINT_INDEX[TIPS[digit]], :3, 3]
        dragged_to(of, goal)
        off = 1000 * float(np.linalg.norm(place(who, TIPS[digit]) - goal))
        assert off < 0.5, f"{digit} {off:.2f} mm > 0.5 mm"
        assert set(of.joints) <= {JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]}


def test_pinned_fingertips_of_the_rig_stay_while_the_hand_moves(who: Follower) -> None:
    places = {digit: place(who, TIPS[digit]) for digit in ("thumb", "index-finger", "ring-finger")}
    for joint in (KNUCKLES[2], WRIST) if not who.fixed else (KNUCKLES[2],):
        of = begin(who, joint, [Pin(digit, there) for digit, there in places.items()])
        dragged_to(of, of.position + inwards(who, (0.02, -0.05, 0.06)))
        for digit, there in places.items():
            off = 1000 * float(np.linalg.norm(place(who, TIPS[digit]) - there))
            assert off < 0.5, f"{digit} {off:.2f} mm > 0.5 mm"
        assert np.linalg.norm(place(who, joint) - of.position) > 0.01 * np.linalg.norm(inwards(who, (1.0, 0.0, 0.0)))


def test_the_palm_comes_along_with_the_arm_and_keeps_its_turn(who: Follower) -> None:
    if who.fixed:
        pytest.skip("nothing moves its wrist")
    bones = bpy.data.objects[who.rig_hand.binding.armature].pose.bones
    turn = who.rig_hand.seen_frames()[0, :3, :3]
    shoulder = bones[who.arm.upper].matrix.translation.copy() if who.arm else None
    of = begin(who, WRIST)
    goal = of.position + inwards(who, (-0.3, -0.4, 0.2))
    dragged_to(of, goal)
    assert 1000 * np.linalg.norm(place(who, WRIST) - goal) < 0.5
    np.testing.assert_allclose(who.rig_hand.seen_frames()[0, :3, :3], turn, atol=2e-3)
    if who.arm and shoulder:
        assert (bones[who.arm.upper].matrix.translation - shoulder).length < 1e-5


def test_a_hand_bent_as_it_stands_is_where_the_bones_are(who: Follower) -> None:
    held, stands = bent_as_seen(who.rig_hand, who.rig_hand.read())
    there = [JOINT_INDEX[TIPS[digit]] for digit in held.digits]
    for angles in (stands.pose.angles[0], *motion(held.hand, 3).angles):
        pose = Pose(held.hand, stands.pose.root, angles[None])
        held.write(HandState(pose, stands.beyond))
        bpy.context.view_layer.update()
        frames, seen = kinematics.joint_frames(held.hand, pose)[0], who.rig_hand.seen_frames()
        np.testing.assert_allclose(frames[there, :3, 3], seen[there, :3, 3], atol=1e-5)


def test_a_digit_that_the_rig_lacks_is_told() -> None:
    armature = default()
    found = find_hands(armature)[0]
    lacking = {joint: bone for joint, bone in found.bones.items() if not joint.startswith("ring")}
    who = follower(armature, replace(found, bones=lacking))
    with pytest.raises(RigError, match="no ring-finger-tip"):
        begin(who, "ring-finger-tip")
