"""Hands of other proportions than the performer's, measured where Blender's evaluated armature has their fingertips."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import bpy
import numpy as np
import pytest

from knuckle.hand import kinematics
from knuckle.hand.joints import DIGIT_JOINTS, DIGITS, JOINT_INDEX, SIDES, TIPS
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import KEEPS, Recipe
from knuckle.pipeline.take import SolvedHand, Take
from knuckle.rig.armature_hands import FoundHand, find_hands
from knuckle.rig.keys.take_scene import TakeTiming, new_hand, take_frames, write_take
from knuckle.rig.limits.bone_limits import angles_between
from knuckle.rig.rig_query import RigQuery
from knuckle.tests.blender.making import Floats
from knuckle.tests.blender.rigs import RIGS, placed
from knuckle.tests.blender.test_bakes import readable
from knuckle.tests.blender.test_rig_limits import limit_fingers, local, matrices
from knuckle.tests.pure.rig.armatures import ALL, Make
from knuckle.tests.pure.rig.armatures import hand as bones_of_hand

GLOVE = "data/captures/two_hands_glove.c3d"
POSES = "data/captures/webxr_poses_right.js"
PINCHED = 4
"""Full pinches of the glove's take in the frames that are measured: enough that these laws say something."""


@pytest.fixture
def glove(shared: Path) -> Recipe:
    return Recipe(str(shared / GLOVE), start=200, end=270)


@pytest.fixture
def gestures(shared: Path, tmp_path: Path) -> Recipe:
    return Recipe(str(readable(shared / POSES, tmp_path)))


def baked(armature: bpy.types.Object, recipe: Recipe) -> Take:
    # The fingertips are measured against the captured wrist.
    job = SolveJob(replace(recipe, drive="wrist"), RigQuery.of(armature))
    for _ in job.steps():
        pass
    assert job.take is not None
    write_take(job.take, armature, bpy.context.scene, bpy.context.scene.collection, TakeTiming())
    return job.take


def seen(armature: bpy.types.Object, take: Take, every: int) -> Iterator[tuple[SolvedHand, FoundHand, int, Floats]]:
    """Of each hand, frame by frame: (6, 3) m where the wrist and the fingertips are in the world, NaN without one."""
    frames = take_frames(take, bpy.context.scene, TakeTiming())
    found = {hand.side: hand for hand in find_hands(armature)}
    for number in range(0, len(frames), every):
        bpy.context.scene.frame_set(int(frames[number]), subframe=float(frames[number] % 1))
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for solved in take.hands:
            if solved.side not in found:
                continue
            bones = found[solved.side].bones
            places = [np.array(posed.matrix_world @ posed.pose.bones[bones["wrist"]].head)]
            for joints in DIGIT_JOINTS.values():
                last = next((joint for joint in joints[::-1] if joint in bones), None)
                bone = posed.pose.bones[bones[last]] if last else None
                end = bone and (bone.head if last == joints[-1] else bone.tail)
                places.append(np.array(posed.matrix_world @ end) if end else np.full(3, np.nan))
            yield solved, found[solved.side], number, np.array(places)


def performed(solved: SolvedHand, frame: int) -> Floats:
    """(5, 3) m from the performer's wrist to their fingertips, in the world."""
    places = kinematics.joint_frames(solved.hand, solved.pose)[frame, :, :3, 3]
    return np.asarray(places[[JOINT_INDEX[tip] for tip in TIPS]] - places[0])


def misses(armature: bpy.types.Object, take: Take, every: int = 10) -> tuple[Floats, Floats]:
    """(N, 5) mm from each fingertip to where the performer's is, seen from the wrist; and, where a finger of the
    performer is near to the thumb, by how much its distance from the thumb differs. As large as the rig's hand."""
    off, gaps = [], []
    for solved, _, frame, places in seen(armature, take, every):
        assert solved.retargeted is not None
        own = performed(solved, frame)
        scale, length = solved.retargeted.scale, solved.proportions.size
        off.append(np.linalg.norm(places[1:] - places[0] - scale * own, axis=-1))
        between, wanted = (np.linalg.norm(tips - tips[0], axis=-1) for tips in (places[1:], own))
        near = (wanted < 0.14 * length) & (np.arange(5) > 0)
        gaps.append(np.where(near, np.abs(between - scale * wanted), np.nan))
    return 1000 * np.array(off), 1000 * np.array(gaps)


