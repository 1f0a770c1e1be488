"""A capture that shows the elbows bends the character's wrists as the performer's, wherever either holds the arms."""

from dataclasses import replace

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion, Vector
from numpy.typing import NDArray

from knuckle.hand.forearm import Forearm
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import Side
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import DriveChoice, Recipe
from knuckle.pipeline.take import Take
from knuckle.rig import character_frames
from knuckle.rig.keys.hand_motion import motion_of_hands
from knuckle.rig.keys.layered_keys import key_above
from knuckle.rig.keys.take_report import report_of
from knuckle.rig.keys.take_scene import TakeTiming, bind_hands, write_take
from knuckle.rig.keys.wrist_strain import arm_above_hand
from knuckle.rig.rig_query import RigQuery
from knuckle.rig.sources.reading import read_capture
from knuckle.tests.blender.making import find_hand, take
from knuckle.tests.blender.rigs import RIGS, rig_with_arms

Floats = NDArray[np.float64]
Object = bpy.types.Object
FRAMES = 6
SIDES: tuple[Side, ...] = ("left", "right")
EXACT = np.deg2rad(0.05)


def typed(turn: float = 0.0) -> Take:
    """Both forearms to the front and swinging, palms down, wrists that bend and spread.

    turn: rad about the vertical by which the performer stands turned.
    """
    made = take(SIDES, frames=FRAMES, rate=24.0)
    whole = np.array(Matrix.Rotation(turn, 3, "Z"))
    hands = []
    for hand in made.hands:
        outwards = 1.0 if hand.side == "left" else -1.0
        roots, elbows = np.tile(np.eye(4), (FRAMES, 1, 1)), np.empty((FRAMES, 3))
        for frame in range(FRAMES):
            swing = Matrix.Rotation(outwards * (0.3 - 0.15 * frame), 3, "Z") @ Matrix.Rotation(0.1 * frame, 3, "X")
            forearm = np.array(swing @ Matrix.Rotation(np.pi, 3, "Z"))
            bend = Matrix.Rotation(0.5 - 0.2 * frame, 3, "X") @ Matrix.Rotation(0.1 * frame - 0.2, 3, "Z")
            elbows[frame] = [0.25 * outwards, 0.05 * frame, 1.1]
            roots[frame, :3, :3] = forearm @ np.array(bend)
            roots[frame, :3, 3] = elbows[frame] + forearm @ [0.0, 0.25, 0.0]
        roots[:, :3] = whole @ roots[:, :3]
        captured = Forearm(elbows @ whole.T, roots[:, :3, 3])
        hands.append(replace(hand, pose=replace(hand.pose, root=roots), forearm=captured))
    return replace(made, hands=tuple(hands))


def key(armature: Object, made: Take) -> None:
    """Key a take on the scene's frames from 1."""
    key_above(armature, bind_hands(armature, made), np.arange(1.0, FRAMES + 1), "Take", bpy.context.scene)


def on_frames(armature: Object, made: Take, side: Side) -> tuple[Floats, Floats]:
    """(F, 4, 4) the wrist and (F, 3) the forearm's unit direction of the evaluated character."""
    above = arm_above_hand(armature, find_hand(armature, side))
    assert above is not None
    solved = next(hand for hand in made.hands if hand.side == side)
    wrists, forearms = [], []
    for frame in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(frame)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        elbow, end = (
            np.array(posed.matrix_world @ posed.pose.bones[name].head) for name in (above.bones.fore, above.wrist)
        )
        (wrist,) = character_frames.wrist_frame(armature, solved, at_rest=False).values()
        wrists.append(wrist)
        forearms.append((end - elbow) / np.linalg.norm(end - elbow))
    return np.array(wrists), np.array(forearms)


