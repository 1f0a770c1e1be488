"""Contacts that corrections hold on an armature: skins meet, and other frames and bones stay to the bit."""

import re
from dataclasses import replace
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.capture.markers import Markers
from knuckle.hand import poses, proportions
from knuckle.hand.flesh import PARTS_OF_CAPSULES, touches
from knuckle.hand.joints import JOINT_INDEX, JOINTS, digit_of
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.operators.hold_contact import found_contacts
from knuckle.operators.take_corrections import shown_take
from knuckle.pipeline.contacts.hold_touch import find_touch
from knuckle.pipeline.corrections.correction import Correction, HeldTouch, TimeRange
from knuckle.pipeline.corrections.correction_json import from_list, to_list
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.take import Take
from knuckle.rig.default_hand import add_hand
from knuckle.rig.keys.corrections.corrected_take import (
    correct_take,
    corrections_of,
    hands_of_take,
    waiting_of,
)
from knuckle.rig.keys.corrections.hand_of_take import HandOfTake, hand_of_take
from knuckle.rig.keys.corrections.held_touch import range_of_touch
from knuckle.rig.keys.corrections.making import posed_hands
from knuckle.rig.keys.corrections.take_base import base_of, composed_of
from knuckle.rig.keys.corrections.take_clock import TakeClock, clock_of
from knuckle.rig.keys.corrections.waiting import shortened_of
from knuckle.rig.keys.fcurves import curves_on, key_values
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.rig.rig_query import RigQuery
from knuckle.tests.blender.making import evaluated, rig, take
from knuckle.tests.blender.test_spliced_takes import keys

Floats = NDArray[np.float64]
RATE = 24.0
FIRST, LAST = 26, 34
"""Scene frames in which the contact is held."""


def half_closed(frames: int = 60) -> Take:
    """A hand that stays half closed but for a tremble of two degrees, thumb and index finger a centimetre apart."""
    made = take(("right",), frames, RATE)
    (hand,) = made.hands
    tremble = np.deg2rad(2.0) * np.sin(np.arange(frames)[:, None] / 9 + np.arange(hand.hand.dofs))
    closed = 0.35 * hand.hand.limits[:, 1] * (np.array(hand.hand.movements) == "flexion")
    pose = replace(hand.pose, angles=np.clip(closed + tremble, *hand.hand.limits.T))
    return replace(made, hands=(replace(hand, pose=pose),))


@pytest.fixture
def armature() -> bpy.types.Object:
    """A rig of a right hand with rolled bones that plays it from frame 1."""
    made, scene = rig("right"), bpy.context.scene
    scene.render.fps = round(RATE)
    write_take(half_closed(), made, scene, scene.collection, TakeTiming())
    return made


def hand_and_clock(armature: bpy.types.Object) -> tuple[HandOfTake, TakeClock]:
    base = base_of(armature)
    assert base is not None
    (of,) = hands_of_take(armature, base)
    return of, clock_of(base, bpy.context.scene)


def contact(armature: bpy.types.Object, beside: tuple[Correction, ...] = (), **others: Any) -> Correction:
    """Thumb on index finger, chosen by hand, in frames FIRST to LAST and the blends that these need beside others."""
    of, clock = hand_and_clock(armature)
    frames = of.frames[(of.frames >= FIRST) & (of.frames <= LAST)]
    pose, _ = of.hand.posed(of.rotations(frames))
    touch = find_touch(pose, of.hand.flesh, "thumb", "index-finger")
    start, end = clock.times([FIRST, LAST]).tolist()
    span = range_of_touch(of, touch, (start, end), clock, beside, corrected=lambda rows: of.keys(of.frames[rows]))
    given: dict[str, Any] = {"id": "a", "name": "Pinch", "hand": "right", "range": span, "change": touch}
    return Correction(**given | others)


def corrected(armature: bpy.types.Object, *corrections: Correction) -> tuple[str, ...]:
    """Correct a take as JSON has it."""
    return correct_take(armature, from_list(to_list(corrections), "test"), bpy.context.scene)


