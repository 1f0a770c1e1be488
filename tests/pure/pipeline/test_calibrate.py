"""The calibration step, from files to a performer: a still clip, a clip of free motion, both in one."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.errors import KnuckleError, RecipeError
from knuckle.hand import kinematics
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.hand.limits import DIP_PER_PIP
from knuckle.pipeline import assignment as assigning
from knuckle.pipeline import calibration as calibrate
from knuckle.pipeline import job, performer
from knuckle.pipeline.calibration_choices import CalibrationChoices, FrameRange, MotionClip, parse_radii
from knuckle.pipeline.recipe import Recipe
from knuckle.tests.pure.hand.calibration.test_calibration_motion import moving as lively
from knuckle.tests.pure.hand.calibration.test_calibration_motion import on_someone
from knuckle.tests.pure.hand.calibration.test_calibration_radii import thick
from knuckle.tests.pure.hand.people import FULL, bends, on_skin, posed, someone

RHO = np.array([0.5, 0.4, 0.55, 0.7, 0.8])
NOISE = 0.0005


def saved(path, places, spots=FULL, side="right", rate=60.0):
    """A WebXR recording of these places (F, M, 3), which are Z up."""
    frames = [
        {
            "t": number / rate,
            "hands": {side: {spot.joint: [x, z, -y] for spot, (x, y, z) in zip(spots, row.tolist(), strict=True)}},
        }
        for number, row in enumerate(places)
    ]
    path.write_text(json.dumps({"frames": frames}))
    return Recipe(str(path))


def still(hand, spots=FULL, frames=40):
    return posed(hand, spots, np.full((frames, 5, 3), np.deg2rad(3)), NOISE, seed=1)


def moving(hand, spots=FULL, frames=300):
    return posed(hand, spots, bends(frames, RHO), NOISE, seed=2)


@pytest.mark.parametrize("side", ["left", "right"])
def test_one_capture_is_both_clips(tmp_path, side):
    hand = someone(side)
    recipe = saved(tmp_path / "rom.json", np.concatenate([moving(hand), still(hand), moving(hand)[:50]]), side=side)
    found = calibrate.run(recipe, CalibrationChoices())
    one = found.hands[side]
    assert 1000 * np.abs(one.proportions.phalanges - hand.phalanges).max() < 0.5, "mm"
    assert one.rho[1:] == pytest.approx(RHO[1:], abs=0.03)
    first = int(found.clips["still"].partition("frames ")[2].split()[0])
    assert 300 <= first <= 312, "the still frames are 301 to 340"


def test_two_captures_are_the_two_clips(tmp_path):
    """The lengths are those of the one, rho that of the other."""
    hand = someone("right")
    calm, moved = saved(tmp_path / "still.json", still(hand)), saved(tmp_path / "rom.json", moving(hand))
    found = calibrate.run(
        calm, CalibrationChoices(still=FrameRange(1, 30), motions=(MotionClip(moved.capture, FrameRange(11)),))
    )
    one = found.hands["right"]
    assert 1000 * np.abs(one.proportions.phalanges - hand.phalanges).max() < 0.5, "mm"
    assert one.rho[1:] == pytest.approx(RHO[1:], abs=0.03)
    assert "still.json, frames 1 to 30" in found.clips["still"]
    assert "rom.json, frames 11 to 300" in found.clips["motion"]


def test_further_clips_are_free_motion_like_the_first(tmp_path):
    """What one clip lacks another one shows: rho of a finger that the first does not bend, as if both were one."""
    hand = someone("right")
    second = saved(tmp_path / "two.json", moving(hand))
    stiff = bends(300, RHO)
    stiff[:, 1] = 0.0
    first = saved(tmp_path / "one.json", posed(hand, FULL, stiff, NOISE, seed=3))
    alone = calibrate.run(first, CalibrationChoices()).hands["right"]
    found = calibrate.run(first, CalibrationChoices(motions=(MotionClip(), MotionClip(second.capture, FrameRange(11)))))
    assert alone.rho[1] is None
    assert found.hands["right"].rho[1:] == pytest.approx(RHO[1:], abs=0.03)
    assert "one.json, frames 1 to 300 and two.json, frames 11 to 300" in found.clips["motion"]


def test_ranges_of_one_capture_are_clips_like_captures_of_their_own(tmp_path):
    hand = someone("right")
    moves = moving(hand)
    whole = saved(tmp_path / "whole.json", moves)
    halves = [saved(tmp_path / f"{name}.json", part) for name, part in (("a", moves[:150]), ("b", moves[150:]))]
    apart = calibrate.run(halves[0], CalibrationChoices(motions=(MotionClip(), MotionClip(halves[1].capture)))).hands[
        "right"
    ]
    ranges = CalibrationChoices(motions=(MotionClip(None, FrameRange(1, 150)), MotionClip(None, FrameRange(151, 300))))
    ranged = calibrate.run(whole, ranges).hands["right"]
    assert ranged.proportions.phalanges == pytest.approx(apart.proportions.phalanges, rel=1e-9)
    assert ranged.rho[1:] == pytest.approx(apart.rho[1:], rel=1e-9)


def test_a_capture_named_again_is_read_once_and_measures_the_same(tmp_path):
    recipe = saved(tmp_path / "one.json", moving(someone("right")))
    reads = []

    def reader(recipe):
        reads.append(recipe.capture)
        return (yield from assigning.read_file(recipe))

    def measured(capture):
        job = calibrate.CalibrationJob(recipe, CalibrationChoices(motions=(MotionClip(capture),)), reader)
        run_to_end(job.steps())
        assert job.performer is not None
        return job.performer.hands["right"].proportions.phalanges

    np.testing.assert_array_equal(measured(recipe.capture), measured(None))
    assert reads == [recipe.capture] * 2


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"side": "left"}, "two.json: has no right hand, as one.json has"),
        ({"rate": 120.0}, "two.json: has 120 frames per second and one.json has 60"),
        ({"last": 20}, "two.json: frames 1-20 are 20 of its 60, a clip needs 30"),
    ],
)
def test_a_further_clip_that_does_not_fit_is_told(tmp_path, other, said):
    first = saved(tmp_path / "one.json", moving(someone("right")))
    last, side = other.pop("last", None), other.get("side", "right")
    second = saved(tmp_path / "two.json", moving(someone(side))[:60], **other)
    with pytest.raises(KnuckleError, match=re.escape(said)):
        calibrate.run(
            first, CalibrationChoices(motions=(MotionClip(), MotionClip(second.capture, FrameRange(1, last))))
        )


def test_clips_of_two_devices_make_a_performer_that_can_be_read_again(shared):
    """Each names the joints in its own way: each place of the hand keeps one label, the still clip's."""
    camera = CalibrationChoices(motions=(MotionClip(str(shared / "data/captures/mediapipe_video.json")),))
    found = calibrate.run(Recipe(str(DEMO_CAPTURE)), camera)
    back = performer.from_dict(json.loads(json.dumps(performer.to_dict(found))), "file").hands["right"]
    assert len(set(back.spots.values())) == len(back.spots)
    take = job.run(Recipe(str(DEMO_CAPTURE), performer=performer.to_dict(found)))
    assert set(take.markers.names) >= set(back.spots)


