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
from .limit_projection import within
from .motion_model import LONGEST, SHORTEST
from .observability import LEAST, TRUST, digits_of, grouped, heard, of_frames, shown, trusted, ungrouped
from .occluded_fingers import filled

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

UNREST = 100.0
"""rad²/s³, intensity of the white angular acceleration; passes 15 Hz for 0.5 mm noise at 5 cm and 100 Hz."""
ANYWHERE = (10.0, 30.0)
"""rad and rad/s, standard deviations before the first frame."""
ITERATIONS = 3
"""Iterations over a whole take, from the second on linearised about the smoothed angles."""
BEYOND, AT_LIMIT = 1e-4, 0.005
"""rad. An angle farther outside its limits than the first is measured at its limit in the next iteration, with the
second as its standard deviation."""
FAR = 5.0
"""Standard deviations of the noise by which smoothing may move a site away from its target."""
FILLED = 0.1
"""rad, standard deviation of the angles of an unseen digit that are estimated from the other digits."""
EASE = 6
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


def new_belief(angles: Floats) -> AngleEstimate:
    """Return the state before the first frame: angles about (G, N) rad, velocities unknown."""
    spread = np.diag(np.repeat(ANYWHERE, angles.shape[1]) ** 2)
    return AngleEstimate(
        np.nan, np.concatenate([angles, np.zeros_like(angles)], 1), np.tile(spread, (len(angles), 1, 1))
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
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
) -> tuple[AngleEstimate, _Step]:
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
    return AngleEstimate(time, means, (spread + spread.swapaxes(-1, -2)) / 2), _Step(go, gain, surprise)


