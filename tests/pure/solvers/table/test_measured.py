"""What calibration measured of a hand, in its tables: from the clips to the angles."""

import json
from dataclasses import replace

import numpy as np
import pytest

from knuckle.errors import HandError, RecipeError
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, KNUCKLES, TIPS
from knuckle.hand.marker_sets import Spot
from knuckle.hand.measured_hand import MeasuredHand
from knuckle.hand.targets import assign
from knuckle.pipeline import calibration as calibrate
from knuckle.pipeline import job, performer
from knuckle.pipeline.calibration_choices import CalibrationChoices
from knuckle.solvers import initial_state
from knuckle.solvers.fabrik import Fabrik
from knuckle.solvers.table import Table
from knuckle.tests.pure.hand.calibration.test_calibration_radii import thick
from knuckle.tests.pure.hand.people import FULL, bends, on_skin, posed, someone
from knuckle.tests.pure.pipeline.test_calibrate import saved

RHO = np.array([0.5, 0.4, 0.55, 0.7, 0.75])
HAND = someone("right")
BARE = [FULL.index(Spot(joint)) for joint in ("wrist", *KNUCKLES, *TIPS)]
"""Fingertips and palm only."""


def person(radii, spots=None):
    spots = spots or {FULL[column].joint: FULL[column] for column in BARE}
    return MeasuredHand(HAND, spots, rho=(None, *RHO[1:].tolist()), radii=radii)


def off(pose, true):
    """Degrees, the mean error of the fingers' flexions; true (F, 5, 3) rad."""
    joints = [joint for digit in DIGITS[1:] for joint in CHAIN_JOINTS[digit][:3]]
    found = pose.angles[:, [pose.hand.dof(joint, "flexion") for joint in joints]]
    return np.rad2deg(np.abs(found - true[:, 1:].reshape(len(true), -1)).mean())


@pytest.mark.parametrize(("method", "least"), [("even", 1.5), ("lu", 3.0)])
def test_joint_radii_that_were_measured_make_angles_from_markers_on_the_skin_true(method, least):
    true = bends(100, RHO)
    places = on_skin(HAND, thick(HAND), true)[:, BARE]

    def error(of):
        hand, targets = assign(of.model, of.spots, np.arange(100.0), places)
        table = Table(method=method)
        return off(table.solve(hand, targets, initial_state(table, of))[0], true)

    assert error(person(thick(HAND))) < least
    assert error(person(np.zeros((0, 3)))) > 10, "degrees: without radii the skin misleads"


def test_radii_count_only_where_they_are_known_and_markers_sit_on_the_joints():
    assert np.array_equal(person(thick(HAND)).thickness("ring-finger"), thick(HAND)[3])
    assert not person(np.zeros((0, 3))).thickness("ring-finger").any(), "by the hand's size"
    raised = person(thick(HAND), {"tip": Spot("ring-finger-tip", (0.0, 0.0, 0.006))})
    assert not raised.thickness("ring-finger").any()
    assert raised.thickness("index-finger").any()


def test_solvers_that_read_the_model_only_have_no_beginning_of_their_own():
    assert initial_state(Fabrik(), person(thick(HAND))) is None


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """A performer, written and read again, and a recipe of a take of tips and palm only."""
    folder = tmp_path_factory.mktemp("clips")
    still, moving = np.full((40, 5, 3), np.deg2rad(2)), bends(300, RHO)
    clip = saved(folder / "rom.json", posed(HAND, FULL, np.concatenate([moving, still])))
    found = json.loads(json.dumps(performer.to_dict(calibrate.run(clip, CalibrationChoices()))))
    spots = tuple(FULL[column] for column in BARE)
    recipe = saved(folder / "take.json", posed(HAND, spots, bends(120, RHO, seed=3)), spots)
    return replace(recipe, solver="table", performer=found)


@pytest.mark.parametrize(("method", "least"), [("even", 1.5), ("lu", 3.0), ("recorded", 6.0)])
def test_a_calibrated_performer_is_solved_by_each_table(calibrated, method, least):
    """rho and, for Amaya's table, the clip of free motion come from the file."""
    take = job.run(replace(calibrated, settings={"method": method}))
    assert off(take.hands[0].pose, bends(120, RHO, seed=3)) < least


def test_the_clip_of_free_motion_is_kept_within_bounds(calibrated):
    kept = calibrated.performer["hands"]["right"]["motion_deg"]
    assert {len(angles) for angles in kept.values()} <= set(range(100, 301))
    back = performer.from_dict(calibrated.performer, "file").hands["right"]
    column = back.model.dof("ring-finger-phalanx-intermediate", "flexion")
    assert np.ptp(back.motion[:, column]) > np.deg2rad(80)


def test_a_recorded_table_without_a_recording_is_reported():
    hand, targets = assign(
        person(thick(HAND)).model, {"tip": Spot("index-finger-tip")}, np.zeros(1), np.zeros((1, 1, 3))
    )
    table = Table(method="recorded")
    with pytest.raises(HandError, match="calibrated on a clip of free motion"):
        table.solve(hand, targets, initial_state(table, person(thick(HAND))))


@pytest.mark.parametrize(
    ("motion", "said"),
    [
        ({"nose flexion": [1.0]}, "nose flexion"),
        ({"index-finger-tip": 3}, "index-finger-tip"),
        ({"index-finger-phalanx-distal flexion": ["a"]}, "not a list of numbers"),
        ({"index-finger-phalanx-distal flexion": [float("nan")]}, "not a list of numbers"),
        ({"index-finger-phalanx-distal flexion": [1.0] * 1001}, "at most 1000"),
        (
            {"index-finger-phalanx-distal flexion": [1.0], "ring-finger-phalanx-distal flexion": [1.0, 2.0]},
            "as many as the others",
        ),
        ([], "motion_deg"),
    ],
)
def test_a_motion_that_is_none_is_reported(motion, said):
    data = performer.to_dict(performer.Performer("x", {"right": person(thick(HAND))}))
    data["hands"]["right"]["motion_deg"] = motion
    with pytest.raises(RecipeError, match=said):
        performer.from_dict(data, "file")


def test_targets_of_a_recorded_table_may_have_turns(calibrated):
    """Which a table does not read: the same poses come out."""
    hand = performer.from_dict(calibrated.performer, "file").hands["right"]
    spots = {FULL[column].joint: FULL[column] for column in BARE}
    places = posed(HAND, tuple(spots.values()), bends(20, RHO, seed=3))
    model, targets = assign(hand.model, spots, np.arange(20.0), places)
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (*targets.weights.shape, 1))
    turned = replace(targets, rotations=turns, rotation_weights=np.ones(targets.weights.shape))
    table = Table(method="recorded")
    plain, other = (table.solve(model, each, initial_state(table, hand))[0] for each in (targets, turned))
    assert np.array_equal(plain.angles, other.angles)
