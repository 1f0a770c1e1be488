"""The least-squares problem of fitting a hand to free motion, and its normal equations.

It minimises the markers' residuals relative to their noise, and the deviations of the shared parameters from their
prior and of the poses from a relaxed hand, in standard deviations. Outlying markers have Huber weights.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..jacobians import ROOT_DOFS, PosedJoints, integrate, pose_joints
from ..joints import CHAIN_JOINTS, DIGITS
from ..model import HandModel
from ..proportions import Proportions, rest_frames
from .fit_parameters import RHO, FitMarkers, FitPrior, SharedParameters

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

POSE_SPREAD = {"abduction": np.deg2rad(30.0), "twist": np.deg2rad(7.0), "flexion": np.deg2rad(60.0)}
"""rad, standard deviations of a clip's angles about those of a relaxed hand."""
FOLLOWS = np.deg2rad(3.0)
"""rad, standard deviation of a DIP about what its PIP predicts. Solvers couple the two where markers do not determine
them, so a finger must be long enough for its tip when they are coupled."""
INDEPENDENT = 20.0
"""The number of independent frames to which a clip is equivalent: skin slides in the same way each time a finger bends,
so its effect on a bone's length does not average out."""
OUTLIER = 3.0
"""Residual, relative to the noise, from which a marker's weight decreases."""


@dataclass(frozen=True, slots=True, eq=False)
class FitState:
    """The unknowns: the shared parameters and the pose of each frame."""

    anatomy: SharedParameters
    root: Floats
    """(F, 4, 4) T_world_wrist."""
    angles: Floats
    """(F, D) rad"""


@dataclass(frozen=True, slots=True, eq=False)
class NormalEquations:
    """Gauss-Newton normal equations, in blocks: Hessian (poses, poses-shared, shared) and descent direction."""

    poses: Floats
    """(F, 6 + D, 6 + D)"""
    mixed: Floats
    """(F, 6 + D, P)"""
    shared: Floats
    """(P, P)"""
    down_poses: Floats
    """(F, 6 + D) negative gradient."""
    down_shared: Floats
    """(P,) negative gradient."""


