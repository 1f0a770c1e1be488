"""Follow a right hand through a camera's pictures, frame by frame, as they come.

The counterpart of take_fit.py for live hands: the same measurement and priors, but a frame depends on those before it
alone. The state is the pose and its velocity, each variable changes as a random walk does (motion.py) and
calms down by itself. Each frame is solved for its likeliest pose by an extended Kalman filter, iterated within the
limits (Bell and Cathey 1993); landmarks have Cauchy's weights in each iteration.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..calibration.skin_markers.chain import ShapeParameters
from ..calibration.skin_markers.pose_fit import Poses, free_variables, invert, solve
from ..calibration.skin_markers.skin_fit import DOFS
from ..jacobians import ROOT_DOFS, rotation_errors
from .landmark_table import pose_prior
from .measurement import LandmarkResiduals, Sighting, measured_residuals, measured_rows, pose_rows, residuals
from .motion import MotionPrior
from .take_fit import POSE_WEIGHT, moved

Floats = NDArray[np.float64]

WIDTH = ROOT_DOFS + DOFS
"""Variables of a pose: position, rotation about own axes, angles."""
STEPS = 2
"""Maximum steps for a frame."""
TOLERANCE = 1e-3
"""Relative decrease of a frame's cost below which its steps end."""
CALM_DOWN = 0.3
"""s in which a velocity that nothing measures falls to 1/e."""
LONGEST_INTERVAL = 0.5
"""s, a longer interval between two frames counts as this."""
INTENSITY = MotionPrior(np.zeros(1)).intensity / 10
"""(6 + D,) by how much the velocities of a hand at rest change in a second: by less than in a whole take, since a
prediction from past frames alone would follow the detector's noise."""
LIVELY = np.concatenate([np.full(3, 0.2), np.full(3, 0.5), np.full(DOFS, 0.5)])
"""(6 + D,) m/s and rad/s, velocities that change by twice as much. What moves fast must not lag."""
START_SPREADS = np.concatenate([np.full(3, 0.03), np.full(3, 0.2), np.full(DOFS, 0.2)])
"""Standard deviations (6 + D,) of a pose fitted to a single frame: m, rad."""
START_VELOCITY_SPREADS = np.concatenate([np.full(3, 0.3), np.full(3, 2.0), np.full(DOFS, 3.0)])
"""(6 + D,) m/s, rad/s"""


@dataclass(frozen=True, slots=True, eq=False)
class FilterState:
    """The filter's estimate after a frame."""

    time: float
    """s"""
    pose: Poses
    """One frame, in the camera's space."""
    velocity: Floats
    """(6 + D,) m/s and rad/s."""
    covariance: Floats
    """(2 (6 + D), 2 (6 + D)) of the pose and its velocity."""

    @classmethod
    def at(cls, time: float, pose: Poses) -> "FilterState":
        """At a pose that was fitted to single frames."""
        spreads = np.concatenate([START_SPREADS, START_VELOCITY_SPREADS])
        return cls(time, pose, np.zeros(WIDTH), np.diag(spreads**2))

    def looser(self, factor: float) -> "FilterState":
        """Return the same, less certain: its covariance times a factor."""
        return replace(self, covariance=factor * self.covariance)


def predict(state: FilterState, time: float, limits: Floats) -> FilterState:
    """Return the state at a later time in s, by motion alone."""
    interval = float(np.clip(time - state.time, 0.0, LONGEST_INTERVAL))
    decay = np.exp(-interval / CALM_DOWN)
    reach = CALM_DOWN * (1 - decay)
    pose = moved(state.pose, (reach * state.velocity)[None], limits)
    before = state.covariance.reshape(2, WIDTH, 2, WIDTH)
    own, mixed, speed = before[0, :, 0], before[0, :, 1], before[1, :, 1]
    covariance = np.empty_like(before)
    covariance[0, :, 0] = own + reach * (mixed + mixed.T) + reach**2 * speed
    covariance[0, :, 1] = decay * (mixed + reach * speed)
    covariance[1, :, 0] = covariance[0, :, 1].T
    covariance[1, :, 1] = decay**2 * speed
    rows, intensity = np.arange(WIDTH), INTENSITY * (1 + (state.velocity / LIVELY) ** 2)
    for (first, second), share in zip(
        ((0, 0), (0, 1), (1, 0), (1, 1)), (interval**3 / 3, interval**2 / 2, interval**2 / 2, interval), strict=True
    ):
        covariance[first, rows, second, rows] += intensity * share
    return FilterState(time, pose, decay * state.velocity, covariance.reshape(2 * WIDTH, 2 * WIDTH))


