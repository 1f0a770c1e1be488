"""Rigs that others have made, where they lie beside the checkout: found, driven so that directions are kept."""

from itertools import pairwise

import bpy
import numpy as np
import pytest

from knuckle.hand import kinematics, poses, proportions
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.binding import bind
from knuckle.rig.keys.hand_motion import KeyedHand
from knuckle.rig.keys.keyframes import key_hands
from knuckle.tests.blender.making import evaluated, motion
from knuckle.tests.blender.rigs import rig_file

HANDS = {
    "generic_hand_left.glb": ("WebXR", ["left"], 25),
    "generic_hand_right.glb": ("WebXR", ["right"], 25),
    "makehuman_default.blend": ("MakeHuman", ["left", "right"], 20),
    "makehuman_game_engine.blend": ("Unreal", ["left", "right"], 16),
    "rigify_metarig.blend": ("Rigify metarig", ["left", "right"], 20),
}


@pytest.fixture(params=HANDS)
def armature(request: pytest.FixtureRequest) -> bpy.types.Object:
    if request.param.endswith(".glb"):
        bpy.ops.import_scene.gltf(filepath=str(rig_file(request.param)))
    else:
        bpy.ops.wm.open_mainfile(filepath=str(rig_file(request.param)))
    found = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    found["file"] = request.param
    return found


def test_its_hands_are_found(armature: bpy.types.Object) -> None:
    family, sides, bones = HANDS[armature["file"]]
    found = find_hands(armature)
    assert [hand.side for hand in found] == sides
    assert {(hand.family, len(hand.bones)) for hand in found} == {(family, bones)}


def test_its_bones_point_where_the_performers_do(armature: bpy.types.Object) -> None:
    for found in find_hands(armature):
        hand = proportions.build(proportions.adult(found.side))
        binding = bind(armature, found.side, found.bones, hand)
        pose = motion(hand, 6)
        key_hands(armature, [KeyedHand(binding, hand, pose)], np.arange(1.0, 7.0), "Take")
        solved = kinematics.joint_frames(hand, pose)
        for frame in range(6):
            bpy.context.scene.frame_set(frame + 1)
            seen = evaluated(armature, found.bones)
            for digit in DIGITS:
                chain = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]]
                for joint, following in pairwise(chain[:3]):
                    along = seen[following, :3, 3] - seen[joint, :3, 3]
                    across = np.linalg.norm(np.cross(along, solved[frame, joint, :3, 1]))
                    angle = np.degrees(np.arctan2(across, along @ solved[frame, joint, :3, 1]))
                    assert angle < 0.05, f"{found.side} {digit}: {angle:.3f} degrees > 0.05"


def test_a_fist_brings_every_fingertip_to_the_palm(armature: bpy.types.Object) -> None:
    for found in find_hands(armature):
        hand = proportions.build(proportions.adult(found.side))
        binding = bind(armature, found.side, found.bones, hand)
        angles = np.stack([poses.angles(hand, "open"), poses.angles(hand, "fist")])
        pose = kinematics.Pose(hand, np.tile(np.eye(4), (2, 1, 1)), angles)
        key_hands(armature, [KeyedHand(binding, hand, pose)], np.array([1.0, 2.0]), "Poses")
        palmwards = []
        for frame in (1, 2):
            bpy.context.scene.frame_set(frame)
            seen = evaluated(armature, found.bones)
            last = [seen[JOINT_INDEX[CHAIN_JOINTS[digit][2]], :3, 3] for digit in DIGITS[1:]]
            first = [seen[JOINT_INDEX[CHAIN_JOINTS[digit][0]], :3, 3] for digit in DIGITS[1:]]
            palmwards.append([-(tip - knuckle)[2] for tip, knuckle in zip(last, first, strict=True)])
        # The wrist's back faces up: a curled finger's last bone is below its knuckle, a straight one's level with it.
        assert min(palmwards[1]) > 0.01 > max(palmwards[0]) - 0.01