def test_markers_on_the_skin_tell_the_joint_radii(tmp_path):
    hand = someone("right")
    calm = on_skin(hand, thick(hand), np.zeros((30, 5, 3)), NOISE)
    moved = on_skin(hand, thick(hand), bends(300, RHO), NOISE)
    found = calibrate.run(
        saved(tmp_path / "a.json", np.concatenate([calm, moved])), CalibrationChoices(still=FrameRange(1, 30))
    )
    one = found.hands["right"]
    assert 1000 * np.abs(one.radii - thick(hand)).max() < 1.5, "mm"
    assert one.rho[1:] == pytest.approx(RHO[1:], abs=0.04)
    assert 1000 * np.abs(one.proportions.phalanges - hand.phalanges).max() < 0.5, "mm"


def test_a_fitted_performer_is_kept_and_solved_with(tmp_path):
    """Markers on the skin of a known hand: its file says where they sit, and the Jacobian solver meets them."""
    truth = someone("right")
    recipe = saved(tmp_path / "rom.json", lively(truth, on_someone(truth, FULL, seed=1)))
    person = calibrate.run(recipe, CalibrationChoices(fit=True))
    kept = performer.to_dict(person)
    back = performer.from_dict(json.loads(json.dumps(kept)), "file").hands["right"]
    assert back.spots == person.hands["right"].spots
    assert {one.of for one in back.measurements if one.kind == "marker"} == set(back.spots)
    assert "held-out frames" in person.clips["fit"]
    errors = []
    for known in (None, kept):
        take = job.run(replace(recipe, performer=known, solver="jacobian", end=60))
        fingers = take.report["hands"]["right"]["fingers"].values()
        errors.append(np.mean([finger["marker_error_mm"]["mean"] for finger in fingers]))
    assert errors[1] < 1.0 < errors[0], "mm"