THREE = ["WebXR, right", "MakeHuman", "Rigify metarig"]


@pytest.mark.parametrize("name", THREE)
@pytest.mark.parametrize("scale", ["hand", "world"])
def test_fingertips_are_where_the_performers_are(name: str, scale: str, glove: Recipe) -> None:
    armature, _ = RIGS[name]()
    found = {}
    for keep in ("directions", "fingertips"):
        found[keep], _ = misses(armature, baked(armature, recipe(glove, keep, scale)))
    assert np.all(np.nanmean(found["fingertips"], axis=0) < np.nanmean(found["directions"], axis=0))
    if scale == "hand":
        # In the rig's own size most are within reach; thumbs are of other shapes.
        fingers = found["fingertips"][:, 1:]
        assert np.median(fingers) < 0.6, f"{np.median(fingers):.2f} mm > 0.6 mm"
        assert np.median(found["directions"][:, 1:]) > 5


def recipe(of: Recipe, keep: str, scale: str = "hand") -> Recipe:
    return Recipe(of.capture, start=of.start, end=of.end, keep=keep, keep_scale=scale)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*THREE, "Rigify generated"])
def test_pinches_of_a_glove_stay(name: str, glove: Recipe) -> None:
    armature, _ = RIGS[name]()
    lost = misses(armature, baked(armature, recipe(glove, "directions")))[1]
    kept = misses(armature, baked(armature, recipe(glove, "pinches")))[1]
    assert np.isfinite(kept).sum() >= PINCHED
    assert np.nanmean(kept) < 0.5 * np.nanmean(lost)
    assert np.nanmax(kept) < 2, f"{np.nanmax(kept):.2f} mm > 2 mm"
    assert np.nanmean(kept) < 1, f"{np.nanmean(kept):.2f} mm > 1 mm"


@pytest.mark.parametrize("name", THREE)
def test_pinches_of_gestures_stay(name: str, gestures: Recipe) -> None:
    armature, _ = RIGS[name]()
    lost = misses(armature, baked(armature, recipe(gestures, "directions")), 1)[1]
    kept = misses(armature, baked(armature, recipe(gestures, "pinches")), 1)[1]
    assert np.isfinite(kept).sum() >= 5
    assert np.nanmean(kept) < 0.5 * np.nanmean(lost)
    assert np.nanmedian(kept) < 1, f"{np.nanmedian(kept):.2f} mm > 1 mm"


@pytest.mark.parametrize("place", ["a hundredth, turned", "mirrored"])
def test_an_armature_on_a_parent_that_stands_so_is_no_other_hand(place: str, glove: Recipe) -> None:
    armature, _ = RIGS["MakeHuman for games"]()
    placed(armature, place)
    take = baked(armature, recipe(glove, "fingertips"))
    size = {solved.side: solved.retargeted.scale for solved in take.hands if solved.retargeted}
    assert all((0.005 < scale < 0.02) == (place != "mirrored") for scale in size.values())
    off, _ = misses(armature, take, 20)
    assert np.median(off[:, 1:]) < 0.6 * min(1.0, *size.values())


def test_a_rig_with_the_performers_own_hand_has_its_fingertips_where_they_were_solved(glove: Recipe) -> None:
    job = SolveJob(glove)
    for _ in job.steps():
        pass
    assert job.take is not None
    solved = job.take.hands[1]
    armature, _ = new_hand(solved.proportions, solved.hand, bpy.context.scene.collection)
    take = baked(armature, recipe(glove, "fingertips"))
    assert take.report["hands"][solved.side]["rig"]["scale"] == pytest.approx(1, abs=1e-3)
    own = [(one, frame, places) for one, _, frame, places in seen(armature, take, 20) if one.side == solved.side]
    worst = max(1000 * np.abs(places[1:] - places[0] - performed(one, frame)).max() for one, frame, places in own)
    assert len(own) >= 3 and worst < 0.05, f"{worst:.3f} mm > 0.05 mm"


