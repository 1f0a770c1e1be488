"""Armatures of the open scene as captures: which frames are read, and that nothing of the scene changes."""

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from knuckle.capture import Markers
from knuckle.errors import KnuckleError
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import JOINTS
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import Recipe
from knuckle.rig.keys.fcurves import curves_on
from knuckle.rig.keys.frame_times import set_scene_rate
from knuckle.rig.rig_query import RigQuery
from knuckle.rig.sources.frame_span import animated_span
from knuckle.rig.sources.reading import read_capture
from knuckle.tests.blender.curled import curl
from knuckle.tests.blender.exporting import evaluated_heads, read
from knuckle.tests.blender.making import moved, rig
from knuckle.tests.blender.rigs import PLACES, RIGS, placed
from knuckle.tests.blender.snapshot import differences, snapshot

JOINT_BONES = {joint: joint for joint in JOINTS}
NEAREST = 1e-6
"""m: 32 bits of a place a metre from the origin, and more."""
Object = bpy.types.Object


def keyed(armature: Object) -> None:
    curl(armature, [1, 20], [0.0, 1.0])


def stripped(armature: Object) -> None:
    """Only strips of the NLA, one played at half the speed."""
    keyed(armature)
    data = armature.animation_data
    strip = data.nla_tracks.new().strips.new("Curl", 10, data.action)
    strip.action_slot = data.action_slot
    strip.scale = 2.0
    data.action = None


def slotted(armature: Object) -> None:
    """An action whose other slot is longer."""
    keyed(armature)
    other = bpy.data.objects.new("Other", None)
    action = armature.animation_data.action
    other.animation_data_create().action = action
    other.animation_data.action_slot = action.slots.new(id_type="OBJECT", name="Other")
    for frame in (1, 400):
        other.keyframe_insert("location", frame=frame)


def constrained(armature: Object) -> None:
    """Bones that copy those of another armature, which is animated."""
    other = rig("right")
    other.name = "Leader"
    curl(other, [5, 24], [0.0, 1.0])
    for bone in armature.pose.bones:
        copy = bone.constraints.new("COPY_TRANSFORMS")
        copy.target, copy.subtarget = other, bone.name


def driven(armature: Object) -> None:
    """Bones with drivers, without a key: the scene's range counts."""
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 11, 30
    bone = armature.pose.bones["index-finger-phalanx-proximal"]
    bone.rotation_mode = "XYZ"
    bone.driver_add("rotation_euler", 0).driver.expression = "frame / 100"


def carried(armature: Object) -> None:
    """On a parent that is animated and small."""
    keyed(armature)
    parent = bpy.data.objects.new("Parent", None)
    bpy.context.scene.collection.objects.link(parent)
    parent.scale = (0.5, 0.5, 0.5)
    armature.parent = parent
    for frame, x in ((1, 0.0), (30, 1.0)):
        parent.location.x = x
        parent.keyframe_insert("location", frame=frame)


@pytest.mark.parametrize(
    ("animate", "first", "last"),
    [(keyed, 1, 20), (stripped, 10, 48), (slotted, 1, 20), (constrained, 5, 24), (driven, 11, 30), (carried, 1, 30)],
)
def test_each_frame_of_the_animation_is_read_as_blender_shows_it(
    animate: Callable[[Object], None], first: int, last: int
) -> None:
    armature = rig("right")
    animate(armature)
    check(armature, read("armature:Rig"), np.arange(first, last + 1.0))


@pytest.mark.parametrize("how", ["turned and small", "mirrored", "squeezed"])
def test_armatures_of_any_transform_are_read_in_the_world(how: str) -> None:
    armature = rig("right")
    keyed(armature)
    moved(armature, how)
    markers = read("armature:Rig", unit="m")
    check(armature, markers, np.arange(1, 21.0), "left" if how == "mirrored" else "right")


def check(armature: Object, markers: Markers, frames: np.ndarray, side: str = "right") -> None:
    """Against Blender's evaluation of the scene."""
    assert len(markers.times) == len(frames)
    order = [markers.names.index(f"{side}:{joint}") for joint in JOINTS]
    off = np.linalg.norm(markers.positions[:, order] - evaluated_heads(armature, JOINT_BONES, frames), axis=-1)
    assert off.max() < NEAREST, f"{1000 * off.max():.4f} mm"


SAMPLED = np.arange(5000.0)


