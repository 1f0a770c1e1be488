"""Two recorded hands onto an armature that has two: each onto its own side, both in one action."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, SIDES, Side
from knuckle.hand.kinematics import joint_frames
from knuckle.pipeline import job as pipeline
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.take import Take
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.keys.take_report import report_of
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.rig.rig_query import RigQuery
from knuckle.tests.blender.making import evaluated, forearm_bones
from knuckle.tests.blender.rigs import RIGS

GLOVE = "data/captures/two_hands_glove.c3d"
CROOKED = 5.0
"""Degrees that a bone may point aside of the solved one."""


def onto(armature: bpy.types.Object, recipe: Recipe) -> Take:
    """Solves a recipe as the panel does, and keys it from frame 1 on at the capture's own rate."""
    job = pipeline.SolveJob(recipe, RigQuery.of(armature))
    for _ in job.steps():
        pass
    assert job.take is not None
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = round(job.take.markers.rate), 1.0
    write_take(job.take, armature, scene, scene.collection, TakeTiming())
    return job.take


def keyed_bones(armature: bpy.types.Object) -> set[str]:
    curves: Any = armature.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
    return {curve.group.name for curve in curves}


@pytest.mark.parametrize("name", ["MakeHuman", "MakeHuman for games", "Rigify metarig", "Rigify generated"])
def test_both_hands_go_to_their_own_sides(shared: Path, name: str) -> None:
    armature, truth = RIGS[name]()
    take = onto(armature, Recipe(str(shared / GLOVE), start=200, end=240, drive="wrist"))
    mapped = {bone for bones in truth.values() for bone in bones.values()}
    assert keyed_bones(armature) <= mapped | forearm_bones(armature)
    report = report_of(armature)
    assert report is not None and list(report["hands"]) == ["left", "right"]
    for solved in take.hands:
        bones = {joint: bone for joint, bone in truth[solved.side].items() if "metacarpal" not in joint}
        assert {bone for joint, bone in bones.items() if not joint.endswith("tip")} <= keyed_bones(armature)
        assert {hand.side for hand in find_hands(armature) if set(bones.values()) <= set(hand.bones.values())} == {
            solved.side
        }
        frames = joint_frames(solved.hand, solved.pose)
        for frame in (1, 20, 41):
            bpy.context.scene.frame_set(frame)
            seen = evaluated(armature, truth[solved.side])
            for digit in DIGITS[1:]:
                for joint, following in pairwise(JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit][:3]):
                    along = seen[following, :3, 3] - seen[joint, :3, 3]
                    cosine = along @ frames[frame - 1, joint, :3, 1] / np.linalg.norm(along)
                    aside = float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
                    assert aside < CROOKED, f"{solved.side} {digit}: {aside:.1f} degrees > {CROOKED:.0f}"


@pytest.mark.parametrize("name", ["MakeHuman", "Rigify generated"])
@pytest.mark.parametrize("mirror", [False, True])
def test_of_a_capture_of_one_hand_that_hand_alone_is_keyed(name: str, mirror: bool) -> None:
    armature, truth = RIGS[name]()
    take = onto(armature, replace(Recipe(str(DEMO_CAPTURE), end=5, drive="wrist"), mirror=mirror))
    side: Side = "left" if mirror else "right"
    assert [solved.side for solved in take.hands] == [side]
    assert keyed_bones(armature) <= set(truth[side].values()) | forearm_bones(armature)
    report = report_of(armature)
    assert report is not None and list(report["hands"]) == [side]


@pytest.mark.parametrize("name", ["MakeHuman", "Rigify metarig", "Rigify generated", "Rigify generated, FK"])
def test_both_arms_bring_their_wrists_to_where_they_were_recorded(shared: Path, name: str) -> None:
    armature, _ = RIGS[name.partition(", ")[0]]()
    if name.endswith("FK"):
        for side in "LR":
            armature.pose.bones[f"upper_arm_parent.{side}"]["IK_FK"] = 1.0
        armature.update_tag()
        bpy.context.view_layer.update()
    recipe = Recipe(str(shared / GLOVE), start=200, end=210, drive="arm")
    # The performer stood elsewhere in the room: the armature is put where the hands are in front of it, in its reach.
    middle = np.mean([solved.pose.root[0, :3, 3] for solved in pipeline.run(recipe).hands], axis=0)
    hands = {hand.side: hand for hand in find_hands(armature)}
    wrists = {side: hands[side].carrier or hands[side].bones["wrist"] for side in SIDES}
    chest = np.mean([np.array(armature.data.bones[wrists[side]].head_local) for side in SIDES], axis=0)
    armature.scale = (2.0, 2.0, 2.0)
    armature.location = (middle - 2.0 * chest + [0.0, 0.2, 0.0]).tolist()
    bpy.context.view_layer.update()
    take = onto(armature, recipe)
    for frame in (1, 6, 11):
        bpy.context.scene.frame_set(frame)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for solved in take.hands:
            at = np.array(posed.matrix_world @ posed.pose.bones[wrists[solved.side]].head)
            off = 1000 * float(np.linalg.norm(at - solved.pose.root[frame - 1, :3, 3]))
            assert off < 1.0, f"{solved.side} wrist: {off:.1f} mm > 1 mm"