@pytest.mark.parametrize("keep", KEEPS)
def test_nothing_is_keyed_outside_the_rigs_limits_and_the_report_knows(keep: str, glove: Recipe) -> None:
    armature, _ = RIGS["MakeHuman"]()
    bones = [bone for side in SIDES for bone in limit_fingers(armature, side).values()]
    take = baked(armature, recipe(glove, keep))
    assert [take.report["hands"][side]["limited_bones"] for side in SIDES] == [15, 15]
    worst = 0.0
    for solved, _, frame, places in seen(armature, take, 20):
        assert solved.retargeted is not None
        tips = solved.retargeted.character.tips(solved.retargeted.pose.angles[[frame]])[0]
        known = tips @ solved.pose.root[frame, :3, :3].T
        assert 1000 * np.abs(places[1:] - places[0] - known).max() < 0.05
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        pairs = [(posed.pose.bones[bone].matrix_basis, local(posed.pose.bones[bone])) for bone in bones]
        worst = max(worst, np.degrees(angles_between(*(matrices(list(of)) for of in zip(*pairs, strict=True))).max()))
    assert worst < 0.1, f"constraints change {worst:.3f} degrees > 0.1"


def test_pinches_stay_where_limits_hold_bones_beside_the_angles_asked_of_them(glove: Recipe) -> None:
    """Bones beyond a digit's first turn about their X only, which leans to the axis on which the finger curls."""
    armature, _ = RIGS["MakeHuman"]()
    for side in SIDES:
        limit_fingers(armature, side)
    kept = misses(armature, baked(armature, recipe(glove, "pinches")))[1]
    assert np.isfinite(kept).sum() >= PINCHED
    assert np.nanmean(kept) < 2, f"{np.nanmean(kept):.2f} mm > 2 mm"
    assert np.nanmax(kept) < 5, f"{np.nanmax(kept):.2f} mm > 5 mm"


FEWER = {
    "five": Make(),
    "no metacarpals": Make(metacarpals=False),
    "no tip bones": Make(tips=False),
    "two bones a digit": Make(phalanges=2),
    "four digits": Make(digits=ALL - {"ring-finger"}),
    "three digits": Make(digits=frozenset(DIGITS[:3])),
    "a mitten": Make(digits=frozenset({"thumb", "middle-finger"})),
}


def built(make: Make, seed: int = 3) -> bpy.types.Object:
    """A right hand of half again an adult's size."""
    bones, _ = bones_of_hand("right", make, seed)
    armature = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in bones:
        made = armature.data.edit_bones.new(bone.name)
        made.head, made.tail = 1.5 * np.array(bone.head), 1.5 * np.array(bone.tail)
        if bone.parent:
            made.parent = armature.data.edit_bones[bone.parent]
    bpy.ops.object.mode_set(mode="OBJECT")
    return armature


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("name", FEWER)
def test_hands_with_fewer_digits_and_bones_stand_as_the_report_says(name: str, keep: str, gestures: Recipe) -> None:
    armature = built(FEWER[name])
    take = baked(armature, recipe(gestures, keep))
    report = take.report["hands"]["right"]["rig"]["digits"]
    assert set(report) == {digit for digit in DIGITS if digit in FEWER[name].digits}
    off = []
    for solved, _, frame, places in seen(armature, take, 6):
        assert solved.retargeted is not None
        # What is asked of a mitten's finger is asked of the mean of four.
        wanted = solved.retargeted.tips[frame] @ solved.pose.root[frame, :3, :3].T
        off.append(1000 * np.linalg.norm(places[1:] - places[0] - wanted, axis=-1))
    for row, digit in enumerate(DIGITS):
        if digit in report:
            mean, of_report = np.mean(np.array(off)[:, row]), report[digit]["tip_off_mm"]
            assert np.max(np.array(off)[:, row]) < of_report["max"] + 0.05
            assert mean < 1.8 * of_report["mean"] + 0.5