@pytest.mark.parametrize(
    "frames",
    [
        100_000 + SAMPLED * 24 / 118,
        1 + SAMPLED * 0.2 + np.random.default_rng(0).normal(0.0, 0.004, 5000),
        np.round(SAMPLED / 120, 3) * 24,
        1 + np.delete(SAMPLED, np.arange(2, 4000, 3)) * 24 / 118,
        1 + np.delete(SAMPLED, np.arange(2000, 4999)) * 0.2,
    ],
    ids=["far from frame 1", "uneven", "in whole milliseconds", "some missing", "held for most of its length"],
)
def test_all_frames_of_a_dense_sampling_are_read(frames: np.ndarray) -> None:
    armature = rig("right")
    armature.keyframe_insert("location", index=0, frame=float(frames[0]))
    (curve,) = curves_on(armature)
    curve.keyframe_points.add(len(frames) - 1)
    curve.keyframe_points.foreach_set("co", np.stack([frames, 0 * frames], axis=1).ravel())
    curve.update()
    assert len(animated_span([armature], bpy.context.scene).frames()) == 5000


@pytest.mark.parametrize("last", [40, 200])
def test_keys_that_an_exporter_adds_where_angles_jump_do_not_make_a_dense_sampling(last: int) -> None:
    """As Mixamo's dances: keys on each frame, and on tenths of some frames for the bones that turn over there."""
    armature = rig("right")
    frames = np.arange(1, last + 1.0)
    curl(armature, frames.tolist(), (frames / last).tolist())
    jumps = np.arange(5, last - 1, 3)
    bone = armature.pose.bones["thumb-metacarpal"]
    for frame in np.unique(np.concatenate([frames, *(jumps + tenth / 10 for tenth in range(1, 10))])):
        bone.keyframe_insert("rotation_quaternion", frame=float(frame))
    span = animated_span([armature], bpy.context.scene)
    assert span.frames().tolist() == frames.tolist()


@pytest.mark.parametrize(
    ("rate", "baked", "count"),
    [(24.0, 30.0, 60), (24.0, 120.0, 60), (30 / 1.001, 100.0, 60), (60.0, 60.0, 60), (24.0, 118.0, 300)],
)
def test_keys_between_the_scenes_frames_are_read_where_they_are(rate: float, baked: float, count: int) -> None:
    set_scene_rate(bpy.context.scene, rate)
    armature = rig("right")
    angles = 0.5 - 0.5 * np.cos(np.arange(count) / 5)
    curl(armature, (1 + np.arange(count) * rate / baked).tolist(), angles.tolist())
    markers = read("armature:Rig")
    assert len(markers.times) == count
    assert np.allclose(markers.times, np.arange(count) / baked, atol=1e-4)
    assert abs(markers.rate - baked) < 1e-3 * baked
    parts = ("phalanx-intermediate", "phalanx-distal")
    knuckle, middle, last = (
        markers.positions[:, markers.names.index(f"right:index-finger-{part}")] for part in ("phalanx-proximal", *parts)
    )
    one, other = middle - knuckle, last - middle
    bend = np.arctan2(np.linalg.norm(np.cross(one, other), axis=-1), (one * other).sum(-1))
    assert np.allclose(bend - bend[0], angles, atol=1e-3)


def test_reading_changes_nothing_of_the_scene() -> None:
    armature = rig("right")
    keyed(armature)
    armature.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    scene = bpy.context.scene
    scene.frame_set(7, subframe=0.25)
    bone = armature.pose.bones["index-finger-phalanx-proximal"]
    bone.rotation_quaternion, bone.location = (0.0, 1.0, 0.0, 0.0), (1.0, 2.0, 3.0)
    before = snapshot()
    read("armature:Rig")
    assert differences(before, snapshot()) == {}
    assert (scene.frame_current, scene.frame_subframe) == (7, 0.25)


def test_a_reading_that_is_closed_leaves_nothing_behind() -> None:
    keyed(rig("right"))
    before = snapshot()
    work = read_capture(Recipe("armature:Rig"))
    next(work)
    assert len(bpy.data.scenes) == 2
    work.close()
    assert differences(before, snapshot()) == {}


def test_an_armature_that_is_removed_while_it_is_read_is_said_so() -> None:
    keyed(rig("right"))
    work = read_capture(Recipe("armature:Rig"))
    next(work)
    bpy.data.objects.remove(bpy.data.objects["Rig"])
    with pytest.raises(KnuckleError, match="armature 'Rig' or bones of its hands are no longer in this file"):
        run_to_end(work)
    assert len(bpy.data.scenes) == 1