@pytest.mark.parametrize("name", ["MakeHuman", "Rigify generated, FK", "Rigify generated, IK"])
def test_each_wrist_bends_against_the_characters_forearm_as_against_the_performers(name: str) -> None:
    armature = rig_with_arms(name)
    armature.rotation_euler = (0.0, 0.0, 0.8)
    bpy.context.view_layer.update()
    made = typed()
    key(armature, made)
    for hand in made.hands:
        wrists, forearms = on_frames(armature, made, hand.side)
        root = hand.pose.root
        assert hand.forearm is not None
        along = (root[:, :3, 3] - hand.forearm.elbow) / np.linalg.norm(
            root[:, :3, 3] - hand.forearm.elbow, axis=-1, keepdims=True
        )
        captured = np.einsum("fji,fj->fi", root[:, :3, :3], along)
        seen = np.einsum("fji,fj->fi", wrists[:, :3, :3], forearms)
        assert np.arccos(np.clip((captured * seen).sum(axis=-1), -1.0, 1.0)).max() < EXACT, hand.side
        # The backs of the hands, above on the performer, are above on arms that are held to the sides as well.
        assert wrists[0, 2, 2] > 0.9, hand.side


@pytest.mark.parametrize(("drive", "bends"), [("wrist", True), ("arm", False), ("fingers", False)])
def test_a_wrist_bends_against_the_forearm_only_where_nothing_else_turns_it(drive: DriveChoice, bends: bool) -> None:
    armature, made = rig_with_arms("MakeHuman"), typed()
    hands = bind_hands(armature, replace(made, recipe=replace(made.recipe, drive=drive)))
    assert [hand.bends_with_forearm for hand in hands] == [bends] * 2


def test_some_frames_are_keyed_as_in_the_whole() -> None:
    armature, made = rig_with_arms("MakeHuman"), typed()
    backs = np.tile([0.0, 0.0, 1.0], (FRAMES, 1))
    hands = [
        replace(hand, captured=replace(hand.captured, back=backs))
        for hand in bind_hands(armature, made)
        if hand.captured is not None
    ]
    assert len(hands) == 2
    frames, some = np.arange(1.0, FRAMES + 1), slice(2, 5)
    (whole,) = motion_of_hands(armature, hands, frames)
    (part,) = motion_of_hands(armature, [hand.select(some) for hand in hands], frames[some])
    for values, own in zip(whole, part, strict=True):
        of_whole = values.rotations if values.static else values.rotations[some]
        assert values.bone == own.bone and np.abs(of_whole - own.rotations).max() < 1e-9, values.bone


BONES = ("upperarm01", "lowerarm01", "lowerarm02", "wrist")
"""Of MakeHuman's arm, from the shoulder to the hand."""
FOREARM, HAND = (0.0, 1.4, 0.0, 0.0), (0.0, 0.0, 0.0, 1.4)
"""Pronation by 80 degrees, by the bone that turns about itself."""


def performing(armature: Object, turns: tuple[float, ...] = (0.2, 0.0, 0.9, 0.3), bend: float = 2.2) -> None:
    """Key arms of MakeHuman's body that go before the chest, where no way is the shortest, and turn, and bend.

    turns: rad by which each of the bones is turned about itself on the last frame. bend: rad, of the elbow on it.
    """
    for sign, side in ((1.0, "L"), (-1.0, "R")):
        shoulder, elbow, middle, wrist = (armature.data.bones[f"{name}.{side}"].head_local for name in BONES)
        # None of these turns moves the wrist.
        lines = (elbow - shoulder, wrist - elbow, wrist - middle, wrist - elbow)
        for number, name in enumerate(BONES):
            bone = armature.pose.bones[f"{name}.{side}"]
            bone.rotation_mode = "QUATERNION"
            world = bone.bone.matrix_local.to_3x3()
            length = (world.inverted() @ lines[number]).normalized()
            across = (world.inverted() @ Vector((0.0, 0.2, sign))).cross(length).cross(-length).normalized()
            for frame in range(1, FRAMES + 1):
                grown = (frame - 1) / (FRAMES - 1)
                angle = (0.3, bend, 0.0, 0.4)[number] * grown
                turned = Quaternion(length, sign * turns[number] * grown)
                bent = Quaternion(across, angle)
                bone.rotation_quaternion = turned @ bent if name == "wrist" else bent @ turned
                bone.keyframe_insert("rotation_quaternion", frame=frame)


