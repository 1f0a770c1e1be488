"""Pronation: the forearm takes the hand's rotation about it, and the hand stays where the capture has it."""

from dataclasses import replace

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion
from numpy.typing import NDArray

from knuckle.hand import proportions
from knuckle.hand import rotations as rot
from knuckle.hand.joints import JOINT_INDEX, Side
from knuckle.hand.kinematics import Pose
from knuckle.pipeline.recipe import DriveChoice
from knuckle.rig.bound_hand import bound_hand
from knuckle.rig.keys.drive import with_driven_parts
from knuckle.rig.keys.forearm_twist import PRONATION, SUPINATION, find_forearm
from knuckle.rig.keys.hand_motion import KeyedHand
from knuckle.rig.keys.keyframes import key_hands
from knuckle.rig.keys.layered_keys import key_above
from knuckle.rig.pose_transfer import resting_wrist
from knuckle.rig.posing import apply_pose
from knuckle.tests.blender.making import evaluated, find_hand, moved
from knuckle.tests.blender.rigs import rig_with_arms
from knuckle.tests.blender.sections import rest_skin, sections, seen_skin

Floats = NDArray[np.float64]
Object = bpy.types.Object
FRAMES = 12
SHARES = {
    "MakeHuman": {"lowerarm01.L": 0.25, "lowerarm02.L": 0.75},
    "MakeHuman for games": {"lowerarm_l": 0.5},
    "Rigify metarig": {"forearm.L": 0.5},
    "Rigify generated, FK": {"forearm_fk.L": 0.5},
}
"""Half way along each bone, the skin turns by this part of the hand's pronation."""


def turned_hand(armature: Object, side: Side, degrees: Floats, swing: float = 0.0) -> tuple[KeyedHand, Floats]:
    """A hand turned about its resting forearm by angles (F,), after its wrist was bent; and the forearm's axis (3,)."""
    found = find_hand(armature, side)
    hand = proportions.build(proportions.adult(side))
    binding = bound_hand(armature, found, hand, limited=False)
    roots = np.repeat(resting_wrist(binding, np.array(armature.matrix_world))[None], len(degrees), axis=0)
    forearm = find_forearm(armature, found)
    first = armature.data.bones[forearm.chain[0]] if forearm else armature.data.bones[found.bones["wrist"]].parent
    axis = np.array(armature.matrix_world)[:3, :3] @ (binding.rest[0, :3, 3] - np.array(first.head_local))
    axis /= np.linalg.norm(axis)
    aside = rot.unit_vector(np.cross(axis, [0.3, 0.1, 0.9]))
    bent = rot.multiply(rot.from_axis_angle(axis, np.radians(degrees)), rot.from_axis_angle(aside, np.array(swing)))
    roots[:, :3, :3] = rot.to_matrix(bent) @ roots[:, :3, :3]
    angles = np.repeat(hand.neutral[None], len(degrees), axis=0)
    return KeyedHand(binding, hand, Pose(hand, roots, angles)), axis


def rested(armature: Object) -> None:
    """Without keys, all bones at rest."""
    armature.animation_data_clear()
    for bone in armature.pose.bones:
        bone.matrix_basis = Matrix.Identity(4)
    bpy.context.view_layer.update()


def posed(armature: Object, keyed: KeyedHand) -> Floats:
    """(F, J, 4, 4) where the hand's bones are in the world once it is keyed, and the forearm's bones after them."""
    bones = {joint: bone for joint, bone in find_hand(armature, keyed.hand.side).bones.items() if bone}
    key_hands(armature, [keyed], np.arange(1.0, len(keyed.pose) + 1), "Take")
    frames = []
    for frame in range(len(keyed.pose)):
        bpy.context.scene.frame_set(frame + 1)
        frames.append(evaluated(armature, bones))
    return np.stack(frames)


def rotation_of(armature: Object, name: str) -> Floats:
    """(4,) wxyz, how a bone is turned from its rest in armature space."""
    seen = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones[name]
    return rot.from_matrix(np.array(seen.matrix @ seen.bone.matrix_local.inverted())[:3, :3])


def twist_about(rotation: Floats, axis: Floats) -> float:
    """Degrees of a rotation (4,) about an axis (3,) in (-180, 180]."""
    return float(np.degrees(2 * np.arctan2(rotation[1:] @ axis, rotation[0])) + 180) % 360 - 180


@pytest.mark.parametrize("kind", ["still", "turned and small", "mirrored"])
@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("drive", ["wrist", "arm"])
def test_the_hand_is_where_it_was_without_the_forearm(name: str, drive: DriveChoice, kind: str) -> None:
    armature = rig_with_arms(name)
    moved(armature, kind)
    found = find_hand(armature, "left")
    hand, _ = turned_hand(armature, "left", np.linspace(-90.0, 90.0, FRAMES), 0.7)
    whole = with_driven_parts(armature, found, hand, drive)
    assert whole.forearm is not None
    with_forearm = posed(armature, whole)
    armature.animation_data_clear()
    for name_of_bone in whole.bones:
        armature.pose.bones[name_of_bone].matrix_basis = Matrix.Identity(4)
    apart = np.abs(with_forearm - posed(armature, replace(whole, forearm=None)))
    size = np.abs(np.array(armature.matrix_world)[:3, :3]).max()
    # Blender's pose is single precision: without the forearm the wrist is 4e-6 off.
    assert np.nanmax(apart[..., :3, :3]) < 1e-5 * size, f"turned by {np.nanmax(apart[..., :3, :3]):.1e}"
    assert np.nanmax(apart[..., :3, 3]) < 2e-6, f"{1000 * np.nanmax(apart[..., :3, 3]):.5f} mm off"


