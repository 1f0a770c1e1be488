"""Reduced keys: Blender's own evaluation of the rig, before and after, on every frame."""

from dataclasses import replace

import bpy
import numpy as np
import pytest

from knuckle.errors import RigError
from knuckle.hand import kinematics, proportions
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import DIGIT_JOINTS, JOINT_INDEX, JOINTS, PARENTS, Side
from knuckle.rig.blend_file import new_scene_with_take
from knuckle.rig.keys.fcurves import curves_on
from knuckle.rig.keys.reduced_take import (
    DENSE_PROPERTY,
    check_reducible,
    dense_action,
    reduce_keys,
    reduced_stepwise,
    restore_dense,
)
from knuckle.rig.keys.reduction.keyed_hand import Tolerance
from knuckle.rig.keys.reduction.reduce_hand import Reduction
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.tests.blender.linked_action import link_action
from knuckle.tests.blender.making import along, evaluated, rig, take

pytestmark = pytest.mark.usefixtures("extension")

TIPS = [JOINT_INDEX[joints[-1]] for joints in DIGIT_JOINTS.values()]
MODES = ("QUATERNION", "XYZ", "ZXY", "AXIS_ANGLE")


def evaluated_frames(armature, parts=(0.0,)):
    """(F, J, 4, 4) of the evaluated armature on all frames of its action, at parts of each."""
    first, last = (int(end) for end in armature.animation_data.action.frame_range)
    frames = []
    for frame in range(first, last + 1):
        for part in parts if frame < last else (0.0,):
            bpy.context.scene.frame_set(frame, subframe=part)
            frames.append(evaluated(armature))
    return np.array(frames)


def joint_rotations(armature):
    """(F, B, 4) the evaluated bones' own rotations on all frames."""
    first, last = (int(end) for end in armature.animation_data.action.frame_range)
    rotations = []
    for frame in range(first, last + 1):
        bpy.context.scene.frame_set(frame)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        rotations.append([bone.matrix_basis.to_quaternion() for bone in posed.pose.bones])
    return np.array(rotations)


def plain(value):
    """A custom property's value, an array as a list."""
    return value.to_list() if hasattr(value, "to_list") else value


def count(armature):
    return sum(len(curve.keyframe_points) for curve in curves_on(armature))


def keyed_rig(mode="QUATERNION", **kind):
    """A rig on which a made take of a right hand is keyed."""
    armature = rig("right", **kind)
    for bone in armature.pose.bones:
        bone.rotation_mode = mode
    write_take(take(("right",)), armature, bpy.context.scene, bpy.context.collection, TakeTiming())
    return armature


def assert_within(before, after, distance=0.001):
    """Fingertips are within a distance in m on all frames."""
    apart = np.linalg.norm(after[:, TIPS, :3, 3] - before[:, TIPS, :3, 3], axis=-1)
    assert apart.max() < distance * 1.01, f"{1000 * apart.max():.2f} mm > {1000 * distance:g} mm"


@pytest.mark.parametrize(
    ("mode", "kind"),
    [*((mode, {}) for mode in MODES), ("XYZ", {"flat": True}), ("QUATERNION", {"metre": 100.0})],
    ids=[*MODES, "flat", "centimetres"],
)
def test_fingertips_and_joints_of_the_evaluated_rig_stay_within_the_tolerance(mode, kind):
    armature = keyed_rig(mode, **kind)
    if "metre" in kind:
        armature.scale = (0.01,) * 3
    before, turned, dense = evaluated_frames(armature), joint_rotations(armature), count(armature)
    figures, notes = reduce_keys(armature, Reduction())
    assert_within(before, evaluated_frames(armature))
    cosine = np.abs(np.einsum("fbk,fbk->fb", turned, joint_rotations(armature)))
    assert np.degrees(2 * np.arccos(np.minimum(cosine, 1.0))).max() < 1.02
    assert notes == ()
    # Bones that do not move have a key each, before and after.
    assert dense - figures.before == count(armature) - figures.after < 60
    assert figures.share * figures.before == pytest.approx(figures.after)
    assert count(armature) < 0.35 * dense


def test_fingertips_stay_where_locations_are_along_the_axes_of_the_armature():
    armature = rig("right", flat=True)
    for bone in armature.data.bones:
        bone.use_local_location = False
    write_take(take(("right",)), armature, bpy.context.scene, bpy.context.collection, TakeTiming())
    before = evaluated_frames(armature)
    reduce_keys(armature, Reduction())
    assert_within(before, evaluated_frames(armature))


