"""Solve a hand that was calibrated together with its skin markers: the likeliest pose of each frame.

Each frame is first solved by itself. A Kalman filter then combines the angles over time: the measurement of a frame is
the information of its markers about the angles, with the wrist's six degrees of freedom eliminated; the prediction
drifts from the last frame's angles towards the performer's mean pose. The wrist is solved for the filtered angles.
Angles without markers keep their last value and fade towards the mean.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..hand.calibration.skin_markers.chain import BASE, carried
from ..hand.calibration.skin_markers.known import STARTS, shape_of
from ..hand.calibration.skin_markers.model import DOFS, WornHand
from ..hand.calibration.skin_markers.posing import (
    Beliefs,
    Poses,
    Seen,
    begun,
    inverse,
    normal,
    settled,
    solved,
    without_prior,
)
from .solver import hold_last

Floats = NDArray[np.float64]

MIRROR = np.array([-1.0, 1.0, 1.0])
MIRROR_FRAME = np.diag([-1.0, 1.0, 1.0, 1.0])
CHANGE_FACTOR = 2.0
"""Factor on the random walk's variance, because joints tend to keep their velocity."""
FEWEST_MARKERS = 3
"""Markers needed to locate the wrist; with fewer it stays where it was."""
LONGEST_STEP = 0.5
"""s, a longer interval between two frames counts as this."""


@dataclass(frozen=True, slots=True, eq=False)
class SkinState:
    """State carried from one piece of a take to the next."""

    time: float
    """s, of the last frame."""
    mean: Floats
    """(D,) rad"""
    covariance: Floats
    """(D, D) rad²"""
    rotation: Floats
    """(3, 3) R_world_wrist of the last frame, mirrored to a right hand."""
    position: Floats
    """(3,) m, the wrist's position in the last frame, mirrored to a right hand."""


@dataclass(frozen=True, slots=True, eq=False)
class SkinPoses:
    """Poses of a hand over F frames, and the positions of its modelled markers."""

    root: Floats
    """(F, 4, 4) T_world_wrist, m."""
    angles: Floats
    """(F, D) rad, within the hand's limits."""
    markers: Floats
    """(F, M, 3) m in the world."""


@dataclass(frozen=True, slots=True)
class SkinSolver:
    """Least squares over all markers, weighted by each marker's standard deviations along its bone's axes."""

    passes: int = 30
    """Maximum number of steps for a frame."""

    def solve(
        self,
        worn: WornHand,
        times: Floats,
        positions: Floats,
        state: SkinState | None = None,
        beginning: Floats | None = None,
    ) -> tuple[SkinPoses, SkinState]:
        """Solve every frame. Solving in pieces gives the same poses as solving at once.

        The wrist stays where it was in frames with fewer than three visible markers.

        Args:
            worn: the calibrated hand and its M markers.
            times: (F,) s.
            positions: (F, M, 3) m in the world, in the order of worn.markers, NaN where a marker is not seen.
            state: what the previous piece returned; None at the start of a take.
            beginning: (F, D) rad, angles from another solver, a further starting point of the search. The cheapest
                starting point of each frame is used.

        Returns:
            The pose of each frame, and the state for the next piece.
        """
        mirror = MIRROR if worn.side == "left" else np.ones(3)
        beliefs = beliefs_of(worn)
        seen = Seen.of(positions * mirror)
        starts = [beliefs.mean, *STARTS, *([] if beginning is None else [beginning])]
        independent = begun(beliefs, starts, seen, np.ones(len(worn.markers), bool))
        independent, _ = settled(beliefs, independent, seen, self.passes, 1e-5)
        poses, state = _filter(worn, independent, seen, times, state)
        markers = carried(beliefs.shape, poses.angles).places.transpose(2, 1, 0)
        markers = markers @ poses.turns.swapaxes(1, 2) + poses.places[:, None]
        root = np.tile(np.eye(4), (len(seen), 1, 1))
        root[:, :3, :3], root[:, :3, 3] = poses.turns, poses.places
        if worn.side == "left":
            root = MIRROR_FRAME @ root @ MIRROR_FRAME
        return SkinPoses(root, poses.angles, markers * mirror), state


