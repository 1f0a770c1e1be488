"""What a capture that does not stand at its character asks of wrist and arm is noted; what a person can do is not."""

import re
from dataclasses import replace

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from numpy.typing import NDArray

from knuckle.hand import proportions
from knuckle.hand.kinematics import Pose
from knuckle.pipeline.recipe import DriveChoice
from knuckle.pipeline.take import Take
from knuckle.rig import character_frames
from knuckle.rig.keys.layered_keys import key_above
from knuckle.rig.keys.take_report import report_of
from knuckle.rig.keys.take_scene import TakeTiming, bind_hands, write_take
from knuckle.rig.keys.wrist_strain import MIN_SHORTFALL, WristStrain, arm_above_hand, strain_notes
from knuckle.rig.posing import apply_pose
from knuckle.tests.blender.making import find_hand, take
from knuckle.tests.blender.rigs import rig_with_arms

Floats = NDArray[np.float64]
Object = bpy.types.Object
RIGS = ("MakeHuman", "Rigify generated, IK")
DRIVES: tuple[DriveChoice, ...] = ("wrist", "arm")
TURNS = [("X", 0.0), ("X", 60.0), ("X", -50.0), ("X", -140.0), ("Z", 80.0), ("Z", -80.0), ("X", 179.0)]
"""Axis of the hand and degrees: the third is a usual flexion, the last fold the hand back."""
BEYOND = [False, False, False, True, True, True, True]


def placed(armature: Object, drive: DriveChoice, away: Floats | None = None) -> Take:
    """A take of the left hand that begins where the character's is, and is turned by TURNS; away (3,): moved by m."""
    solved = take(("left",), frames=len(TURNS), rate=24.0, drive=drive)
    (start,) = character_frames.wrist_frame(armature, solved.hands[0], at_rest=False).values()
    roots = np.tile(start, (len(TURNS), 1, 1))
    for root, (axis, degrees) in zip(roots, TURNS, strict=True):
        root[:3, :3] = start[:3, :3] @ np.array(Matrix.Rotation(np.deg2rad(degrees), 3, axis))
        root[:3, 3] += 0.0 if away is None else away
    (hand,) = solved.hands
    return replace(solved, hands=(replace(hand, pose=replace(hand.pose, root=roots)),))


def strain_of(armature: Object, made: Take) -> WristStrain:
    """Key a take on the scene's frames from 1, and return what that asks of the wrist."""
    hands = bind_hands(armature, made)
    key_above(armature, hands, np.arange(1.0, len(TURNS) + 1), "Take", bpy.context.scene)
    (strain,) = hands[0].strains
    return strain


def seen(armature: Object) -> tuple[Floats, Floats]:
    """(F,) rad between forearm and hand, whose direction is its middle finger's knuckle, and (F, 3) the wrist."""
    found = find_hand(armature, "left")
    above = arm_above_hand(armature, found)
    assert above is not None
    names = (above.bones.fore, found.carrier or found.bones["wrist"], found.bones["middle-finger-phalanx-proximal"])
    bends, wrists = [], []
    for frame in range(1, len(TURNS) + 1):
        bpy.context.scene.frame_set(frame)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        elbow, wrist, knuckle = (np.array(posed.matrix_world @ posed.pose.bones[name].head) for name in names)
        forearm, hand = (wrist - elbow) / np.linalg.norm(wrist - elbow), knuckle - wrist
        bends.append(np.arccos(np.clip(forearm @ hand / np.linalg.norm(hand), -1.0, 1.0)))
        wrists.append(wrist)
    return np.array(bends), np.array(wrists)


@pytest.mark.parametrize(
    ("name", "drive"),
    [
        ("MakeHuman", "wrist"),
        ("MakeHuman", "arm"),
        ("Rigify generated, FK", "wrist"),
        *((RIGS[1], one) for one in DRIVES),
    ],
)
def test_the_bend_is_that_of_the_bones_and_more_than_a_persons_is_marked(name: str, drive: DriveChoice) -> None:
    armature = rig_with_arms(name)
    strain = strain_of(armature, placed(armature, drive))
    bends, _ = seen(armature)
    if drive == "arm" and name.endswith("IK"):
        # With the elbow where the wrist bends least; the rig's IK may choose another.
        assert (np.rad2deg(strain.bend - bends) < 5.0)[bends < 2.0].all()
    else:
        assert np.rad2deg(np.abs(strain.bend - bends)).max() < 4.0
    assert (strain.excess_bend > 0).tolist() == BEYOND
    assert strain.shortfall.max() < 1e-3


