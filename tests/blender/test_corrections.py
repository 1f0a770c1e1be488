"""Corrections on a take: what they change is what they say, and everything else stays, bit for bit."""

from dataclasses import replace
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from numpy.typing import NDArray

from knuckle.errors import RigError
from knuckle.hand import rotations as rot
from knuckle.hand.joints import JOINTS
from knuckle.pipeline.corrections.correction import Correction, PoseDifference, PoseToHold, TimeRange
from knuckle.pipeline.corrections.correction_json import from_list, to_list
from knuckle.posing.sliders import ARCH
from knuckle.rig.keys.corrections.corrected_take import (
    correct_take,
    corrections_of,
    hands_of_take,
)
from knuckle.rig.keys.corrections.making import SourceRange, motion_of, posed_hands
from knuckle.rig.keys.corrections.take_base import base_of, composed_of
from knuckle.rig.keys.corrections.take_clock import TakeClock, clock_of
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.rig.posing.hand_poses import apply_pose
from knuckle.rig.posing.posable_hand import make_rig_hand
from knuckle.tests.blender.making import find_hand, rig, take
from knuckle.tests.blender.test_spliced_takes import keys

Floats = NDArray[np.float64]
Object = bpy.types.Object
RATE = 24.0
JOINT = "index-finger-phalanx-proximal"
TURN = rot.from_axis_angle([1.0, 0.0, 0.0], -0.5)
FRAMES = (1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 26, 28, 30, 31, 40)
MODES = ["QUATERNION", "XYZ", "ZYX", "AXIS_ANGLE"]


def keyed(mode: str = "QUATERNION", **recipe: Any) -> Object:
    """A rig of a right hand that plays a made take of 40 frames from frame 1, which is at 2 s."""
    armature = rig("right")
    for bone in armature.pose.bones:
        setattr(bone, "rotation_mode", mode)  # noqa: B010  # the stubs take each mode spelled out
    scene = bpy.context.scene
    scene.render.fps = round(RATE)
    write_take(take(("right",), 40, RATE, **recipe), armature, scene, scene.collection, TakeTiming())
    return armature


def correction(first: float, last: float, change: Any = None, blend: float = 0.0, **others: Any) -> Correction:
    """A correction of scene frames, its blends in frames as well."""
    start, end = 2.0 + (first - 1) / RATE, 2.0 + (last - 1) / RATE
    span = TimeRange(start, end, blend / RATE, blend / RATE)
    given = {"id": "a", "name": "Bend", "hand": "right"} | others
    return Correction(range=span, change=change or PoseDifference({JOINT: TURN}), **given)


def corrected(armature: Object, *corrections: Correction) -> tuple[str, ...]:
    """Correct a take as JSON has it."""
    return correct_take(armature, from_list(to_list(corrections), "test"), bpy.context.scene)


def bases(armature: Object, *joints: str) -> dict[int, Floats]:
    """Frame -> (B, 3, 3) how bones are turned against their rest."""
    turned = {}
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        turned[frame] = np.array([np.array(armature.pose.bones[name].matrix_basis.to_3x3()) for name in joints])
    return turned


def angle(a: Floats, b: Floats) -> float:
    """Degrees between rotations (3, 3)."""
    return float(np.degrees(2 * np.arcsin(min(np.linalg.norm(a - b) / np.sqrt(8), 1.0))))


@pytest.mark.parametrize(("mode", "blend"), [("QUATERNION", 0), *((mode, 4) for mode in MODES)])
def test_a_difference_turns_one_bone_in_its_range_and_no_other_key(mode: str, blend: int) -> None:
    armature = keyed(mode)
    before, was = keys(armature), bases(armature, JOINT)
    assert corrected(armature, correction(11, 30, blend=blend)) == ()
    after, now = keys(armature), bases(armature, JOINT)
    for place, of_curve in before.items():
        ours = f'"{JOINT}"' in place[0]
        for frame, key in of_curve.items():
            if not ours or not 11 <= frame <= 30:
                assert after[place][frame] == key, (place, frame)
    for frame in FRAMES:
        turned = angle(was[frame][0], now[frame][0])
        if 11 + blend <= frame <= 30 - blend:
            assert turned == pytest.approx(np.degrees(0.5), abs=1e-3), frame
        elif not 11 <= frame <= 30 or (blend and frame in (11, 30)):
            assert turned < 1e-3, frame
        else:
            assert 0.1 < turned < np.degrees(0.5), frame


