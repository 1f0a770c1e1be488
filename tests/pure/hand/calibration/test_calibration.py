"""A performer's measures, found again from what their markers do."""

from typing import Any

import numpy as np
import pytest

from knuckle.errors import HandError
from knuckle.hand import rotations as rot
from knuckle.hand.calibration import measuring
from knuckle.hand.calibration.marker_angles import flexions
from knuckle.hand.joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINTS, KNUCKLES
from knuckle.hand.limits import DEFAULT_LIMITS
from knuckle.hand.marker_sets import Spot
from knuckle.hand.proportions import PALM_JOINTS, adult
from knuckle.hand.proportions_json import from_json, to_json
from knuckle.tests.pure.hand.people import BACK, EIGHT, FULL, recorded, someone


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("noise", "limit"), [(0.0, 1e-6), (0.001, 4e-4)])
def test_markers_on_the_joints_give_the_bones(side, noise, limit):
    truth = someone(side)
    found, spots = measuring.measure_proportions(side, FULL, recorded(truth, FULL, noise=noise))
    assert spots == FULL
    # The bones may come out up to 5 % longer, so that the farthest fingertip seen is in reach; never shorter.
    ratio = found.phalanges / truth.phalanges
    assert (ratio > 1 - limit / 0.015).all()
    assert (ratio < 1 + (1e-4 if noise == 0 else 0.05)).all()
    apart = [np.linalg.norm(hand.palm[2] - hand.palm[8]) for hand in (found, truth)]
    assert abs(apart[0] - apart[1]) < max(limit, 1e-6)


def test_tips_and_three_palm_markers_give_the_size_and_the_reach():
    truth = adult("right", 0.2)
    found, _ = measuring.measure_proportions("right", EIGHT, recorded(truth, EIGHT))
    assert abs(found.size - 0.2) < 0.002
    assert np.abs(found.phalanges.sum(1) - truth.phalanges.sum(1)).max() < 0.002


def test_knuckles_are_found_that_no_marker_sits_on():
    """Markers on the back of the hand and of the fingers: the knuckle is what the finger's marker circles."""
    truth = adult("right", 0.2)
    found, _ = measuring.measure_proportions("right", BACK, recorded(truth, BACK))
    places = [np.array([hand.palm[PALM_JOINTS.index(joint)] for joint in KNUCKLES]) for hand in (found, truth)]
    apart = np.linalg.norm(places[0] - places[1], axis=1)
    assert apart.max() < 0.008, f"{1000 * apart.max():.1f} mm > 8 mm"


def test_a_marker_that_leaves_the_hand_is_reported_with_the_joint_that_it_would_move():
    positions = recorded(someone("right"), BACK)
    ring = [spot.joint for spot in BACK].index("ring-finger-phalanx-proximal")
    positions[::3, ring] += np.random.default_rng(3).normal(0.0, 1e4, (len(positions[::3]), 3))
    with pytest.raises(
        HandError, match=r"the ring-finger-phalanx-proximal would be \S+ m from the wrist, expected 0.6 m"
    ):
        measuring.measure_proportions("right", BACK, positions)


def test_a_knuckle_at_the_wrist_is_reported_as_a_metacarpal_without_length():
    spots = tuple(Spot(joint) for joint in JOINTS)
    positions = recorded(someone("right"), spots)
    ring = [JOINTS.index(joint) for joint in DIGIT_JOINTS["ring-finger"][:2]]
    positions[:, ring] = positions[:, [JOINTS.index("wrist")]]
    with pytest.raises(HandError, match=r"the metacarpal of the ring-finger is 0.00 mm long"):
        measuring.measure_proportions("right", spots, positions)


def test_measures_do_not_depend_on_where_the_hand_is():
    spots, places = FULL, recorded(someone("left"), FULL)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    here, _ = measuring.measure_proportions("left", spots, places)
    there, _ = measuring.measure_proportions("left", spots, places @ turn.T + [3.0, -2.0, 1.0])
    assert np.abs(here.phalanges - there.phalanges).max() < 1e-9
    assert np.abs(here.palm - there.palm).max() < 1e-9


def test_gaps_are_no_measures():
    places = recorded(someone("right"), FULL)
    gappy = places.copy()
    gappy[np.random.default_rng(2).random(gappy.shape[:2]) < 0.2] = np.nan
    whole, _ = measuring.measure_proportions("right", FULL, places)
    found, _ = measuring.measure_proportions("right", FULL, gappy)
    assert np.abs(found.phalanges - whole.phalanges).max() < 1e-4


@pytest.mark.parametrize("spots", [FULL[4:], EIGHT[3:]])
def test_a_hand_without_a_palm_is_reported(spots):
    with pytest.raises(HandError, match="palm markers, three must be seen in one frame"):
        measuring.measure_proportions("left", spots, np.zeros((5, len(spots), 3)) * np.nan)


