"""Smooth joint angles where the markers of a frame hardly determine them.

A fingertip below its knuckle does not determine abduction, and a straight finger hardly determines how the bend is
shared among its joints: there noise decides, and a solver's angles jump by tens of degrees while every marker is met.
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
from .motion_model import LONGEST, SHORTEST
from .observability import (
    LEAST_NOISE,
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
BEYOND, AT_LIMIT = 1e-4, 0.005
"""rad. An angle farther outside its limits than the first is measured at its limit in the next iteration, with the
second as its standard deviation."""
LARGEST_DEVIATION = 5.0
"""Standard deviations of the noise by which smoothing may move a site away from its target."""
FILLED_DEVIATION = 0.1
"""rad, standard deviation of the angles of an unseen digit that are estimated from the other digits."""
FADE_FRAMES = 6
"""Frames over which the reduction of the smoothing fades in and out (half of it)."""
STRETCH, RUN_UP = 2000, 200
"""Frames in a batch of a take, and further frames before and after it that are smoothed with it."""


@dataclass(frozen=True, slots=True, eq=False)
class AngleEstimate:
    """Filter state of the angles of G digits with at most N degrees of freedom."""

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
    """One filter step, for the backward pass."""

    transition: Floats
    """(2 N, 2 N)"""
    gain: Floats
    """(G, 2 N, N) K"""
    surprise: Floats
    """(G, N) ν / S"""


@lru_cache(maxsize=8)
def _blocks(width: int) -> tuple[Floats, Floats, Floats]:
    """Return block matrices (2 N, 2 N) that map angles to angles, velocities to angles, velocities to velocities."""
    corners = [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]
    place, cross, speed = (np.kron(corner, np.eye(width)) for corner in corners)
    return np.asarray(place, np.float64), np.asarray(cross, np.float64), np.asarray(speed, np.float64)


def _advance(
    belief: AngleEstimate, time: float, angles: Floats, told: Floats, unrest: float
) -> tuple[AngleEstimate, _FilterStep]:
    """Predict and update by one frame: angles (G, N) rad, measured with the information matrices `told` (G, N, N)."""
    width = angles.shape[1]
    dt = 0.0 if np.isnan(belief.time) else min(max(time - belief.time, SHORTEST), LONGEST)
    place, cross, speed = _blocks(width)
    # White noise acceleration (Bar-Shalom, Li & Kirubarajan (2001), 6.2.2).
    pushed = unrest * (dt**3 / 3 * place + dt**2 / 2 * (cross + cross.T) + dt * speed)
    go = place + speed + dt * cross
    means, spread = belief.means @ go.T, go @ belief.covariances @ go.T + pushed
    # S⁻¹ = (P + I⁻¹)⁻¹ without inverting the information matrix I, which may be singular.
    weight = np.linalg.solve(np.eye(width) + told @ spread[:, :width, :width], told)
    surprise = (weight @ (angles - means[:, :width])[..., None])[..., 0]
    gain = spread[:, :, :width] @ weight
    means = means + (spread[:, :, :width] @ surprise[..., None])[..., 0]
    spread = spread - gain @ spread[:, :width]
    return AngleEstimate(time, means, (spread + spread.swapaxes(-1, -2)) / 2), _FilterStep(go, gain, surprise)


def smooth_angles_live(
    hand: HandModel, targets: Targets, pose: Pose, noise: Floats, belief: AngleEstimate | None = None
) -> tuple[Pose, AngleEstimate]:
    """Smooth angles by the frames so far.

    A digit without a target in a frame keeps the solver's angles.

    Args:
        hand: the hand model.
        targets: F frames of T targets.
        pose: the solved pose.
        noise: (F or 1, 2, T) standard deviation of a component of each position, m, and of each rotation, rad.
        belief: the filter state of the previous piece; None at the start of a take.

    Returns:
        The smoothed pose, and the filter state for the next piece.
    """
    digits, sure = digits_of(hand), solver_information(hand)
    width = digits.shape[1]
    belief = belief or initial_estimate(group_by_digit(hand.neutral[None], digits)[0])
    told, measured = angle_information(hand, targets, pose, pose.angles, noise)
    result = pose.angles.copy()
    for frame, time in enumerate(targets.times):
        seen = np.any(told[frame] != 0, axis=(1, 2))
        now = (told[frame] + sure) * seen[:, None, None]
        belief = _reset_unseen(
            _advance(belief, float(time), measured[frame], now, ACCELERATION_INTENSITY)[0], belief, seen
        )
        rows = slice(frame, frame + 1)
        one = Pose(hand, pose.root[rows], pose.angles[rows])
        found = ungroup(belief.means[None, :, :width], digits, one.angles)
        found = project_to_limits(hand, one.angles, found)
        shares = _step_fractions(hand, targets.select(rows), one, found, select_noise(noise, rows))
        result[rows] = _interpolate(hand, one.angles, found, shares)
        # The filter continues from the angles that limits and targets allow.
        means = np.concatenate([group_by_digit(result[rows], digits)[0], belief.means[:, width:]], axis=1)
        belief = AngleEstimate(belief.time, means, belief.covariances)
    return Pose(hand, pose.root, result), belief


def _step_fractions(hand: HandModel, targets: Targets, pose: Pose, angles: Floats, noise: Floats) -> Floats:
    """Return the fraction (F, G) of the step from the pose's angles to `angles` (F, D) that each digit may take.

    Each site must stay near its target. The error of the linearisation grows with the square of the step.
    """
    missed = jacobians.pose_joints(hand, pose.root, pose.angles).site_positions(targets.sites) - targets.positions
    names = [hand.joints[hand.sites[site].joint] for site in targets.sites]
    own = np.array([[name in chain for name in names] for chain in CHAIN_JOINTS.values()])
    allowed = LARGEST_DEVIATION * np.maximum(noise[:, 0], LEAST_NOISE[0]) + np.linalg.norm(missed, axis=-1)
    bound = np.where(targets.weights > 0, allowed, np.inf)
    shares = np.ones((len(targets), len(own)))
    for last in (False, False, False, True):
        there = jacobians.pose_joints(hand, pose.root, _interpolate(hand, pose.angles, angles, shares))
        away = np.linalg.norm(there.site_positions(targets.sites) - targets.positions, axis=-1) / bound
        far = np.where(own, away[:, None], 0.0).max(axis=2, initial=0.0)
        if not np.any(far > 1):
            break
        if _digits_coupled(hand):
            far = np.repeat(far.max(axis=1, keepdims=True), far.shape[1], axis=1)
        shares = np.where(far > 1.1, 0.0, shares) if last else shares / np.sqrt(np.maximum(far, 1.0))
    return shares


def _interpolate(hand: HandModel, first: Floats, second: Floats, shares: Floats) -> Floats:
    """Interpolate from the first angles (F, D) to the second, each digit by its fraction (F, G)."""
    digits = digits_of(hand)
    way = np.broadcast_to(shares[..., None], (*shares.shape, digits.shape[1]))
    return first + ungroup(way, digits, np.ones(first.shape)) * (second - first)


@lru_cache(maxsize=8)
def _digits_coupled(hand: HandModel) -> bool:
    """Whether a hard coupling links two digits, so that all digits must take the same fraction of their steps."""
    digits = digits_of(hand)
    of_digit = (digits[..., None] == np.arange(hand.dofs)).any(1)
    return any((of_digit & (row.coefficients != 0)).any(1).sum() > 1 for row in hand.couplings if not row.soft)


def _faded(shares: Floats) -> Floats:
    """Smooth fractions (F, G) over 2 EASE frames without increasing any."""
    if not np.any(shares < 1):
        return shares
    padded = np.pad(shares, ((2 * FADE_FRAMES, 2 * FADE_FRAMES), (0, 0)), mode="edge")
    least = np.lib.stride_tricks.sliding_window_view(padded, 2 * FADE_FRAMES + 1, axis=0).min(-1)
    eased: Floats = np.lib.stride_tricks.sliding_window_view(least, 2 * FADE_FRAMES + 1, axis=0).mean(-1)
    return eased


def _reset_unseen(after: AngleEstimate, before: AngleEstimate, seen: Bools) -> AngleEstimate:
    """Reset the digits not seen (G,) to their last angles with unknown velocity."""
    still = initial_estimate(before.means[:, : before.means.shape[1] // 2])
    return AngleEstimate(
        after.time,
        np.where(seen[:, None], after.means, still.means),
        np.where(seen[:, None, None], after.covariances, still.covariances),
    )


def smooth_angles(hand: HandModel, targets: Targets, pose: Pose, noise: Floats, calm: float = 1.0) -> Pose:
    """Smooth the angles of a whole take by all frames, within limits and hard couplings.

    Digits without targets for a while are estimated from the others, see occluded_fingers.

    Args:
        hand: the hand model.
        targets: F frames of T targets.
        pose: the solved pose.
        noise: (F or 1, 2, T) standard deviation of a component of each position, m, and of each rotation, rad.
        calm: divides the bandwidth of the motion that passes.
    """
    digits, seen = digits_of(hand), visible_digits(hand, targets)
    told_by_others = ungroup(fill_gaps(group_by_digit(pose.angles, digits), seen, targets.times), digits, pose.angles)
    pose = Pose(hand, pose.root, project_to_limits(hand, pose.angles, told_by_others))
    sure = solver_information(hand) * np.where(seen, 1.0, (SOLVER_DEVIATION / FILLED_DEVIATION) ** 2)[..., None, None]
    angles = pose.angles.copy()
    for start in range(0, len(targets), STRETCH):
        first = max(start - RUN_UP, 0)
        rows = slice(first, start + STRETCH + RUN_UP)
        part = Pose(hand, pose.root[rows], pose.angles[rows])
        some, shaky = targets.select(rows), select_noise(noise, rows)
        about, held = part.angles, np.zeros(part.angles.shape)
        for _ in range(ITERATIONS):
            told, measured = angle_information(hand, some, part, about, shaky)
            told, measured = _measure_at_limits(
                told + sure[rows], measured, group_by_digit(held, digits), group_by_digit(about, digits)
            )
            found = ungroup(
                _smooth_measured(some.times, measured, told, ACCELERATION_INTENSITY / calm**4), digits, part.angles
            )
            about = project_to_limits(hand, part.angles, found)
            held = np.maximum(held, np.abs(found - about) > BEYOND)
        about = _interpolate(hand, part.angles, about, _faded(_step_fractions(hand, some, part, about, shaky)))
        inner = slice(start - first, start - first + STRETCH)
        angles[start : start + STRETCH] = about[inner]
    return Pose(hand, pose.root, angles)


def _smooth_measured(times: Floats, measured: Floats, told: Floats, unrest: float) -> Floats:
    """Smooth measured angles (F, G, N) with information matrices `told` (F, G, N, N): means (F, G, N).

    Bierman (1977), X.2, as in path_smoother: the smoothed mean is x − P λ.
    """
    width = measured.shape[2]
    belief, steps = initial_estimate(measured[0]), []
    means = np.empty_like(measured)
    rows = np.empty((*measured.shape, 2 * width))
    for frame, time in enumerate(times):
        belief, step = _advance(belief, float(time), measured[frame], told[frame], unrest)
        steps.append(step)
        means[frame], rows[frame] = belief.means[:, :width], belief.covariances[:, :width]
    later = np.zeros((measured.shape[1], 2 * width))
    for frame in range(len(times) - 1, -1, -1):
        means[frame] -= (rows[frame] @ later[..., None])[..., 0]
        step = steps[frame]
        later[:, :width] -= (step.gain.swapaxes(-1, -2) @ later[..., None])[..., 0] + step.surprise
        later = later @ step.transition
    return means


def _measure_at_limits(told: Floats, measured: Floats, held: Floats, about: Floats) -> tuple[Floats, Floats]:
    """Add measurements of the angles `about` (F, G, N) where they were at their limits, `held` (F, G, N).

    Returns the information matrices and the measured angles.
    """
    firm = held / AT_LIMIT**2
    right = (told @ measured[..., None])[..., 0] + firm * about
    more = told + firm[..., None] * np.eye(told.shape[-1])
    return more, np.asarray(np.linalg.solve(more, right[..., None])[..., 0], np.float64)
