"""A rig's hand touches points and follows lines and spheres: measured on the armature as Blender evaluates it."""

import bpy
import numpy as np
import pytest
from mathutils import Quaternion
from numpy.typing import NDArray

from knuckle.hand import proportions
from knuckle.hand.joints import CHAIN_JOINTS, JOINT_INDEX, digit_of
from knuckle.posing.following import GuideSphere, HandPath, Tool, along_line, around_sphere
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.binding import posed_frames
from knuckle.rig.keys.take_scene import new_hand
from knuckle.rig.posing.following import HandArm, follow_path, hand_arm_of, key, pose
from knuckle.solvers.solver import limit_excess
from knuckle.tests.blender import rigs

Floats = NDArray[np.float64]
MM = 1e-3
ARMED = ("MakeHuman", "Rigify metarig", "Rigify generated, FK")
FRAMES = np.arange(1.0, 13.0)
PARTS = np.linspace(0.0, 1.0, len(FRAMES))


def opened(name: str) -> bpy.types.Object:
    if name == "Knuckle's own":
        measures = proportions.adult("right")
        return new_hand(measures, proportions.build(measures), bpy.context.scene.collection)[0]
    rig, _, kind = name.partition(", ")
    armature = rigs.RIGS[rig]()[0]
    if kind:
        for side in "LR":
            armature.pose.bones[f"upper_arm_parent.{side}"]["IK_FK"] = 1.0
        armature.update_tag()
    return armature


@pytest.fixture(params=["Knuckle's own", "MakeHuman", "Rigify generated, FK"])
def armature(request: pytest.FixtureRequest) -> bpy.types.Object:
    found = opened(request.param)
    bpy.context.view_layer.update()
    return found


def right(armature: bpy.types.Object) -> HandArm:
    return hand_arm_of(armature, next(found for found in find_hands(armature) if found.side == "right"))


def seen(armature: bpy.types.Object, hand_arm: HandArm, joint: str) -> Floats:
    """(3,) m, where the bones have it: a tip is where the last bone of its digit ends."""
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    binding = hand_arm.rig_hand.binding
    name = binding.bones[JOINT_INDEX[joint]]
    if name is None:
        last = binding.bones[JOINT_INDEX[CHAIN_JOINTS[str(digit_of(joint))][2]]]
        place = posed.pose.bones[str(last)].tail
    else:
        place = posed.pose.bones[name].head
    return np.array(posed.matrix_world @ place)


def seen_turn(bone: bpy.types.PoseBone) -> Floats:
    """(4,) wxyz, how a bone is seen to stand in the one before."""
    return np.array((bone.parent.matrix.inverted() @ bone.matrix).to_quaternion())


def ways(armature: bpy.types.Object, hand_arm: HandArm, frames: Floats, joint: str) -> Floats:
    places = []
    for frame in frames:
        bpy.context.scene.frame_set(int(frame))
        places.append(seen(armature, hand_arm, joint))
    return np.stack(places)


def touching(goal: Floats, tool: Tool) -> HandPath:
    return along_line(tool, goal, np.zeros(3), np.zeros(1))


def near(hand_arm: HandArm, joint: str) -> tuple[Floats, float]:
    """Where the hand's end is, and the hand's length."""
    stands = hand_arm.rig_hand.read().pose
    frames = posed_frames(bpy.data.objects[hand_arm.rig_hand.binding.armature], hand_arm.rig_hand.binding)
    world = np.array(bpy.data.objects[hand_arm.rig_hand.binding.armature].matrix_world)
    place = (world @ frames[JOINT_INDEX[joint], :, 3])[:3]
    middle = (world @ frames[JOINT_INDEX["middle-finger-tip"], :, 3])[:3]
    return place, float(np.linalg.norm(middle - stands.root[0, :3, 3]))


@pytest.mark.parametrize("joint", ["wrist", "index-finger-tip", "thumb-tip"])
def test_a_point_in_reach_is_touched(armature: bpy.types.Object, joint: str) -> None:
    hand_arm = right(armature)
    place, size = near(hand_arm, joint)
    inwards = -np.sign(place[0]) if abs(place[0]) > size else 1.0
    goal = place + size * np.array([0.5 * inwards, -0.4, 0.3])
    followed = follow_path(hand_arm, joint, lambda tool: touching(goal, tool))
    pose(hand_arm, followed)
    off = float(np.linalg.norm(seen(armature, hand_arm, joint) - goal))
    assert off < 0.5 * MM, f"{off / MM:.3f} mm > 0.5 mm"
    stands = hand_arm.rig_hand.read()
    assert limit_excess(hand_arm.rig_hand.hand, stands.pose.angles).max() < np.deg2rad(0.05)


@pytest.mark.parametrize("name", ARMED)
def test_a_point_out_of_reach_is_pointed_at(name: str) -> None:
    armature = opened(name)
    bpy.context.view_layer.update()
    hand_arm = right(armature)
    assert hand_arm.arm
    shoulder = np.array(armature.matrix_world @ armature.pose.bones[hand_arm.arm.upper].head)
    place, size = near(hand_arm, "index-finger-tip")
    goal = shoulder + 3 * (place - shoulder) + size * np.array([0.0, -0.5, 0.0])
    followed = follow_path(hand_arm, "index-finger-tip", lambda tool: touching(goal, tool))
    assert followed.path.cases == ("outside",)
    pose(hand_arm, followed)
    tip, wrist = seen(armature, hand_arm, "index-finger-tip"), seen(armature, hand_arm, "wrist")
    way = (goal - shoulder) / np.linalg.norm(goal - shoulder)
    for part in (wrist - shoulder, tip - shoulder):
        aside = np.linalg.norm(part - (part @ way) * way)
        assert aside < 0.5 * MM * max(1.0, size / 0.18), f"{aside / MM:.2f} mm beside the straight way"