def test_a_factor_of_zero_and_mute_leave_the_take_and_a_deleted_correction_leaves_nothing() -> None:
    armature = keyed()
    before = keys(armature)
    corrected(armature, correction(11, 30, blend=3))
    assert keys(armature) != before
    for idle in (replace(correction(11, 30), factor=0.0), replace(correction(11, 30), muted=True)):
        corrected(armature, idle)
        assert keys(armature) == before
    corrected(armature)
    assert keys(armature) == before


def test_corrections_lie_on_each_other_in_their_order() -> None:
    fist = PoseToHold("fist", ("index-finger",))
    turn = correction(5, 20, id="a")
    armature = keyed()
    corrected(armature, turn, correction(5, 20, fist, id="b"))
    pose_last = bases(armature, JOINT)[10][0]
    corrected(armature, correction(5, 20, fist, id="b"))
    pose_alone = bases(armature, JOINT)[10][0]
    corrected(armature, correction(5, 20, fist, id="b"), turn)
    turn_last = bases(armature, JOINT)[10][0]
    assert angle(pose_last, pose_alone) < 1e-3, "the pose covers what lies below it"
    assert angle(turn_last, pose_alone) == pytest.approx(np.degrees(0.5), abs=1e-3)


def test_a_pose_is_the_one_that_apply_hand_pose_gives() -> None:
    armature = keyed()
    corrected(armature, correction(5, 20, PoseToHold("fist"), factor=1.0))
    joints = [joint for joint in JOINTS if "phalanx" in joint]
    ours = bases(armature, *joints)[10]
    armature.animation_data_clear()
    apply_pose(make_rig_hand(armature, find_hand(armature, "right"), further=ARCH), "fist")
    for row, joint in enumerate(joints):
        applied = np.array(armature.pose.bones[joint].matrix_basis.to_3x3())
        assert angle(ours[row], applied) < 0.01, joint


def test_keys_of_the_factor_are_followed() -> None:
    armature = keyed()
    was = bases(armature, JOINT)
    times = [2.0 + (frame - 1) / RATE for frame in (11, 30)]
    corrected(armature, correction(11, 30, factor_keys=((times[0], 0.0), (times[1], 1.0))))
    now = bases(armature, JOINT)
    for frame in (11, 20, 30):
        assert angle(was[frame][0], now[frame][0]) == pytest.approx(np.degrees(0.5) * (frame - 11) / 19, abs=1e-2)


def test_the_pose_of_a_person_is_what_the_take_shows_then() -> None:
    armature, scene = keyed("XYZ"), bpy.context.scene
    corrected(armature, correction(5, 30, blend=5))
    scene.frame_set(15)
    for name, turn in ((JOINT, 0.4), ("thumb-phalanx-distal", -0.3), ("wrist", 0.2)):
        bone = armature.pose.bones[name]
        bone.matrix_basis = bone.matrix_basis @ Matrix.Rotation(turn, 4, (0.3, 0.5, 0.8))
    wanted = [np.array(armature.pose.bones[name].matrix_basis.to_3x3()) for name in JOINTS]
    base = base_of(armature)
    assert base is not None
    hands, clock, kept = hands_of_take(armature, base), clock_of(base, scene), corrections_of(armature)
    (posed,) = posed_hands(armature, hands, kept, clock, 15)
    assert set(posed.difference.rotations) == {JOINT, "thumb-phalanx-distal", "wrist"}
    corrected(armature, *kept, correction(12, 18, posed.difference, blend=3, id="b"))
    scene.frame_set(15)
    for row, name in enumerate(JOINTS):
        shown = np.array(armature.pose.bones[name].matrix_basis.to_3x3())
        assert angle(shown, wanted[row]) < 0.01, name


