"""One hand of a performer: its own couplings, limits and radii, and the hand that is built of them."""

import re
from dataclasses import replace

import numpy as np
import pytest

from knuckle.errors import HandError
from knuckle.hand.calibration.joint_radii import radii_by_size
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.hand.limits import DIP_PER_PIP, AngleLimits
from knuckle.hand.marker_sets import Spot
from knuckle.hand.measured_hand import MeasuredHand
from knuckle.hand.proportions import adult, build

INDEX = CHAIN_JOINTS["index-finger"]


def slopes(hand):
    """(DIP's joint, PIP's joint) -> how much the one bends with the other, by the model's couplings."""
    found = {}
    for row in hand.model.couplings:
        dip, pip = sorted(np.flatnonzero(row.coefficients), reverse=True)
        names = tuple(hand.model.joints[hand.model.axis_joint[dof]] for dof in (dip, pip))
        found[names] = -row.coefficients[pip] / row.coefficients[dip]
        assert (row.lower, row.upper) == (0, 0)
    return found


def test_a_hand_of_which_only_lengths_are_known_is_the_usual_one():
    hand, usual = MeasuredHand(adult("left"), {}), build(adult("left"))
    assert np.array_equal(hand.model.limits, usual.limits)
    for mine, theirs in zip(hand.model.couplings, usual.couplings, strict=True):
        assert np.array_equal(mine.coefficients, theirs.coefficients)
    assert np.array_equal(hand.radii, radii_by_size(adult("left")))


def test_rho_is_the_slope_of_the_models_coupling():
    hand = MeasuredHand(adult("right"), {}, rho=(0.5, 0.4, None, 0.9, None))
    chains = [CHAIN_JOINTS[digit] for digit in DIGITS]
    expected = [0.5, 0.4, DIP_PER_PIP, 0.9, DIP_PER_PIP]
    assert slopes(hand) == pytest.approx({(c[2], c[1]): rho for c, rho in zip(chains, expected, strict=True)})
    assert len(slopes(MeasuredHand(adult("right"), {}))) == 4, "a thumb's joints bend independently"


def test_limits_of_its_own_are_the_models():
    own: AngleLimits = {(INDEX[2], "flexion"): (0.0, 35.0), (INDEX[0], "abduction"): (-5.0, 8.0)}
    model = MeasuredHand(adult("right"), {}, limits=own).model
    for (joint, movement), ends in own.items():
        assert np.rad2deg(model.limits[model.dof(joint, movement)]) == pytest.approx(ends)


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({(INDEX[1], "flexion"): (40.0, 10.0)}, "limited to 40..10 degrees, expected the lower limit first"),
        ({(INDEX[1], "flexion"): (float("nan"), 10.0)}, "expected the lower limit first"),
        (
            {(INDEX[1], "flexion"): (0.0, 10.0), (INDEX[2], "flexion"): (40.0, 60.0)},
            "are limited to 40..60 and 0..10 degrees, no angles within these limits fulfil their coupling",
        ),
    ],
)
def test_limits_that_contradict_are_reported(limits, sentence):
    with pytest.raises(HandError, match=re.escape(sentence)):
        MeasuredHand(adult("right"), {}, limits=limits)


def test_the_other_hand_has_the_same_couplings_radii_and_limits():
    hand = MeasuredHand(
        adult("right"), {"A": Spot("wrist")}, (None, 0.5, 0.6, None, None), limits={(INDEX[2], "flexion"): (0.0, 40.0)}
    )
    other = hand.mirrored()
    assert other.model.side == "left"
    assert slopes(other) == slopes(hand)
    assert np.array_equal(other.model.limits, hand.model.limits)
    assert np.array_equal(other.radii, hand.radii)
    assert other.spots == {}


def test_what_is_replaced_keeps_the_rest():
    hand = MeasuredHand(adult("right"), {}, rho=(None, 0.5, None, None, None))
    assert replace(hand, spots={"A": Spot("wrist")}).rho == hand.rho


@pytest.mark.parametrize(
    ("allowed", "follows"),
    [
        ({(INDEX[1], "flexion"): (0.0, 60.0), (INDEX[2], "flexion"): (0.0, 40.0)}, True),
        ({(INDEX[1], "flexion"): (0.0, 30.0)}, True),
        ({(INDEX[2], "flexion"): (0.0, 30.0)}, False),
        ({(INDEX[1], "flexion"): (0.0, 10.0), (INDEX[2], "flexion"): (40.0, 60.0)}, False),
        ({(INDEX[1], "flexion"): (10.0, 10.0), (INDEX[2], "flexion"): (7.0, 7.0)}, False),
    ],
)
def test_a_rigs_dip_follows_where_that_does_not_hold_the_pip_back(allowed, follows):
    fitted = MeasuredHand(adult("right"), {}).with_rig_limits(allowed)
    coupled = {
        fitted.model.dof_name(int(dof)) for row in fitted.model.couplings for dof in np.flatnonzero(row.coefficients)
    }
    assert (f"{INDEX[2]} flexion" in coupled) == follows
    assert len(fitted.model.couplings) == 3 + follows
    for (joint, movement), ends in allowed.items():
        assert np.rad2deg(fitted.model.limits[fitted.model.dof(joint, movement)]) == pytest.approx(ends)


def test_recorded_motion_stays_within_what_a_rig_allows():
    hand = MeasuredHand(adult("left"), {})
    low, high = hand.model.limits.T
    moved = replace(hand, motion=low + np.random.default_rng(0).random((20, hand.model.dofs)) * (high - low))
    fitted = moved.with_rig_limits({(joint, "flexion"): (10.0, 20.0) for joint in INDEX[1:3]})
    low, high = fitted.model.limits.T
    assert ((fitted.motion >= low) & (fitted.motion <= high)).all()
    free = [dof for dof in range(len(low)) if hand.model.joints[hand.model.axis_joint[dof]] not in INDEX[1:3]]
    assert np.array_equal(fitted.motion[:, free], moved.motion[:, free])