def test_progress_advances_group_by_group():
    fractions = [0.0]
    run_to_end(reduced_stepwise(keyed_rig(), Reduction()), lambda progress: fractions.append(progress.fraction))
    assert min(fractions) >= 0.0 and max(fractions) <= 1.0 and fractions[-1] > 0.8
    assert np.diff(fractions).max() < 0.3


def test_the_arm_of_a_take_is_reduced_with_its_hand():
    armature = rig("right", arm=True)
    made = take(("right",), drive="arm")
    write_take(made, armature, bpy.context.scene, bpy.context.collection, TakeTiming())
    before, dense = evaluated_frames(armature), count(armature)
    reduce_keys(armature, Reduction())
    assert_within(before, evaluated_frames(armature))
    assert count(armature) < 0.35 * dense


def two_armed():
    """An armature of two hands, whose arms hang on the spine without clavicles, and twist bones on the forearms."""
    armature = bpy.data.objects.new("Body", bpy.data.armatures.new("Body"))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones

    def add(name, head, tail, parent):
        bone = bones.new(name)
        bone.head, bone.tail, bone.parent = head, tail, parent
        return bone

    spine = add("spine", (0, -0.6, -0.5), (0, -0.6, 0.1), None)
    places_of: dict[Side, float] = {"right": 0.25, "left": -0.25}
    for side, x in places_of.items():
        hand = proportions.build(proportions.adult(side, 0.2))
        bent = kinematics.Pose(hand, np.eye(4)[None], hand.neutral[None])
        places = kinematics.joint_frames(hand, bent)[0, :, :3, 3] + [x, 0, 0]
        suffix = side[0].upper()
        upper = add(f"upper_arm.{suffix}", (x, -0.6, 0.1), (x, -0.3, 0), spine)
        fore = add(f"forearm.{suffix}", (x, -0.3, 0), (x, 0, 0), upper)
        add(f"forearm_twist.{suffix}", (x, -0.15, 0), (x, -0.05, 0), fore)
        for index, joint in enumerate(JOINTS):
            above = bones[f"{JOINTS[PARENTS[index]]}.{suffix}"] if PARENTS[index] >= 0 else fore
            add(f"{joint}.{suffix}", places[index], places[index] + along(joint, places - [x, 0, 0]), above)
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"
    return armature


def waving_take():
    """Two hands that move within the reach of their arms."""
    bpy.context.scene.render.fps = 60
    made, hands = take(drive="arm", frames=90), []
    for solved in made.hands:
        root, turn = solved.pose.root.copy(), np.arange(90) / 60 * 2 * np.pi
        x = 0.25 if solved.side == "right" else -0.25
        path = [x + 0.08 * np.sin(1.7 * turn), 0.08 * np.cos(1.3 * turn + 1) - 0.1, 0.05 + 0.1 * np.sin(2.3 * turn)]
        root[:, :3, 3] = np.stack(path, axis=1)
        hands.append(replace(solved, pose=replace(solved.pose, root=root)))
    return replace(made, hands=tuple(hands))


def test_two_arms_that_hang_on_one_bone_are_each_reduced_with_their_own_hand():
    armature = two_armed()
    write_take(waving_take(), armature, bpy.context.scene, bpy.context.collection, TakeTiming())
    dense = count(armature)
    bones = {suffix: {joint: f"{joint}.{suffix}" for joint in JOINTS} for suffix in "LR"}

    def tips():
        frames = []
        for frame in range(1, 91):
            bpy.context.scene.frame_set(frame)
            frames.append([evaluated(armature, names)[TIPS, :3, 3] for names in bones.values()])
        return np.array(frames)

    before = tips()
    figures, notes = reduce_keys(armature, Reduction())
    worst = np.linalg.norm(tips() - before, axis=-1).max()
    assert worst == pytest.approx(figures.distance_mm / 1000, rel=0.02) and worst < 0.00101
    assert notes == () and count(armature) < 0.35 * dense
    for name in ("upper_arm.L", "forearm_twist.R"):
        assert all(len(curve.keyframe_points) < 45 for curve in curves_of_bone(armature, name)), name