@pytest.mark.parametrize("name", SHARES)
def test_each_bone_turns_as_the_forearm_does_half_way_along_it(name: str) -> None:
    armature = rig_with_arms(name)
    found = find_hand(armature, "left")
    degrees = np.linspace(-80.0, 80.0, FRAMES)
    hand, axis = turned_hand(armature, "left", degrees, 0.6)
    posed(armature, with_driven_parts(armature, found, hand, "wrist"))
    for frame, angle in enumerate(degrees, 1):
        bpy.context.scene.frame_set(frame)
        for bone, share in SHARES[name].items():
            off = twist_about(rotation_of(armature, bone), axis) - share * angle
            assert abs(off) < 0.6, f"'{bone}' is {off:.2f} degrees off {share} of {angle:.0f}"
        last = rotation_of(armature, [*SHARES[name]][-1])
        wrist = rot.multiply(rot.conjugate(last), rotation_of(armature, found.bones["wrist"]))
        left = twist_about(wrist, axis) - (1 - [*SHARES[name].values()][-1]) * angle
        assert abs(left) < 0.6, f"the wrist keeps {left:.2f} degrees too many of {angle:.0f}"


@pytest.mark.parametrize("name", ["MakeHuman", "MakeHuman for games"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_skin_does_not_twist_shut(name: str, side: Side) -> None:
    armature = rig_with_arms(name)
    found, rest = find_hand(armature, side), rest_skin(armature)
    hand, _ = turned_hand(armature, side, np.array([-80.0, 80.0]))
    whole = with_driven_parts(armature, found, hand, "wrist")
    assert whole.forearm is not None
    least = []
    for keyed in (replace(whole, forearm=None), whole):
        rested(armature)
        posed(armature, keyed)
        for frame in (1, 2):
            bpy.context.scene.frame_set(frame)
            rings = sections(armature, whole.forearm.chain[0], found.bones["wrist"], seen_skin(armature), rest)
            least.append(min(rings.values()))
    assert min(least[:2]) < 0.6, "all in the wrist, it does"
    assert min(least[2:]) > 0.8, f"a section keeps {min(least[2:]):.2f} of its area"


def test_a_forearm_that_is_twisted_already_comes_to_the_same() -> None:
    armature = rig_with_arms("MakeHuman")
    found = find_hand(armature, "left")
    hand, _ = turned_hand(armature, "left", np.linspace(-60.0, 60.0, FRAMES), 0.4)
    keyed = with_driven_parts(armature, found, hand, "wrist")
    scene, frames = bpy.context.scene, np.arange(1.0, FRAMES + 1)
    seen = []
    for before in (0.0, 0.0, 50.0):
        bone = armature.pose.bones["lowerarm01.L"]
        if before:
            armature.animation_data.action = None
            way = armature.data.bones["wrist.L"].head_local - bone.bone.head_local
            axis = (bone.bone.matrix_local.to_3x3().inverted() @ way).normalized()
            bone.rotation_quaternion = Quaternion(axis, np.radians(before))
            bpy.context.view_layer.update()
        key_above(armature, [keyed], frames, "Take", scene)
        scene.frame_set(3)
        seen.append([rotation_of(armature, name) for name in ("lowerarm01.L", "lowerarm02.L", "wrist.L")])
    assert np.abs(np.array(seen[1]) - seen[0]).max() < 1e-6, "solved again"
    assert np.abs(np.array(seen[2]) - seen[0]).max() < 1e-5


def test_live_twists_the_same_and_puts_back() -> None:
    armature = rig_with_arms("MakeHuman")
    found = find_hand(armature, "left")
    hand, _ = turned_hand(armature, "left", np.array([70.0]), 0.4)
    posed(armature, with_driven_parts(armature, found, hand, "wrist"))
    names = ("lowerarm01.L", "lowerarm02.L", "wrist.L")
    keyed = np.array([rotation_of(armature, name) for name in names])
    rested(armature)
    rig_hand = apply_pose.make_driven_hand(armature, found, hand.hand, limited=False, drive="wrist")
    for _ in range(3):
        apply_pose.pose_hands([apply_pose.RigHandPose(rig_hand, hand.pose)])
        bpy.context.view_layer.update()
    shown = np.array([rotation_of(armature, name) for name in names])
    assert np.abs(shown - keyed).max() < 1e-5
    rig_hand.restore_pose()
    bpy.context.view_layer.update()
    assert max(np.abs(rotation_of(armature, name)[1:]).max() for name in names) < 1e-6


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_hand_that_turns_all_the_way_round_has_no_jump_and_supinates_further_than_it_pronates(side: Side) -> None:
    armature = rig_with_arms("MakeHuman")
    found = find_hand(armature, side)
    degrees = np.arange(0.0, 361.0, 5.0)
    hand, axis = turned_hand(armature, side, degrees)
    posed(armature, with_driven_parts(armature, found, hand, "wrist"))
    bone = found.bones["wrist"].replace("wrist", "lowerarm02")
    turns = []
    for frame in range(1, len(degrees) + 1):
        bpy.context.scene.frame_set(frame)
        turns.append(twist_about(rotation_of(armature, bone), axis) / 0.75)
    steps = np.abs(np.diff(turns))
    assert steps.max() < 5 * 3.1, f"it jumps by {steps.max():.0f} degrees in a step of 5"
    supination = np.array(turns) * (1 if side == "right" else -1)
    assert supination.max() == pytest.approx(np.degrees(SUPINATION), abs=5.5)
    assert supination.min() == pytest.approx(-np.degrees(PRONATION), abs=5.5)


def twist_bone(armature: Object) -> None:
    """A bone as Unreal's skeletons have: a child of the forearm from its middle on, which carries nothing."""
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    fore, bone = bones["lowerarm_l"], bones.new("lowerarm_twist_01_l")
    bone.parent, bone.head, bone.tail = fore, (fore.head + fore.tail) / 2, fore.tail
    bone.roll = 1.0
    bpy.ops.object.mode_set(mode="OBJECT")


def test_a_twist_bone_that_carries_nothing_turns_too() -> None:
    armature = rig_with_arms("MakeHuman for games")
    twist_bone(armature)
    found = find_hand(armature, "left")
    hand, axis = turned_hand(armature, "left", np.array([80.0]), 0.5)
    whole = with_driven_parts(armature, found, hand, "wrist")
    without = posed(armature, replace(whole, forearm=None))
    assert np.nanmax(np.abs(posed(armature, whole) - without)) < 1e-5
    for bone, share in {"lowerarm_l": 0.25, "lowerarm_twist_01_l": 0.75}.items():
        assert abs(twist_about(rotation_of(armature, bone), axis) - share * 80) < 0.8


@pytest.mark.parametrize(("aside", "turns"), [(0.1, True), (0.3, False)])
@pytest.mark.parametrize("metre", [1.0, 100.0])
def test_a_twist_bone_is_near_the_line_of_elbow_and_wrist(metre: float, aside: float, turns: bool) -> None:
    """aside: lengths of the forearm from it."""
    armature = rig_with_arms("MakeHuman for games")
    twist_bone(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    fore, bone = bones["lowerarm_l"], bones["lowerarm_twist_01_l"]
    line = bones["hand_l"].head - fore.head
    away = aside * line.length * line.orthogonal().normalized()
    bone.head, bone.tail = bone.head + away, bone.tail + away
    for each in bones:
        each.transform(Matrix.Scale(metre, 4))
    bpy.ops.object.mode_set(mode="OBJECT")
    forearm = find_forearm(armature, find_hand(armature, "left"))
    assert forearm is not None and ("lowerarm_twist_01_l" in forearm.shares) == turns


def test_a_forearm_that_keys_do_not_turn_is_left_alone() -> None:
    armature = rig_with_arms("Rigify generated, IK")
    assert find_forearm(armature, find_hand(armature, "left")) is None
    armature = rig_with_arms("MakeHuman for games")
    found, bone = find_hand(armature, "left"), armature.pose.bones["lowerarm_l"]
    copy = bone.constraints.new("COPY_ROTATION")
    copy.target, copy.subtarget = armature, "lowerarm_r"
    assert find_forearm(armature, found) is None
    copy.mute = True
    assert find_forearm(armature, found) is not None
    bone.driver_add("rotation_quaternion", 0).driver.expression = "1"
    assert find_forearm(armature, found) is None
    bone.driver_remove("rotation_quaternion", 0)
    bone.rotation_mode, bone.lock_rotation = "XYZ", (False, True, True)
    assert find_forearm(armature, found) is None, "an elbow that only bends"
    bone.lock_rotation = (False, False, False)
    limit = bone.constraints.new("LIMIT_ROTATION")
    assert find_forearm(armature, found) is None
    bone.constraints.remove(limit)
    armature.data.bones["hand_l"].use_inherit_rotation = False
    assert find_forearm(armature, found) is None


def test_fingers_alone_key_no_forearm() -> None:
    armature = rig_with_arms("MakeHuman")
    found = find_hand(armature, "left")
    hand, _ = turned_hand(armature, "left", np.array([80.0]))
    assert "lowerarm01.L" not in with_driven_parts(armature, found, hand, "fingers").bones
    assert {"lowerarm01.L", "lowerarm02.L"} < set(with_driven_parts(armature, found, hand, "wrist").bones)
    assert JOINT_INDEX["wrist"] in with_driven_parts(armature, found, hand, "wrist").joints
