"""Flesh of rigs: how thick their skin says they are, and a solve that keeps their digits apart."""

from dataclasses import replace
from typing import Any

import bmesh
import bpy
import numpy as np
import pytest

from knuckle.capture.markers import Markers
from knuckle.hand import kinematics, poses, proportions
from knuckle.hand.flesh import usual_radii
from knuckle.hand.joints import DIGIT_JOINTS, DIGITS, JOINT_INDEX, JOINTS
from knuckle.hand.kinematics import Pose
from knuckle.pipeline.evidence.evidence import MEASURE_INDEX
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.take import Take
from knuckle.rig.default_hand import add_hand
from knuckle.rig.drawn_flesh import hand_of_capsules
from knuckle.rig.rig_query import RigQuery
from knuckle.rig.skin_bones import joints_of_bones, weights_in_hand
from knuckle.tests.blender.making import find_hand, rig

SIZE = 0.24


@pytest.fixture
def large() -> bpy.types.Object:
    """Knuckle's own hand as a rig of a tall person's size, with its skin."""
    armature = add_hand(proportions.adult("right", SIZE), "Rig", bpy.context.collection)
    bpy.context.view_layer.update()
    return armature


def pinch_markers(frames: int = 40) -> Markers:
    """An adult who closes a pinch until the index finger is in the thumb."""
    hand = proportions.build(proportions.adult("right"))
    closed = poses.angles(hand, "pinch")
    closed[hand.dof("index-finger-phalanx-proximal", "flexion")] += np.deg2rad(6)
    share = np.linspace(0, 1, frames)[:, None]
    pose = Pose.at_origin(hand, (1 - share) * hand.neutral + share * closed)
    places = kinematics.joint_frames(hand, pose)[..., :3, 3]
    return Markers(JOINTS, np.arange(frames) / 60, places, "made", 60.0, "m")


def solved(armature: bpy.types.Object, **recipe: Any) -> Take:
    job = SolveJob(Recipe("made", **recipe), RigQuery.of(armature), markers=pinch_markers())
    for _ in job.steps():
        pass
    assert job.take is not None
    return job.take


def test_a_rigs_skin_says_how_thick_its_digits_are(large: bpy.types.Object) -> None:
    radii = RigQuery.of(large).rest_hand(proportions.build(proportions.adult("right")), True).radii
    assert np.isnan(radii[0, 0])
    assert radii.ravel()[1:] == pytest.approx(usual_radii(SIZE).ravel()[1:], rel=0.25)
    large.scale = (2.0, 2.0, 2.0)
    bpy.context.view_layer.update()
    twice = RigQuery.of(large).rest_hand(proportions.build(proportions.adult("right")), True).radii
    assert twice.ravel()[1:] == pytest.approx(2 * radii.ravel()[1:], rel=1e-4)


def test_a_solve_keeps_the_digits_of_a_rig_apart(large: bpy.types.Object) -> None:
    before, after = (solved(large, keep_apart=on) for on in (False, True))
    depth = [take.evidence.hands[0].values[..., MEASURE_INDEX["depth"]].max() for take in (before, after)]
    assert depth[0] > 3.0
    assert depth[1] < 1.3, "1 mm of a hand of the usual length, of which this has 1.27"
    assert after.report["recipe"]["keep_apart"] is True


@pytest.mark.parametrize("missing", DIGITS)
def test_a_hand_of_capsules_that_lacks_a_digit_is_as_thick(missing: str) -> None:
    hand = proportions.build(proportions.adult("right"))
    joints = kinematics.joint_frames(hand, Pose.at_origin(hand, hand.neutral[None]))[0, :, :3, 3]
    whole, _ = hand_of_capsules(joints)
    joints[[JOINT_INDEX[joint] for joint in DIGIT_JOINTS[missing]]] = np.nan
    seen, _ = hand_of_capsules(joints)
    depth, of_whole = (np.ptp(vertices[:, 2]) for vertices in (seen, whole))
    assert 0.5 * of_whole < depth <= of_whole + 1e-9


def test_a_vertex_in_a_group_that_its_mesh_lacks_moves_as_without_it() -> None:
    bpy.ops.mesh.primitive_cube_add()
    cube = bpy.context.object
    cube.vertex_groups.new(name="wrist").add([0, 1], 0.5, "REPLACE")
    weighted = weights_in_hand(cube, cube.data, {"wrist": 0})
    edited: Any = bmesh.new()
    edited.from_mesh(cube.data)
    layer = edited.verts.layers.deform.verify()
    for vertex in edited.verts:
        vertex[layer][7] = 1.0
    edited.to_mesh(cube.data)
    assert max(group.group for group in cube.data.vertices[0].groups) == 7
    for before, after in zip(weighted, weights_in_hand(cube, cube.data, {"wrist": 0}), strict=True):
        np.testing.assert_array_equal(before, after)
    assert weighted[0].tolist() == [0, 1]


def test_what_carries_the_digits_below_a_control_moves_with_the_wrist() -> None:
    armature, along = rig("right"), "middle-finger-metacarpal"
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    hand = bones.new("hand")
    hand.head, hand.tail = bones[along].head, bones[along].tail
    bpy.ops.object.mode_set(mode="OBJECT")
    found = find_hand(armature, "right")
    assert joints_of_bones(armature, found)["hand"] == JOINT_INDEX[along]
    assert joints_of_bones(armature, replace(found, carrier="hand"))["hand"] == JOINT_INDEX["wrist"]
