"""Recordings baked onto the rigs of others: every bone as kept, fingertips as seen, no limit broken, as evaluated."""

import json
from pathlib import Path

import bpy
import numpy as np
import pytest

from knuckle.rig.armature_hands import find_hands
from knuckle.tests.blender.baking import HELD, Bone, bake, headset_clip, headset_poses, measured
from knuckle.tests.blender.curling import whole_curls
from knuckle.tests.blender.making import rig
from knuckle.tests.blender.rigs import PLACES, RIGS, placed, strange

SOME = slice(0, None, 60)
ROUNDED = 0.02
"""Degrees by which Blender's reals of four bytes may be off."""
TIPS, MOST = 5.0, 10.0
"""Degrees by which fingertips and all bones may point beside the ways between their markers."""


def check(bones: list[Bone], least: int, rounded: float = ROUNDED) -> None:
    assert len(bones) >= least
    for name in ("kept", "beyond", "changed"):
        worst = max(bones, key=lambda bone: float(getattr(bone, name)))
        assert getattr(worst, name) < rounded, f"{worst.side} {worst.joint}: {name} {getattr(worst, name):.3f} degrees"


def check_seen(bones: list[Bone], least: int) -> None:
    """Against the capture's own markers."""
    last = [bone.seen for bone in bones if bone.last]
    assert np.isfinite(last).sum() >= least
    assert np.nanmax(last) < TIPS, f"fingertips point up to {np.nanmax(last):.2f} > {TIPS} degrees beside their markers"
    worst = max(bones, key=lambda bone: np.nan_to_num(bone.seen))
    assert worst.seen < MOST, f"{worst.side} {worst.joint}: {worst.seen:.2f} > {MOST} degrees beside its markers"


@pytest.mark.parametrize("name", ["WebXR, left", "MakeHuman", "Rigify metarig", "Rigify generated", "named as Mixamo"])
def test_gloves_are_baked_so_that_every_bone_points_as_it_was_seen_inside_all_limits(name: str, glove: Path) -> None:
    armature, truth = RIGS[name]()
    # A bone's direction is seen where a marker is read as each of its two joints.
    take = bake(armature, glove, markers_on="joints")
    bones = list(measured(armature, take, SOME))
    check(bones, 15 * len(truth) * (len(take.times) // 60))
    check_seen(bones, 5 * len(truth) * (len(take.times) // 60))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["WebXR, right", "MakeHuman for games", "Rigify generated"])
def test_names_rolls_scales_and_mirrors_change_nothing_of_a_bake(name: str, place: str, glove: Path) -> None:
    armature, truth = RIGS[name]()
    strange(armature, truth, rolled=not any(bone.constraints for bone in armature.pose.bones))
    placed(armature, place)
    # A hand of 2 mm that stands 4 m from the origin is rounded to a hundredth of a bone.
    tiny = name.startswith("WebXR") and place.startswith("a hundredth")
    take = bake(armature, glove, start=400, end=460)
    check(list(measured(armature, take, slice(0, None, 20))), 45, 2.0 if tiny else ROUNDED)


def test_poses_of_a_headset_alone_have_their_fingertips_point_as_they_were_seen(tmp_path: Path, headset: Path) -> None:
    armature, _ = RIGS["MakeHuman"]()
    bones: list[Bone] = []
    for number, pose in enumerate(headset_poses(headset)[::5]):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(pose))
        bones += measured(armature, bake(armature, path), slice(None))
    check(bones, 11 * 15)
    check_seen(bones, 11 * 5)


def test_a_recording_of_a_headset_is_baked_pose_by_pose(tmp_path: Path, headset: Path) -> None:
    armature, _ = RIGS["WebXR, right"]()
    take = bake(armature, headset_clip(headset, tmp_path / "poses.json"))
    bones = list(measured(armature, take, slice(HELD // 2, None, 2 * HELD)))
    check(bones, 27 * 15)
    check_seen(bones, 27 * 5)


@pytest.mark.parametrize("name", [name for name in RIGS if not name.startswith("named")])
def test_a_curl_of_60_degrees_of_all_joints_at_once_brings_every_tip_to_the_palm(name: str) -> None:
    armature, _ = RIGS[name]()
    for found in find_hands(armature):
        curls = list(whole_curls(armature, found))
        assert len(curls) == 5
        for curl in curls:
            said = f"{curl.side} {curl.joint}: {curl.nearer:.2f} of its reach nearer, {curl.aside:.0f} degrees aside"
            assert curl.nearer > 0.4, said
            assert curl.joint.startswith("thumb") or curl.aside < 30, said


def test_a_rig_that_is_a_fist_at_rest_is_baked_alike(tmp_path: Path, glove: Path, headset: Path) -> None:
    armature, _ = RIGS["MakeHuman"]()
    fist = next(pose for pose in headset_poses(headset) if "fist" in pose["names"])
    (tmp_path / "fist.json").write_text(json.dumps(fist))
    bake(armature, tmp_path / "fist.json")
    bpy.context.scene.frame_set(1)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.armature_apply()
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.animation_data_clear()
    check(list(measured(armature, bake(armature, glove, start=400, end=460), slice(0, None, 20))), 90)


def test_a_finger_bent_by_rigifys_master_control_is_keyed_against_it(glove: Path) -> None:
    armature, _ = RIGS["Rigify generated"]()
    for side in "LR":
        armature.pose.bones[f"f_index.01_master.{side}"].scale = (1.0, 0.6, 1.0)
        armature.pose.bones[f"f_ring.01_master.{side}"].rotation_mode = "XYZ"
        armature.pose.bones[f"f_ring.01_master.{side}"].rotation_euler = (0.5, 0.0, 0.3)
    bpy.context.view_layer.update()
    bent = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones["DEF-f_index.02.R"]
    assert np.degrees(np.arccos(bent.y_axis @ bent.bone.matrix_local.to_3x3().col[1])) > 20
    check(list(measured(armature, bake(armature, glove, start=400, end=460), slice(0, None, 20))), 90)


def test_bones_between_a_fingers_bones_that_are_turned_are_made_up_for(glove: Path) -> None:
    armature = rig("right", arm=True)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    for joint in ("index-finger-phalanx-intermediate", "ring-finger-phalanx-proximal"):
        between = bones.new(f"{joint} offset")
        between.head, between.tail = bones[joint].head, bones[joint].tail
        between.parent = bones[joint].parent
        bones[joint].parent = between
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in armature.pose.bones:
        if bone.name.endswith("offset"):
            bone.rotation_mode, bone.rotation_euler = "XYZ", (0.6, -0.4, 0.3)
    check(list(measured(armature, bake(armature, glove, start=400, end=460), slice(0, None, 20))), 45)