def steady_live(
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
    digits, sure = digits_of(hand), trusted(hand)
    width = digits.shape[1]
    belief = belief or new_belief(grouped(hand.neutral[None], digits)[0])
    told, measured = heard(hand, targets, pose, pose.angles, noise)
    result = pose.angles.copy()
    for frame, time in enumerate(targets.times):
        seen = np.any(told[frame] != 0, axis=(1, 2))
        now = (told[frame] + sure) * seen[:, None, None]
        belief = _rested(_advance(belief, float(time), measured[frame], now, UNREST)[0], belief, seen)
        rows = slice(frame, frame + 1)
        one = Pose(hand, pose.root[rows], pose.angles[rows])
        found = ungrouped(belief.means[None, :, :width], digits, one.angles)
        found = within(hand, one.angles, found)
        shares = _shares(hand, targets.select(rows), one, found, of_frames(noise, rows))
        result[rows] = _between(hand, one.angles, found, shares)
        # The filter continues from the angles that limits and targets allow.
        means = np.concatenate([grouped(result[rows], digits)[0], belief.means[:, width:]], axis=1)
        belief = AngleEstimate(belief.time, means, belief.covariances)
    return Pose(hand, pose.root, result), belief


def _shares(hand: HandModel, targets: Targets, pose: Pose, angles: Floats, noise: Floats) -> Floats:
    """Return the fraction (F, G) of the step from the pose's angles to `angles` (F, D) that each digit may take.

    Each site must stay near its target. The error of the linearisation grows with the square of the step.
    """
    missed = jacobians.pose_joints(hand, pose.root, pose.angles).site_positions(targets.sites) - targets.positions
    names = [hand.joints[hand.sites[site].joint] for site in targets.sites]
    own = np.array([[name in chain for name in names] for chain in CHAIN_JOINTS.values()])
    allowed = FAR * np.maximum(noise[:, 0], LEAST[0]) + np.linalg.norm(missed, axis=-1)
    bound = np.where(targets.weights > 0, allowed, np.inf)
    shares = np.ones((len(targets), len(own)))
    for last in (False, False, False, True):
        there = jacobians.pose_joints(hand, pose.root, _between(hand, pose.angles, angles, shares))
        away = np.linalg.norm(there.site_positions(targets.sites) - targets.positions, axis=-1) / bound
        far = np.where(own, away[:, None], 0.0).max(axis=2, initial=0.0)
        if not np.any(far > 1):
            break
        if _tied(hand):
            far = np.repeat(far.max(axis=1, keepdims=True), far.shape[1], axis=1)
        shares = np.where(far > 1.1, 0.0, shares) if last else shares / np.sqrt(np.maximum(far, 1.0))
    return shares


def _between(hand: HandModel, first: Floats, second: Floats, shares: Floats) -> Floats:
    """Interpolate from the first angles (F, D) to the second, each digit by its fraction (F, G)."""
    digits = digits_of(hand)
    way = np.broadcast_to(shares[..., None], (*shares.shape, digits.shape[1]))
    return first + ungrouped(way, digits, np.ones(first.shape)) * (second - first)


@lru_cache(maxsize=8)
def _tied(hand: HandModel) -> bool:
    """Whether a hard coupling links two digits, so that all digits must take the same fraction of their steps."""
    digits = digits_of(hand)
    of_digit = (digits[..., None] == np.arange(hand.dofs)).any(1)
    return any((of_digit & (row.coefficients != 0)).any(1).sum() > 1 for row in hand.couplings if not row.soft)


def _eased(shares: Floats) -> Floats:
    """Smooth fractions (F, G) over 2 EASE frames without increasing any."""
    if not np.any(shares < 1):
        return shares
    padded = np.pad(shares, ((2 * EASE, 2 * EASE), (0, 0)), mode="edge")
    least = np.lib.stride_tricks.sliding_window_view(padded, 2 * EASE + 1, axis=0).min(-1)
    eased: Floats = np.lib.stride_tricks.sliding_window_view(least, 2 * EASE + 1, axis=0).mean(-1)
    return eased


def _rested(after: AngleEstimate, before: AngleEstimate, seen: Bools) -> AngleEstimate:
    """Reset the digits not seen (G,) to their last angles with unknown velocity."""
    still = new_belief(before.means[:, : before.means.shape[1] // 2])
    return AngleEstimate(
        after.time,
        np.where(seen[:, None], after.means, still.means),
        np.where(seen[:, None, None], after.covariances, still.covariances),
    )


def steady(hand: HandModel, targets: Targets, pose: Pose, noise: Floats, calm: float = 1.0) -> Pose:
    """Smooth the angles of a whole take by all frames, within limits and hard couplings.

    Digits without targets for a while are estimated from the others, see occluded_fingers.

    Args:
        hand: the hand model.
        targets: F frames of T targets.
        pose: the solved pose.
        noise: (F or 1, 2, T) standard deviation of a component of each position, m, and of each rotation, rad.
        calm: divides the bandwidth of the motion that passes.
    """
    digits, seen = digits_of(hand), shown(hand, targets)
    told_by_others = ungrouped(filled(grouped(pose.angles, digits), seen, targets.times), digits, pose.angles)
    pose = Pose(hand, pose.root, within(hand, pose.angles, told_by_others))
    sure = trusted(hand) * np.where(seen, 1.0, (TRUST / FILLED) ** 2)[..., None, None]
    angles = pose.angles.copy()
    for start in range(0, len(targets), STRETCH):
        first = max(start - RUN_UP, 0)
        rows = slice(first, start + STRETCH + RUN_UP)
        part = Pose(hand, pose.root[rows], pose.angles[rows])
        some, shaky = targets.select(rows), of_frames(noise, rows)
        about, held = part.angles, np.zeros(part.angles.shape)
        for _ in range(ITERATIONS):
            told, measured = heard(hand, some, part, about, shaky)
            told, measured = _held(told + sure[rows], measured, grouped(held, digits), grouped(about, digits))
            found = ungrouped(_smoothed(some.times, measured, told, UNREST / calm**4), digits, part.angles)
            about = within(hand, part.angles, found)
            held = np.maximum(held, np.abs(found - about) > BEYOND)
        about = _between(hand, part.angles, about, _eased(_shares(hand, some, part, about, shaky)))
        inner = slice(start - first, start - first + STRETCH)
        angles[start : start + STRETCH] = about[inner]
    return Pose(hand, pose.root, angles)


def _smoothed(times: Floats, measured: Floats, told: Floats, unrest: float) -> Floats:
    """Smooth measured angles (F, G, N) with information matrices `told` (F, G, N, N): means (F, G, N).

    Bierman (1977), X.2, as in path_smoother: the smoothed mean is x − P λ.
    """
    width = measured.shape[2]
    belief, steps = new_belief(measured[0]), []
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


def _held(told: Floats, measured: Floats, held: Floats, about: Floats) -> tuple[Floats, Floats]:
    """Add measurements of the angles `about` (F, G, N) where they were at their limits, `held` (F, G, N).

    Returns the information matrices and the measured angles.
    """
    firm = held / AT_LIMIT**2
    right = (told @ measured[..., None])[..., 0] + firm * about
    more = told + firm[..., None] * np.eye(told.shape[-1])
    return more, np.asarray(np.linalg.solve(more, right[..., None])[..., 0], np.float64)
