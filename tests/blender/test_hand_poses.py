"""The named poses on the skin of Knuckle's hand and on the bones of rigs."""

import re
from collections.abc import Callable
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any
from uuid import UUID

import bpy
import numpy as np
import pytest
from mathutils.bvhtree import BVHTree

from knuckle.errors import HandError
from knuckle.hand import poses, proportions
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.keys.take_scene import new_hand
from knuckle.rig.posing.asset_stamps import MARK, POSED_MARK
from knuckle.rig.posing.hand_poses import apply_pose, posed_joints
from knuckle.rig.posing.posable_hand import make_rig_hand
from knuckle.rig.posing.pose_assets import add_pose_assets
from knuckle.rig.posing.rig_hand import RigHand
from knuckle.tests.blender import rigs
from knuckle.tests.blender.making import Floats, evaluated
from knuckle.tests.blender.snapshot import differences, snapshot
from knuckle.tests.blender.test_held import default

RIGS = ("Knuckle's own", "MakeHuman", "Rigify generated", "WebXR, left")
SOME = ("fist", "letter-b", "ok", "spread")
Object = bpy.types.Object


def opened(name: str) -> Object:
    armature = rigs.RIGS[name]()[0] if name in rigs.RIGS else default()
    bpy.context.view_layer.objects.active = armature
    bpy.context.view_layer.update()
    return armature


def held_hands(armature: Object) -> list[RigHand]:
    return [make_rig_hand(armature, found) for found in find_hands(armature)]


def channels(armature: Object) -> Floats:
    bpy.context.view_layer.update()
    return np.array([bone.matrix_basis for bone in armature.pose.bones])


def worst(armature: Object, held: RigHand, name: str) -> float:
    """Degrees between where a bone points, seen from the wrist, and where the angles of a pose say."""
    bpy.context.view_layer.update()
    bones = {str(joint): bone for joint, bone in zip(held.hand.joints, held.binding.bones, strict=True) if bone}
    heads = evaluated(armature, bones)[:, :3, 3]
    frames = joint_frames(held.hand, Pose(held.hand, np.eye(4)[None], poses.angles(held.hand, name)[None]))[0]
    wrist = held.read_pose().root[0, :3, :3]
    off = [0.0]
    for digit in held.digits:
        there = [joint for joint in CHAIN_JOINTS[digit] if joint in bones]
        for joint, following in pairwise(JOINT_INDEX[joint] for joint in there):
            seen = wrist.T @ (heads[following] - heads[joint])
            said = frames[following, :3, 3] - frames[joint, :3, 3]
            cosine = seen @ said / np.linalg.norm(seen) / np.linalg.norm(said)
            off.append(float(np.rad2deg(np.arccos(np.clip(cosine, -1, 1)))))
    return max(off)


def disturbed(held: RigHand) -> None:
    """Every bone of the digits is turned a little as no hand moves, in terms of its own."""
    rng = np.random.default_rng(3)
    armature = bpy.data.objects[held.binding.armature]
    for joint in posed_joints(held):
        bone: Any = armature.pose.bones[str(held.binding.bones[joint])]
        bone.rotation_mode = str(rng.choice(["QUATERNION", "XYZ", "ZYX"]))
        if bone.rotation_mode == "QUATERNION":
            bone.rotation_quaternion = [1.0, *(0.1 * rng.normal(size=3))]
        else:
            bone.rotation_euler = 0.1 * rng.normal(size=3)
    bpy.context.view_layer.update()


@pytest.mark.parametrize("rig", RIGS)
def test_bones_of_rigs_point_as_the_angles_say(rig: str) -> None:
    armature = opened(rig)
    for held in held_hands(armature):
        for name in poses.names_in_group("everyday"):
            apply_pose(held, name)
            off = worst(armature, held, name)
            assert off < 3, f"{held.hand.side} {name}: {off:.1f} degrees > 3"