def beliefs_of(worn: WornHand) -> Beliefs:
    """Return the prior of a hand's angles and markers."""
    markers = worn.markers
    precision = inverse(worn.poses.covariance)
    return Beliefs(shape_of(worn), 1 / markers.spreads, worn.poses.mean, precision, worn.model.limits)


def _filter(
    worn: WornHand, independent: Poses, seen: Seen, times: Floats, state: SkinState | None
) -> tuple[Poses, SkinState]:
    """Filter independently solved poses over time (Kalman 1960)."""
    beliefs = beliefs_of(worn)
    information, right_hand_side, response = _angle_information(beliefs, independent, seen)
    prior_mean, prior_covariance = beliefs.mean, worn.poses.covariance
    mean = prior_mean if state is None else state.mean
    covariance = prior_covariance if state is None else state.covariance
    last_time = times[0] if state is None else state.time
    angles = np.empty_like(independent.angles)
    for frame, time in enumerate(times):
        if frame or state is not None:
            change = CHANGE_FACTOR * min(max(time - last_time, 0.0), LONGEST_STEP) * worn.poses.change
            # Ornstein-Uhlenbeck process: its stationary covariance is the prior's.
            fade = solved(prior_covariance + change / 2, prior_covariance - change / 2).T
            mean = prior_mean + fade @ (mean - prior_mean)
            covariance = fade @ covariance @ fade.T + prior_covariance - fade @ prior_covariance @ fade.T
        covariance = inverse(inverse(covariance) + information[frame])
        covariance = (covariance + covariance.T) / 2
        mean = mean + covariance @ (right_hand_side[frame] + information[frame] @ (independent.angles[frame] - mean))
        angles[frame], last_time = mean, time
    step = np.zeros((len(seen), BASE + DOFS))
    step[:, BASE:] = np.clip(angles, *beliefs.limits.T) - independent.angles
    step[:, :BASE] = (response @ np.concatenate([step[:, BASE:], np.ones((len(seen), 1))], axis=1)[..., None])[..., 0]
    poses = independent.moved(step, beliefs.limits)
    enough = seen.known.sum(axis=1) >= FEWEST_MARKERS
    rotations = hold_last(poses.turns, enough, np.eye(3) if state is None else state.rotation)
    positions = hold_last(poses.places, enough, np.zeros(3) if state is None else state.position)
    return Poses(rotations, positions, poses.angles), SkinState(
        float(last_time), mean, covariance, rotations[-1], positions[-1]
    )


def _angle_information(beliefs: Beliefs, independent: Poses, seen: Seen) -> tuple[Floats, Floats, Floats]:
    """Eliminate the wrist from the markers' normal equations without the prior (Schur complement).

    Returns:
        The information matrix of the angles (F, D, D), its right-hand side (F, D), and the wrist's linear response to
        a step of the angles, with a constant column at the end (F, 6, D + 1).
    """
    equations = normal(without_prior(beliefs), independent, seen)
    wrist, mixed = equations.matrix[:, :BASE, :BASE], equations.matrix[:, :BASE, BASE:]
    damped = wrist + 1e-6 * np.eye(BASE)
    response = solved(damped, np.concatenate([mixed, equations.down[:, :BASE, None]], axis=2))
    information = equations.matrix[:, BASE:, BASE:] - mixed.swapaxes(1, 2) @ response[..., :-1]
    right_hand_side = equations.down[:, BASE:] - (mixed.swapaxes(1, 2) @ response[..., -1:])[..., 0]
    response[..., :-1] *= -1
    return (information + information.swapaxes(1, 2)) / 2, right_hand_side, response