def hidden(armature: Object) -> None:
    keyed(armature)
    armature.hide_viewport = True


def endless(armature: Object) -> None:
    curl(armature, [1, 400_000], [0.0, 1.0])


def renamed(armature: Object) -> None:
    keyed(armature)
    armature.name = "Another"


def without_a_hand(armature: Object) -> None:
    keyed(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in list(armature.data.edit_bones)[4:]:
        armature.data.edit_bones.remove(bone)
    bpy.ops.object.mode_set(mode="OBJECT")


def with_a_bone_renamed_in_edit_mode(armature: Object) -> None:
    """As `make fuzz OF=scene` found: the pose has the new name at once, the bone itself after Edit Mode."""
    keyed(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.bones[0].name = "renamed"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (hidden, "armature 'Rig' is disabled in viewports"),
        (endless, "animated from frame 1 to 400000, expected 200000 samples at most"),
        (renamed, "there is no armature 'Rig' in scene 'Scene', choose another"),
        (without_a_hand, "armature 'Rig' has no hand that can be recognised"),
        (with_a_bone_renamed_in_edit_mode, "armature 'Rig' has bones without a pose, leave Edit Mode"),
    ],
)
def test_armatures_that_cannot_be_read_are_said_so(make: Callable[[Object], None], says: str) -> None:
    make(rig("right"))
    with pytest.raises(KnuckleError, match=says):
        read("armature:Rig")


@pytest.mark.parametrize("place", PLACES)
def test_a_rigs_turned_hands_are_read_where_they_are_seen(place: str) -> None:
    armature, truth = RIGS["MakeHuman"]()
    placed(armature, place)
    armature.name = "Body"
    for joint in ("index-finger-phalanx-proximal", "thumb-phalanx-distal"):
        for side in truth:
            bone = armature.pose.bones[truth[side][joint]]
            bone.rotation_mode = "XYZ"
            for frame, angle in ((1, 0.0), (10, 0.4)):
                bone.rotation_euler = (angle, 0.0, 0.0)
                bone.keyframe_insert("rotation_euler", frame=frame)
    markers = read("armature:Body", unit="m")
    for side, bones in truth.items():
        shown = {"left": "right", "right": "left"}[side] if place == "mirrored" else side
        heads = evaluated_heads(armature, bones, np.arange(1, 11.0))
        found = markers.positions[:, [markers.names.index(f"{shown}:{joint}") for joint in bones]]
        assert np.abs(found - heads).max() < 10 * NEAREST


def test_rotations_are_those_of_the_bones_in_the_world() -> None:
    armature = rig("right")
    keyed(armature)
    armature.matrix_world = Matrix.Rotation(0.7, 4, (1.0, 2.0, 3.0)) @ Matrix.Scale(2.0, 4)
    markers = read("armature:Rig", unit="m")
    assert markers.rotations is not None
    bpy.context.scene.frame_set(20)
    for joint in ("wrist", "middle-finger-phalanx-distal"):
        seen = np.array((armature.matrix_world @ armature.pose.bones[joint].matrix).to_quaternion())
        found = markers.rotations[-1, markers.names.index(f"right:{joint}")]
        assert abs(abs(float(found @ seen)) - 1.0) < 1e-6


def test_a_body_brings_its_elbows_by_which_its_hands_are_aligned_to_it() -> None:
    armature, _ = RIGS["MakeHuman"]()
    wrist = armature.pose.bones["wrist.R"]
    for frame, turn in ((1, 0.0), (4, 0.3)):
        wrist.rotation_mode, wrist.rotation_euler = "XYZ", (turn, 0.0, 0.0)
        wrist.keyframe_insert("rotation_euler", frame=frame)
    capture = f"armature:{armature.name}"
    markers = read(capture)
    for side in "left", "right":
        elbow = markers.positions[:, markers.names.index(f"{side}:elbow")]
        bone = armature.data.bones[f"lowerarm01.{side[0].upper()}"]
        assert np.abs(elbow - np.array(armature.matrix_world @ bone.head_local)).max() < NEAREST
    job = SolveJob(Recipe(capture, align="forearms"), RigQuery.of(armature), reader=read_capture)
    run_to_end(job.steps())
    assert job.take is not None
    moved_by = job.take.recipe.transform.matrix()
    assert np.abs(moved_by - np.eye(4)).max() < 0.05, "the performer stands where the character stands, who is the same"