def gaps(armature: bpy.types.Object, frames: range) -> Floats:
    """(F,) m between the skins of thumb and index finger, of the bones as Blender evaluates them."""
    of, _ = hand_and_clock(armature)
    flesh = of.hand.flesh
    pairs = np.flatnonzero((np.sort(PARTS_OF_CAPSULES[flesh.pairs], axis=0) == [[0], [1]]).all(axis=0))
    found = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        places = evaluated(armature)[None, :, :3, 3]
        found.append(-touches(flesh, places, np.zeros(len(pairs), int), pairs).depths.max())
    return np.array(found)


def turns(armature: bpy.types.Object) -> Floats:
    """(F - 1, J) degrees that bones turn between the frames of the take."""
    of, _ = hand_and_clock(armature)
    now = hand_of_take(armature, of.hand, [(curve.data_path, curve) for curve in curves_on(armature)])
    rotations = now.rotations(of.frames)
    same = np.abs((rotations[1:] * rotations[:-1]).sum(axis=-1))
    degrees: Floats = np.degrees(2 * np.arccos(np.clip(same, 0.0, 1.0)))
    return degrees


def test_a_contact_is_held_on_the_evaluated_bones_and_nothing_leaps(armature: bpy.types.Object) -> None:
    made, before, was = contact(armature), keys(armature), turns(armature)
    assert gaps(armature, range(FIRST, LAST + 1)).min() > 0.008
    assert corrected(armature, made) == ()
    held = gaps(armature, range(FIRST, LAST + 1))
    assert np.abs(held).max() < 1e-3
    assert (turns(armature) - 1.5 * was).max() < 5.0
    after, of, clock = keys(armature), *hand_and_clock(armature)
    first, last = clock.frames([made.range.start, made.range.end])
    for place, of_curve in before.items():
        touched = any(f'"{of.hand.bone(joint)}"' in place[0] for joint in of.bones if moved(joint))
        for frame, key in of_curve.items():
            if not touched or not first - 0.01 <= frame <= last + 0.01:
                assert after[place][frame] == key, (place, frame)


def moved(joint: int) -> bool:
    return any(digit_of(name) in ("thumb", "index-finger") for name, row in JOINT_INDEX.items() if row == joint)


def test_half_a_factor_goes_half_way_and_a_muted_one_nowhere(armature: bpy.types.Object) -> None:
    made, before = contact(armature), keys(armature)
    middle = range((FIRST + LAST) // 2, (FIRST + LAST) // 2 + 1)
    apart = gaps(armature, middle)[0]
    corrected(armature, replace(made, factor=0.5))
    assert 0.2 * apart < gaps(armature, middle)[0] < 0.8 * apart
    corrected(armature, replace(made, muted=True))
    assert keys(armature) == before


@pytest.mark.usefixtures("extension")
def test_a_slider_beside_a_muted_contact_gives_the_keys_of_composing_anew(armature: bpy.types.Object) -> None:
    bpy.context.view_layer.objects.active = armature
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=20, last=40, digits={"thumb"})
    shown = shown_take(bpy.context)
    assert shown is not None
    shown.write((*shown.corrections, replace(contact(armature), id="held", muted=True)))
    before = keys(armature)
    bpy.context.scene.knuckle_correction.factor = 0.4
    quick = [key_values(curve, "co") for curve in curves_on(armature)]
    assert keys(armature) != before
    assert corrected(armature, *corrections_of(armature)) == ()
    anew = [key_values(curve, "co") for curve in curves_on(armature)]
    np.testing.assert_allclose(np.concatenate(quick), np.concatenate(anew), atol=1e-6)


@pytest.mark.parametrize("frame", [22, 24, 30])
def test_a_hand_that_holds_a_contact_is_not_posed_otherwise_than_its_take(
    armature: bpy.types.Object, frame: int
) -> None:
    made = contact(armature)
    corrected(armature, made)
    bpy.context.scene.frame_set(frame)
    of, clock = hand_and_clock(armature)
    assert not posed_hands(armature, [of], corrections_of(armature), clock, float(frame))


def test_blends_that_are_too_short_become_longer_rather_than_that_a_joint_leaps(armature: bpy.types.Object) -> None:
    made, was = contact(armature), turns(armature)
    corrected(armature, replace(made, range=TimeRange(made.range.start, made.range.end, 0.01, 0.01)))
    assert (turns(armature) - 1.5 * was).max() < 5.0
    assert abs(gaps(armature, range(30, 31))[0]) < 1e-3


