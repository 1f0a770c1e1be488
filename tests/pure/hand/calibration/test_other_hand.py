"""What one hand of a person says about the other: exactly what its own markers do, and no more."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle.errors import HandError
from knuckle.hand.calibration.skin_markers import Recording, fit, fit_hands
from knuckle.hand.calibration.skin_markers.bone_choice import bone_options, choose_bones
from knuckle.hand.calibration.skin_markers.other_hand import (
    Correspondence,
    ShapeEstimate,
    corresponding_bones,
    corresponding_markers,
    informed_prior,
    informed_priors,
    log_evidence,
)
from knuckle.hand.calibration.skin_markers.pose_fit import VisibleMarkers, invert
from knuckle.hand.calibration.skin_markers.priors import apply_step, mean_shape, parameters_of, shape_prior
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, Side
from knuckle.hand.marker_sets import Spot
from knuckle.hand.mirror import POINT_SIGNS
from knuckle.tests.pure.hand.skin_people import SPOTS, made, worn_by

NOISE = 0.0005
"""m on each axis"""
INDEX = DIGITS.index("index-finger")
MARKERS = (np.array([-1, 1, 1, 2]), np.array([0, 0, 1, 1]), np.zeros(4, bool))
WORN = (
    Spot("wrist"),
    *(Spot(CHAIN_JOINTS[digit][joint]) for digit, joint in (("index-finger", 0), ("index-finger", 1))),
)
AT = (*WORN, Spot(CHAIN_JOINTS["middle-finger"][1]))


def known_by_markers(seed):
    """A hand's estimate, and what its markers alone say: information (S, S) and information times mean (S,)."""
    rng, prior = np.random.default_rng(seed), shape_prior(*MARKERS)
    covariance = np.linalg.inv(prior.precision)
    mean = covariance @ (prior.matrix.T @ prior.expected)
    size = len(mean)
    slopes = rng.normal(0, 1, (60, size)) @ np.linalg.inv(np.linalg.cholesky(covariance))
    information = slopes.T @ slopes
    truth = mean + np.linalg.cholesky(covariance) @ rng.normal(0, 0.02, size)
    known = invert(prior.precision + information)
    told = information @ truth
    estimate = known @ (prior.precision @ mean + told)
    shape = apply_step(mean_shape(*MARKERS), estimate - parameters_of(mean_shape(*MARKERS)))
    # Rotations are parameters to first order only: what the shape has is what its markers say.
    told = np.linalg.solve(known, parameters_of(shape)) - prior.precision @ mean
    return ShapeEstimate(shape, known, prior, AT), information, told


def jointly(correspondence):
    """Mean (2 S,) and covariance (2 S, 2 S) of two hands before a marker is seen."""
    prior = shape_prior(*MARKERS)
    covariance = np.linalg.inv(prior.precision)
    mean, size = covariance @ (prior.matrix.T @ prior.expected), len(covariance)
    first, second = correspondence.rows
    alike = covariance[np.ix_(first, first)] - np.diag(correspondence.differences**2) / 2
    # What does not correspond depends on what does as it does on each hand.
    by_shared = covariance[:, first] @ np.linalg.inv(covariance[np.ix_(first, first)])
    across = by_shared @ alike @ (covariance[:, second] @ np.linalg.inv(covariance[np.ix_(second, second)])).T
    assert size == len(across)
    return np.tile(mean, 2), np.block([[covariance, across], [across.T, covariance]])


def log_likelihood(mean, covariance, information, told):
    """Of what the markers say, under a normal prior; but for a constant."""
    precision = np.linalg.inv(covariance)
    after = precision + information
    best = precision @ mean + told
    logs = np.linalg.slogdet(precision)[1] - np.linalg.slogdet(after)[1]
    return (logs + best @ np.linalg.solve(after, best) - mean @ precision @ mean) / 2


@pytest.fixture(params=["bones", "bones and markers"])
def both(request):
    """Two hands and how they correspond, with what the markers of each say."""
    (first, *one), (second, *other) = known_by_markers(1), known_by_markers(2)
    bones = corresponding_bones()
    corresponding = bones if request.param == "bones" else corresponding_markers((first, second), bones)
    return (first, second), corresponding, (one, other)