def test_keys_of_bones_beside_hands_and_arms_stay():
    armature = two_armed()
    bpy.ops.object.mode_set(mode="EDIT")
    neck = armature.data.edit_bones.new("neck")
    neck.head, neck.tail, neck.parent = (0, -0.6, 0.1), (0, -0.6, 0.3), armature.data.edit_bones["spine"]
    bpy.ops.object.mode_set(mode="OBJECT")
    write_take(waving_take(), armature, bpy.context.scene, bpy.context.collection, TakeTiming())
    for name in ("neck", "spine"):
        for frame in range(1, 91):
            armature.pose.bones[name].rotation_quaternion = (1.0, 0.002 * frame, 0.0, 0.0)
            armature.pose.bones[name].keyframe_insert("rotation_quaternion", frame=frame)
    reduce_keys(armature, Reduction())
    for name in ("neck", "spine"):
        assert [len(curve.keyframe_points) for curve in curves_of_bone(armature, name)] == [90] * 4, name
    assert all(len(curve.keyframe_points) < 45 for curve in curves_of_bone(armature, "upper_arm.L"))


def test_frames_between_keys_of_a_faster_take_are_measured_too():
    """Keys at 240 Hz in a scene of 24: ten for each frame."""
    bpy.context.scene.render.fps = 24
    armature = rig("right")
    made = take(("right",), frames=240, rate=240.0)
    write_take(made, armature, bpy.context.scene, bpy.context.collection, TakeTiming())
    parts = (0.0, 0.1, 0.5, 0.7)
    before, dense = evaluated_frames(armature, parts), count(armature)
    reduce_keys(armature, Reduction())
    assert_within(before, evaluated_frames(armature, parts))
    assert count(armature) < 0.1 * dense


def test_all_bones_of_a_digit_share_frames_unless_each_has_those_that_it_needs():
    armature = keyed_rig()
    dense = armature.animation_data.action
    counts = {}
    for shared in (True, False):
        armature.animation_data.action = dense
        reduce_keys(armature, Reduction(shared=shared))
        counts[shared] = count(armature)
        frames: dict[str, set[tuple[float, ...]]] = {}
        for curve in curves_on(armature):
            if "index" in curve.data_path and len(curve.keyframe_points) > 1:
                frames.setdefault(curve.data_path, set()).add(tuple(key.co[0] for key in curve.keyframe_points))
        assert all(len(of_bone) == 1 for of_bone in frames.values()), "channels of a bone have their keys together"
        if shared:
            assert len(set.union(*frames.values())) == 1
    assert counts[False] < counts[True]


def test_keys_are_aligned_bezier_keys():
    armature = keyed_rig()
    reduce_keys(armature, Reduction())
    moving = [curve for curve in curves_on(armature) if len(curve.keyframe_points) > 1]
    keys = [key for curve in moving for key in curve.keyframe_points]
    assert {(key.interpolation, key.handle_left_type, key.handle_right_type) for key in keys} == {
        ("BEZIER", "ALIGNED", "ALIGNED")
    }


def test_the_dense_take_is_kept_as_it_was_and_played_again():
    new_scene_with_take(take(("right",)))
    armature = bpy.data.objects["Right Hand"]
    bpy.context.view_layer.objects.active = armature
    dense, keys, before = armature.animation_data.action, count(armature), evaluated_frames(armature)
    assert bpy.ops.knuckle.reduce_keys() == {"FINISHED"}
    reduced = armature.animation_data.action
    assert reduced != dense and dense.use_fake_user and dense_action(armature) == dense
    assert {name: str(plain(reduced[name])) for name, _ in dense.items()} == {
        name: str(plain(value)) for name, value in dense.items()
    }
    assert bpy.ops.knuckle.restore_dense_keys() == {"FINISHED"}
    assert armature.animation_data.action == dense and count(armature) == keys
    np.testing.assert_array_equal(evaluated_frames(armature), before)
    assert reduced.use_fake_user


@pytest.mark.parametrize("distance", [0.003, 0.0005])
def test_reduced_keys_are_made_of_the_dense_take_again(distance):
    """Looser or tighter: as near to the dense take as is asked, and with as many keys as at once."""
    armature = keyed_rig()
    dense, before = armature.animation_data.action, evaluated_frames(armature)
    once, _ = reduce_keys(armature, Reduction(Tolerance(distance, 0.1)))
    restore_dense(armature)
    reduce_keys(armature, Reduction())
    reported, notes = reduce_keys(armature, Reduction(Tolerance(distance, 0.1)))
    assert reported.before == once.before and reported.after == pytest.approx(once.after, rel=0.05) and notes == ()
    assert_within(before, evaluated_frames(armature), distance)
    assert dense_action(armature) == dense
    assert armature.animation_data.action.name.startswith(f"{dense.name} Reduced")
    assert "Reduced Reduced" not in armature.animation_data.action.name