def test_every_measure_says_how_and_how_sure(tmp_path):
    hand = someone("right")
    recipe = saved(tmp_path / "a.json", np.concatenate([still(hand), moving(hand)]))
    measures = calibrate.run(recipe, CalibrationChoices()).hands["right"].measurements
    assert sum(one.kind == "bone" for one in measures) == 15 == sum(one.kind == "radius" for one in measures)
    assert [one.of for one in measures if one.kind == "rho"] == list(DIGITS[1:])
    assert all(one.how for one in measures)
    assert all(one.spread is not None and one.frames for one in measures if one.kind in ("bone", "rho"))


def test_fingertips_alone_keep_what_is_usual_and_say_so(tmp_path):
    spots = (*FULL[:1], *(spot for spot in FULL if spot.joint.endswith(("tip", "phalanx-proximal"))))
    hand = someone("right")
    found = calibrate.run(saved(tmp_path / "a.json", moving(hand, spots), spots), CalibrationChoices())
    assert found.hands["right"].rho == (None,) * 5
    assert any(f"rho stays {DIP_PER_PIP:.2f}, no markers show" in note for note in found.notes)
    assert any("joint radii by the hand's size" in note for note in found.notes)


def test_a_measured_rho_is_obeyed_where_markers_do_not_tell(tmp_path):
    """Calibrated on all joints, solved from fingertips and the palm: DIP follows PIP as this performer's do."""
    hand = someone("right")
    person = calibrate.run(
        saved(tmp_path / "rom.json", np.concatenate([still(hand), moving(hand)])), CalibrationChoices()
    )
    spots = tuple(spot for spot in FULL if not spot.joint.endswith(("intermediate", "distal")))
    take = job.run(replace(saved(tmp_path / "a.json", moving(hand, spots), spots), performer=performer.to_dict(person)))
    solved = take.hands[0]
    for row, digit in enumerate(DIGITS[1:], 1):
        pip, dip = (solved.pose.angles[:, solved.hand.dof(joint, "flexion")] for joint in CHAIN_JOINTS[digit][1:3])
        free = (pip > 0.3) & (dip < np.deg2rad(55))
        assert free.sum() > 50
        assert np.median(dip[free] / pip[free]) == pytest.approx(person.hands["right"].rho[row], abs=0.01)


def test_typed_radii_and_limits_are_kept(tmp_path):
    hand = someone("right")
    recipe = saved(tmp_path / "a.json", moving(hand))
    known = performer.to_dict(calibrate.run(recipe, CalibrationChoices()))
    known["hands"]["right"]["limits_deg"] = {"index-finger-phalanx-distal flexion": [0, 45]}
    again = calibrate.run(
        replace(recipe, performer=known), CalibrationChoices(radii=parse_radii(["11,8,7", "thumb=10,9,8"]))
    )
    one = again.hands["right"]
    assert 1000 * one.radii == pytest.approx(np.array([[10, 9, 8], *[[11, 8, 7]] * 4]))
    assert one.limits == {("index-finger-phalanx-distal", "flexion"): (0, 45)}


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        (CalibrationChoices(still=FrameRange(1, 30)), "its markers move by"),
        (CalibrationChoices(still=FrameRange(1, 12)), "frames 1-12 are 12 of its 89, a clip needs 30"),
        (
            CalibrationChoices(motions=(MotionClip(None, FrameRange(80)),)),
            "frames 80- are 10 of its 89, a clip needs 30",
        ),
        (
            CalibrationChoices(motions=(MotionClip(None, FrameRange(900)),)),
            "frames 900- are 0 of its 89, a clip needs 30",
        ),
        (CalibrationChoices(motions=(MotionClip("nowhere.c3d"),)), "nowhere.c3d"),
    ],
)
def test_clips_that_will_not_do_are_reported_in_one_sentence(choices, sentence):
    with pytest.raises(KnuckleError, match=re.escape(sentence)) as reported:
        calibrate.run(Recipe(str(DEMO_CAPTURE), hand="right"), choices)
    assert "\n" not in str(reported.value)


def test_a_hand_that_is_never_still_is_measured_over_all_frames():
    found = calibrate.run(Recipe(str(DEMO_CAPTURE)), CalibrationChoices())
    assert any("is never still for 30 frames" in note for note in found.notes)
    markers = assigning.read(Recipe(str(DEMO_CAPTURE)))
    whole, _ = assigning.measure_performer(
        Recipe(str(DEMO_CAPTURE)), markers, assigning.assign_hands(Recipe(str(DEMO_CAPTURE)), markers)
    )
    mine, theirs = (person.hands["right"].proportions.phalanges for person in (found, whole))
    assert np.abs(mine - theirs).max() < 1e-4