@pytest.mark.parametrize("rig", ["Knuckle's own", "MakeHuman", "WebXR, left"])
def test_a_pose_asset_applied_by_blender_is_the_pose_that_is_applied_here(rig: str) -> None:
    armature = opened(rig)
    for held in held_hands(armature):
        disturbed(held)
        for name, action in zip(SOME, add_pose_assets(armature, [held], SOME), strict=True):
            apply_pose(held, name)
            here = channels(armature)
            disturbed(held)
            armature.pose.apply_pose_from_action(action)
            np.testing.assert_allclose(channels(armature), here, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("rig", RIGS[:2])
def test_a_blend_of_nothing_changes_nothing_and_half_is_halfway_in_every_angle(rig: str) -> None:
    armature = opened(rig)
    held = held_hands(armature)[0]
    disturbed(held)
    before = channels(armature)
    apply_pose(held, "fist", 0.0)
    np.testing.assert_array_equal(channels(armature), before)
    apply_pose(held, "spread")
    bpy.context.view_layer.update()
    apply_pose(held, "fist", 0.5)
    bpy.context.view_layer.update()
    has = [dof for dof, joint in enumerate(held.hand.axis_joint) if joint in posed_joints(held)]
    between = (poses.angles(held.hand, "spread") + poses.angles(held.hand, "fist")) / 2
    np.testing.assert_allclose(np.rad2deg(held.read_pose().angles[0, has]), np.rad2deg(between[has]), atol=0.05)


@pytest.mark.parametrize("rig", RIGS[:2])
def test_a_pose_changes_the_turns_of_the_digits_bones_and_nothing_else(rig: str) -> None:
    armature = opened(rig)
    held = held_hands(armature)[0]
    disturbed(held)
    first, before = snapshot(), channels(armature)
    apply_pose(held, "letter-e")
    moved = np.any(channels(armature) != before, axis=(1, 2))
    own = {held.binding.bones[joint] for joint in posed_joints(held)}
    assert {bone.name for bone, moves in zip(armature.pose.bones, moved, strict=True) if moves} == own
    turned = ("rotation_quaternion", "rotation_euler", "rotation_axis_angle", "matrix_basis")
    assert not [place for place in differences(first, snapshot()) if not place.endswith(turned)]


def actions_aside(before: dict[str, Any]) -> dict[str, Any]:
    """What is not as it was, beside that there are more actions, and by what they are known again."""
    changed = differences(before, snapshot()).items()
    return {place: pair for place, pair in changed if not place.startswith("actions/") and POSED_MARK not in place}


@pytest.mark.parametrize("mode", ["OBJECT", "POSE"])
def test_pose_assets_are_new_actions_of_one_frame_and_nothing_else(mode: Any) -> None:
    armature = opened("MakeHuman")
    other = bpy.data.objects.new("Other", None)
    bpy.context.scene.collection.objects.link(other)
    other.select_set(True)
    bpy.ops.object.mode_set(mode=mode)
    hands = held_hands(armature)
    disturbed(hands[0])
    before = snapshot()
    made = add_pose_assets(armature, hands)
    assert not actions_aside(before)
    assert len(made) == 2 * len(poses.POSES) == len(bpy.data.actions)
    for action in made:
        assert action.asset_data and action.use_fake_user
        assert action.slots[0].target_id_type == "OBJECT"
        assert [*action.frame_range] == [1.0, 1.0]
        data: Any = action.asset_data
        assert {"hand", armature.name} < {tag.name for tag in data.tags}
    catalogs = {(action.name[-1], action.asset_data.catalog_id) for action in made}
    assert len(catalogs) == 2 == len({catalog for _, catalog in catalogs} - {str(UUID(int=0))})


def test_catalogs_are_written_beside_the_file_by_blender(tmp_path: Path) -> None:
    armature = opened("Knuckle's own")
    (held,) = held_hands(armature)
    add_pose_assets(armature, [held], ["fist"])
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hand.blend"))
    assert ":Hand Poses/Right:" in (tmp_path / "blender_assets.cats.txt").read_text()


def test_made_again_they_are_brought_up_to_date_and_not_doubled() -> None:
    armature = opened("Knuckle's own")
    (held,) = held_hands(armature)
    first = add_pose_assets(armature, [held], ["fist", "ok"])
    first[0].name = "My Fist"
    first[0].asset_data.description = "mine"
    armature.pose.bones["index-finger-phalanx-proximal"].rotation_mode = "XYZ"
    again = add_pose_assets(armature, [held], ["fist", "ok", "point"])
    assert again[:2] == first and len(bpy.data.actions) == 3
    assert (first[0].name, first[0].asset_data.description) == ("My Fist", "mine")
    paths = {curve.data_path for curve in curves(first[0])}
    assert 'pose.bones["index-finger-phalanx-proximal"].rotation_euler' in paths
    assert {len(curve.keyframe_points) for curve in curves(first[0])} == {1}


def keys(action: bpy.types.Action) -> list[list[float]]:
    return [[point.co.y for point in curve.keyframe_points] for curve in curves(action)]


def turned_otherwise(held: RigHand) -> None:
    """From now on its poses are keyed otherwise."""
    held.armature_object().pose.bones["index-finger-phalanx-proximal"].rotation_mode = "XYZ"


@pytest.mark.parametrize("which", ["as it was named", "renamed"])
def test_a_copy_of_a_pose_asset_is_a_persons_own_and_stays(which: str) -> None:
    (held,) = held_hands(armature := opened("Knuckle's own"))
    (made,) = add_pose_assets(armature, [held], ["fist"])
    copy = made.copy()
    copy.asset_mark()
    assert copy.get(MARK), "Blender copies custom properties"
    if which == "renamed":
        made.name = "Mine"
        copy.name = "Fist before"
    before = keys(copy)
    turned_otherwise(held)
    (again,) = add_pose_assets(armature, [held], ["fist"])
    assert keys(copy) == before != keys(again)
    assert again == made or which == "renamed", "where it cannot be told which is the copy, both stay"
    assert keys(made) == (before if which == "renamed" else keys(again))
    count = len(bpy.data.actions)
    assert add_pose_assets(armature, [held], ["fist"]) == [again]
    assert len(bpy.data.actions) == count


def moved_key(action: bpy.types.Action) -> None:
    curves(action)[0].keyframe_points[0].co.y += 0.1


def kept_value(action: bpy.types.Action) -> None:
    curves(action)[0].keyframe_points[0].interpolation = "CONSTANT"


def muted(action: bpy.types.Action) -> None:
    curves(action)[0].mute = True


def modified(action: bpy.types.Action) -> None:
    curves(action)[0].modifiers.new("NOISE")


def two_bones_swapped(action: bpy.types.Action) -> None:
    for curve in curves(action):
        curve.data_path = re.sub(
            "index|middle", lambda found: "middle" if found[0] == "index" else "index", curve.data_path
        )


def seen(action: bpy.types.Action) -> list[Any]:
    return [
        (
            curve.data_path,
            curve.mute,
            len(curve.modifiers),
            [(*key.co, key.interpolation) for key in curve.keyframe_points],
        )
        for curve in curves(action)
    ]


@pytest.mark.parametrize("edit", [moved_key, kept_value, muted, modified, two_bones_swapped])
def test_a_pose_asset_that_a_person_edited_stays(edit: Callable[[bpy.types.Action], None]) -> None:
    (held,) = held_hands(armature := opened("Knuckle's own"))
    (made,) = add_pose_assets(armature, [held], ["fist"])
    as_made = seen(made)
    edit(made)
    before = seen(made)
    assert before != as_made
    (again,) = add_pose_assets(armature, [held], ["fist"])
    assert again != made and seen(made) == before and seen(again) == as_made
    assert add_pose_assets(armature, [held], ["fist"]) == [again]
    assert seen(made) == before


def test_an_asset_is_known_again_after_a_bone_of_it_was_renamed() -> None:
    armature = opened("Knuckle's own")
    made = add_pose_assets(armature, held_hands(armature), ["fist"])
    armature.data.bones["index-finger-phalanx-distal"].name = "renamed"
    assert add_pose_assets(armature, held_hands(armature), ["fist"]) == made
    assert any('"renamed"' in curve.data_path for curve in curves(made[0]))


@pytest.mark.parametrize("left", ["in Pose Mode, selected", "in Pose Mode", "in Object Mode"])
def test_catalogs_are_made_and_each_object_keeps_its_mode_and_whether_it_is_selected(left: str) -> None:
    one, other = default(), default()
    third = default()
    bpy.context.view_layer.update()
    bpy.context.view_layer.objects.active = other
    for armature in (one, other, third):
        armature.select_set(armature != third and (armature == other or left != "in Object Mode"))
    bpy.ops.object.mode_set(mode="POSE")
    one.select_set(left == "in Pose Mode, selected")
    before = snapshot()
    modes = [(obj.mode, obj.select_get()) for obj in (one, other, third)]
    (made,) = add_pose_assets(third, held_hands(third), ["fist"])
    assert made.asset_data.catalog_id != str(UUID(int=0))
    assert [(obj.mode, obj.select_get()) for obj in (one, other, third)] == modes
    assert bpy.context.view_layer.objects.active == other
    assert not actions_aside(before)


def test_an_armature_stays_in_pose_mode_while_its_weights_are_painted() -> None:
    armature = opened("Knuckle's own")
    skin = next(obj for obj in bpy.data.objects if obj.type == "MESH")
    armature.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.context.view_layer.objects.active = skin
    skin.select_set(True)
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    assert (armature.mode, skin.mode) == ("POSE", "WEIGHT_PAINT")
    before = snapshot()
    add_pose_assets(armature, held_hands(armature), ["fist"])
    assert (armature.mode, skin.mode) == ("POSE", "WEIGHT_PAINT")
    assert bpy.context.view_layer.objects.active == skin
    assert not actions_aside(before)


def test_a_renamed_armature_has_the_assets_that_it_had_and_a_copy_of_it_its_own(tmp_path: Path) -> None:
    (held,) = held_hands(armature := opened("Knuckle's own"))
    made = add_pose_assets(armature, [held], ["fist"])
    armature.name = "Renamed"
    armature.data.bones["thumb-tip"].name = "renamed"
    assert add_pose_assets(armature, held_hands(armature), ["fist"]) == made
    del armature[POSED_MARK]
    assert add_pose_assets(armature, held_hands(armature), ["fist"]) == made, "as a library override that is loaded"
    copy = armature.copy()
    copy.data = armature.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    bpy.context.view_layer.update()
    of_copy = add_pose_assets(copy, held_hands(copy), ["fist"])
    assert of_copy != made
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hand.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "hand.blend"))
    for armature in [obj for obj in bpy.data.objects if obj.type == "ARMATURE"]:
        add_pose_assets(armature, held_hands(armature), ["fist"])
    assert len(bpy.data.actions) == 2