def test_a_hand_is_as_both_hands_markers_have_it_together(both):
    """The posterior of both hands at once, from one covariance of all their parameters."""
    pair, corresponding, ((information, told), (other_information, other_told)) = both
    mean, covariance = jointly(corresponding)
    size = len(mean) // 2
    all_information = np.block([[information, np.zeros((size, size))], [np.zeros((size, size)), other_information]])
    precision = np.linalg.inv(covariance)
    expected_covariance = np.linalg.inv(precision + all_information)
    expected = expected_covariance @ (precision @ mean + np.concatenate([told, other_told]))
    prior = informed_prior(pair, corresponding)
    found_covariance = np.linalg.inv(prior.precision + other_information)
    found = found_covariance @ (prior.matrix.T @ prior.expected + other_told)
    spreads = np.sqrt(np.diag(expected_covariance)[size:])
    np.testing.assert_allclose((found - expected[size:]) / spreads, 0, atol=1e-3)
    np.testing.assert_allclose(np.sqrt(np.diag(found_covariance)), spreads, rtol=1e-3)


def test_evidence_is_the_ratio_of_the_likelihoods_and_the_same_from_either_hand(both):
    pair, corresponding, ((information, told), (other_information, other_told)) = both
    mean, covariance = jointly(corresponding)
    size = len(mean) // 2
    zero = np.zeros((size, size))
    together = log_likelihood(
        mean,
        covariance,
        np.block([[information, zero], [zero, other_information]]),
        np.concatenate([told, other_told]),
    )
    own = covariance[:size, :size]
    apart = log_likelihood(mean[:size], own, information, told)
    apart += log_likelihood(mean[:size], own, other_information, other_told)
    found = log_evidence(pair, corresponding)
    np.testing.assert_allclose(found, together - apart, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(log_evidence((pair[1], pair[0]), corresponding.reversed()), found, rtol=1e-4, atol=1e-3)


def test_a_hand_of_which_nothing_is_known_says_nothing():
    known, *_ = known_by_markers(1)
    unknown = replace(known, shape=mean_shape(*MARKERS), covariance=invert(known.prior.precision))
    prior = informed_prior((unknown, known), corresponding_bones())
    np.testing.assert_array_equal(prior.matrix, known.prior.matrix)
    np.testing.assert_array_equal(prior.expected, known.prior.expected)


def test_a_hand_that_says_nothing_is_not_taken_for_another_persons():
    known, *_ = known_by_markers(1)
    unknown = replace(known, shape=mean_shape(*MARKERS), covariance=invert(known.prior.precision))
    for pair in ((unknown, known), (known, unknown), (unknown, unknown)):
        found = informed_priors(pair)
        assert found == "" or not isinstance(found, str), found


def test_markers_correspond_where_they_are_worn_on_the_same_bones_of_digits():
    first, second = known_by_markers(1)[0], known_by_markers(2)[0]
    bones = corresponding_bones()
    elsewhere = replace(second.shape, bones=np.array([0, 0, 1, 0]))
    found = corresponding_markers((first, replace(second, shape=elsewhere)), bones)
    assert isinstance(found, Correspondence)
    assert len(found.rows[0]) == len(bones.rows[0]) + 2 * 9


def test_markers_that_are_worn_elsewhere_on_the_other_hand_say_nothing_while_its_bones_do():
    first = known_by_markers(1)[0]
    moved = replace(first, shape=replace(first.shape, offsets=first.shape.offsets + 0.02))
    bones = corresponding_bones()
    for second, expected in ((first, corresponding_markers((first, first), bones)), (moved, bones)):
        found = informed_priors((first, second))
        assert not isinstance(found, str)
        np.testing.assert_array_equal(found[1].matrix, informed_prior((first, second), expected).matrix)


def test_both_hands_wear_the_same_markers_on_the_same_bones():
    """The left hand's markers decide, as the right one's are hardly seen to move."""
    options = bone_options(tuple(SPOTS.values()))
    takes = [made("left", 40, noise=NOISE).positions * POINT_SIGNS, made("right", 40, noise=NOISE).positions[:1]]
    chosen = choose_bones([options, options], [VisibleMarkers.from_positions(positions) for positions in takes])
    for name in ("digits", "bones"):
        expected = getattr(worn_by("left").markers, name)
        for carried in chosen:
            np.testing.assert_array_equal(getattr(carried, name), expected)


def test_hands_that_wear_different_markers_choose_their_bones_by_themselves():
    """The right hand alone has a second marker on its index finger, and so more bones to choose from."""
    second = [name for name in SPOTS if name.endswith("B")]
    worn = {"left": [name for name in SPOTS if name not in second]}
    worn["right"] = [name for name in SPOTS if name not in second or name == "index-fingerB"]
    options = {side: bone_options([SPOTS[name] for name in names]) for side, names in worn.items()}
    positions = {
        "left": made("left", 40, noise=NOISE).positions * POINT_SIGNS,
        "right": made("right", 40, noise=NOISE).positions,
    }
    columns = {side: [list(SPOTS).index(name) for name in names] for side, names in worn.items()}
    seen = {side: VisibleMarkers.from_positions(positions[side][:, columns[side]]) for side in worn}
    both = choose_bones(list(options.values()), list(seen.values()))
    for carried, side in zip(both, worn, strict=True):
        expected = worn_by(side).markers.bones[columns[side]]
        np.testing.assert_array_equal(carried.bones, expected)


def person(seed, frames=150):
    """Takes of a right hand whose index finger hardly bends, and of the same person's left one whose fingers all do."""
    right = made("right", frames, noise=NOISE, worn=worn_by("right", seed), stiff=["index-finger"])
    return {"right": right, "left": made("left", frames, seed=4, noise=NOISE, worn=worn_by("left", seed))}


def recordings(takes):
    return {side: Recording([take.positions], 100.0, SPOTS) for side, take in takes.items()}


def bone_errors(found, take):
    """(5, 3) mm"""
    return 1000 * np.abs(found.proportions.phalanges - take.worn.proportions.phalanges)


@pytest.mark.parametrize("seed", [6, 8])
def test_a_finger_that_never_bends_gets_its_bones_from_the_other_hand(seed):
    """Two people whose index fingers are longer than those of most."""
    takes = person(seed)
    alone = fit(takes["right"].positions, 100.0, SPOTS, "right")
    together = fit_hands(recordings(takes)).fits["right"]
    before, after = (bone_errors(found, takes["right"])[INDEX, 0] for found in (alone, together))
    assert after < 0.7 * before, f"the proximal phalanx is {before:.1f} mm off alone, {after:.1f} with the other hand"


def test_a_hand_whose_other_one_cannot_be_fitted_is_fitted_as_by_itself():
    positions = made("right", 100, noise=NOISE).positions
    takes: dict[Side, Recording] = {
        "right": Recording([positions], 100.0, SPOTS),
        "left": Recording([positions[:5]], 100.0, SPOTS),
    }
    found, alone = fit_hands(takes), fit(positions, 100.0, SPOTS, "right")
    assert isinstance(found.problems["left"], HandError)
    for name in ("offsets", "slides", "spreads"):
        np.testing.assert_array_equal(getattr(found.fits["right"].markers, name), getattr(alone.markers, name))
    for name in ("mean", "covariance", "change"):
        np.testing.assert_array_equal(getattr(found.fits["right"].poses, name), getattr(alone.poses, name))
    np.testing.assert_array_equal(found.fits["right"].proportions.phalanges, alone.proportions.phalanges)


def test_hands_of_two_people_are_told_apart_and_each_keeps_its_bones():
    """Bones that differ by a tenth are no one person's, whatever the takes are called."""
    worn = worn_by("left")
    larger = replace(
        worn,
        proportions=replace(
            worn.proportions, phalanges=1.1 * worn.proportions.phalanges, palm=1.1 * worn.proportions.palm
        ),
        markers=replace(worn.markers, offsets=1.1 * worn.markers.offsets),
    )
    takes = {"right": made("right", 150, noise=NOISE), "left": made("left", 150, seed=4, noise=NOISE, worn=larger)}
    found = fit_hands(recordings(takes))
    assert any("so each hand was fitted by itself" in note for note in found.notes)
    sides: tuple[tuple[Side, Side], ...] = (("right", "left"), ("left", "right"))
    for side, other in sides:
        lengths = found.fits[side].proportions.phalanges.sum()
        own, others = (takes[each].worn.proportions.phalanges.sum() for each in (side, other))
        assert abs(lengths - own) < abs(lengths - others), f"the {side} hand has the other's bones"