@pytest.mark.parametrize("name", RIGS)
def test_an_arm_that_does_not_reach_is_told_by_how_much(name: str) -> None:
    armature = rig_with_arms(name)
    if name.endswith("IK"):
        armature.pose.bones["chest"].matrix_basis @= Matrix.Rotation(0.4, 4, "X")
        bpy.context.view_layer.update()
    made = placed(armature, "arm", away=np.array([0.5, 0.0, 0.1]))
    strain = strain_of(armature, made)
    _, wrists = seen(armature)
    goals = made.hands[0].pose.root[:, :3, 3]
    short = np.linalg.norm(goals - wrists, axis=1)
    if name.endswith("IK"):  # it stretches the arm
        above = arm_above_hand(armature, find_hand(armature, "left"))
        assert above is not None
        length = np.linalg.norm(np.diff(above.joints, axis=0), axis=1).sum()
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        shoulder = np.array(armature.matrix_world @ posed.pose.bones[above.bones.upper].head)
        assert np.linalg.norm(shoulder - above.joints[0]) > 0.02, "the chest leans"
        short = np.linalg.norm(goals - shoulder, axis=1) - length
    assert strain.shortfall == pytest.approx(short, abs=2e-3)
    assert short.min() > 0.1


def reported(armature: Object, made: Take) -> list[str]:
    """The notes about a take's wrist and arm."""
    scene = bpy.context.scene
    scene.render.fps = 24
    write_take(made, armature, scene, scene.collection, TakeTiming())
    report = report_of(armature)
    assert report is not None
    return [note for note in report["warnings"] if "person" in note or "too short" in note]


def test_one_sentence_says_what_and_the_remedy() -> None:
    armature = rig_with_arms("MakeHuman")
    (note,) = reported(armature, placed(armature, "wrist"))
    assert note.startswith("the left hand bends up to 162° at the wrist")
    assert (
        "more than a person's does, in 4 of 7 frames: align the capture to the character, or drive the fingers only"
        in note
    )
    assert reported(armature, placed(armature, "fingers")) == []
    _, short = reported(armature, placed(armature, "arm", away=np.array([0.5, 0.0, 0.0])))
    assert short.startswith("the left arm is up to ") and "cm too short for the captured wrist, in 7 of 7" in short


@pytest.mark.parametrize(
    ("beyond", "turned", "sentence"),
    [
        (4.0, 0.0, "the left hand bends up to 95° at the wrist, more than a person's does: stop"),
        (0.0, 7.0, "the left hand rotates farther about the forearm than a person's does: stop"),
        (
            *(4.0, 7.0),
            "the left hand bends up to 95° at the wrist and rotates farther about the forearm than a person's does: "
            "stop",
        ),
    ],
)
def test_what_is_reported_about_a_bend_and_a_turn_and_both(beyond: float, turned: float, sentence: str) -> None:
    bend, excess_bend, excess_twist = np.deg2rad([[95.0], [beyond], [turned]])
    strain = WristStrain(bend, excess_bend, excess_twist, np.zeros(1))
    assert strain_notes("left", [strain], "stop") == (sentence,)


@pytest.mark.parametrize("metres", [0.0051, 0.0099, 0.0101, 0.26, 1.234])
def test_how_much_an_arm_is_too_short_is_said_to_half_a_unit_with_its_frames(metres: float) -> None:
    short = np.array([0.0, 0.6 * metres, metres, MIN_SHORTFALL])
    strain, one, least = (_too_short(shortfall) for shortfall in (short, short[2:3], short[3:]))
    (note,), (alone,) = strain_notes("left", [strain], "stop"), strain_notes("left", [one], "stop")
    said = re.fullmatch(r"the left arm is up to (\d+) (cm|mm) too short for the captured wrist(.*): stop", note)
    assert said is not None
    assert said[2] == ("cm" if metres > 0.01 else "mm")
    unit = {"cm": 0.01, "mm": 0.001}[said[2]]
    assert abs(int(said[1]) * unit - metres) <= 0.501 * unit < metres
    assert said[3] == f", in {(short > MIN_SHORTFALL).sum()} of 4 frames"
    assert alone == note.replace(said[3], ""), "of a single frame it need not be said"
    assert strain_notes("left", [least], "stop") == ()


def _too_short(shortfall: Floats) -> WristStrain:
    """Return the strain of arms that are too short (F,) m, and nothing else."""
    none = np.zeros(len(shortfall))
    return WristStrain(none, none, none, shortfall)


def test_live_has_the_strain_of_the_frame_that_is_shown() -> None:
    armature = rig_with_arms("MakeHuman")
    hand = proportions.build(proportions.adult("left"))
    rig_hand = apply_pose.make_driven_hand(armature, find_hand(armature, "left"), hand, drive="wrist")
    roots = placed(armature, "wrist").hands[0].pose.root
    for root, beyond in zip(roots, BEYOND, strict=True):
        apply_pose.pose_hands([apply_pose.RigHandPose(rig_hand, Pose(hand, root[None], hand.neutral[None]))])
        assert rig_hand.mover is not None and rig_hand.mover.strain is not None
        assert bool(rig_hand.mover.strain.excess_bend[0] > 0) == beyond


def test_the_bend_that_is_reported_is_of_a_frame_in_which_the_wrist_bends_too_far() -> None:
    """In the first frame the hand only turns too far, and bends more, in a direction in which a person's may."""
    bend, beyond, turned = np.deg2rad([[85.0, 78.0], [0.0, 3.0], [10.0, 0.0]])
    (note,) = strain_notes("left", [WristStrain(bend, beyond, turned, np.zeros(2))], "stop")
    assert "bends up to 78° at the wrist" in note