def curves(action: bpy.types.Action) -> list[Any]:
    return [c for layer in action.layers for strip in layer.strips for bag in strip.channelbags for c in bag.fcurves]


def test_previews_show_the_hand_and_the_left_one_in_the_mirror() -> None:
    armature = opened("MakeHuman")
    left, right = (picture(action) for action in add_pose_assets(armature, held_hands(armature), ["letter-l"]))
    np.testing.assert_allclose(left, right[:, ::-1], atol=1 / 255)
    shown = right[..., 3] > 0.5
    assert 0.1 < shown.mean() < 0.6
    assert right[shown][:, :3].mean() > 0.2, "lit"


def picture(action: bpy.types.Action) -> Floats:
    preview: Any = action.preview
    width, height = preview.image_size
    stored = np.empty(width * height * 4, np.float32)
    preview.image_pixels_float.foreach_get(stored)
    return stored.reshape(height, width, 4).astype(float)


def test_two_rigs_have_poses_of_their_own() -> None:
    one, other = default(), default()
    for armature in (one, other):
        bpy.context.view_layer.update()
        add_pose_assets(armature, held_hands(armature), ["fist"])
    assert len(bpy.data.actions) == 2


def test_a_pose_that_is_not_known_changes_nothing() -> None:
    armature = opened("Knuckle's own")
    (held,) = held_hands(armature)
    before = snapshot()
    with pytest.raises(HandError, match="no pose 'wave'"):
        apply_pose(held, "wave")
    with pytest.raises(HandError, match="no pose 'wave'"):
        add_pose_assets(armature, [held], ["fist", "wave"])
    assert not differences(before, snapshot())