@pytest.mark.parametrize("joint", ["index-finger-tip"])
def test_a_line_and_a_sphere_are_followed_in_an_action_of_their_own(armature: bpy.types.Object, joint: str) -> None:
    hand_arm = right(armature)
    place, size = near(hand_arm, joint)
    inwards = -np.sign(place[0]) if abs(place[0]) > size else 1.0
    start, way = place + size * np.array([0.3 * inwards, -0.3, 0.1]), size * np.array([0.2 * inwards, 0.0, 0.5])
    followed = follow_path(hand_arm, joint, lambda tool: along_line(tool, start, way, PARTS), FRAMES)
    action = key(hand_arm, followed, FRAMES, "Line")
    off = np.linalg.norm(ways(armature, hand_arm, FRAMES, joint) - (start + PARTS[:, None] * way), axis=1).max()
    assert off < 0.5 * MM, f"line: {off / MM:.3f} mm > 0.5 mm"
    assert armature.animation_data.action == action
    ball = GuideSphere(tuple((start + 0.2 * size).tolist()), 0.25 * size)
    turn = np.array([0.0, 0.0, np.pi])
    followed = follow_path(hand_arm, joint, lambda tool: around_sphere(tool, ball, turn, PARTS, aim=False), FRAMES)
    assert key(hand_arm, followed, FRAMES, "Sphere") != action
    places = ways(armature, hand_arm, FRAMES, joint)
    off = np.abs(np.linalg.norm(places - ball.centre, axis=1) - ball.radius).max()
    assert off < 0.5 * MM, f"sphere: {off / MM:.3f} mm > 0.5 mm"
    assert np.linalg.norm(places[0] - places[-1]) > 0.5 * ball.radius


def test_a_finger_that_was_posed_as_no_finger_bends_touches_where_it_is_seen(armature: bpy.types.Object) -> None:
    hand_arm = right(armature)
    binding = hand_arm.rig_hand.binding
    bone = armature.pose.bones[str(binding.bones[JOINT_INDEX["index-finger-phalanx-intermediate"]])]
    bone.rotation_mode = "QUATERNION"
    bone.rotation_quaternion = Quaternion((0.3, 0.5, 0.8), 0.4)
    bpy.context.view_layer.update()
    place, size = near(hand_arm, "index-finger-tip")
    turned = seen_turn(bone)
    inwards = -np.sign(place[0]) if abs(place[0]) > size else 1.0
    goal = place + size * np.array([0.4 * inwards, -0.3, 0.2])
    pose(hand_arm, follow_path(hand_arm, "index-finger-tip", lambda tool: touching(goal, tool)))
    off = float(np.linalg.norm(seen(armature, hand_arm, "index-finger-tip") - goal))
    assert off < 0.5 * MM, f"{off / MM:.3f} mm > 0.5 mm"
    np.testing.assert_allclose(seen_turn(bone), turned, atol=1e-4, err_msg="its turn is a person's")


def test_the_elbow_stays_behind_wherever_the_wrist_has_been() -> None:
    """From in front of the chest down to the hip: an elbow that pointed to where it was would bend the other way."""
    armature = opened("MakeHuman")
    bpy.context.view_layer.update()
    hand_arm = right(armature)
    assert hand_arm.arm
    shoulder = np.array(armature.matrix_world @ armature.pose.bones[hand_arm.arm.upper].head)
    for way in ([0.2, -0.35, -0.05], [-0.4, -0.25, -0.1], [0.05, -0.5, 0.1], [0.0, -0.2, -0.45]):
        goal = shoulder + way
        pose(hand_arm, follow_path(hand_arm, "index-finger-tip", lambda tool, goal=goal: touching(goal, tool)))
    elbow = np.array(armature.matrix_world @ armature.pose.bones[hand_arm.arm.fore].head)
    wrist = seen(armature, hand_arm, "wrist")
    along = (wrist - shoulder) / np.linalg.norm(wrist - shoulder)
    aside = elbow - shoulder - ((elbow - shoulder) @ along) * along
    assert aside[1] > 0.5 * np.linalg.norm(aside), "the body looks along -Y"


def test_alone_the_digit_reaches_and_nothing_else_moves(armature: bpy.types.Object) -> None:
    hand_arm = right(armature)
    place, size = near(hand_arm, "index-finger-tip")
    stands = hand_arm.rig_hand.read().pose
    goal = place + 0.15 * size * (stands.root[0, :3, 3] - place) / np.linalg.norm(stands.root[0, :3, 3] - place)
    goal = goal - 0.1 * size * stands.root[0, :3, 2]
    followed = follow_path(hand_arm, "index-finger-tip", lambda tool: touching(goal, tool), alone=True)
    pose(hand_arm, followed)
    off = float(np.linalg.norm(seen(armature, hand_arm, "index-finger-tip") - goal))
    assert off < 0.5 * MM, f"{off / MM:.3f} mm > 0.5 mm"
    after = hand_arm.rig_hand.read().pose
    np.testing.assert_allclose(after.root, stands.root, atol=1e-5)
    others = [
        d
        for d, j in enumerate(hand_arm.rig_hand.hand.axis_joint)
        if "index" not in hand_arm.rig_hand.hand.joints[int(j)]
    ]
    np.testing.assert_allclose(after.angles[:, others], stands.angles[:, others], atol=1e-4)
