"""The hand that wore the markers, solved: in each frame the likeliest pose, by markers, habits and the frames before.

Each frame is solved by itself first, then the angles are filtered in time by Kalman's filter: what a frame's markers
tell of the angles, with the wrist's six numbers eliminated, meets what the frame before told, which drifts towards how
the performer holds the hand at all. The wrist follows. What no marker tells stays as it was, and fades into habit.
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
EAGER = 2.0
"""Times that joints may change more than a free wandering has it, since they move on as they moved."""
ENOUGH = 3
"""Markers that place a wrist; with fewer it stays where it was."""
LONGEST = 0.5
"""s, a longer time between two frames counts as this."""


@dataclass(frozen=True, slots=True, eq=False)
class SkinState:
    """What a piece of a take hands to the next."""

    time: float
    """s, of its last frame."""
    mean: Floats
    """(D,) rad"""
    covariance: Floats
    """(D, D) rad²"""
    turn: Floats
    """(3, 3) R_world_wrist of its last frame, of a right hand."""
    place: Floats
    """(3,) m, where the wrist was, of a right hand."""


@dataclass(frozen=True, slots=True, eq=False)
class SkinPoses:
    """A hand over F frames, and where it has its markers."""

    root: Floats
    """(F, 4, 4) T_world_wrist, m."""
    angles: Floats
    """(F, D) rad, within the hand's limits."""
    markers: Floats
    """(F, M, 3) m in the world."""


@dataclass(frozen=True, slots=True)
class SkinSolver:
    """Least squares over all markers, each weighted by its spreads along its bone's axes."""

    passes: int = 30
    """Most steps of a frame."""

    def solve(
        self,
        worn: WornHand,
        times: Floats,
        positions: Floats,
        state: SkinState | None = None,
        beginning: Floats | None = None,
    ) -> tuple[SkinPoses, SkinState]:
        """The poses at times (F,) s of markers (F, M, 3) m, in the hand's own order and NaN where not seen.

        beginning (F, D) rad: angles that another solver found, from which a frame begins where these are the cheapest.
        In pieces as at once. A frame that shows fewer than three markers keeps the wrist where it was.
        """
        flipped = MIRROR if worn.side == "left" else np.ones(3)
        beliefs = beliefs_of(worn)
        seen = Seen.of(positions * flipped)
        starts = [beliefs.mean, *STARTS, *([] if beginning is None else [beginning])]
        alone = begun(beliefs, starts, seen, np.ones(len(worn.markers), bool))
        alone, _ = settled(beliefs, alone, seen, self.passes, 1e-5)
        poses, state = _filtered(worn, alone, seen, times, state)
        markers = carried(beliefs.shape, poses.angles).places.transpose(2, 1, 0)
        markers = markers @ poses.turns.swapaxes(1, 2) + poses.places[:, None]
        root = np.tile(np.eye(4), (len(seen), 1, 1))
        root[:, :3, :3], root[:, :3, 3] = poses.turns, poses.places
        if worn.side == "left":
            root = MIRROR_FRAME @ root @ MIRROR_FRAME
        return SkinPoses(root, poses.angles, markers * flipped), state


def beliefs_of(worn: WornHand) -> Beliefs:
    """What is held of a hand before a frame is looked at."""
    markers = worn.markers
    precision = inverse(worn.poses.covariance)
    return Beliefs(shape_of(worn), 1 / markers.spreads, worn.poses.mean, precision, worn.model.limits)


def _filtered(
    worn: WornHand, alone: Poses, seen: Seen, times: Floats, state: SkinState | None
) -> tuple[Poses, SkinState]:
    """Poses that were solved each by itself, each with what the frames before it told (Kalman 1960)."""
    beliefs = beliefs_of(worn)
    told, about, follow = _told(beliefs, alone, seen)
    usual, spread = beliefs.mean, worn.poses.covariance
    mean = usual if state is None else state.mean
    covariance = spread if state is None else state.covariance
    before = times[0] if state is None else state.time
    angles = np.empty_like(alone.angles)
    for frame, time in enumerate(times):
        if frame or state is not None:
            change = EAGER * min(max(time - before, 0.0), LONGEST) * worn.poses.change
            # A wandering that is drawn back so that its spread stays that of the habits (Ornstein and Uhlenbeck).
            fade = solved(spread + change / 2, spread - change / 2).T
            mean = usual + fade @ (mean - usual)
            covariance = fade @ covariance @ fade.T + spread - fade @ spread @ fade.T
        covariance = inverse(inverse(covariance) + told[frame])
        covariance = (covariance + covariance.T) / 2
        mean = mean + covariance @ (about[frame] + told[frame] @ (alone.angles[frame] - mean))
        angles[frame], before = mean, time
    step = np.zeros((len(seen), BASE + DOFS))
    step[:, BASE:] = np.clip(angles, *beliefs.limits.T) - alone.angles
    step[:, :BASE] = (follow @ np.concatenate([step[:, BASE:], np.ones((len(seen), 1))], axis=1)[..., None])[..., 0]
    poses = alone.moved(step, beliefs.limits)
    shown = seen.known.sum(axis=1) >= ENOUGH
    turns = hold_last(poses.turns, shown, np.eye(3) if state is None else state.turn)
    places = hold_last(poses.places, shown, np.zeros(3) if state is None else state.place)
    return Poses(turns, places, poses.angles), SkinState(float(before), mean, covariance, turns[-1], places[-1])


def _told(beliefs: Beliefs, alone: Poses, seen: Seen) -> tuple[Floats, Floats, Floats]:
    """What the markers alone tell: the information of the angles (F, D, D), where it pulls them (F, D), and how the
    wrist follows a change of the angles and a one (F, 6, D + 1)."""
    equations = normal(without_prior(beliefs), alone, seen)
    wrist, mixed = equations.matrix[:, :BASE, :BASE], equations.matrix[:, :BASE, BASE:]
    firm = wrist + 1e-6 * np.eye(BASE)
    follow = solved(firm, np.concatenate([mixed, equations.down[:, :BASE, None]], axis=2))
    told = equations.matrix[:, BASE:, BASE:] - mixed.swapaxes(1, 2) @ follow[..., :-1]
    about = equations.down[:, BASE:] - (mixed.swapaxes(1, 2) @ follow[..., -1:])[..., 0]
    follow[..., :-1] *= -1
    return (told + told.swapaxes(1, 2)) / 2, about, follow