@pytest.mark.usefixtures("extension")
@pytest.mark.parametrize(("reach", "blends"), [(3, 1), (8, 3), (11, 3), (9, 15), (10, 11.5)])
def test_a_range_or_blends_that_are_told_as_enough_hold_a_contact_in_all_its_frames(
    armature: bpy.types.Object, reach: int, blends: float
) -> None:
    bpy.context.view_layer.objects.active = armature
    parts = {"digit": "thumb", "other": "index-finger"}
    bpy.ops.knuckle.hold_contact(**parts, first=30 - reach, last=30 + reach, blend=min(int(blends), reach))
    shown = shown_take(bpy.context)
    assert shown is not None
    (made,) = shown.corrections
    seconds = blends / RATE
    shown.write((replace(made, range=replace(made.range, blend_in=seconds, blend_out=seconds)),))
    (reported,) = shortened_of(shown.base).values()
    assert (f"its blends of {blends:g} and {blends:g} frames leave no frame" in reported) == (blends > reach), reported
    first, last, blend = (int(number) for number in re.findall(r"\d+", reported.partition("give it")[2]))
    start, end = shown.clock.times([first, last]).tolist()
    enough = TimeRange(start, end, blend / RATE, blend / RATE)
    assert shown.write((replace(made, range=enough),)) == (), reported
    assert shortened_of(shown.base) == {}
    held = range(first + blend, last - blend + 1)
    assert len(held) >= max(2 * (reach - int(blends)) + 1, 1), reported
    assert np.abs(gaps(armature, held)).max() < 1e-3
    shown.write(())
    bpy.ops.knuckle.hold_contact(**parts, first=first, last=last, blend=blend)
    assert shortened_of(shown.base) == {}, "also where it is held anew"


@pytest.mark.usefixtures("extension")
def test_blends_that_are_longer_than_the_frames_given_are_said(
    armature: bpy.types.Object, capsys: pytest.CaptureFixture[str]
) -> None:
    bpy.context.view_layer.objects.active = armature
    for blend, longer in ((12, False), (13, True)):
        bpy.ops.knuckle.hold_contact(digit="thumb", other="index-finger", first=18, last=42, blend=blend)
        reported = "blends of 13 frames are together longer than frames 18 to 42, and became 12 frames long"
        assert (reported.capitalize() in capsys.readouterr().out) == longer


def test_the_only_blend_of_a_range_at_an_end_of_the_take_may_take_all_of_it(armature: bpy.types.Object) -> None:
    bpy.context.view_layer.objects.active = armature
    shown = shown_take(bpy.context)
    assert shown is not None
    for first, last, blends in ((1, 20, (0, 15)), (41, 60, (15, 0)), (21, 40, (9.5, 9.5))):
        span = shown.range(first, last, 15)
        assert (span.blend_in * RATE, span.blend_out * RATE) == pytest.approx(blends)


def test_blends_end_where_another_contact_holds_the_digit(armature: bpy.types.Object) -> None:
    alone, gap = contact(armature), 1 / RATE
    free = alone.range
    assert min(free.blend_in, free.blend_out) > 2 * gap
    before = replace(alone, range=TimeRange(free.full_start - 9 * gap, free.full_start - gap))
    after = replace(alone, range=TimeRange(free.full_end + gap, free.full_end + 9 * gap))
    for beside, blends in (
        ((before,), (gap, free.blend_out)),
        ((after,), (free.blend_in, gap)),
        ((before, after), (gap, gap)),
    ):
        span = contact(armature, beside).range
        assert (span.blend_in, span.blend_out) == pytest.approx(blends, abs=1e-6)
        assert (span.full_start, span.full_end) == pytest.approx((free.full_start, free.full_end), abs=1e-6)


def test_a_contact_whose_digit_a_later_one_moves_says_so(armature: bpy.types.Object) -> None:
    first = contact(armature)
    later = replace(first, id="b", name="Later")
    assert corrected(armature, first, later) == (
        "correction 'Pinch' waits: 'Later' moves the same digit in its frames",
    )
    assert corrected(armature, first, replace(later, muted=True)) == ()


