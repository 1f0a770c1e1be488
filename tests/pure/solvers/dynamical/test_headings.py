"""Digits solved from rotations alone: they end where another library's least squares does, one frame as many."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares

from knuckle.hand import kinematics, rotations
from knuckle.hand.joints import CHAIN_JOINTS
from knuckle.hand.kinematics import Pose
from knuckle.hand.limits import DEFAULT_LIMITS
from knuckle.hand.model import HandModel
from knuckle.hand.proportions import adult, build
from knuckle.hand.scalar_math import ARRAY, SCALAR
from knuckle.hand.targets import Targets
from knuckle.solvers.dynamical import Dynamical
from knuckle.solvers.dynamical.bone_headings import FittedJoint, _coupling_shifts, limb_directions, solve_headings
from knuckle.solvers.dynamical.limb_step import add_couplings
from knuckle.solvers.dynamical.limb_targets import many_frames, one_frame
from knuckle.solvers.dynamical.limbs import LimbModel, LimbWeights, split_into_limbs
from knuckle.solvers.solver import State, limit_excess

from ..hands import HANDS

PHALANGES = tuple(joint for chain in CHAIN_JOINTS.values() for joint in chain[:3])
WEIGHTS = LimbWeights(0.03, 0.003)
NO_TWIST = {named: limits for named, limits in DEFAULT_LIMITS.items() if named[1] != "twist"}
KINDS = {**HANDS, "no twist": build(adult("right"), NO_TWIST)}


def reported(hand: HandModel, frames: int, seed: int, degrees: float = 2.0) -> Targets:
    """The turns of all phalanges of random poses within limits, off by some degrees, and weighted at random."""
    rng = np.random.default_rng(seed)
    inside = hand.limits[:, 0] + np.ptp(hand.limits, axis=1) * rng.uniform(0.2, 0.8, (frames, hand.dofs))
    at = kinematics.joint_frames(hand, Pose(hand, np.tile(np.eye(4), (frames, 1, 1)), inside))
    sites = np.array([hand.site_index(name) for name in PHALANGES])
    turns = rotations.from_matrix(at[:, [hand.sites[site].joint for site in sites], :3, :3])
    axes = rng.normal(size=(*turns.shape[:2], 3))
    angles = np.deg2rad(degrees) * rng.normal(size=turns.shape[:2])
    off = rotations.from_axis_angle(axes / np.linalg.norm(axes, axis=-1, keepdims=True), angles)
    nowhere = np.zeros(turns.shape[:2])
    weights = rng.uniform(0.3, 3.0, turns.shape[:2])
    return Targets(
        np.arange(frames) / 100, sites, np.zeros((*nowhere.shape, 3)), nowhere, rotations.multiply(off, turns), weights
    )


def turns_of(targets: Targets) -> tuple[np.ndarray, np.ndarray]:
    """(F, T, 4), and (F, T) their weights."""
    assert targets.rotations is not None and targets.rotation_weights is not None
    return targets.rotations, targets.rotation_weights


def limbs(hand: HandModel, targets: Targets) -> tuple[LimbModel, ...]:
    return split_into_limbs(hand, targets.sites.tolist(), WEIGHTS)


def missed(hand: HandModel, targets: Targets, angles: np.ndarray) -> np.ndarray:
    """What half the sum of squares of is the dynamical solver's cost of one frame, m."""
    at = kinematics.joint_frames(hand, Pose(hand, np.eye(4)[None], angles[None]))[0]
    found = at[[hand.sites[site].joint for site in targets.sites], :3, :3]
    turns, asked = turns_of(targets)
    off = found - rotations.to_matrix(turns[0])
    weights = WEIGHTS.rotation * np.sqrt(asked[0] / 2)
    couplings = [WEIGHTS.coupling * row.coefficients @ angles for row in hand.couplings]
    return np.concatenate([(weights[:, None, None] * off).ravel(), couplings])


@pytest.mark.parametrize("kind", KINDS)
def test_noisy_turns_end_where_bounded_least_squares_does(kind):
    hand, frames = KINDS[kind], 12
    targets = reported(hand, frames, 1)
    found, _ = Dynamical().solve(hand, targets, State(np.eye(4), hand.neutral))
    for frame in range(frames):
        one = targets.select(slice(frame, frame + 1))
        mine = found.angles[frame]
        best = least_squares(
            lambda angles, one=one: missed(hand, one, angles), mine, bounds=hand.limits.T, xtol=1e-12, ftol=1e-12
        )
        assert np.rad2deg(np.abs(best.x - mine).max()) < 0.2
        assert (missed(hand, one, mine) ** 2).sum() < 2 * best.cost * 1.001
    assert limit_excess(hand, found.angles).max() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_most_digits_of_noisy_turns_are_at_rest_in_one_step(kind):
    """Else the law above would hold without it."""
    hand = KINDS[kind]
    targets = reported(hand, 200, 2)
    frames = many_frames(targets, np.eye(4)[None])
    for limb in limbs(hand, targets):
        headings = limb_directions(limb)
        assert headings is not None
        assert np.mean(solve_headings(ARRAY, limb, headings, frames)[1]) > 0.7


