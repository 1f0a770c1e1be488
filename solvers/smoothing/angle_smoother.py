"""Joint angles by what the markers tell of them: what they hardly tell in a frame, the frames around it do.

A fingertip below its knuckle says nothing about abduction, and a straight finger little about how its bends share its
length: there noise decides, and a solver's angles leap by tens of degrees while every marker is met. A Kalman filter
on each digit's angles takes a frame's angles as measured, with the information Jᵀ J / σ² that its markers hold of them
(Thrun, Burgard & Fox, Probabilistic Robotics (2005), 3.5), and the angles to accelerate at random: where markers tell
an angle, it stays; where they do not, it goes on as it went. The markers hardly move by it.
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
"""rad²/s³: the intensity of the angles' accelerations; passes 15 Hz where 0.5 mm are told from 5 cm away at 100 Hz."""
ANYWHERE = (10.0, 30.0)
"""rad and rad/s: deviations before the first frame."""
ITERATIONS = 3
"""Times that whole takes are gone through, from the second on with targets linear about the angles found."""
BEYOND, AT_LIMIT = 1e-4, 0.005
"""rad: farther outside its limits than the first, an angle is told the next time to be at its limit, by the second."""
FAR = 5.0
"""Deviations of the noise that steadying may bring a site farther from its target."""
FILLED = 0.1
"""rad: how sure the angles are of a digit that is not seen, by what the others do."""
EASE = 6
"""Frames."""
STRETCH, RUN_UP = 2000, 200
"""Frames of a take that are worked out together, and frames before and after them that they are told by, too."""


@dataclass(frozen=True, slots=True, eq=False)
class AngleEstimate:
    """What is known of the angles of G digits of at most N degrees of freedom."""

    time: float
    """s; NaN before the first frame."""
    means: Floats
    """(G, 2 N) rad, then rad/s."""
    covariances: Floats
    """(G, 2 N, 2 N)"""