def correct(
    predicted: FilterState, shape: ShapeParameters, limits: Floats, sighting: Sighting, start: Poses | None = None
) -> tuple[FilterState, LandmarkResiduals, float]:
    """Return the state after one frame's landmarks, their residuals, and the cost.

    start: where the search starts, by default the prediction.
    """
    problem = _Frame(predicted, invert(predicted.covariance[:WIDTH, :WIDTH]), shape, sighting)
    current = problem.at(predicted.pose if start is None else start)
    information = np.zeros((WIDTH, WIDTH))
    for _ in range(STEPS):
        information, rhs = problem.information(current)
        rhs = rhs - problem.precision @ current.deviation
        free = free_variables(limits, current.pose, rhs[None])[0]
        matrix = (information + problem.precision) * (free[:, None] & free)
        matrix[np.arange(WIDTH), np.arange(WIDTH)] += ~free
        step = solve(matrix, (rhs * free)[:, None])[:, 0]
        trial = problem.at(moved(current.pose, step[None], limits))
        if trial.cost >= current.cost:
            break
        done = current.cost - trial.cost < TOLERANCE * current.cost
        current = trial
        if done:
            break
    return problem.after(current, information), current.found, current.cost


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """A pose that is tried."""

    pose: Poses
    found: LandmarkResiduals
    deviation: Floats
    """(6 + D,) from the predicted pose."""
    cost: float
    """The sum of all squares."""


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    """One frame's problem: the prediction and the landmarks."""

    predicted: FilterState
    precision: Floats
    """(6 + D, 6 + D) of the predicted pose."""
    shape: ShapeParameters
    sighting: Sighting

    def at(self, pose: Poses) -> _Trial:
        """Return the cost of a pose."""
        before, found = self.predicted.pose, residuals(self.shape, pose, self.sighting)
        rotation = rotation_errors(before.rotations.swapaxes(1, 2) @ pose.rotations, np.eye(3))[0]
        moves = pose.positions[0] - before.positions[0], rotation, pose.angles[0] - before.angles[0]
        deviation = np.concatenate(moves)
        mean, usual = pose_prior()
        unusual = pose.angles[0] - mean
        prior_cost = deviation @ self.precision @ deviation + POSE_WEIGHT * (unusual @ usual @ unusual)
        return _Trial(pose, found, deviation, float(found.cost()[0] + prior_cost))

    def information(self, trial: _Trial) -> tuple[Floats, Floats]:
        """Normal equations of the frame without the prediction: (6 + D, 6 + D) and the negative gradient (6 + D,)."""
        rows = measured_rows(pose_rows(self.shape, trial.pose, trial.found), trial.found, self.sighting)[0]
        mean, usual = pose_prior()
        matrix, rhs = rows.T @ rows, rows.T @ measured_residuals(trial.found)[0]
        matrix[ROOT_DOFS:, ROOT_DOFS:] += POSE_WEIGHT * usual
        rhs[ROOT_DOFS:] -= POSE_WEIGHT * (trial.pose.angles[0] - mean) @ usual
        return matrix, rhs

    def after(self, trial: _Trial, information: Floats) -> FilterState:
        """Return the state at the solved pose: velocities follow it by their covariance with it."""
        before = self.predicted
        gain = before.covariance[:, :WIDTH] @ self.precision
        less = before.covariance[:WIDTH, :WIDTH] - invert(self.precision + information)
        covariance = before.covariance - gain @ less @ gain.T
        velocity = before.velocity + gain[WIDTH:] @ trial.deviation
        return FilterState(before.time, trial.pose, velocity, (covariance + covariance.T) / 2)
