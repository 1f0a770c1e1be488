"""The hand as Blender evaluates it: bones at the joints, a skin that moves with them, a scene left as it was."""

from collections.abc import Iterator

import bpy
import numpy as np
import pytest
from mathutils.bvhtree import BVHTree

from knuckle.hand.joints import JOINT_INDEX, JOINTS, PARENTS, Side
from knuckle.hand.kinematics import Pose, joint_frames, joint_rotations
from knuckle.hand.mesh.skinning import deform_skin
from knuckle.hand.mesh.surface import surface
from knuckle.hand.poses import angles
from knuckle.hand.proportions import adult, build
from knuckle.rig.default_hand import NAIL, SKIN, add_hand


@pytest.fixture(autouse=True)
def empty_file() -> Iterator[None]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    yield
    bpy.ops.wm.read_factory_settings(use_empty=True)


def evaluated(mesh: bpy.types.Object) -> np.ndarray:
    """(V, 3) m, the vertices as the armature leaves them."""
    found = mesh.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    points = np.empty(len(found.vertices) * 3, np.float32)
    found.vertices.foreach_get("co", points)
    return points.reshape(-1, 3).astype(float)


def set_pose(armature: bpy.types.Object, rotations: np.ndarray) -> None:
    for name, rotation in zip(JOINTS, rotations, strict=True):
        armature.pose.bones[name].rotation_quaternion = rotation
    bpy.context.view_layer.update()


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_bones_are_the_joints(side: Side) -> None:
    measures = adult(side)
    armature = add_hand(measures, "Hand", bpy.context.scene.collection)
    hand = build(measures)
    frames = joint_frames(hand, Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs))))[0]
    bones = armature.data.bones
    assert [bone.name for bone in bones if bone.parent is None] == ["wrist"]
    for joint, name in enumerate(JOINTS):
        np.testing.assert_allclose(np.array(bones[name].matrix_local), frames[joint], atol=1e-6, err_msg=name)
        if joint:
            assert bones[name].parent.name == JOINTS[PARENTS[joint]]
        assert armature.pose.bones[name].rotation_mode == "QUATERNION"
        assert bones[name].use_deform == (not name.endswith("tip")), name
        assert bones[name].use_connect == (joint > 0 and not name.endswith("metacarpal")), name


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", ["fist", "pinch"])
def test_blender_skins_as_the_measurements_assume(side: Side, name: str) -> None:
    measures = adult(side)
    armature = add_hand(measures, "Hand", bpy.context.scene.collection)
    hand = build(measures)
    set_pose(armature, joint_rotations(hand, angles(hand, name)[None])[0])
    expected = deform_skin(surface(measures), hand, angles(hand, name))
    apart = np.linalg.norm(evaluated(armature.children[0]) - expected, axis=1).max()
    assert apart < 2e-5, f"{1000 * apart:.3f} mm > 0.02 mm"


def test_a_bone_moves_its_own_part_of_the_skin_alone() -> None:
    armature = add_hand(adult("right"), "Hand", bpy.context.scene.collection)
    mesh = armature.children[0]
    before = evaluated(mesh)
    bone = armature.pose.bones["index-finger-phalanx-intermediate"]
    bone.rotation_quaternion = (np.cos(0.5), -np.sin(0.5), 0, 0)
    bpy.context.view_layer.update()
    moved = np.linalg.norm(evaluated(mesh) - before, axis=1)
    weights = surface(adult("right")).weights
    carried = weights[:, [JOINT_INDEX[f"index-finger-phalanx-{part}"] for part in ("intermediate", "distal")]].sum(1)
    assert moved[carried == 1].min() > 0.001
    assert moved[carried == 0].max() < 1e-6


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_skin_does_not_cut_itself_at_rest(side: Side) -> None:
    skinned = surface(adult(side))
    tree = BVHTree.FromPolygons((1000 * skinned.vertices).tolist(), skinned.quads.tolist())
    corners = [set(quad) for quad in skinned.quads.tolist()]
    cuts = [(a, b) for a, b in tree.overlap(tree) if a < b and not corners[a] & corners[b]]
    assert not cuts, f"{len(cuts)} pairs of quads, first at {skinned.vertices[skinned.quads[cuts[0][0]]].mean(0)}"


def test_the_mesh_is_valid_and_its_nails_are_nail() -> None:
    mesh = add_hand(adult("right"), "Hand", bpy.context.scene.collection).children[0].data
    assert not mesh.validate(verbose=True), "Blender mended it"
    assert [material.name for material in mesh.materials] == [SKIN, NAIL]
    nails = sum(polygon.material_index == 1 for polygon in mesh.polygons)
    assert nails == surface(adult("right")).nails.sum() > 0
    assert all(polygon.use_smooth for polygon in mesh.polygons)


def test_two_hands_share_their_materials() -> None:
    for side in ("left", "right"):
        add_hand(adult(side), side, bpy.context.scene.collection)
    assert len(bpy.data.materials) == 2


def test_mode_selection_and_active_object_stay() -> None:
    bpy.ops.mesh.primitive_cube_add()
    cube = bpy.context.view_layer.objects.active
    bpy.ops.mesh.primitive_cube_add()
    other = bpy.context.view_layer.objects.active
    other.select_set(False)
    cube.select_set(True)
    bpy.context.view_layer.objects.active = cube
    bpy.ops.object.mode_set(mode="EDIT")
    armature = add_hand(adult("right"), "Hand", bpy.context.scene.collection)
    assert bpy.context.view_layer.objects.active == cube
    assert cube.mode == "EDIT"
    assert armature.mode == "OBJECT"
    assert [item.name for item in bpy.context.view_layer.objects if item.select_get()] == [cube.name]


def test_a_hand_is_made_in_a_collection_the_view_layer_does_not_show() -> None:
    hidden = bpy.data.collections.new("Hidden")
    bpy.context.scene.collection.children.link(hidden)
    bpy.context.view_layer.layer_collection.children["Hidden"].exclude = True
    armature = add_hand(adult("right"), "Hand", hidden)
    assert len(armature.data.bones) == 25
    assert {item.name for item in hidden.objects} == {"Hand", "Hand Skin"}
    assert not bpy.context.scene.collection.objects