def test_a_violated_coupling_shifts_the_headings_as_weighted_least_squares_does():
    """Of bones with weights of their own, where the coupling counts ten times as much as a rotation."""
    hand, rng = HANDS["right"], np.random.default_rng(8)
    weights = LimbWeights(0.03, 0.3)
    for limb in split_into_limbs(hand, reported(hand, 1, 9).sites.tolist(), weights):
        directions = limb_directions(limb)
        assert directions is not None
        if directions.coupling is None:
            continue
        angles = rng.uniform(0.1, 1.0, len(limb.dofs)).tolist()
        bones = rng.uniform(0.3, 3.0, len(directions.coupling.headings))
        axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        fitted = FittedJoint(angles, (1.0, 0.0), axes, axes, bones.tolist(), float(bones.sum()), (0.0, 0.0), True)
        row, coupling = np.array(directions.coupling.headings), directions.coupling.coupling
        total = sum(share * angles[dof] for dof, share in zip(coupling.dofs, coupling.coefficients, strict=True))
        missing = min(max(total, coupling.lower), coupling.upper) - total
        assert missing
        matrix = np.vstack([np.diag(weights.rotation * np.sqrt(bones)), weights.coupling * row])
        expected = np.linalg.lstsq(matrix, np.append(np.zeros(len(bones)), weights.coupling * missing), rcond=None)[0]
        shifts = _coupling_shifts(SCALAR, limb, directions.coupling, fitted, angles)
        np.testing.assert_allclose(shifts, expected, rtol=1e-9)


@pytest.mark.parametrize("bounds", [(0.3, 0.3), (-9.0, 9.0), (-9.0, 0.2), (2.0, 9.0)])
def test_a_coupling_adds_its_derivatives_where_it_is_violated_or_an_equation(bounds):
    hand, share = HANDS["right"], 0.7
    limb = next(limb for limb in limbs(hand, reported(hand, 1, 9)) if limb.couplings)
    (coupling,) = limb.couplings
    limb = replace(limb, couplings=(coupling._replace(lower=bounds[0], upper=bounds[1]),))
    angles, size = np.random.default_rng(3).uniform(0.3, 1.0, len(limb.dofs)).tolist(), len(limb.dofs)
    row = np.zeros(size)
    row[list(coupling.dofs)] = coupling.coefficients
    missing = np.clip(row @ angles, *bounds) - row @ angles
    counts = WEIGHTS.coupling**2 * (missing != 0 or bounds[0] == bounds[1])
    program = [[0.0] * size for _ in range(size)], [0.0] * size
    add_couplings(SCALAR, limb, angles, program, share)
    np.testing.assert_allclose(program[0], counts * np.tril(np.outer(row, row)), atol=1e-15)
    np.testing.assert_allclose(program[1], counts * share * missing * row, atol=1e-15)


def test_one_frame_is_solved_as_many():
    """Rotations missing, positions given, rotations far off: those that are not at rest are the same as well."""
    hand, rng = HANDS["left"], np.random.default_rng(4)
    targets = reported(hand, 40, 3, degrees=20)
    nothing = rng.random(targets.weights.shape) < 0.05
    placed = (rng.random(targets.weights.shape) < 0.05).astype(float)
    targets = replace(targets, rotation_weights=np.where(nothing, 0.0, turns_of(targets)[1]), weights=placed)
    many = many_frames(targets, np.eye(4)[None])
    rested = []
    for limb in limbs(hand, targets):
        headings = limb_directions(limb)
        assert headings is not None
        angles, at_rest = solve_headings(ARRAY, limb, headings, many)
        for frame in range(len(targets)):
            alone, rests = solve_headings(SCALAR, limb, headings, one_frame(targets, np.eye(4), frame))
            assert rests == at_rest[frame]
            if rests:
                assert np.abs(np.array(alone) - [angle[frame] for angle in angles]).max() < 1e-12
            rested.append(rests)
    assert 0 < np.mean(rested) < 1
    whole, _ = Dynamical().solve(hand, targets, State(np.eye(4), hand.neutral))
    state = State(np.eye(4), hand.neutral)
    for frame in range(len(targets)):
        one, state = Dynamical().solve(hand, targets.select(slice(frame, frame + 1)), state)
        assert np.abs(one.angles[0] - whole.angles[frame]).max() < 1e-9


def test_bones_turned_about_or_against_each_other_are_not_at_rest():
    hand = HANDS["right"]
    targets = reported(hand, 4, 5)
    turns = turns_of(targets)[0].copy()
    turns[0] = rotations.multiply(turns[0], np.array([0.0, 0.0, 1.0, 0.0]))
    turns[1, ::2] = rotations.multiply(turns[1, ::2], np.array([0.0, 0.0, 0.0, 1.0]))
    turns[2, 1::2] = rotations.multiply(turns[2, 1::2], np.array([0.0, 1.0, 0.0, 0.0]))
    targets = replace(targets, rotations=turns)
    frames = many_frames(targets, np.eye(4)[None])
    for limb in limbs(hand, targets):
        headings = limb_directions(limb)
        assert headings is not None
        assert not solve_headings(ARRAY, limb, headings, frames)[1][:3].any()
    found, _ = Dynamical().solve(hand, targets, State(np.eye(4), hand.neutral))
    assert np.isfinite(found.angles).all()
    assert limit_excess(hand, found.angles).max() == 0


def test_limbs_that_are_built_or_described_otherwise_are_none_of_these():
    hand = HANDS["right"]
    targets = reported(hand, 1, 6)
    tilted = hand.axes + np.random.default_rng(0).normal(0, 0.3, hand.axes.shape)
    held = tuple(replace(row, soft=False) for row in hand.couplings)
    twice = np.append(targets.sites, [hand.site_index(chain[3]) for chain in CHAIN_JOINTS.values()])
    others = {
        "tilted axes": (replace(hand, axes=tilted / np.linalg.norm(tilted, axis=1, keepdims=True)), targets.sites, 5),
        "couplings that must hold": (replace(hand, couplings=held), targets.sites, 4),
        "bones without a target": (hand, np.delete(targets.sites, [2, 5, 8, 11, 14]), 5),
        "bones with two": (hand, twice, 5),
    }
    for why, (other, sites, count) in others.items():
        found = [limb_directions(limb) for limb in split_into_limbs(other, sites.tolist(), WEIGHTS)]
        assert found.count(None) == count, why
