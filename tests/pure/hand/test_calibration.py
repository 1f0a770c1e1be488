"""A performer's measures, found again from what their markers do."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle.errors import HandError
from knuckle.hand import calibration, kinematics
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, KNUCKLES, TIPS
from knuckle.hand.markersets import MARKER_SETS, Spot
from knuckle.hand.proportions import PALM_JOINTS, adult, build
from knuckle.hand.targets import assign

FULL = (Spot("wrist"), *(Spot(joint) for digit in DIGITS for joint in CHAIN_JOINTS[digit]))
EIGHT = tuple(Spot(joint) for joint in ("wrist", KNUCKLES[0], KNUCKLES[3], *TIPS))
BACK = tuple(MARKER_SETS[1].labels.values())


def someone(side, seed=3):
    """A hand that is nobody's mean: bones longer or shorter by up to 12 %."""
    rng = np.random.default_rng(seed)
    hand = adult(side, rng.uniform(0.16, 0.21))
    return replace(hand, phalanges=hand.phalanges * rng.uniform(0.88, 1.12, hand.phalanges.shape))


def recorded(proportions, spots, frames=300, seed=5, noise=0.0):
    """(F, M, 3) m: the spots while the hand opens and closes, the whole moving about."""
    labelled = {f"m{i}": spot for i, spot in enumerate(spots)}
    hand, targets = assign(build(proportions), labelled, np.zeros(1), np.zeros((1, len(spots), 3)))
    rng = np.random.default_rng(seed)
    low, high = hand.limits.T
    beat = 0.5 - 0.5 * np.cos(np.linspace(0, 6 * np.pi, frames)[:, None] + rng.uniform(0, 1, hand.dofs))
    angles = np.clip(0.0, low, high) + (np.clip(np.deg2rad(75), low, high) - np.clip(0.0, low, high)) * beat
    bends = np.array([movement == "flexion" for movement in hand.movements])
    root = np.tile(np.eye(4), (frames, 1, 1))
    root[:, :3, 3] = rng.normal(0, 0.3, 3) + np.linspace(0, 0.2, frames)[:, None]
    pose = kinematics.Pose(hand, root, np.where(bends, angles, 0.0))
    places = kinematics.site_positions(hand, kinematics.joint_frames(hand, pose))[:, targets.sites]
    return places + rng.normal(0, noise, places.shape)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("noise", "limit"), [(0.0, 1e-6), (0.001, 4e-4)])
def test_markers_on_the_joints_give_the_bones(side, noise, limit):
    truth = someone(side)
    found, spots = calibration.measure(side, FULL, recorded(truth, FULL, noise=noise))
    assert spots == FULL
    # The bones may come out up to 5 % longer, so that the farthest fingertip seen is in reach; never shorter.
    ratio = found.phalanges / truth.phalanges
    assert (ratio > 1 - limit / 0.015).all()
    assert (ratio < 1 + (1e-4 if noise == 0 else 0.05)).all()
    apart = [np.linalg.norm(hand.palm[2] - hand.palm[8]) for hand in (found, truth)]
    assert abs(apart[0] - apart[1]) < max(limit, 1e-6)


def test_tips_and_three_palm_markers_give_the_size_and_the_reach():
    truth = adult("right", 0.2)
    found, _ = calibration.measure("right", EIGHT, recorded(truth, EIGHT))
    assert abs(found.size - 0.2) < 0.002
    assert np.abs(found.phalanges.sum(1) - truth.phalanges.sum(1)).max() < 0.002


def test_knuckles_are_found_that_no_marker_sits_on():
    """Markers on the back of the hand and of the fingers: the knuckle is what the finger's marker circles."""
    truth = adult("right", 0.2)
    found, _ = calibration.measure("right", BACK, recorded(truth, BACK))
    places = [np.array([hand.palm[PALM_JOINTS.index(joint)] for joint in KNUCKLES]) for hand in (found, truth)]
    apart = np.linalg.norm(places[0] - places[1], axis=1)
    assert apart.max() < 0.008, f"{1000 * apart.max():.1f} mm > 8 mm"


def test_measures_do_not_depend_on_where_the_hand_is():
    spots, places = FULL, recorded(someone("left"), FULL)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    here, _ = calibration.measure("left", spots, places)
    there, _ = calibration.measure("left", spots, places @ turn.T + [3.0, -2.0, 1.0])
    assert np.abs(here.phalanges - there.phalanges).max() < 1e-9
    assert np.abs(here.palm - there.palm).max() < 1e-9


def test_gaps_are_no_measures():
    places = recorded(someone("right"), FULL)
    gappy = places.copy()
    gappy[np.random.default_rng(2).random(gappy.shape[:2]) < 0.2] = np.nan
    whole, _ = calibration.measure("right", FULL, places)
    found, _ = calibration.measure("right", FULL, gappy)
    assert np.abs(found.phalanges - whole.phalanges).max() < 1e-4


@pytest.mark.parametrize("spots", [FULL[4:], EIGHT[3:]])
def test_a_hand_without_a_palm_is_told(spots):
    with pytest.raises(HandError, match="palm markers, of which three must be seen in one frame"):
        calibration.measure("left", spots, np.zeros((5, len(spots), 3)) * np.nan)


def test_a_performer_comes_back_as_it_was():
    hand = someone("left")
    back = calibration.from_json("left", calibration.to_json(hand), "file")
    assert np.abs(back.palm - hand.palm).max() < 1e-6
    assert np.abs(back.phalanges - hand.phalanges).max() < 1e-6
    assert np.abs(back.frames - hand.frames).max() < 1e-6


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
def test_a_performer_that_is_broken_is_told(change, sentence):
    data = calibration.to_json(adult("right"))
    change(data)
    with pytest.raises(HandError, match=sentence):
        calibration.from_json("right", data, "file")
