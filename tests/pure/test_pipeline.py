"""Real recordings, from the file to the solved hand."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle import performer, pipeline
from knuckle.errors import KnuckleError, MarkerMapError
from knuckle.hand.joints import DIGITS, JOINTS
from knuckle.hand.kinematics import joint_frames
from knuckle.hand.proportions import adult
from knuckle.recipe import Recipe


@pytest.fixture(scope="module")
def glove(shared):
    return pipeline.run(Recipe(str(shared / "data/captures/two_hands_glove.c3d")))


def tip_errors(take, side):
    return {digit: finger["tip_error_mm"] for digit, finger in take.report["hands"][side]["fingers"].items()}


def test_both_hands_of_an_optical_glove_are_met_by_their_fingertips(glove):
    assert [solved.side for solved in glove.hands] == ["left", "right"]
    for side in ("left", "right"):
        for digit, error in tip_errors(glove, side).items():
            assert error["max"] < 2.0, f"{side} {digit}: {error['max']:.2f} mm > 2 mm"
        assert glove.report["hands"][side]["limit_violations"] == 0
    assert glove.report["frames"] == 969
    assert glove.report["rate"] == pytest.approx(60)


def test_fingertips_of_the_solved_hand_are_where_the_markers_of_the_file_are(glove, shared):
    """Measured on the file by another reader, not on what we read."""
    ezc3d = pytest.importorskip("ezc3d")
    file = ezc3d.c3d(str(shared / "data/captures/two_hands_glove.c3d"))
    labels = [label.split(":")[-1] for label in file["parameters"]["POINT"]["LABELS"]["value"]]
    places = file["data"]["points"][:3].transpose(2, 1, 0) / 1000
    for solved in glove.hands:
        frames = joint_frames(solved.hand, solved.pose)
        for digit, end in zip(DIGITS, ("TTI", "IFT", "MFT", "RFT", "PTI"), strict=True):
            marker = places[:, labels.index(solved.side[0].upper() + end)]
            tip = frames[:, JOINTS.index(f"{digit}-tip"), :3, 3]
            apart = 1000 * np.linalg.norm(tip - marker, axis=1)
            # Spikes are taken out of the markers before they are solved.
            assert np.quantile(apart, 0.99) < 2.0


def test_a_hand_that_the_camera_mirrored_is_taken_for_what_it_is(shared):
    take = pipeline.run(Recipe(str(shared / "data/captures/mediapipe_video.json")))
    assert [solved.side for solved in take.hands] == ["right"]
    assert any("shape of a right hand" in warning for warning in take.report["warnings"])
    for digit, error in tip_errors(take, "right").items():
        if digit != "thumb":
            assert error["mean"] < 3.0, f"{digit}: {error['mean']:.2f} mm > 3 mm"


def test_a_leap_recording_is_met_within_a_millimetre(shared):
    take = pipeline.run(Recipe(str(shared / "data/captures/leap_finger_tap.json")))
    for digit, error in tip_errors(take, "right").items():
        assert error["max"] < 1.0, f"{digit}: {error['max']:.2f} mm > 1 mm"


def test_tips_and_middles_on_the_back_of_a_glove(shared):
    take = pipeline.run(Recipe(str(shared / "data/captures/qualisys_glove.tsv")))
    assert take.report["marker_set"]["name"] == "tip and middle"
    for digit, error in tip_errors(take, "right").items():
        assert error["mean"] < 1.0, f"{digit}: {error['mean']:.2f} mm > 1 mm"
        assert error["p99"] < 5.0, f"{digit}: {error['p99']:.2f} mm > 5 mm"
    predicted = take.hands[0].predicted[:, JOINTS.index("thumb-tip")]
    assert 300 < predicted.sum() < 700, "the thumb's tip is missing in 493 frames of the file"


def test_a_performer_measured_on_one_capture_solves_another(glove, shared):
    recipe = Recipe(str(shared / "data/captures/two_hands_glove.c3d"))
    markers = pipeline.read(recipe)
    person = performer.to_dict(pipeline.measure(recipe, markers, pipeline.assignment(recipe, markers)))
    labels = [label for label in markers.names if label.endswith(("HAN", "IFI", "PIN", "IFT", "MFT", "TTI"))]
    hands = pipeline.assignment(recipe, markers).hands
    fewer = {
        str(side): {label: spots[label].joint for label in labels if label in spots} for side, spots in hands.items()
    }
    take = pipeline.run(replace(recipe, performer=person, markers=fewer, end=200))
    for solved, whole in zip(take.hands, glove.hands, strict=True):
        assert np.abs(solved.proportions.phalanges - whole.proportions.phalanges).max() < 1e-5
        assert tip_errors(take, solved.side)["index-finger"]["max"] < 2.0
        # The ring finger has no marker: it stays as it is, and is called predicted.
        assert solved.predicted[:, JOINTS.index("ring-finger-tip")].all()
        assert np.ptp(solved.pose.angles[:, solved.hand.dof("ring-finger-phalanx-proximal", "flexion")]) == 0


def test_the_other_hand_of_a_performer_is_the_mirror_image():
    right = adult("right", 0.2)
    person = performer.Performer("x", {"right": performer.MeasuredHand(right, {})})
    left = person.hand("left", {}).proportions
    assert left.side == "left"
    assert np.abs(left.palm * [-1, 1, 1] - right.palm).max() < 1e-12


def test_at_another_rate_the_take_has_as_many_frames_as_its_length_needs(shared):
    take = pipeline.run(Recipe(str(shared / "data/captures/leap_finger_tap.json"), fps=24))
    steps = np.diff(take.times)
    assert np.abs(steps - 1 / 24).max() < 1e-9
    assert abs(len(take.times) - 1 - 1.59 * 24) < 2


def test_progress_grows_and_ends(shared):
    job = pipeline.Job(Recipe(str(shared / "data/captures/qualisys_glove.tsv")))
    fractions = [progress.fraction for progress in job.steps()]
    assert fractions == sorted(fractions)
    assert len(fractions) > 4 and fractions[0] >= 0 and fractions[-1] <= 1
    assert job.take is not None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"hand": "left"}, "holds a right hand, not the left one that was asked for"),
        ({"hand": "both"}, "holds a right hand, not the left one that was asked for"),
        ({"start": 1000}, "frames from 1000 on were asked for, the capture has 89"),
        ({"markers": {"right": {"nose": "wrist"}}}, "the marker map's label 'nose' \\(right\\) is not in the capture"),
        ({"markers": {"right": {"right:wrist": "wrist"}}}, "the right hand has no marker on a finger"),
        (
            {"markers": {"right": {"right:wrist": "wrist", "right:thumb-tip": "thumb-tip"}}},
            "1 palm markers, of which three",
        ),
        ({"performer": {"format": "x"}}, "performer: not a performer file"),
        ({"solver": "magic"}, "solver is 'magic'"),
    ],
)
def test_what_cannot_be_done_is_told(shared, changes, sentence):
    recipe = replace(Recipe(str(shared / "data/captures/leap_finger_tap.json")), **changes)
    with pytest.raises(KnuckleError, match=sentence):
        pipeline.run(recipe)


def test_a_capture_without_a_hand_is_told(tmp_path):
    path = tmp_path / "legs.csv"
    path.write_text("time,knee.x,knee.y,knee.z\n0,0,0,0.5\n0.01,0,0,0.5\n")
    with pytest.raises(MarkerMapError, match=r"none of the 1 labels \(knee\)"):
        pipeline.run(Recipe(str(path)))