def test_edited_keys_stay_in_their_action_when_they_are_reduced_again():
    armature = keyed_rig()
    reduce_keys(armature, Reduction())
    edited = armature.animation_data.action
    next(iter(curves_on(armature))).keyframe_points[0].co[1] += 0.1
    _, notes = reduce_keys(armature, Reduction())
    assert len(notes) == 1 and f"the edited keys stay in '{edited.name}'" in notes[0]
    assert armature.animation_data.action != edited and edited.use_fake_user


def test_both_new_hands_of_a_take_are_reduced_and_restored_together():
    new_scene_with_take(take())
    hands = [bpy.data.objects[f"{side} Hand"] for side in ("Left", "Right")]
    bpy.context.view_layer.objects.active = hands[0]
    bpy.ops.knuckle.reduce_keys()
    assert all(dense_action(hand) is not None for hand in hands)
    bpy.ops.knuckle.restore_dense_keys()
    assert all(dense_action(hand) is None for hand in hands)


def test_a_hand_whose_keys_cannot_get_fewer_stops_no_other(capsys):
    new_scene_with_take(take())
    left, right = (bpy.data.objects[f"{side} Hand"] for side in ("Left", "Right"))
    reduce_keys(right, Reduction())
    bpy.data.actions.remove(dense_action(right))
    few = right.animation_data.action
    for active in (right, left):
        bpy.context.view_layer.objects.active = active
        assert bpy.ops.knuckle.reduce_keys() == {"FINISHED"}
        assert dense_action(left) is not None and right.animation_data.action == few
        assert f"The action '{few.name}' needs all its keys" in capsys.readouterr().out
        restore_dense(left)
    bpy.data.objects.remove(left)
    bpy.context.view_layer.objects.active = right
    with pytest.raises(RuntimeError, match="needs all its keys"):
        bpy.ops.knuckle.reduce_keys()


def test_a_dense_action_that_was_deleted_is_reported():
    armature = keyed_rig()
    reduce_keys(armature, Reduction())
    bpy.data.actions.remove(dense_action(armature))
    bpy.context.view_layer.objects.active = armature
    assert armature.animation_data.action.get(DENSE_PROPERTY) is None
    assert not bpy.ops.knuckle.restore_dense_keys.poll()


def test_a_solve_reduces_its_take_and_tells_what_remains():
    made = take(reduce=True, reduce_distance=0.002)
    reported = new_scene_with_take(made)
    assert len(reported.notes) == 2 and all("keys remain" in note for note in reported.notes)
    for name in reported.armatures:
        armature = bpy.data.objects[name]
        assert armature.animation_data.action.name.endswith("Reduced") and dense_action(armature) is not None
        assert count(armature) < 0.3 * sum(
            len(curve.keyframe_points)
            for strip in dense_action(armature).layers[0].strips
            for bag in strip.channelbags
            for curve in bag.fcurves
        )


def foreign(interpolation="LINEAR", every=1):
    """A rig with keys of the index finger that Knuckle did not make: Euler angles of all channels."""
    armature = rig("right")
    names = [name for name in JOINTS if name.startswith("index-finger-phalanx")]
    for name in names:
        bone = armature.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for frame in range(1, 82, every):
            bone.rotation_euler = (0.6 - 0.6 * np.cos(frame / 10), 0.05 * np.sin(frame / 7), 0.0)
            bone.keyframe_insert("rotation_euler", frame=frame)
    for curve in curves_on(armature):
        for key in curve.keyframe_points:
            key.interpolation = interpolation
    return armature


def curves_of_bone(armature, name):
    return [curve for curve in curves_on(armature) if f'"{name}"' in curve.data_path]


@pytest.mark.parametrize("interpolation", ["LINEAR", "BEZIER", "SINE"])
def test_keys_that_others_have_made_are_reduced(interpolation):
    armature = foreign(interpolation)
    before, dense = evaluated_frames(armature), count(armature)
    _, notes = reduce_keys(armature, Reduction())
    assert_within(before, evaluated_frames(armature))
    assert notes == () and count(armature) < 0.25 * dense


def test_few_keys_stay_as_they_are():
    armature = foreign("BEZIER", every=20)
    with pytest.raises(RigError, match="needs all its keys"):
        reduce_keys(armature, Reduction())
    assert len(bpy.data.actions) == 1


def _stepped(curves):
    for key in curves[0].keyframe_points:
        key.interpolation = "CONSTANT"


def _modified(curves):
    curves[0].modifiers.new("NOISE")


def _sloping(curves):
    curves[0].extrapolation = "LINEAR"


