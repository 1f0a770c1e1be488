"""Hands of rigs: found, sided by geometry, and driven so that directions are kept."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from knuckle.errors import RigError
from knuckle.hand import kinematics, proportions
from knuckle.hand.joints import DIGIT_JOINTS, DIGITS, JOINT_INDEX, JOINTS, SIDES, Side
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.binding import RigBinding, bind, default_binding, joint_points, posed_frames
from knuckle.rig.keys.hand_motion import KeyedHand
from knuckle.rig.keys.keyframes import key_hands
from knuckle.rig.keys.take_scene import TakeTiming, bind_hands, new_hand, write_take
from knuckle.rig.mappings import FAMILIES, BoneNaming
from knuckle.tests.blender.making import evaluated, find_hand, motion, moved, rig, take, worst_direction

FRAMES = 6


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("transform", ["still", "turned and small", "mirrored", "squeezed"])
@pytest.mark.parametrize("kind", ["flat", "chain", "arm", "no metacarpals"])
def test_every_bone_points_where_the_performers_does(kind: str, transform: str, side: Side) -> None:
    # An armature at a hundredth holds its bones in centimetres.
    metre = 100.0 if transform == "turned and small" else 1.0
    armature = rig(side, flat=kind == "flat", arm=kind == "arm", metacarpals=kind != "no metacarpals", metre=metre)
    moved(armature, transform)
    (found,) = find_hands(armature)
    assert (found.side == side) == (transform != "mirrored")
    hand = proportions.build(proportions.adult(found.side))
    binding = bind(armature, found.side, found.bones, hand)
    assert binding.location_keyed[0] == (kind != "arm")
    pose = motion(hand, FRAMES)
    key_hands(armature, [KeyedHand(binding, hand, pose)], np.arange(1.0, FRAMES + 1), "Take")
    solved = kinematics.joint_frames(hand, pose)
    for frame in range(FRAMES):
        bpy.context.scene.frame_set(frame + 1)
        worst = worst_direction(armature, solved[frame])
        # A squeezed rig in a chain is sheared by its parents; Blender's bones lean with them.
        most = 8.0 if transform == "squeezed" and kind != "flat" else 1.0 if transform == "squeezed" else 0.05
        assert worst < most, f"frame {frame + 1}: {worst:.3f} degrees > {most}"
        if kind != "arm":
            wrist = evaluated(armature, {"wrist": "wrist"})[0, :3, 3]
            assert np.abs(wrist - pose.root[frame, :3, 3]).max() < 1e-5


def test_a_flat_rig_keeps_its_own_lengths() -> None:
    armature = rig("left", flat=True)
    (found,) = find_hands(armature)
    rest = np.array([armature.data.bones[joint].head_local for joint in JOINTS])
    hand = proportions.build(proportions.adult("left", 0.15))
    pose = motion(hand, 1)
    binding = bind(armature, "left", found.bones, hand)
    key_hands(armature, [KeyedHand(binding, hand, pose)], np.array([1.0]), "Take")
    bpy.context.scene.frame_set(1)
    seen = evaluated(armature)[:, :3, 3]
    for joint, parent in enumerate(hand.parents):
        if parent >= 0:
            lengths = [np.linalg.norm(places[joint] - places[parent]) for places in (rest, seen)]
            assert abs(lengths[0] - lengths[1]) < 1e-5


def test_the_binding_of_knuckles_own_hand_is_the_one_that_geometry_finds() -> None:
    for side in SIDES:
        measures = proportions.adult(side)
        hand = proportions.build(measures)
        armature, known = new_hand(measures, hand, bpy.context.scene.collection)
        found = bind(armature, side, find_hand(armature, side).bones, hand)
        assert np.abs(found.rest_to_bone - known.rest_to_bone).max() < 1e-5
        assert np.abs(found.rest - known.rest).max() < 1e-6
        assert (
            found.mapped_parents.tolist()
            == known.mapped_parents.tolist()
            == default_binding(armature, hand).mapped_parents.tolist()
        )
        assert found.location_keyed.tolist() == default_binding(armature, hand).location_keyed.tolist()


def renamed(armature: bpy.types.Object, family: BoneNaming, side: Side, prefix: str = "") -> dict[str, str]:
    """joint -> the bone's new name; joints that the family does not know have names that say nothing."""
    names = {joint: f"x{number}" for number, joint in enumerate(JOINTS)} | family.bone_names(side)
    for joint in JOINTS:
        if joint in armature.data.bones:
            armature.data.bones[joint].name = prefix + names[joint]
    return {joint: prefix + names[joint] for joint in JOINTS}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize("side", SIDES)
