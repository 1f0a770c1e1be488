"""Rigs with arms: the wrist comes to where the capture has it, and the hand keeps the directions it had without."""

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.errors import RigError
from knuckle.hand import proportions
from knuckle.hand.joints import JOINT_INDEX, SIDES, Side
from knuckle.hand.kinematics import Pose
from knuckle.rig.armature_hands import FoundHand, find_hands
from knuckle.rig.bound_hand import bound_hand
from knuckle.rig.keys.arm_keys import ArmBones, find_arm
from knuckle.rig.keys.drive import with_arm
from knuckle.rig.keys.hand_motion import KeyedHand
from knuckle.rig.keys.keyframes import key_hands
from knuckle.rig.keys.take_scene import TakeTiming, bind_hands, write_take
from knuckle.tests.blender.making import evaluated, forearm_bones, motion, take
from knuckle.tests.blender.rigs import RIGS, rig_with_arms, strange

Floats = NDArray[np.float64]
FRAMES = 8
Object = bpy.types.Object
ARMS = {
    "MakeHuman": ("upperarm01.L", "lowerarm01.L"),
    "MakeHuman for games": ("upperarm_l", "lowerarm_l"),
    "Rigify metarig": ("upper_arm.L", "forearm.L"),
    "Rigify generated, FK": ("upper_arm_fk.L", "forearm_fk.L"),
    "Rigify generated, IK": None,
}


@pytest.fixture(params=ARMS)
def armature(request: pytest.FixtureRequest) -> Object:
    armature = rig_with_arms(request.param)
    armature["rig"] = request.param
    return armature


def hand_of(armature: Object, side: Side) -> FoundHand:
    return next(hand for hand in find_hands(armature) if hand.side == side)


def keyed(armature: Object, side: Side, arm: bool, beyond: float = 1.0) -> tuple[Pose, dict[str, str], ArmBones]:
    """A hand whose wrist goes about its shoulder within half to nine tenths of the arm's reach, times `beyond`.

    The pose, the bones with the wrist's own in place of its control, and the arm.
    """
    found = hand_of(armature, side)
    hand = proportions.build(proportions.adult(side))
    pose = motion(hand, FRAMES)
    bones = find_arm(armature, found) or ArmBones(f"DEF-upper_arm.{side[0].upper()}", f"DEF-forearm.{side[0].upper()}")
    names = (bones.upper, bones.fore, found.carrier or found.bones["wrist"])
    shoulder, elbow, wrist = (np.array(armature.data.bones[name].head_local) for name in names)
    reach = np.linalg.norm(elbow - shoulder) + np.linalg.norm(wrist - elbow)
    rng = np.random.default_rng(1)
    way = rng.normal(size=(FRAMES, 3))
    way *= beyond * rng.uniform(0.5, 0.9, (FRAMES, 1)) * reach / np.linalg.norm(way, axis=1, keepdims=True)
    world = np.array(armature.matrix_world)
    pose.root[:, :3, 3] = (shoulder + way) @ world[:3, :3].T + world[:3, 3]
    one = KeyedHand(bound_hand(armature, found, hand, limited=False), hand, pose)
    key_hands(armature, [with_arm(armature, found, one) if arm else one], np.arange(1.0, FRAMES + 1), "Take")
    return pose, found.bones | {"wrist": names[2]}, bones


def seen(armature: Object, bones: dict[str, str]) -> Floats:
    """(F, J, 4, 4) in the world on each frame, by Blender."""
    frames = []
    for frame in range(FRAMES):
        bpy.context.scene.frame_set(frame + 1)
        frames.append(evaluated(armature, bones))
    return np.stack(frames)


def test_the_arm_above_a_hand_is_found(armature: Object) -> None:
    arm = find_arm(armature, hand_of(armature, "left"))
    assert (arm and (arm.upper, arm.fore)) == ARMS[armature["rig"]]


@pytest.mark.parametrize("name", [name for name in RIGS if "WebXR" not in name and name != "Rigify generated"])
def test_the_arm_is_found_whatever_its_bones_are_called_and_however_they_are_rolled(name: str) -> None:
    armature, truth = RIGS[name]()
    numbers = {bone.name: number for number, bone in enumerate(armature.data.bones)}
    arms = [find_arm(armature, hand) for hand in find_hands(armature)]
    strange(armature, truth)
    again = [find_arm(armature, hand) for hand in find_hands(armature)]
    rows = {bone.name: number for number, bone in enumerate(armature.data.bones)}
    assert [(numbers[arm.upper], numbers[arm.fore]) for arm in arms if arm] == [
        (rows[arm.upper], rows[arm.fore]) for arm in again if arm
    ]
    assert len(arms) == len(again) == 2


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("moved", [False, True])
def test_the_wrist_comes_to_where_the_capture_has_it(armature: Object, side: Side, moved: bool) -> None:
    if moved:
        armature.location, armature.scale = (0.3, -2.0, 0.5), (1.2, 1.2, 1.2)
        armature.rotation_mode, armature.rotation_euler = "XYZ", (0.2, -0.4, 1.0)
        bpy.context.view_layer.update()
    pose, bones, _ = keyed(armature, side, True)
    wrist = seen(armature, bones)[:, JOINT_INDEX["wrist"], :3, 3]
    off = float(np.linalg.norm(wrist - pose.root[:, :3, 3], axis=-1).max())
    assert off < 1e-5 * 3, f"{off * 1000:.3f} mm > 0.03 mm"