@pytest.mark.usefixtures("extension")
def test_the_operators_say_what_they_cannot_do_and_do_the_rest() -> None:
    armature = opened("Knuckle's own")
    with pytest.raises(RuntimeError, match="has no left hand"):
        bpy.ops.knuckle.apply_hand_pose(pose="fist", side="left")
    with pytest.raises(RuntimeError, match="No bone of a hand is selected"):
        bpy.ops.knuckle.apply_hand_pose(pose="fist", side="SELECTED")
    bpy.ops.object.mode_set(mode="POSE")
    bone: Any = armature.pose.bones["thumb-phalanx-distal"]
    (bone if hasattr(bone, "select") else bone.bone).select = True
    assert bpy.ops.knuckle.apply_hand_pose(pose="fist", side="SELECTED") == {"FINISHED"}
    (held,) = held_hands(armature)
    assert worst(armature, held, "fist") < 0.1
    assert bpy.ops.knuckle.add_hand_poses() == {"FINISHED"}
    assert len(bpy.data.actions) == len(poses.POSES)
    assert armature.animation_data is None


TOUCH: dict[str, tuple[str, ...]] = {
    "fist": ("thumb index", "thumb middle"),
    "point": ("thumb middle",),
    "victory": ("thumb ring",),
    "ok": ("thumb index",),
    "pinch": ("thumb index",),
    "grip-key": ("thumb index",),
    "letter-a": ("thumb index",),
    "letter-d": ("thumb middle",),
    "letter-e": ("thumb index", "thumb middle"),
    "letter-f": ("thumb index",),
    "letter-i": ("thumb index", "thumb middle"),
    "letter-o": ("thumb index",),
    "letter-u": ("thumb ring", "index middle"),
    "letter-w": ("thumb pinky",),
    "letter-x": ("thumb middle",),
}
"""Pose -> digits that lie on each other in it."""