def test_a_stretch_of_another_take_is_that_take_between_the_blends() -> None:
    armature, scene = keyed(), bpy.context.scene
    joints = [joint for joint in JOINTS if joint.startswith(("index", "ring")) and "phalanx" in joint]
    first, was = armature.animation_data.action, bases(armature, *joints)
    other = take(("right",), 30, 2 * RATE, first=2.3)
    write_take(other, armature, scene, scene.collection, TakeTiming(9.0))
    other_action, others = armature.animation_data.action, bases(armature, *joints)
    armature.animation_data.action = first
    armature.animation_data.action_slot = first.slots[0]
    (of,), clock = hands_of_take(armature, first), clock_of(first, scene)
    digits = ("index-finger", "ring-finger")
    start, end = clock.times([12, 20]).tolist()
    motion = motion_of(armature, of.hand, other_action, SourceRange(start, end, 1.0, digits), clock)
    assert corrected(armature, correction(12, 20, motion, blend=2)) == ()
    now = bases(armature, *joints)
    for row, joint in enumerate(joints):
        for frame in (1, 11, 12, 20, 21, 40):
            assert angle(now[frame][row], was[frame][row]) < 0.01, (joint, frame)
        for frame in range(14, 19):
            assert angle(now[frame][row], others[frame + 1][row]) < 0.05, (joint, frame)


def test_a_new_solve_keeps_them_on_another_rate_and_start() -> None:
    armature, scene = keyed(), bpy.context.scene
    change = to_list((correction(11, 30, blend=4),))
    again = take(("right",), 80, 2 * RATE, corrections=change)
    write_take(again, armature, scene, scene.collection, TakeTiming(101.0))
    base = base_of(armature)
    assert base is not None and composed_of(armature) == armature.animation_data.action != base
    clock = clock_of(base, scene)
    assert clock == TakeClock(101.0, 2.0, RATE)
    assert to_list(corrections_of(armature)) == change
    scene.frame_set(120)
    shown = np.array(armature.pose.bones[JOINT].matrix_basis.to_3x3())
    armature.animation_data.action = base
    scene.frame_set(120)
    assert angle(shown, np.array(armature.pose.bones[JOINT].matrix_basis.to_3x3())) == pytest.approx(28.648, abs=0.01)


def test_what_is_no_longer_in_the_take_waits_in_words() -> None:
    armature = keyed()
    notes = corrected(armature, correction(51, 60, id="a"), correction(5, 9, id="b", hand="left", name="Other"))
    assert notes == (
        "correction 'Bend' waits: its frames 51 to 60 are not in the take, which has 1 to 40",
        "correction 'Other' waits: there is no left hand in the take",
    )
    base = base_of(armature)
    assert base is not None and len(corrections_of(armature)) == 2


def test_many_that_wait_are_counted() -> None:
    far = [correction(51, 60, id=str(number), name=f"Bend {number}") for number in range(9)]
    notes = corrected(keyed(), *far)
    assert len(notes) == 4 and all("waits: its frames 51 to 60" in note for note in notes[:3])
    assert notes[3] == "6 more wait, select them in the panel Corrections to see why"


def test_an_armature_without_a_slot_of_its_take_is_reported_with_the_slot_to_choose():
    """As Blender leaves it where the armature was renamed and its take is chosen again."""
    armature = keyed()
    corrected(armature, correction(10, 20))
    slot = armature.animation_data.action_slot
    armature.animation_data.action_slot = None
    with pytest.raises(RigError, match="has no slot in action 'clap Corrected': choose the action's slot"):
        corrected(armature, correction(10, 20, id="b"))
    armature.animation_data.action_slot = slot
    corrected(armature, correction(10, 20, id="b"))
    assert [one.id for one in corrections_of(armature)] == ["b"]