def motions(armature: Object, name: str) -> Floats:
    """(F, 3, 3) how a bone of the evaluated armature is rotated from its rest."""
    found = []
    for frame in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(frame)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones[name].matrix
        found.append(np.array((posed @ armature.data.bones[name].matrix_local.inverted()).to_3x3()))
    return np.array(found)


def copied(armature: Object) -> Object:
    """A copy at rest, whose animation is its own."""
    other = armature.copy()
    other.animation_data_clear()
    bpy.context.scene.collection.objects.link(other)
    for bone in other.pose.bones:
        bone.matrix_basis.identity()
    return other


def solved_from(performer: Object, character: Object) -> None:
    """Key a character by an armature as a capture, with Drive: Wrist."""
    job = SolveJob(Recipe(f"armature:{performer.name}", drive="wrist"), RigQuery.of(character), reader=read_capture)
    run_to_end(job.steps())
    assert job.take is not None
    key(character, job.take)


def apart(some: Floats, others: Floats) -> float:
    """The most degrees between rotations (F, 3, 3)."""
    cosines = (np.einsum("fij,fij->f", some, others) - 1) / 2
    return float(np.rad2deg(np.arccos(np.clip(cosines, -1.0, 1.0))).max())


@pytest.mark.parametrize("turn", [0.0, 2.0])
def test_an_armature_gives_its_own_pronation(turn: float) -> None:
    performer, _ = RIGS["MakeHuman"]()
    character = copied(performer)
    performing(performer)
    performer.rotation_euler = (0.0, 0.0, turn)
    bpy.context.view_layer.update()
    solved_from(performer, character)
    for side in ("L", "R"):
        fore, hand = motions(performer, f"lowerarm01.{side}"), motions(performer, f"wrist.{side}")
        assert apart(np.swapaxes(fore, -1, -2) @ hand, motions(character, f"wrist.{side}")) < 1.0, side


@pytest.mark.parametrize("bend", [0.0, 1.5])
def test_a_hand_is_as_pronated_whichever_bone_of_the_arm_turns_about_itself(bend: float) -> None:
    performer, _ = RIGS["MakeHuman"]()
    seen, sent = [], []
    for turns in (FOREARM, HAND, tuple(np.add(FOREARM, HAND) / 2)):
        character = copied(performer)
        performing(performer, turns, bend)
        solved_from(performer, character)
        sent.append([motions(performer, f"wrist.{side}") for side in ("L", "R")])
        seen.append([motions(character, f"wrist.{side}") for side in ("L", "R")])
    for side in range(2):
        for captured, keyed in zip(sent, seen, strict=True):
            assert apart(captured[side], sent[0][side]) < 0.1, "the performers' hands are the same"
            assert apart(keyed[side], seen[0][side]) < 0.1
        assert apart(seen[0][side][:1], seen[0][side][-1:]) > 75.0, "and it pronates"


def test_where_the_performer_faced_changes_nothing() -> None:
    seen = []
    for turn in (0.0, 2.5):
        armature = rig_with_arms("MakeHuman")
        made = typed(turn)
        key(armature, made)
        seen.append(np.array([on_frames(armature, made, side)[0] for side in SIDES]))
        bpy.data.objects.remove(armature)
    assert np.abs(seen[0] - seen[1]).max() < 1e-4