THICK = 0.012
"""m, no digit is thicker to its middle: what is further behind its skin stands before its open end."""


class Skin:
    """The skin of Knuckle's right hand, digit by digit."""

    def __init__(self) -> None:
        measures = proportions.adult("right")
        self.armature, _ = new_hand(measures, proportions.build(measures), bpy.context.scene.collection)
        self.mesh = self.armature.children[0]
        joints = [group.name for group in self.mesh.vertex_groups]
        carrier = [joints[max(v.groups, key=lambda g: g.weight).group] for v in self.mesh.data.vertices]
        chains = {digit.split("-")[0]: CHAIN_JOINTS[digit] for digit in DIGITS}
        tubes = {name: set(chain if name != "thumb" else chain[1:]) for name, chain in chains.items()}
        faces = [list(polygon.vertices) for polygon in self.mesh.data.polygons]
        self.faces = {
            name: [face for face in faces if all(carrier[v] in tube for v in face)] for name, tube in tubes.items()
        }
        # A digit's outer two phalanges: where two fingers begin, webs of skin join them.
        self.outer = {
            name: [v for v, joint in enumerate(carrier) if joint in chain[-3:]] for name, chain in chains.items()
        }

    def deepest(self, one: str, other: str) -> float:
        """mm, how deep the outer phalanges of a digit are in another digit; below zero outside of it."""
        bpy.context.view_layer.update()
        evaluated = self.mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
        stored = np.empty(3 * len(evaluated.data.vertices), np.float32)
        evaluated.data.vertices.foreach_get("co", stored)
        points = stored.reshape(-1, 3)
        tree = BVHTree.FromPolygons(points.tolist(), self.faces[other])
        deepest = -np.inf
        for v in self.outer[one]:
            place, normal, _, away = tree.find_nearest(points[v].tolist())
            inside = away < THICK and (points[v] - np.array(place)) @ np.array(normal) < -0.5 * away
            deepest = max(deepest, away if inside else -away)
        return 1000 * deepest


def test_nothing_goes_through_anything_and_what_touches_lies_on() -> None:
    skin = Skin()
    (found,) = find_hands(skin.armature)
    held = make_rig_hand(skin.armature, found)
    for name in poses.POSES:
        apply_pose(held, name)
        pairs = permutations(skin.faces, 2)
        deep = {f"{one} {other}": skin.deepest(one, other) for one, other in pairs}
        worst = max(deep, key=lambda pair: deep[pair])
        assert deep[worst] < 1.3, f"{name}: {deep[worst]:.2f} mm, {worst}"
        for pair in TOUCH.get(name, ()):
            gap = -max(deep[pair], deep[" ".join(reversed(pair.split()))])
            assert gap < 0.5, f"{name}: {gap:.2f} mm between {pair}"
