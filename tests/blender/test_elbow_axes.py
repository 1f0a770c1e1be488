"""Armatures whose rest pose is a frame of the take pronate a character's wrists as those whose arms are at rest."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion
from numpy.typing import NDArray

from knuckle.hand.generators import run_to_end
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import Recipe
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.rig.rig_query import RigQuery
from knuckle.rig.sources.arms_at_rest import arms_rest
from knuckle.rig.sources.reading import read_capture
from knuckle.rig.sources.source_hands import source_hands
from knuckle.tests.blender.rigs import RIGS

Floats = NDArray[np.float64]
Object = bpy.types.Object
FRAMES = 8
RESTS = {"L": 3, "R": FRAMES}
"""The frame of the take as which each arm is at rest, so that they are not alike."""
PARTS = ("upperarm01", "lowerarm01", "lowerarm02", "wrist")
LARGEST = 12.0
"""Degrees: the axes of the elbows of recorded skeletons are within 11 degrees of the back of the resting hand."""


def performing(armature: Object) -> None:
    """Key arms of MakeHuman's body that lift, bend and straighten at the elbow, and pronate by 70 degrees."""
    for sign, side in ((1.0, "L"), (-1.0, "R")):
        bones = [armature.data.bones[f"{part}.{side}"] for part in PARTS]
        shoulder, elbow, _, wrist = (bone.head_local for bone in bones)
        axis = (elbow - shoulder).cross(wrist - elbow)
        turns = ((sign * (elbow - shoulder).cross((0.0, 0.0, 1.0)), 0.6), (axis, 1.0), (wrist - elbow, 1.2 * sign))
        for bone, (line, angle) in zip(bones, turns, strict=False):
            posed = armature.pose.bones[bone.name]
            posed.rotation_mode = "QUATERNION"
            local = bone.matrix_local.to_3x3().inverted() @ line.normalized()
            for frame in range(1, FRAMES + 1):
                posed.rotation_quaternion = Quaternion(local, angle * np.sin(0.4 * (frame - 1)))
                posed.keyframe_insert("rotation_quaternion", frame=frame)


def poses(armature: Object) -> list[dict[str, Matrix]]:
    """For each frame, how the bones of the arms are posed."""
    found = []
    for frame in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(frame)
        bones = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
        found.append({f"{part}.{side}": bones[f"{part}.{side}"].matrix.copy() for side in RESTS for part in PARTS})
    return found


def pose(armature: Object, matrices: dict[str, Matrix], frame: int = 0) -> None:
    """Pose the bones so, and key them on a frame if there is one."""
    for name, matrix in matrices.items():
        armature.pose.bones[name].matrix = matrix
        bpy.context.view_layer.update()
        if frame:
            armature.pose.bones[name].keyframe_insert("rotation_quaternion", frame=frame)


def rest_in_the_take(armature: Object) -> None:
    """Let each arm be at rest as it is on a frame; the performance stays."""
    performed = poses(armature)
    armature.animation_data_clear()
    for side, frame in RESTS.items():
        pose(armature, {name: matrix for name, matrix in performed[frame - 1].items() if name.endswith(side)})
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.armature_apply()
    bpy.ops.object.mode_set(mode="OBJECT")
    for frame, matrices in enumerate(performed, 1):
        pose(armature, matrices, frame)
    assert not arms_rest(armature, source_hands(armature, tails_known=True))
    off = [
        np.abs(np.array(now[name]) - np.array(then[name])).max()
        for now, then in zip(poses(armature), performed, strict=True)
        for name in now
    ]
    assert max(off) < 1e-4, "the performance is the same"


def wrists_of_character(performer: Object) -> dict[str, Floats]:
    """Side -> (F, 3, 3) how the wrists of a body at rest are rotated from their rest, solved from a performer."""
    character = performer.copy()
    character.data = bpy.data.armatures["Character"]
    character.animation_data_clear()
    bpy.context.scene.collection.objects.link(character)
    for bone in character.pose.bones:
        bone.matrix_basis.identity()
    recipe = Recipe(f"armature:{performer.name}", drive="wrist")
    job = SolveJob(recipe, RigQuery.of(character), reader=read_capture)
    run_to_end(job.steps())
    assert job.take is not None
    write_take(job.take, character, bpy.context.scene, bpy.context.collection, TakeTiming())
    rests = character.data.bones
    return {
        side: np.array(
            [
                of_frame[f"wrist.{side}"] @ rests[f"wrist.{side}"].matrix_local.inverted()
                for of_frame in poses(character)
            ]
        )[:, :3, :3]
        for side in RESTS
    }


@pytest.mark.parametrize("turn", [0.0, 2.0])
def test_a_rest_pose_of_the_take_changes_no_pronation(turn: float) -> None:
    performer, _ = RIGS["MakeHuman"]()
    performer.data.copy().name = "Character"
    performing(performer)
    performer.rotation_euler = (0.0, 0.0, turn)
    bpy.context.view_layer.update()
    known = wrists_of_character(performer)
    rest_in_the_take(performer)
    found = wrists_of_character(performer)
    for side in RESTS:
        cosines = (np.einsum("fij,fij->f", known[side], found[side]) - 1) / 2
        off = np.rad2deg(np.arccos(np.clip(cosines, -1.0, 1.0)))
        assert off.max() < LARGEST and np.ptp(off) < 2.0, f"{side}: {off.round(1)}"