def test_a_performer_comes_back_as_it_was():
    hand = someone("left")
    back = from_json("left", to_json(hand), "file")
    assert np.abs(back.palm - hand.palm).max() < 1e-6
    assert np.abs(back.phalanges - hand.phalanges).max() < 1e-6
    assert np.abs(back.digit_rotations - hand.digit_rotations).max() < 1e-6


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda data: data.pop("palm_mm"), "palm_mm of thumb-metacarpal is None, expected 3 numbers"),
        (lambda data: data["bones_mm"].update({"thumb-metacarpal": "long"}), "bones_mm of thumb-metacarpal is 'long'"),
        (
            lambda data: data["bones_mm"].update({"thumb-metacarpal": float("nan")}),
            "bones_mm of thumb-metacarpal is nan",
        ),
        (lambda data: data["bones_mm"].update({"thumb-metacarpal": 0}), "bone 1 of the thumb is 0.00 mm long"),
        (lambda data: data["directions_wxyz"].update(thumb=[0, 0, 0, 0]), "has the length 0.000, expected 1"),
        (lambda data: data.update(palm_mm=[1]), "palm_mm of thumb-metacarpal is None"),
    ],
)
def test_a_performer_that_is_broken_is_reported(change, sentence):
    data = to_json(adult("right"))
    change(data)
    with pytest.raises(HandError, match=sentence):
        from_json("right", data, "file")


@pytest.mark.parametrize("knuckle", [True, False])
@pytest.mark.parametrize("digit", DIGITS[1:])
def test_bends_are_those_of_the_bones_whether_a_marker_sits_on_the_knuckle_or_not(digit, knuckle):
    """A digit in its plane, laid out bone by bone."""
    hand, joints, row = adult("right"), CHAIN_JOINTS[digit], DIGITS.index(digit)
    truth = np.random.default_rng(row).uniform(0.1, 1.2, (30, 3))
    heading = np.cumsum(truth, axis=1)
    bones = hand.phalanges[row][:, None] * np.stack([0 * heading, np.cos(heading), -np.sin(heading)], -1)
    ends = np.concatenate([np.zeros((30, 1, 3)), np.cumsum(bones, axis=1)], axis=1)
    local = hand.first_joints[row] + ends @ rot.to_matrix(hand.digit_rotations[row]).T
    kept = slice(0 if knuckle else 1, None)
    found = flexions(hand, tuple(Spot(joint) for joint in joints)[kept], local[:, kept], digit)
    np.testing.assert_allclose(found, truth, atol=1e-9)


def test_the_reach_is_the_length_of_the_straight_finger_wherever_its_marker_sits():
    finger, offset, first = CHAIN_JOINTS["index-finger"], np.array([0.002, 0.004, -0.006]), np.array([0.02, 0.09, 0.0])
    spots = (Spot(finger[0]), Spot(finger[3], tuple(offset.tolist())))
    place = first + [0.0, 0.1, 0.0] + offset
    local = np.tile(np.stack([first, place]), (40, 1, 1))
    assert measuring._reach(first, spots, local, "index-finger") == pytest.approx(0.1)
    assert measuring._reach(first, spots[:1], local[:, :1], "index-finger") == 0.0
    local[1:, 1] = np.nan
    assert measuring._reach(first, spots, local, "index-finger") == 0.0


@pytest.mark.parametrize("beyond", [-0.2, -0.1, 0.1, 0.2])
def test_a_base_is_rotated_until_its_fingers_abduction_is_within_the_limits(beyond):
    joint = CHAIN_JOINTS["index-finger"][0]
    low, high = np.deg2rad(DEFAULT_LIMITS[joint, "abduction"])
    angles = np.random.default_rng(1).uniform(-0.2, 0.2, 60) + (high if beyond > 0 else low) + beyond
    # Bent a little about x, then abducted about z.
    bend = np.linspace(0.1, 0.4, 60)
    steps = [np.stack([0 * bend, np.cos(k * bend), -np.sin(k * bend)], -1) for k in (1, 2, 3)]
    turns = rot.to_matrix(rot.from_axis_angle([0.0, 0.0, 1.0], angles))
    points = np.cumsum(np.stack(steps, 1), axis=1) @ turns.swapaxes(-1, -2)
    corrected = points @ rot.to_matrix(measuring._base_correction(joint, points))
    left = np.arctan2(-corrected[:, 0, 0], corrected[:, 0, 1])
    assert low - 1e-6 < np.quantile(left, 0.05) and np.quantile(left, 0.95) < high + 1e-6


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_twist_of_a_base_is_told_by_the_frames_that_bend(sign):
    """Half of the frames are nearly straight, and in another plane."""
    joint = CHAIN_JOINTS["index-finger"][0]
    high = np.deg2rad(DEFAULT_LIMITS[joint, "twist"])[1 if sign > 0 else 0]
    bend = np.repeat([0.01, 0.7], 30)
    bones = np.stack([np.stack([0 * bend, np.cos(k * bend), -np.sin(k * bend)], -1) for k in (0, 1, 2)], 1)
    turns = rot.to_matrix(rot.from_axis_angle([0.0, 1.0, 0.0], np.repeat([0.0, high + 0.2 * sign], 30)))
    points = np.cumsum(bones, axis=1) @ turns.swapaxes(-1, -2)
    corrected = (points @ rot.to_matrix(measuring._base_correction(joint, points)))[30:]
    twist = np.arctan2(-corrected[:, 2, 0], -corrected[:, 2, 2])
    assert np.abs(twist - high).max() < 0.02


def test_a_performers_file_has_its_lengths_in_millimetres():
    hand: Any = to_json(adult("right", 0.2))
    assert hand["size_mm"] == pytest.approx(200.0, abs=0.01)
    bones = [hand["bones_mm"][joint] for joint in CHAIN_JOINTS["index-finger"][:3]]
    np.testing.assert_allclose(bones, 1000 * adult("right", 0.2).phalanges[1], atol=0.001)