def test_a_contact_that_cannot_be_reached_waits_and_says_why(armature: bpy.types.Object) -> None:
    before = keys(armature)
    backwards = HeldTouch(("pinky-finger-phalanx-distal", "thumb-metacarpal"), (1.0, 0.0), np.array([0.0, 0.0, 1.0]))
    (note,) = corrected(armature, contact(armature, change=backwards))
    reported = re.fullmatch(
        r"the hand cannot reach that contact: the skin of its parts stays (\d+\.\d) mm apart", note.partition(": ")[2]
    )
    assert reported and 3.0 < float(reported[1]) < 100.0, note
    assert waiting_of(composed_of(armature) or base_of(armature)) == {"a": reported[0]}
    assert keys(armature) == before


def test_the_model_is_where_the_bones_are(armature: bpy.types.Object) -> None:
    """Also where a bone is turned as no joint of the model is."""
    of, _ = hand_and_clock(armature)
    rotations = of.rotations(of.frames)
    twisted = rotations.copy()
    thumb = JOINT_INDEX["thumb-phalanx-proximal"]
    twisted[:, thumb] = of.hand.with_rotation(twisted[:, thumb], thumb, np.array([np.cos(0.1), 0.0, np.sin(0.1), 0.0]))
    for turned in (rotations, twisted):
        pose, _ = of.hand.posed(turned)
        bpy.context.scene.frame_set(10)
        if turned is twisted:
            bone = armature.pose.bones[of.hand.bone(thumb)]
            bone.rotation_quaternion = turned[9, thumb].tolist()
            bpy.context.view_layer.update()
        seen = evaluated(armature)
        places = np.einsum("ji,kj->ki", seen[0, :3, :3], seen[:, :3, 3] - seen[0, :3, 3])
        wrist = joint_frames(pose.hand, pose)[9]
        distances = [np.linalg.norm(each - each[:, None], axis=-1) for each in (places, wrist[:, :3, 3])]
        np.testing.assert_allclose(distances[0], distances[1], atol=3e-4)


def pinching(frames: int = 70) -> Markers:
    """An adult who closes a pinch, holds it with the skins a millimetre or two apart, and opens it."""
    hand = proportions.build(proportions.adult("right"))
    share = np.interp(np.arange(frames), [5, 25, 45, 65], [0.0, 1.0, 1.0, 0.0])[:, None]
    pose = Pose.at_origin(hand, (1 - share) * hand.neutral + share * poses.angles(hand, "pinch"))
    places = joint_frames(hand, pose)[..., :3, 3]
    return Markers(JOINTS, np.arange(frames) / 60, places, "made", 60.0, "m")


@pytest.mark.usefixtures("extension")
def test_contacts_that_the_solve_found_are_offered_and_a_click_holds_one() -> None:
    scene = bpy.context.scene
    scene.render.fps = 60
    armature = add_hand(proportions.adult("right", 0.21), "Rig", scene.collection)
    bpy.context.view_layer.objects.active = armature
    bpy.context.view_layer.update()
    job = SolveJob(Recipe("made"), RigQuery.of(armature), markers=pinching())
    for _ in job.steps():
        pass
    assert job.take is not None
    write_take(job.take, armature, scene, scene.collection, TakeTiming())
    shown = shown_take(bpy.context)
    assert shown is not None
    (offered,) = found_contacts(shown)
    assert offered.name == "Thumb on index" and abs(offered.gap_mm) < 3.0
    first, last = shown.clock.frames([offered.start, offered.end])
    assert 15 < first < 30 and 40 < last < 60
    assert bpy.ops.knuckle.hold_contact(found=1) == {"FINISHED"}
    again = shown_take(bpy.context)
    assert again is not None
    (one,) = again.corrections
    assert one.kind == "contact" and one.range.full_start == pytest.approx(offered.start)
    assert not found_contacts(again), "what is held is not offered"
    with pytest.raises(RuntimeError, match=r"(?i)there is no found contact 1, only 0 that are not held"):
        bpy.ops.knuckle.hold_contact(found=1)
    with pytest.raises(RuntimeError, match=r"(?i)the thumb cannot touch itself"):
        bpy.ops.knuckle.hold_contact(digit="thumb", other="thumb")
    with pytest.raises(RuntimeError, match=r"(?i)frames 900 to 910 are not in the take, which has 1 to 70"):
        bpy.ops.knuckle.hold_contact(first=900, last=910)
    assert bpy.ops.knuckle.change_correction(correction=one.id, what="DELETE") == {"FINISHED"}
    after = shown_take(bpy.context)
    assert after is not None and len(found_contacts(after)) == 1