def test_a_clip_without_the_hand_of_the_other_is_reported(tmp_path):
    right, left = someone("right"), someone("left")
    calm = saved(tmp_path / "still.json", still(right))
    moved = saved(tmp_path / "rom.json", moving(left), side="left")
    with pytest.raises(KnuckleError, match=r"rom.json: has no right hand, the still clip has one"):
        calibrate.run(calm, CalibrationChoices(motions=(MotionClip(moved.capture),)))


def test_real_gloves_tell_the_ratio_of_their_own_joints(shared):
    """The right glove's last joints are worked out by its device, at 0.85 of the middle ones."""
    import ezc3d

    path = str(shared / "data/captures/two_hands_glove.c3d")
    file = ezc3d.c3d(path)
    labels = [label.split(":")[-1] for label in file["parameters"]["POINT"]["LABELS"]["value"]]
    points = [file["data"]["points"][:3, labels.index(f"RMF{part}")].T for part in "IMOT"]
    bones = np.diff(np.stack(points), axis=0)
    angles = [
        np.arccos((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)) for a, b in pairwise(bones)
    ]
    seen = np.isfinite(angles).all(0)
    expected = np.polyfit(angles[0][seen], angles[1][seen], 1)[0]
    found = calibrate.run(Recipe(path, hand="right"), CalibrationChoices())
    assert found.hands["right"].rho[2] == pytest.approx(expected, abs=0.02)


def test_a_fitted_thumb_points_where_its_markers_do(shared):
    """The glove's markers are in the thumb's joints, which turn about other axes than the model's."""
    recipe = Recipe(str(shared / "data/captures/two_hands_glove.c3d"), hand="right", markers_on="joints")
    person = calibrate.run(recipe, CalibrationChoices())
    reported = [note for note in person.notes if "thumb stays as measured" in note]
    assert len(reported) == 1
    assert "degrees from the line of its markers" in reported[0]
    assert not {one.of for one in person.hands["right"].measurements if one.how.startswith("fitted")} & {
        *CHAIN_JOINTS["thumb"],
        *(label for label in person.hands["right"].spots if "RT" in label),
    }
    take = job.run(replace(recipe, performer=performer.to_dict(person), start=1, end=200))
    solved, markers = take.hands[0], take.markers
    frames = kinematics.joint_frames(solved.hand, solved.pose)[..., :3, 3]
    ends = [next(n for n in markers.names if n.endswith(label)) for label in ("RTIN", "RTTI")]
    shown = np.subtract(*(markers.positions[:, markers.names.index(end)] for end in reversed(ends)))
    joints = [solved.hand.joints.index(CHAIN_JOINTS["thumb"][at]) for at in (0, 3)]
    bones = frames[:, joints[1]] - frames[:, joints[0]]
    cosines = (bones * shown).sum(1) / np.linalg.norm(bones, axis=1) / np.linalg.norm(shown, axis=1)
    assert np.degrees(np.arccos(np.nanmedian(cosines))) < 5, "17 where the fit decides"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("31-", (FrameRange(31), None)),
        ("-30", (FrameRange(1, 30), None)),
        ("rom.c3d", (None, "rom.c3d")),
        ("a/rom.c3d:5-90", (FrameRange(5, 90), "a/rom.c3d")),
        (r"C:\rom.c3d", (None, r"C:\rom.c3d")),
        (r"C:\rom.c3d:5-", (FrameRange(5), r"C:\rom.c3d")),
    ],
)
def test_the_motion_is_frames_or_a_capture_or_frames_of_one(text, expected):
    frames, capture = expected
    assert MotionClip.parse(text) == MotionClip(capture, frames)


@pytest.mark.parametrize("text", ["30-1", "0-30", "x", "1-2-3", ""])
def test_frames_that_are_none_are_reported(text):
    with pytest.raises(RecipeError, match="expected a range such as 1-30"):
        FrameRange.parse(text)


@pytest.mark.parametrize("text", ["11,8", "a,b,c", "ring=1,2,3", "1,2,-3", "nan,1,1", "thumb=", "400,1,1"])
def test_radii_that_are_none_are_reported(text):
    with pytest.raises(RecipeError, match="expected three numbers of mm such as 11,8,7"):
        parse_radii([text])