def test_the_hands_of_all_families_are_found(family: BoneNaming, side: Side) -> None:
    armature = rig(side)
    names = renamed(armature, family, side, "mixamorig:" if family.name == "Mixamo" else "")
    (found,) = find_hands(armature)
    assert (found.family, found.side) == (family.name, side)
    assert found.bones == names


def without(armature: bpy.types.Object, *ends: str) -> None:
    """Takes the bones away whose names end or begin so."""
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    for name in [bone.name for bone in bones if bone.name.startswith(ends) or bone.name.endswith(ends)]:
        bones.remove(bones[name])
    bpy.ops.object.mode_set(mode="OBJECT")


def test_digits_with_a_bone_less_are_found_and_a_hand_may_have_fewer_digits() -> None:
    armature = rig("right")
    without(armature, "tip")
    assert len(find_hands(armature)[0].bones) == len(JOINTS) - 5
    without(armature, "ring")
    (found,) = find_hands(armature)
    assert found.bones == {joint: joint for joint in JOINTS if "ring" not in joint and "tip" not in joint}
    assert set(found.confidence) == set(DIGITS) - {"ring-finger"}


def test_digits_that_are_missing_are_reported() -> None:
    armature = rig("right")
    without(armature, "index", "middle", "ring", *(j for j in DIGIT_JOINTS["pinky-finger"] if "proximal" not in j))
    with pytest.raises(
        RigError,
        match="fewer than two for index finger, middle finger, ring finger, little finger, and",
    ):
        find_hands(armature)


def test_what_is_no_hand_is_reported_in_one_sentence() -> None:
    scene = bpy.context.scene
    empty = bpy.data.objects.new("Empty", bpy.data.armatures.new("Empty"))
    mesh = bpy.data.objects.new("Cube", bpy.data.meshes.new("Cube"))
    scene.collection.objects.link(empty)
    with pytest.raises(RigError, match="'Empty' has no bones"):
        find_hands(empty)
    with pytest.raises(RigError, match="'Cube' is not an armature"):
        find_hands(mesh)
    stranger = rig("left")
    without(stranger, *DIGITS[1:])
    for bone in stranger.data.bones:
        bone.name = f"x{bone.name[::-1]}"
    with pytest.raises(RigError, match="has no hand that can be recognised"):
        find_hands(stranger)


