"""Rigs with arms: the wrist comes to where the capture has it, and the hand keeps the directions it had without."""

from pathlib import Path

import bpy
import numpy as np
import pytest

from knuckle.errors import RigError
from knuckle.hand import proportions
from knuckle.hand.joints import JOINT_INDEX
from knuckle.rig.arm import ArmBones, find_arm
from knuckle.rig.binding import bind
from knuckle.rig.detect import find_hands
from knuckle.rig.keyframes import KeyedHand, key_hands
from knuckle.rig.take_scene import Placing, bind_hands, write_take
from knuckle.tests.blender.making import evaluated, motion, take

RIGS = Path(__file__).parents[3] / "shared" / "data" / "rigs"
ARMS = {
    "makehuman_default.blend": ("upperarm01.L", "lowerarm01.L"),
    "makehuman_game_engine.blend": ("upperarm_l", "lowerarm_l"),
    "rigify_metarig.blend": ("upper_arm.L", "forearm.L"),
}
FRAMES = 8
pytestmark = pytest.mark.skipif(not RIGS.is_dir(), reason="no rigs beside the checkout (../shared/data/rigs)")


@pytest.fixture(params=ARMS)
def armature(request: pytest.FixtureRequest) -> bpy.types.Object:
    bpy.ops.wm.open_mainfile(filepath=str(RIGS / request.param))
    found = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    found["file"] = request.param
    return found


def keyed(armature, side, arm, beyond=1.0):
    """A hand whose wrist goes about its shoulder within half to nine tenths of the arm's reach, times `beyond`."""
    found = next(hand for hand in find_hands(armature) if hand.side == side)
    hand = proportions.build(proportions.adult(side))
    pose = motion(hand, FRAMES)
    bones = find_arm(armature, found.bones["wrist"])
    names = (bones.upper, bones.fore, found.bones["wrist"])
    shoulder, elbow, wrist = (np.array(armature.data.bones[name].head_local) for name in names)
    reach = np.linalg.norm(elbow - shoulder) + np.linalg.norm(wrist - elbow)
    rng = np.random.default_rng(1)
    way = rng.normal(size=(FRAMES, 3))
    way *= beyond * rng.uniform(0.5, 0.9, (FRAMES, 1)) * reach / np.linalg.norm(way, axis=1, keepdims=True)
    world = np.array(armature.matrix_world)
    pose.root[:, :3, 3] = (shoulder + way) @ world[:3, :3].T + world[:3, 3]
    binding = bind(armature, side, found.bones, hand)
    key_hands(armature, [KeyedHand(binding, hand, pose, bones if arm else None)], np.arange(1.0, FRAMES + 1), "Take")
    return hand, pose, found.bones, bones


def seen(armature, bones):
    """(F, J, 4, 4) in the world on each frame, by Blender."""
    frames = []
    for frame in range(FRAMES):
        bpy.context.scene.frame_set(frame + 1)
        frames.append(evaluated(armature, bones))
    return np.stack(frames)


def test_the_arm_above_a_hand_is_found(armature):
    wrist = next(hand for hand in find_hands(armature) if hand.side == "left").bones["wrist"]
    assert find_arm(armature, wrist) == ArmBones(*ARMS[armature["file"]])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("moved", [False, True])
def test_the_wrist_comes_to_where_the_capture_has_it(armature, side, moved):
    if moved:
        armature.location, armature.scale = (0.3, -2.0, 0.5), (1.2, 1.2, 1.2)
        armature.rotation_mode, armature.rotation_euler = "XYZ", (0.2, -0.4, 1.0)
        bpy.context.view_layer.update()
    _, pose, bones, _ = keyed(armature, side, True)
    wrist = seen(armature, bones)[:, JOINT_INDEX["wrist"], :3, 3]
    off = np.linalg.norm(wrist - pose.root[:, :3, 3], axis=-1).max()
    assert off < 1e-5 * 3, f"{off * 1000:.3f} mm > 0.03 mm"


def test_the_hand_is_turned_as_it_is_without_the_arm(armature):
    _, _, bones, _ = keyed(armature, "left", False)
    without = seen(armature, bones)[..., :3, :3]
    keyed(armature, "left", True)
    mapped = [JOINT_INDEX[joint] for joint in bones]
    assert np.abs(seen(armature, bones)[:, mapped, :3, :3] - without[:, mapped]).max() < 1e-5


def test_a_wrist_out_of_reach_is_pointed_at_by_a_straight_arm(armature):
    _, pose, bones, arm = keyed(armature, "left", True, beyond=5.0)
    for frame, wrist in enumerate(seen(armature, bones)[:, JOINT_INDEX["wrist"], :3, 3]):
        bpy.context.scene.frame_set(frame + 1)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        shoulder = np.array((posed.matrix_world @ posed.pose.bones[arm.upper].matrix).translation)
        way, goal = wrist - shoulder, pose.root[frame, :3, 3] - shoulder
        across = np.linalg.norm(np.cross(way, goal)) / np.linalg.norm(goal)
        assert across < 1e-4 * np.linalg.norm(way)


def test_an_arm_that_is_not_asked_for_is_not_keyed(armature):
    _, _, _, arm = keyed(armature, "left", False)
    curves = armature.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
    assert not [curve for curve in curves if f'"{arm.upper}"' in curve.data_path or f'"{arm.fore}"' in curve.data_path]


def test_a_take_whose_recipe_asks_for_the_arm_keys_it(armature):
    scene = bpy.context.scene
    solved = take(("left",), frames=3, arm=True)
    write_take(solved, armature, scene, scene.collection, Placing())
    curves = armature.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
    for name in ARMS[armature["file"]]:
        assert sum(f'"{name}"' in curve.data_path for curve in curves) == 4


def test_a_hand_without_an_arm_is_told_in_a_sentence():
    bpy.ops.import_scene.gltf(filepath=str(RIGS / "generic_hand_left.glb"))
    bare = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    with pytest.raises(RigError, match="has no arm above its left wrist"):
        bind_hands(bare, take(("left",), frames=2, arm=True))


def test_an_arm_without_length_is_told_in_a_sentence(armature):
    found = next(hand for hand in find_hands(armature) if hand.side == "left")
    hand = proportions.build(proportions.adult("left"))
    binding = bind(armature, "left", found.bones, hand)
    both = ArmBones(*2 * [ARMS[armature["file"]][0]])
    with pytest.raises(RigError, match="make no arm"):
        key_hands(armature, [KeyedHand(binding, hand, motion(hand, 2), both)], np.arange(2.0), "Take")


def test_a_bone_that_does_not_turn_with_the_arm_makes_no_arm(armature):
    wrist = next(hand for hand in find_hands(armature) if hand.side == "left").bones["wrist"]
    armature.data.bones[ARMS[armature["file"]][1]].use_inherit_rotation = False
    assert find_arm(armature, wrist) is None