def new_belief(angles: Floats) -> AngleEstimate:
    """Before the first frame: the angles are about these (G, N), at any speed."""
    spread = np.diag(np.repeat(ANYWHERE, angles.shape[1]) ** 2)
    return AngleEstimate(
        np.nan, np.concatenate([angles, np.zeros_like(angles)], 1), np.tile(spread, (len(angles), 1, 1))
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """What one frame did, as the way back needs it."""

    transition: Floats
    """(2 N, 2 N)"""
    gain: Floats
    """(G, 2 N, N) K"""
    surprise: Floats
    """(G, N) ν / S"""


@lru_cache(maxsize=8)
def _blocks(width: int) -> tuple[Floats, Floats, Floats]:
    """(2 N, 2 N) identities that take angles to angles, rates to angles and rates to rates."""
    corners = [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]
    place, cross, speed = (np.kron(corner, np.eye(width)) for corner in corners)
    return np.asarray(place, np.float64), np.asarray(cross, np.float64), np.asarray(speed, np.float64)


def _advance(
    belief: AngleEstimate, time: float, angles: Floats, told: Floats, unrest: float
) -> tuple[AngleEstimate, _Step]:
    """One more frame: angles (G, N) rad measured with the information told (G, N, N)."""
    width = angles.shape[1]
    dt = 0.0 if np.isnan(belief.time) else min(max(time - belief.time, SHORTEST), LONGEST)
    place, cross, speed = _blocks(width)
    # White acceleration (Bar-Shalom, Li & Kirubarajan (2001), 6.2.2).
    pushed = unrest * (dt**3 / 3 * place + dt**2 / 2 * (cross + cross.T) + dt * speed)
    go = place + speed + dt * cross
    means, spread = belief.means @ go.T, go @ belief.covariances @ go.T + pushed
    # S⁻¹ = (P + I⁻¹)⁻¹ without the inverse of the information, which may have none.
    weight = np.linalg.solve(np.eye(width) + told @ spread[:, :width, :width], told)
    surprise = (weight @ (angles - means[:, :width])[..., None])[..., 0]
    gain = spread[:, :, :width] @ weight
    means = means + (spread[:, :, :width] @ surprise[..., None])[..., 0]
    spread = spread - gain @ spread[:, :width]
    return AngleEstimate(time, means, (spread + spread.swapaxes(-1, -2)) / 2), _Step(go, gain, surprise)


def steady_live(
    hand: HandModel, targets: Targets, pose: Pose, noise: Floats, belief: AngleEstimate | None = None
) -> tuple[Pose, AngleEstimate]:
    """The pose with the angles that the frames so far tell, and what is known after them. See information.

    A digit without a target in a frame stays as it is.
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
        # What limits and targets do not let be, is not believed.
        means = np.concatenate([grouped(result[rows], digits)[0], belief.means[:, width:]], axis=1)
        belief = AngleEstimate(belief.time, means, belief.covariances)
    return Pose(hand, pose.root, result), belief


def _shares(hand: HandModel, targets: Targets, pose: Pose, angles: Floats, noise: Floats) -> Floats:
    """(F, G) how far each digit may go from the pose's angles to these (F, D) without leading its sites too far away.

    A target is linear in the angles only near by; what is left over grows with the square of the way.
    """
    missed = jacobians.place(hand, pose.root, pose.angles).sites(targets.sites) - targets.positions
    names = [hand.joints[hand.sites[site].joint] for site in targets.sites]
    own = np.array([[name in chain for name in names] for chain in CHAIN_JOINTS.values()])
    allowed = FAR * np.maximum(noise[:, 0], LEAST[0]) + np.linalg.norm(missed, axis=-1)
    bound = np.where(targets.weights > 0, allowed, np.inf)
    shares = np.ones((len(targets), len(own)))
    for last in (False, False, False, True):
        there = jacobians.place(hand, pose.root, _between(hand, pose.angles, angles, shares))
        away = np.linalg.norm(there.sites(targets.sites) - targets.positions, axis=-1) / bound
        far = np.where(own, away[:, None], 0.0).max(axis=2, initial=0.0)
        if not np.any(far > 1):
            break
        if _tied(hand):
            far = np.repeat(far.max(axis=1, keepdims=True), far.shape[1], axis=1)
        shares = np.where(far > 1.1, 0.0, shares) if last else shares / np.sqrt(np.maximum(far, 1.0))
    return shares


def _between(hand: HandModel, first: Floats, second: Floats, shares: Floats) -> Floats:
    """(F, D) from the first angles to the second, each digit by its share (F, G)."""
    digits = digits_of(hand)
    way = np.broadcast_to(shares[..., None], (*shares.shape, digits.shape[1]))
    return first + ungrouped(way, digits, np.ones(first.shape)) * (second - first)


@lru_cache(maxsize=8)
def _tied(hand: HandModel) -> bool:
    """Whether a hard coupling ties digits to each other, so that all go the same share of their ways."""
    digits = digits_of(hand)
    of_digit = (digits[..., None] == np.arange(hand.dofs)).any(1)
    return any((of_digit & (row.coefficients != 0)).any(1).sum() > 1 for row in hand.couplings if not row.soft)


def _eased(shares: Floats) -> Floats:
    """(F, G) shares that are nowhere larger, and come and go over 2 EASE frames."""
    if not np.any(shares < 1):
        return shares
    padded = np.pad(shares, ((2 * EASE, 2 * EASE), (0, 0)), mode="edge")
    least = np.lib.stride_tricks.sliding_window_view(padded, 2 * EASE + 1, axis=0).min(-1)
    eased: Floats = np.lib.stride_tricks.sliding_window_view(least, 2 * EASE + 1, axis=0).mean(-1)
    return eased


def _rested(after: AngleEstimate, before: AngleEstimate, seen: Bools) -> AngleEstimate:
    """The belief after a frame, in which digits that are not seen (G,) stopped where they were and may go anywhere."""
    still = new_belief(before.means[:, : before.means.shape[1] // 2])
    return AngleEstimate(
        after.time,
        np.where(seen[:, None], after.means, still.means),
        np.where(seen[:, None, None], after.covariances, still.covariances),
    )


def steady(hand: HandModel, targets: Targets, pose: Pose, noise: Floats, calm: float = 1.0) -> Pose:
    """The pose of a whole take with the angles that all frames tell, within limits and hard couplings.

    A digit that has no target for a while does as the others tell, see occluded. More calm passes less fast motion,
    calm times as slow. See heard.
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
    """(F, G, N) the means of the angles by all measured (F, G, N) with information told (F, G, N, N).

    Bierman (1977), X.2, as in temporal.smoother: the smoothed mean is x − P λ.
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
    """What is told when angles that were at their limits, held (F, G, N), are told to be where they are, about."""
    firm = held / AT_LIMIT**2
    right = (told @ measured[..., None])[..., 0] + firm * about
    more = told + firm[..., None] * np.eye(told.shape[-1])
    return more, np.asarray(np.linalg.solve(more, right[..., None])[..., 0], np.float64)