def _muted(curves):
    curves[0].mute = True


@pytest.mark.parametrize(
    ("change", "reported"),
    [(_stepped, "stepped keys"), (_modified, "modifiers"), (_sloping, "is extrapolated"), (_muted, "muted")],
)
def test_a_bone_with_keys_of_another_kind_keeps_them_and_is_reported(change, reported):
    armature, name = foreign(), "index-finger-phalanx-distal"
    change(curves_of_bone(armature, name))
    before = evaluated_frames(armature)
    kept = [[tuple(key.co) for key in curve.keyframe_points] for curve in curves_of_bone(armature, name)]
    _, notes = reduce_keys(armature, Reduction())
    assert len(notes) == 1 and name in notes[0] and reported in notes[0]
    assert [[tuple(key.co) for key in curve.keyframe_points] for curve in curves_of_bone(armature, name)] == kept
    assert_within(before, evaluated_frames(armature))


def test_a_rotation_without_all_its_channels_keeps_its_keys_and_is_reported():
    armature, name = foreign(), "index-finger-phalanx-distal"
    strip = armature.animation_data.action.layers[0].strips[0]
    bag = strip.channelbag(armature.animation_data.action_slot)
    bag.fcurves.remove(curves_of_bone(armature, name)[2])
    _, notes = reduce_keys(armature, Reduction())
    assert notes == (f"bone '{name}' keeps the keys of its rotation euler: only 2 of 3 channels have keys, key all",)


def test_a_key_that_is_no_number_is_refused():
    armature = foreign()
    curves_of_bone(armature, "index-finger-phalanx-distal")[1].keyframe_points[4].co[1] = float("nan")
    with pytest.raises(RigError, match=r"key 5 of .*rotation_euler\[1\] is not a number, delete it first"):
        reduce_keys(armature, Reduction())
    assert len(bpy.data.actions) == 1


def test_a_bone_that_is_out_of_reach_is_reported():
    armature = foreign()
    bone = armature.pose.bones["index-finger-phalanx-proximal"]
    for frame, away in ((39, 0.0), (40, 1e20), (41, 0.0)):
        bone.location[0] = away
        bone.keyframe_insert("location", frame=frame)
    with pytest.raises(RigError, match="'index-finger-phalanx-proximal' is over a million units away on frame 40"):
        reduce_keys(armature, Reduction())
    assert len(bpy.data.actions) == 1


def test_a_linked_action_is_refused(tmp_path):
    armature = foreign()
    link_action(armature, tmp_path)
    with pytest.raises(RigError, match="is linked: make it local"):
        check_reducible(armature)


def test_an_armature_without_an_action_is_refused():
    with pytest.raises(RigError, match="plays no action"):
        check_reducible(rig("right"))


def test_quaternions_that_change_sign_go_the_short_way():
    """From key to key, which are on whole frames here: between them nothing is seen of the long way."""
    bpy.context.scene.render.fps = 60
    armature = keyed_rig()
    before = evaluated_frames(armature)
    for curve in curves_on(armature):
        if curve.data_path.endswith("quaternion"):
            for key in list(curve.keyframe_points)[::2]:
                key.co[1] *= -1
    reduce_keys(armature, Reduction())
    assert_within(before, evaluated_frames(armature))
    for curve in curves_on(armature):
        values = [curve.evaluate(frame) for frame in np.arange(1, 60, 0.25)]
        assert np.abs(np.diff(values)).max() < 0.2


def test_keys_of_filled_frames_keep_their_type_and_the_ends_of_their_stretch():
    armature = foreign()
    name = "index-finger-phalanx-distal"
    for curve in curves_of_bone(armature, name):
        for key in curve.keyframe_points[20:40]:
            key.type = "JITTER"
        curve.keyframe_points[60].type = "EXTREME"
    reduce_keys(armature, Reduction())
    for curve in curves_of_bone(armature, name):
        types = {round(key.co[0]): key.type for key in curve.keyframe_points}
        assert types[21] == types[40] == "JITTER" and types[61] == "EXTREME"
        assert all((kind == "JITTER") == (21 <= frame <= 40) for frame, kind in types.items())


def test_an_animators_markers_keep_a_key():
    armature = foreign()
    armature.animation_data.action.pose_markers.new("Here").frame = 33
    reduce_keys(armature, Reduction(Tolerance(0.02, 0.3)))
    assert all(
        33 in [round(key.co[0]) for key in curve.keyframe_points]
        for curve in curves_of_bone(armature, "index-finger-phalanx-distal")
    )