def test_a_bone_that_blender_gives_no_direction_is_reported() -> None:
    """Below a bone of a thousand kilometres, rounding leaves its rest matrix without a rotation."""
    armature = rig("right", arm=True)
    (found,) = find_hands(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones["index-finger-metacarpal"].tail = (1e6, 1e6, 1e6)
    bpy.ops.object.mode_set(mode="OBJECT")
    with pytest.raises(RigError, match=r"'index-finger-phalanx-proximal' for .* has no direction at rest"):
        bind(armature, "right", found.bones, proportions.build(proportions.adult("right")))


def test_of_two_hands_a_rig_with_one_takes_that_one_unless_both_were_asked_for() -> None:
    scene = bpy.context.scene
    armature = rig("left")
    assert [keyed.hand.side for keyed in bind_hands(armature, take())] == ["left"]
    with pytest.raises(RigError, match="no right hand, only a left one"):
        write_take(take(hand="both"), armature, scene, scene.collection, TakeTiming())
    assert armature.animation_data is None
    with pytest.raises(RigError, match="no right hand"):
        bind_hands(armature, take(("right",)))


def test_joints_are_rolled_into_the_plane_in_which_a_finger_curls() -> None:
    """A finger that is bent at rest shows its plane: X stands across it to a degree, whatever the bones' roll."""
    for side in SIDES:
        armature = rig(side, seed=5)
        hand = proportions.build(proportions.adult(side))
        binding = bind(armature, side, find_hand(armature, side).bones, hand)
        bent = kinematics.joint_frames(hand, kinematics.Pose(hand, np.eye(4)[None], hand.neutral[None]))[0]
        for joint in ("index-finger-phalanx-proximal", "pinky-finger-phalanx-intermediate", "thumb-phalanx-proximal"):
            cosine = binding.rest[JOINT_INDEX[joint], :3, 0] @ bent[JOINT_INDEX[joint], :3, 0]
            apart = np.degrees(np.arccos(min(float(cosine), 1.0)))
            assert apart < 3.0, f"{side} {joint}: {apart:.2f} degrees > 3"


@pytest.mark.parametrize("on_a_bone", [False, True])
def test_bones_whose_location_is_not_local_are_brought_to_where_they_belong(on_a_bone: bool) -> None:
    armature = rig("left", flat=True)
    (found,) = find_hands(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    base = armature.data.edit_bones.new("base")
    base.head, base.tail, base.roll = (0.1, 0.2, -0.3), (0.4, 0.1, -0.2), 1.0
    for bone in armature.data.edit_bones:
        bone.use_local_location = False
        bone.parent = base if on_a_bone and bone != base else None
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.pose.bones["base"].rotation_quaternion = (0.9, 0.3, 0.2, 0.1)
    hand = proportions.build(proportions.adult("left"))
    pose = motion(hand, FRAMES)
    key_hands(armature, [KeyedHand(bind(armature, "left", found.bones, hand), hand, pose)], np.arange(1.0, 7.0), "Take")
    solved = kinematics.joint_frames(hand, pose)
    for frame in range(FRAMES):
        bpy.context.scene.frame_set(frame + 1)
        away = np.abs(evaluated(armature, found.bones)[0, :3, 3] - solved[frame, 0, :3, 3]).max()
        assert away * 1000 < 0.05, f"frame {frame + 1}: the wrist is {away * 1000:.3f} mm > 0.05 mm away"
        worst = worst_direction(armature, solved[frame])
        assert worst < 0.05, f"frame {frame + 1}: {worst:.3f} degrees > 0.05"


def posed() -> bpy.types.Object:
    """A left hand whose wrist and index finger are moved and rotated."""
    armature = rig("left")
    armature.pose.bones["wrist"].location = (0.1, 0.2, 0.3)
    for name in ("wrist", "index-finger-phalanx-proximal", "index-finger-phalanx-distal"):
        armature.pose.bones[name].rotation_quaternion = (0.9, 0.3, 0.2, 0.1)
    bpy.context.view_layer.update()
    return armature


def bound(armature: bpy.types.Object) -> RigBinding:
    (found,) = find_hands(armature)
    return bind(armature, found.side, found.bones, proportions.build(proportions.adult(found.side)))


def test_joints_are_where_their_bones_begin_and_tips_without_a_bone_where_the_last_one_ends() -> None:
    armature = posed()
    bones, posed_bones = armature.data.bones, armature.pose.bones
    points, frames = joint_points(armature, {joint: joint for joint in JOINTS}), posed_frames(armature, bound(armature))
    for joint in JOINTS:
        assert np.abs(points[JOINT_INDEX[joint]] - np.array(bones[joint].head_local)).max() < 1e-6
        assert np.abs(frames[JOINT_INDEX[joint], :3, 3] - np.array(posed_bones[joint].head)).max() < 1e-6
    without(armature, "tip", "ring")
    named = {joint: joint for joint in JOINTS if joint in bones}
    points, frames = joint_points(armature, named), posed_frames(armature, bound(armature))
    for digit, (*_, last, tip) in DIGIT_JOINTS.items():
        if digit == "ring-finger":
            assert np.isnan(points[JOINT_INDEX[tip]]).all()
            assert np.isnan(frames[JOINT_INDEX[tip]]).all()
        else:
            assert np.abs(points[JOINT_INDEX[tip]] - np.array(bones[last].tail_local)).max() < 1e-6
            assert np.abs(frames[JOINT_INDEX[tip], :3, 3] - np.array(posed_bones[last].tail)).max() < 1e-6
            assert np.abs(frames[JOINT_INDEX[tip], :3, :3] - frames[JOINT_INDEX[last], :3, :3]).max() < 1e-6


@pytest.mark.parametrize("metre", [1.0, 100.0])
@pytest.mark.parametrize(("gap", "placed"), [(0.03, False), (0.08, True)])
def test_a_wrist_stays_on_an_arm_that_ends_near_it_measured_by_the_hand(gap: float, placed: bool, metre: float) -> None:
    armature = rig("right", arm=True, metre=metre)
    heads = np.array([armature.data.bones[joint].head_local for joint in JOINTS])
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones["fore"].tail.y -= gap * float(np.ptp(heads, axis=0).max())
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.data.transform(Matrix.Translation((0.3 * metre, -0.2 * metre, 1.3 * metre)))
    assert bound(armature).location_keyed[0] == placed
