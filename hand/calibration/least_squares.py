"""The least-squares problem of a hand fitted to free motion, and its normal equations.

What is small: the markers' distances in noises, the shared unknowns' distances from what is known before, and those of
the poses from a hand at ease, in spreads. Markers that are far off count less (Huber).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..jacobians import BASE, PosedJoints, moved, place
from ..joints import CHAIN_JOINTS, DIGITS
from ..model import HandModel
from ..proportions import Proportions, rest_frames
from .fit_parameters import RHO, FitMarkers, FitPrior, SharedParameters

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

POSE_SPREAD = {"abduction": np.deg2rad(30.0), "twist": np.deg2rad(7.0), "flexion": np.deg2rad(60.0)}
"""rad, by which the angles of a clip differ from those of a hand at ease."""
FOLLOWS = np.deg2rad(3.0)
"""rad, by which the last joint of a digit strays from what the middle one has it do: solvers hold them together where
markers do not tell, so a finger must be long enough for its tip when they are."""
INDEPENDENT = 20.0
"""Frames as good as which all of a clip tell of the hand: skin slides in the same way each time a finger bends, so that
what it makes of a bone is not averaged out."""
OUTLIER = 3.0
"""Noises from which on a marker counts less."""


@dataclass(frozen=True, slots=True, eq=False)
class FitState:
    """What is looked for: what all frames share, and the pose of each."""

    anatomy: SharedParameters
    root: Floats
    """(F, 4, 4) T_world_wrist."""
    angles: Floats
    """(F, D) rad"""


@dataclass(frozen=True, slots=True, eq=False)
class NormalEquations:
    """Half the squares' second and first derivatives (Gauss and Newton's): by pose, by pose and shared, by shared."""

    poses: Floats
    """(F, 6 + D, 6 + D)"""
    mixed: Floats
    """(F, 6 + D, P)"""
    shared: Floats
    """(P, P)"""
    down_poses: Floats
    """(F, 6 + D)"""
    down_shared: Floats
    """(P,)"""


@dataclass(frozen=True, eq=False)
class FitProblem:
    """Markers that are to be met, and what is known before."""

    mean: Proportions
    usual: HandModel
    """For its limits and the angles at ease."""
    riders: FitMarkers
    prior: FitPrior
    positions: Floats
    """(F, M, 3) m, zero where not seen."""
    seen: Bools
    """(F, M)"""
    noise: float
    """m on each axis"""

    def placed(self, state: FitState) -> PosedJoints:
        """The hand in each frame, with its markers as sites."""
        rest = rest_frames(self.riders.proportions(self.mean, state.anatomy))
        hand = replace(self.usual, rest=rest, sites=self.riders.sites(state.anatomy))
        return place(hand, state.root, state.angles)

    def off(self, state: FitState) -> Floats:
        """(F, M, 3) m from where markers are seen to where the hand has them; zero where not seen."""
        return self._off(self.placed(state))

    def _off(self, placed: PosedJoints) -> Floats:
        away = placed.sites(np.arange(len(self.riders.joints))) - self.positions
        return np.where(self.seen[..., None], away, 0.0)

    def costs(self, state: FitState) -> tuple[Floats, float]:
        """(F,) of each frame, and of what is shared: half the squares, in spreads."""
        far = np.linalg.norm(self.off(state), axis=-1) / self.noise
        markers = np.where(far <= OUTLIER, far**2 / 2, OUTLIER * (far - OUTLIER / 2)).sum(axis=1)
        at_ease, follows = self._pose_residuals(state)
        poses = ((at_ease**2).sum(axis=1) + (follows**2).sum(axis=1)) / 2
        before = self.prior.residuals(state.anatomy)[0]
        return markers + poses, self.emphasis * float(before @ before) / 2

    @property
    def emphasis(self) -> float:
        """What is known before counts this many times, against frames that tell the same."""
        return max(len(self.positions) / INDEPENDENT, 1.0)

    @cached_property
    def _pose_spreads(self) -> Floats:
        """(D,) rad"""
        return np.array([POSE_SPREAD[movement] for movement in self.usual.movements])

    def _pairs(self) -> list[tuple[int, int, int]]:
        """Digit, middle and last joint's flexion, of the fingers."""
        pairs = []
        for row, digit in enumerate(DIGITS[1:], 1):
            middle, last = (self.usual.dof(joint, "flexion") for joint in CHAIN_JOINTS[digit][1:3])
            if middle is not None and last is not None:
                pairs.append((row, middle, last))
        return pairs

    def _pose_residuals(self, state: FitState) -> tuple[Floats, Floats]:
        """(F, D) and (F, 4) in spreads: from a hand at ease, and of the last joints from what the middle ones say."""
        strays = [
            state.angles[:, last] - state.anatomy.rho[row] * state.angles[:, mid] for row, mid, last in self._pairs()
        ]
        return (state.angles - self.usual.neutral) / self._pose_spreads, np.stack(strays, axis=1) / FOLLOWS

    def normal(self, state: FitState) -> NormalEquations:
        """The normal equations at a state, markers weighted by how far off they are."""
        placed = self.placed(state)
        off = self._off(placed) / self.noise
        far = np.linalg.norm(off, axis=-1)
        weights = np.sqrt(np.minimum(1.0, OUTLIER / np.maximum(far, 1e-12))) * self.seen
        scale = (weights / self.noise)[..., None, None]
        sites = np.arange(len(self.riders.joints))
        frames, rows = len(off), 3 * len(sites)
        by_pose = (placed.jacobians(sites)[0] * scale).reshape(frames, rows, -1)
        by_shared = (self.riders.jacobian(placed, placed.sites(sites)) * scale).reshape(frames, rows, -1)
        right = (off * weights[..., None]).reshape(frames, rows, 1)
        up = by_pose.swapaxes(1, 2)
        flat = by_shared.reshape(-1, by_shared.shape[-1])
        before, slopes = self.prior.residuals(state.anatomy)
        found = NormalEquations(
            poses=up @ by_pose,
            mixed=up @ by_shared,
            shared=flat.T @ flat + self.emphasis * slopes.T @ slopes,
            down_poses=-(up @ right)[..., 0],
            down_shared=-flat.T @ right.ravel() - self.emphasis * slopes.T @ before,
        )
        self._with_poses(found, state)
        return found

    def _with_poses(self, normal: NormalEquations, state: FitState) -> None:
        """Adds what is known of poses to the normal equations."""
        at_ease, follows = self._pose_residuals(state)
        spreads, spread = self._pose_spreads, FOLLOWS
        dofs = BASE + np.arange(len(spreads))
        normal.poses[:, dofs, dofs] += 1 / spreads**2
        normal.down_poses[:, dofs] -= at_ease / spreads
        for stray, (row, middle, last) in zip(follows.T, self._pairs(), strict=True):
            slope = np.zeros((len(stray), normal.poses.shape[1]))
            slope[:, BASE + last], slope[:, BASE + middle] = 1 / spread, -state.anatomy.rho[row] / spread
            by_rho = -state.angles[:, middle] / spread
            normal.poses[:] += slope[:, :, None] * slope[:, None, :]
            normal.mixed[:, :, RHO.start + row] += slope * by_rho[:, None]
            normal.shared[RHO.start + row, RHO.start + row] += by_rho @ by_rho
            normal.down_poses[:] -= slope * stray[:, None]
            normal.down_shared[RHO.start + row] -= by_rho @ stray

    def after(self, state: FitState, by_pose: Floats, by_shared: Floats) -> FitState:
        """A step (F, 6 + D) of the poses, which stay within the limits, and (P,) of what is shared."""
        root, angles = moved(state.root, state.angles, by_pose)
        return FitState(state.anatomy.moved(by_shared), root, np.clip(angles, *self.usual.limits.T))

    def held(self, state: FitState, down: Floats) -> Bools:
        """(F, 6 + D) which numbers of the poses stand at a limit that they would leave."""
        low, high = self.usual.limits.T
        angles, ways = state.angles, down[:, BASE:]
        held = np.zeros(down.shape, bool)
        held[:, BASE:] = ((angles <= low) & (ways < 0)) | ((angles >= high) & (ways > 0))
        return held