def test_an_arm_that_reaches_ahead_turns_the_other_hand_only_where_no_shoulder_is_seen() -> None:
    seen: dict[bool, list[Floats]] = {False: [], True: []}
    for shoulders, reaching in ((False, False), (False, True), (True, False), (True, True)):
        armature, made = rig_with_arms("MakeHuman"), typed()
        hands = []
        for hand in made.hands:
            assert hand.forearm is not None
            outwards = 1.0 if hand.side == "left" else -1.0
            ahead = np.array([0.0, -0.3, 0.2]) if reaching and hand.side == "left" else np.zeros(3)
            trunk = np.tile([0.2 * outwards, 0.1, 1.4], (FRAMES, 1)) if shoulders else None
            forearm = replace(hand.forearm, elbow=hand.forearm.elbow + ahead, wrist=hand.forearm.wrist + ahead)
            hands.append(replace(hand, forearm=replace(forearm, trunk=trunk)))
        made = replace(made, hands=tuple(hands))
        key(armature, made)
        seen[shoulders].append(on_frames(armature, made, "right")[0])
        bpy.data.objects.remove(armature)
    assert np.abs(np.subtract(*seen[True])).max() < 1e-4
    assert np.abs(np.subtract(*seen[False])).max() > 0.1


def test_a_performer_with_the_characters_arms_keeps_the_captured_directions() -> None:
    armature = rig_with_arms("MakeHuman")
    made, hands = typed(), []
    for hand in made.hands:
        at_rest, forearms = on_frames(armature, made, hand.side)
        root = hand.pose.root.copy()
        root[:, :3, 3] = at_rest[:, :3, 3]
        forearm = Forearm(root[:, :3, 3] - 0.25 * forearms, root[:, :3, 3])
        hands.append(replace(hand, pose=replace(hand.pose, root=root), forearm=forearm))
    made = replace(made, hands=tuple(hands))
    key(armature, made)
    for hand in made.hands:
        wrists, _ = on_frames(armature, made, hand.side)
        assert np.abs(wrists[:, :3, :3] - hand.pose.root[:, :3, :3]).max() < 1e-3, hand.side


def test_a_twist_of_the_characters_forearm_adds_nothing_to_the_captured_pronation() -> None:
    backs, seen = np.tile([0.0, 0.0, 1.0], (FRAMES, 1)), dict[str, Floats]()
    for kind in ("at rest", "left over", "animated"):
        armature, made = rig_with_arms("MakeHuman"), typed()
        hands = [
            replace(hand, forearm=replace(hand.forearm, back=backs)) for hand in made.hands if hand.forearm is not None
        ]
        bone = armature.pose.bones["lowerarm01.L"]
        bone.rotation_mode = "QUATERNION"
        if kind != "at rest":
            rest = {name: armature.data.bones[f"{name}.L"].matrix_local for name in ("lowerarm01", "wrist")}
            along = rest["lowerarm01"].inverted() @ rest["wrist"].translation
            bone.rotation_quaternion = Quaternion(along.normalized(), 0.6)
        if kind == "animated":
            bone.keyframe_insert("rotation_quaternion", frame=1)
        bpy.context.view_layer.update()
        made = replace(made, hands=tuple(hands))
        key(armature, made)
        seen[kind] = on_frames(armature, made, "left")[0][:, :3, :3]
        bpy.data.objects.remove(armature)
    for kind in ("left over", "animated"):
        assert np.abs(seen[kind] - seen["at rest"]).max() < 1e-4, kind


def test_no_wrist_is_reported_to_bend_farther_than_a_persons() -> None:
    for elbows, reported in ((True, False), (False, True)):
        armature = rig_with_arms("MakeHuman")
        made = typed(1.5)
        if not elbows:
            made = replace(made, hands=tuple(replace(hand, forearm=None) for hand in made.hands))
        write_take(made, armature, bpy.context.scene, bpy.context.collection, TakeTiming())
        warnings = report_of(armature)["warnings"]
        assert any("at the wrist" in text or "about the forearm" in text for text in warnings) == reported, warnings
        bpy.data.objects.remove(armature)
        bpy.data.actions.remove(bpy.data.actions["clap"])
