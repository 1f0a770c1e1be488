"""A take on a character that an action moves: the body goes on moving as before, and the fingers are the take's."""

import bpy
import numpy as np
import pytest
from mathutils import Quaternion
from numpy.typing import NDArray

from knuckle.pipeline.recipe import DriveChoice
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.keys.nla_layers import TAKE_PROPERTY
from knuckle.rig.keys.take_report import report_of
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.tests.blender.making import forearm_bones, take
from knuckle.tests.blender.rigs import RIGS

Floats = NDArray[np.float64]
Object = bpy.types.Object
FRAMES = range(-3, 30)


def dances(armature: Object) -> None:
    """Key every bone at random on frames 1, 9, 17 and 25, and the armature's place."""
    rng = np.random.default_rng(5)
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"
    for frame in (1, 9, 17, 25):
        armature.location = rng.normal(size=3).tolist()
        armature.keyframe_insert("location", frame=frame)
        for bone in armature.pose.bones:
            bone.rotation_quaternion = Quaternion(rng.normal(size=3).tolist(), 0.3)
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    armature.animation_data.action.name = "Dance"


def seen(armature: Object, bones: set[str]) -> Floats:
    """(F, B, 4, 4) where Blender has bones in the scene on each frame."""
    frames = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        frames.append([np.array(posed.matrix_world @ posed.pose.bones[name].matrix) for name in sorted(bones)])
    return np.array(frames)


def bases(armature: Object, bones: set[str]) -> Floats:
    """(F, B, 4) the rotations of bones as keyed on the take's frames."""
    rotations = []
    for frame in range(1, 13):
        bpy.context.scene.frame_set(frame)
        rotations.append([np.array(armature.pose.bones[name].matrix_basis)[:3, :3] for name in sorted(bones)])
    return np.array(rotations)


def solved(armature: Object, drive: DriveChoice) -> None:
    """Key a take of both hands of 12 frames."""
    scene = bpy.context.scene
    scene.render.fps = 12
    write_take(take(frames=12, rate=12.0, drive=drive), armature, scene, scene.collection, TakeTiming())


@pytest.mark.parametrize("drive", ["fingers", "wrist"])
@pytest.mark.parametrize("name", ["MakeHuman", "Rigify metarig"])
def test_the_body_goes_on_dancing_and_the_fingers_are_the_takes(name: str, drive: DriveChoice) -> None:
    armature, _ = RIGS[name]()
    hands = [bone for hand in find_hands(armature) for joint, bone in hand.bones.items() if joint != "wrist"]
    wrists = [hand.bones["wrist"] for hand in find_hands(armature)]
    fingers, keyed = set(hands), set(hands) if drive == "fingers" else {*hands, *wrists, *forearm_bones(armature)}
    solved(armature, drive)
    alone = bases(armature, fingers)
    bpy.data.actions.remove(armature.animation_data.action)
    dances(armature)
    body = {
        bone.name
        for bone in armature.data.bones
        if not keyed.intersection((bone.name, *(parent.name for parent in bone.parent_recursive)))
    }
    before = seen(armature, body)
    solved(armature, drive)
    animation = armature.animation_data
    assert animation.action.get(TAKE_PROPERTY) and animation.action.name == "clap"
    assert [strip.action.name for track in animation.nla_tracks for strip in track.strips] == ["Dance"]
    apart = np.abs(seen(armature, body) - before).max()
    assert apart < 1e-5, f"the body: {apart:.1e} > 1e-5"
    apart = np.abs(bases(armature, fingers) - alone).max()
    assert apart < 1e-5, f"the fingers: {apart:.1e} > 1e-5"
    report = report_of(armature)
    assert report is not None and any("'Dance'" in note and "NLA" in note for note in report["warnings"])


def test_a_second_take_of_the_same_bones_replaces_the_first_above_the_dance() -> None:
    armature, _ = RIGS["MakeHuman"]()
    dances(armature)
    for _ in range(2):
        solved(armature, "fingers")
    animation = armature.animation_data
    assert [strip.action.name for track in animation.nla_tracks for strip in track.strips] == ["Dance"]
    assert animation.action.name == "clap.001" and bpy.data.actions["clap"].use_fake_user
