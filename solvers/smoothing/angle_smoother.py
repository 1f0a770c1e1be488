"""Smooth joint angles where the markers of a frame hardly determine them.

A fingertip below its knuckle does not determine abduction, and a straight finger hardly determines how the bend is
distributed over its joints. There noise decides, and a solver's angles jump by tens of degrees although every marker is
met.
A Kalman filter on each digit's angles takes a frame's angles as measurements, with the information Jᵀ J / σ² of its
markers (Thrun, Burgard & Fox, Probabilistic Robotics (2005), 3.5), and models angular acceleration as white noise.
Angles that the markers determine stay; the others continue their motion. The markers hardly move.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...hand import jacobians
from ...hand.joints import CHAIN_JOINTS
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.targets import Targets
from .limit_projection import project_to_limits
from .motion_model import MAX_STEP, MIN_STEP
from .observability import (
    MIN_NOISE,
    SOLVER_DEVIATION,
    angle_information,
    digits_of,
    group_by_digit,
    select_noise,
    solver_information,
    ungroup,
    visible_digits,
)
from .occluded_fingers import fill_gaps

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

ACCELERATION_INTENSITY = 100.0
"""rad²/s³, intensity of the white angular acceleration; passes 15 Hz for 0.5 mm noise at 5 cm and 100 Hz."""
INITIAL_DEVIATIONS = (10.0, 30.0)
"""rad and rad/s, standard deviations before the first frame."""
ITERATIONS = 3
"""Iterations over a whole take, from the second on linearised about the smoothed angles."""
OUTSIDE_LIMIT = 1e-4
"""rad beyond its limits at which the next iteration adds a measurement of the angle at its limit."""
LIMIT_DEVIATION = 0.005
"""rad, standard deviation of a measurement at a limit."""
MAX_DEVIATION = 5.0
"""Maximum distance by which smoothing may move a site away from its target, in standard deviations of the noise."""
FILLED_DEVIATION = 0.1
"""rad, standard deviation of the angles of an unseen digit that are estimated from the other digits."""
FADE_FRAMES = 6
"""Number of frames before and after a reduction of the smoothing over which it fades."""
BATCH_FRAMES, OVERLAP_FRAMES = 2000, 200
"""Frames in a batch of a take, and additional frames on both sides that are smoothed with it and discarded."""


@dataclass(frozen=True, slots=True, eq=False)
class AngleEstimate:
    """State of the filter for G digits with at most N angles each."""

    time: float
    """s; NaN before the first frame."""
    means: Floats
    """(G, 2 N) angles, rad, then angular velocities, rad/s."""
    covariances: Floats
    """(G, 2 N, 2 N)"""


def initial_estimate(angles: Floats) -> AngleEstimate:
    """Return the state before the first frame: angles about (G, N) rad, velocities unknown."""
    spread = np.diag(np.repeat(INITIAL_DEVIATIONS, angles.shape[1]) ** 2)
    return AngleEstimate(
        np.nan, np.concatenate([angles, np.zeros_like(angles)], 1), np.tile(spread, (len(angles), 1, 1))
    )


@dataclass(frozen=True, slots=True, eq=False)
class _FilterStep:
    """A filter step, stored for the backward pass."""

    transition: Floats
    """(2 N, 2 N)"""
    gain: Floats
    """(G, 2 N, N) K"""
    innovation: Floats
    """(G, N) ν / S"""


@lru_cache(maxsize=8)
def _blocks(width: int) -> tuple[Floats, Floats, Floats]:
    """Return block matrices (2 N, 2 N) that map angles to angles, velocities to angles, velocities to velocities."""
    corners = [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]
    angle_to_angle, velocity_to_angle, velocity_to_velocity = (np.kron(corner, np.eye(width)) for corner in corners)
    return (
        np.asarray(angle_to_angle, np.float64),
        np.asarray(velocity_to_angle, np.float64),
        np.asarray(velocity_to_velocity, np.float64),
    )


def _advance(
    estimate: AngleEstimate, time: float, angles: Floats, information: Floats, intensity: float
) -> tuple[AngleEstimate, _FilterStep]:
    """Predict and update by one frame: angles (G, N) rad, measured with the information matrices (G, N, N)."""
    width = angles.shape[1]
    dt = 0.0 if np.isnan(estimate.time) else min(max(time - estimate.time, MIN_STEP), MAX_STEP)
    angle_to_angle, velocity_to_angle, velocity_to_velocity = _blocks(width)
    # White noise acceleration (Bar-Shalom, Li & Kirubarajan (2001), 6.2.2).
    process_noise = intensity * (
        dt**3 / 3 * angle_to_angle + dt**2 / 2 * (velocity_to_angle + velocity_to_angle.T) + dt * velocity_to_velocity
    )
    transition = angle_to_angle + velocity_to_velocity + dt * velocity_to_angle
    means, spread = estimate.means @ transition.T, transition @ estimate.covariances @ transition.T + process_noise
    # S⁻¹ = (P + I⁻¹)⁻¹ without inverting the information matrix I, which may be singular.
    weight = np.linalg.solve(np.eye(width) + information @ spread[:, :width, :width], information)
    innovation = (weight @ (angles - means[:, :width])[..., None])[..., 0]
    gain = spread[:, :, :width] @ weight
    means = means + (spread[:, :, :width] @ innovation[..., None])[..., 0]
    spread = spread - gain @ spread[:, :width]
    return AngleEstimate(time, means, (spread + spread.swapaxes(-1, -2)) / 2), _FilterStep(transition, gain, innovation)


def smooth_angles_live(
    hand: HandModel, targets: Targets, pose: Pose, noise: Floats, estimate: AngleEstimate | None = None
) -> tuple[Pose, AngleEstimate]:
    """Smooth angles causally: each frame depends on itself and earlier frames.

    A digit without a target in a frame keeps the solver's angles.

    Args:
        hand: the hand model.
        targets: F frames of T targets.
        pose: the solved pose.
        noise: (F or 1, 2, T) standard deviation of a component of each position, m, and of each rotation, rad.
        estimate: the filter state of the previous piece; None at the start of a take.

    Returns:
        The smoothed pose, and the filter state for the next piece.
    """
    digits, solver_prior = digits_of(hand), solver_information(hand)
    width = digits.shape[1]
    estimate = estimate or initial_estimate(group_by_digit(hand.neutral[None], digits)[0])
    information, measured = angle_information(hand, targets, pose, pose.angles, noise)
    result = pose.angles.copy()
    for frame, time in enumerate(targets.times):
        seen = np.any(information[frame] != 0, axis=(1, 2))
        frame_information = (information[frame] + solver_prior) * seen[:, None, None]
        estimate = _reset_unseen(
            _advance(estimate, float(time), measured[frame], frame_information, ACCELERATION_INTENSITY)[0],
            estimate,
            seen,
        )
        rows = slice(frame, frame + 1)
        frame_pose = Pose(hand, pose.root[rows], pose.angles[rows])
        smoothed = ungroup(estimate.means[None, :, :width], digits, frame_pose.angles)
        smoothed = project_to_limits(hand, frame_pose.angles, smoothed)
        fractions = _step_fractions(hand, targets.select(rows), frame_pose, smoothed, select_noise(noise, rows))
        result[rows] = _interpolate(hand, frame_pose.angles, smoothed, fractions)
        # The filter continues from the angles that limits and targets allow.
        means = np.concatenate([group_by_digit(result[rows], digits)[0], estimate.means[:, width:]], axis=1)
        estimate = AngleEstimate(estimate.time, means, estimate.covariances)
    return Pose(hand, pose.root, result), estimate


def _step_fractions(hand: HandModel, targets: Targets, pose: Pose, angles: Floats, noise: Floats) -> Floats:
    """Return the fraction (F, G) of the step from the pose's angles to `angles` (F, D) that each digit may take.

    Each site must stay near its target. The error of the linearisation grows with the square of the step.
    """
    misses = jacobians.pose_joints(hand, pose.root, pose.angles).site_positions(targets.sites) - targets.positions
    names = [hand.joints[hand.sites[site].joint] for site in targets.sites]
    on_digit = np.array([[name in chain for name in names] for chain in CHAIN_JOINTS.values()])
    allowed = MAX_DEVIATION * np.maximum(noise[:, 0], MIN_NOISE[0]) + np.linalg.norm(misses, axis=-1)
    bound = np.where(targets.weights > 0, allowed, np.inf)
    fractions = np.ones((len(targets), len(on_digit)))
    for last in (False, False, False, True):
        interpolated = jacobians.pose_joints(hand, pose.root, _interpolate(hand, pose.angles, angles, fractions))
        errors = np.linalg.norm(interpolated.site_positions(targets.sites) - targets.positions, axis=-1) / bound
        excess = np.where(on_digit, errors[:, None], 0.0).max(axis=2, initial=0.0)
        if not np.any(excess > 1):
            break
        if _digits_coupled(hand):
            excess = np.repeat(excess.max(axis=1, keepdims=True), excess.shape[1], axis=1)
        fractions = np.where(excess > 1.1, 0.0, fractions) if last else fractions / np.sqrt(np.maximum(excess, 1.0))
    return fractions


def _interpolate(hand: HandModel, first: Floats, second: Floats, fractions: Floats) -> Floats:
    """Interpolate from the first angles (F, D) to the second, each digit by its fraction (F, G)."""
    digits = digits_of(hand)
    fractions = np.broadcast_to(fractions[..., None], (*fractions.shape, digits.shape[1]))
    return first + ungroup(fractions, digits, np.ones(first.shape)) * (second - first)


@lru_cache(maxsize=8)
def _digits_coupled(hand: HandModel) -> bool:
    """Return whether a hard coupling links two digits, so that all digits must take the same fraction of their
    steps."""
    digits = digits_of(hand)
    of_digit = (digits[..., None] == np.arange(hand.dofs)).any(1)
    return any((of_digit & (row.coefficients != 0)).any(1).sum() > 1 for row in hand.couplings if not row.soft)


def _fade(fractions: Floats) -> Floats:
    """Smooth fractions (F, G) over 2 FADE_FRAMES frames without increasing any."""
    if not np.any(fractions < 1):
        return fractions
    padded = np.pad(fractions, ((2 * FADE_FRAMES, 2 * FADE_FRAMES), (0, 0)), mode="edge")
    minimum = np.lib.stride_tricks.sliding_window_view(padded, 2 * FADE_FRAMES + 1, axis=0).min(-1)
    faded: Floats = np.lib.stride_tricks.sliding_window_view(minimum, 2 * FADE_FRAMES + 1, axis=0).mean(-1)
    return faded


def _reset_unseen(updated: AngleEstimate, previous: AngleEstimate, seen: Bools) -> AngleEstimate:
    """Reset digits where `seen` (G,) is false to their last angles with unknown velocity."""
    stopped = initial_estimate(previous.means[:, : previous.means.shape[1] // 2])
    return AngleEstimate(
        updated.time,
        np.where(seen[:, None], updated.means, stopped.means),
        np.where(seen[:, None, None], updated.covariances, stopped.covariances),
    )


def smooth_angles(hand: HandModel, targets: Targets, pose: Pose, noise: Floats, calm: float = 1.0) -> Pose:
    """Smooth the angles of a whole take, each frame from all frames, within limits and hard couplings.

    Digits that are without targets for a while are estimated from the others, see occluded_fingers.

    Args:
        hand: the hand model.
        targets: F frames of T targets.
        pose: the solved pose.
        noise: (F or 1, 2, T) standard deviation of a component of each position, m, and of each rotation, rad.
        calm: factor by which the bandwidth of the smoother is divided.
    """
    digits, seen = digits_of(hand), visible_digits(hand, targets)
    filled = ungroup(fill_gaps(group_by_digit(pose.angles, digits), seen, targets.times), digits, pose.angles)
    pose = Pose(hand, pose.root, project_to_limits(hand, pose.angles, filled))
    solver_prior = (
        solver_information(hand) * np.where(seen, 1.0, (SOLVER_DEVIATION / FILLED_DEVIATION) ** 2)[..., None, None]
    )
    angles = pose.angles.copy()
    for start in range(0, len(targets), BATCH_FRAMES):
        first = max(start - OVERLAP_FRAMES, 0)
        rows = slice(first, start + BATCH_FRAMES + OVERLAP_FRAMES)
        part = Pose(hand, pose.root[rows], pose.angles[rows])
        part_targets, part_noise = targets.select(rows), select_noise(noise, rows)
        linearised_at, at_limit = part.angles, np.zeros(part.angles.shape)
        for _ in range(ITERATIONS):
            information, measured = angle_information(hand, part_targets, part, linearised_at, part_noise)
            information, measured = _measure_at_limits(
                information + solver_prior[rows],
                measured,
                group_by_digit(at_limit, digits),
                group_by_digit(linearised_at, digits),
            )
            smoothed = ungroup(
                _smooth_measured(part_targets.times, measured, information, ACCELERATION_INTENSITY / calm**4),
                digits,
                part.angles,
            )
            linearised_at = project_to_limits(hand, part.angles, smoothed)
            at_limit = np.maximum(at_limit, np.abs(smoothed - linearised_at) > OUTSIDE_LIMIT)
        linearised_at = _interpolate(
            hand,
            part.angles,
            linearised_at,
            _fade(_step_fractions(hand, part_targets, part, linearised_at, part_noise)),
        )
        inner = slice(start - first, start - first + BATCH_FRAMES)
        angles[start : start + BATCH_FRAMES] = linearised_at[inner]
    return Pose(hand, pose.root, angles)


def _smooth_measured(times: Floats, measured: Floats, information: Floats, intensity: float) -> Floats:
    """Return the smoothed means (F, G, N) of measured angles (F, G, N) with information matrices (F, G, N, N).

    As in path_smoother, the smoothed mean is x − P λ (Bierman (1977), X.2).
    """
    width = measured.shape[2]
    estimate, steps = initial_estimate(measured[0]), []
    means = np.empty_like(measured)
    rows = np.empty((*measured.shape, 2 * width))
    for frame, time in enumerate(times):
        estimate, step = _advance(estimate, float(time), measured[frame], information[frame], intensity)
        steps.append(step)
        means[frame], rows[frame] = estimate.means[:, :width], estimate.covariances[:, :width]
    adjoint = np.zeros((measured.shape[1], 2 * width))
    for frame in range(len(times) - 1, -1, -1):
        means[frame] -= (rows[frame] @ adjoint[..., None])[..., 0]
        step = steps[frame]
        adjoint[:, :width] -= (step.gain.swapaxes(-1, -2) @ adjoint[..., None])[..., 0] + step.innovation
        adjoint = adjoint @ step.transition
    return means


def _measure_at_limits(
    information: Floats, measured: Floats, at_limit: Floats, linearised_at: Floats
) -> tuple[Floats, Floats]:
    """Add measurements of the angles `linearised_at` (F, G, N) where they are at their limits (F, G, N).

    Returns the information matrices and the measured angles.
    """
    limit_information = at_limit / LIMIT_DEVIATION**2
    right_hand_side = (information @ measured[..., None])[..., 0] + limit_information * linearised_at
    combined = information + limit_information[..., None] * np.eye(information.shape[-1])
    return combined, np.asarray(np.linalg.solve(combined, right_hand_side[..., None])[..., 0], np.float64)