def test_the_hand_is_turned_as_it_is_without_the_arm(armature: Object) -> None:
    _, bones, _ = keyed(armature, "left", False)
    without = seen(armature, bones)[..., :3, :3]
    keyed(armature, "left", True)
    mapped = [JOINT_INDEX[joint] for joint in bones]
    assert np.abs(seen(armature, bones)[:, mapped, :3, :3] - without[:, mapped]).max() < 1e-5


@pytest.mark.parametrize("name", [name for name, arm in ARMS.items() if arm])
def test_a_wrist_out_of_reach_is_pointed_at_by_a_straight_arm(name: str) -> None:
    armature = rig_with_arms(name)
    pose, bones, arm = keyed(armature, "left", True, beyond=5.0)
    for frame, wrist in enumerate(seen(armature, bones)[:, JOINT_INDEX["wrist"], :3, 3]):
        bpy.context.scene.frame_set(frame + 1)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        shoulder = np.array((posed.matrix_world @ posed.pose.bones[arm.upper].matrix).translation)
        way, goal = wrist - shoulder, pose.root[frame, :3, 3] - shoulder
        across = np.linalg.norm(np.cross(way, goal)) / np.linalg.norm(goal)
        assert across < 1e-4 * np.linalg.norm(way)


def keyed_paths(armature: Object, bone: str) -> set[str]:
    """The channels of a bone that the armature's action has curves of."""
    curves = armature.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
    return {curve.data_path.rpartition(".")[2] for curve in curves if f'"{bone}"' in curve.data_path}


def test_an_arm_that_is_not_asked_for_is_not_keyed(armature: Object) -> None:
    _, _, arm = keyed(armature, "left", False)
    assert keyed_paths(armature, arm.upper) == keyed_paths(armature, arm.fore) == set()
    assert "location" not in keyed_paths(armature, hand_of(armature, "left").bones["wrist"])


def test_a_take_whose_recipe_asks_for_the_arm_keys_it_and_no_more(armature: Object) -> None:
    scene = bpy.context.scene
    solved = take(("left",), frames=3, drive="arm")
    write_take(solved, armature, scene, scene.collection, TakeTiming())
    wrist, bones = hand_of(armature, "left").bones["wrist"], ARMS[armature["rig"]] or ()
    for name in bones:
        (channel,) = keyed_paths(armature, name)
        assert channel.startswith("rotation_")
    assert ("location" in keyed_paths(armature, wrist)) == (not bones), "IK's control brings the arm along"
    curves = armature.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
    hand = hand_of(armature, "left").bones.values()
    assert {curve.group.name for curve in curves} <= {*bones, *hand, *forearm_bones(armature)}


def test_a_hand_without_an_arm_is_reported_in_a_sentence() -> None:
    bare, _ = RIGS["WebXR, left"]()
    with pytest.raises(RigError, match="has no arm above its left wrist"):
        bind_hands(bare, take(("left",), frames=2, drive="arm"))


def test_an_arm_without_length_is_reported_in_a_sentence() -> None:
    armature = rig_with_arms("MakeHuman")
    found, hand = hand_of(armature, "left"), proportions.build(proportions.adult("left"))
    binding = bound_hand(armature, found, hand)
    both = ArmBones("upperarm01.L", "upperarm01.L")
    with pytest.raises(RigError, match="make no arm"):
        key_hands(armature, [KeyedHand(binding, hand, motion(hand, 2), both)], np.arange(2.0), "Take")


def test_an_arm_that_keys_do_not_move_is_reported_in_a_sentence() -> None:
    armature = rig_with_arms("MakeHuman for games")
    fore = armature.data.bones["lowerarm_l"]
    fore.use_inherit_rotation = False
    with pytest.raises(RigError, match="bone 'lowerarm_l' does not rotate with its arm"):
        find_arm(armature, hand_of(armature, "left"))
    fore.use_inherit_rotation = True
    posed = armature.pose.bones["lowerarm_l"]
    goal = posed.constraints.new("IK")
    goal.target, goal.chain_count = bpy.data.objects.new("Goal", None), 2
    with pytest.raises(
        RigError, match="constraints or drivers rotate 'upperarm_l', so keys have no effect: switch the arm"
    ):
        find_arm(armature, hand_of(armature, "left"))
    goal.mute = True
    assert find_arm(armature, hand_of(armature, "left")) == ArmBones("upperarm_l", "lowerarm_l")
    posed.driver_add("rotation_quaternion", 0).driver.expression = "1"
    with pytest.raises(RigError, match="constraints or drivers rotate 'lowerarm_l'"):
        find_arm(armature, hand_of(armature, "left"))


def test_a_control_that_is_locked_in_its_place_is_reported_in_a_sentence() -> None:
    armature = rig_with_arms("Rigify generated, IK")
    armature.pose.bones["hand_ik.L"].lock_location = (False, True, False)
    with pytest.raises(RigError, match=r"'hand_ik\.L' brings the arm along and its location is locked"):
        find_arm(armature, hand_of(armature, "left"))