@dataclass(frozen=True, eq=False)
class FitProblem:
    """The markers to fit and the priors."""

    mean: Proportions
    usual: HandModel
    """Source of the limits and the relaxed angles."""
    riders: FitMarkers
    prior: FitPrior
    positions: Floats
    """(F, M, 3) m, zero where not seen."""
    seen: Bools
    """(F, M)"""
    noise: float
    """m on each axis."""

    def placed(self, state: FitState) -> PosedJoints:
        """Pose the hand in each frame, with its markers as sites."""
        rest = rest_frames(self.riders.proportions(self.mean, state.anatomy))
        hand = replace(self.usual, rest=rest, sites=self.riders.sites(state.anatomy))
        return pose_joints(hand, state.root, state.angles)

    def off(self, state: FitState) -> Floats:
        """Residuals (F, M, 3) m, modelled minus seen positions of markers; zero where not seen."""
        return self._off(self.placed(state))

    def _off(self, placed: PosedJoints) -> Floats:
        away = placed.site_positions(np.arange(len(self.riders.joints))) - self.positions
        return np.where(self.seen[..., None], away, 0.0)

    def costs(self, state: FitState) -> tuple[Floats, float]:
        """Half the weighted squares: (F,) of each frame, and of the shared parameters."""
        far = np.linalg.norm(self.off(state), axis=-1) / self.noise
        markers = np.where(far <= OUTLIER, far**2 / 2, OUTLIER * (far - OUTLIER / 2)).sum(axis=1)
        at_ease, follows = self._pose_residuals(state)
        poses = ((at_ease**2).sum(axis=1) + (follows**2).sum(axis=1)) / 2
        before = self.prior.residuals(state.anatomy)[0]
        return markers + poses, self.emphasis * float(before @ before) / 2

    @property
    def emphasis(self) -> float:
        """Weight of the prior, to balance more frames than are independent."""
        return max(len(self.positions) / INDEPENDENT, 1.0)

    @cached_property
    def _pose_spreads(self) -> Floats:
        """(D,) rad"""
        return np.array([POSE_SPREAD[movement] for movement in self.usual.movements])

    def _pairs(self) -> list[tuple[int, int, int]]:
        """Return the digit, PIP flexion and DIP flexion of each finger."""
        pairs = []
        for row, digit in enumerate(DIGITS[1:], 1):
            middle, last = (self.usual.dof(joint, "flexion") for joint in CHAIN_JOINTS[digit][1:3])
            if middle is not None and last is not None:
                pairs.append((row, middle, last))
        return pairs

    def _pose_residuals(self, state: FitState) -> tuple[Floats, Floats]:
        """Residuals (F, D) and (F, 4) in standard deviations: from a relaxed hand, and of DIPs from their PIPs."""
        strays = [
            state.angles[:, last] - state.anatomy.rho[row] * state.angles[:, mid] for row, mid, last in self._pairs()
        ]
        return (state.angles - self.usual.neutral) / self._pose_spreads, np.stack(strays, axis=1) / FOLLOWS

    def normal(self, state: FitState) -> NormalEquations:
        """Build the normal equations at a state, with markers weighted by their residuals."""
        placed = self.placed(state)
        off = self._off(placed) / self.noise
        far = np.linalg.norm(off, axis=-1)
        weights = np.sqrt(np.minimum(1.0, OUTLIER / np.maximum(far, 1e-12))) * self.seen
        scale = (weights / self.noise)[..., None, None]
        sites = np.arange(len(self.riders.joints))
        frames, rows = len(off), 3 * len(sites)
        by_pose = (placed.jacobians(sites)[0] * scale).reshape(frames, rows, -1)
        by_shared = (self.riders.jacobian(placed, placed.site_positions(sites)) * scale).reshape(frames, rows, -1)
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
        """Add the poses' prior to the normal equations."""
        at_ease, follows = self._pose_residuals(state)
        spreads, spread = self._pose_spreads, FOLLOWS
        dofs = ROOT_DOFS + np.arange(len(spreads))
        normal.poses[:, dofs, dofs] += 1 / spreads**2
        normal.down_poses[:, dofs] -= at_ease / spreads
        for stray, (row, middle, last) in zip(follows.T, self._pairs(), strict=True):
            slope = np.zeros((len(stray), normal.poses.shape[1]))
            slope[:, ROOT_DOFS + last], slope[:, ROOT_DOFS + middle] = 1 / spread, -state.anatomy.rho[row] / spread
            by_rho = -state.angles[:, middle] / spread
            normal.poses[:] += slope[:, :, None] * slope[:, None, :]
            normal.mixed[:, :, RHO.start + row] += slope * by_rho[:, None]
            normal.shared[RHO.start + row, RHO.start + row] += by_rho @ by_rho
            normal.down_poses[:] -= slope * stray[:, None]
            normal.down_shared[RHO.start + row] -= by_rho @ stray

    def after(self, state: FitState, by_pose: Floats, by_shared: Floats) -> FitState:
        """Apply a step (F, 6 + D) to the poses, within the limits, and (P,) to the shared parameters."""
        root, angles = integrate(state.root, state.angles, by_pose)
        return FitState(state.anatomy.moved(by_shared), root, np.clip(angles, *self.usual.limits.T))

    def held(self, state: FitState, down: Floats) -> Bools:
        """Mask (F, 6 + D) of pose variables at a limit that the step would cross."""
        low, high = self.usual.limits.T
        angles, ways = state.angles, down[:, ROOT_DOFS:]
        held = np.zeros(down.shape, bool)
        held[:, ROOT_DOFS:] = ((angles <= low) & (ways < 0)) | ((angles >= high) & (ways > 0))
        return held
