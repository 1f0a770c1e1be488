"""The least-squares problem of fitting a hand to free motion, and its normal equations.

The cost is the sum of squares, in standard deviations, of the markers' residuals, of the shared parameters' deviations
from their prior, and of the poses' deviations from a relaxed hand. Outlying markers have Huber weights.
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
DIP_COUPLING_SPREAD = np.deg2rad(3.0)
"""rad, standard deviation of a DIP's flexion from ρ times that of its PIP. Solvers couple the two joints where markers
do not determine them, so a finger with coupled joints must be long enough to reach its tip's marker."""
INDEPENDENT_FRAMES = 20.0
"""Number of independent frames to which a clip is equivalent: skin slides in the same direction each time a finger
bends, and its effect on a bone's length does not average out."""
HUBER_THRESHOLD = 3.0
"""Residual, relative to the noise, above which a marker's weight decreases."""


@dataclass(frozen=True, slots=True, eq=False)
class FitState:
    """The unknowns: the shared parameters and the pose of each frame."""

    parameters: SharedParameters
    root: Floats
    """(F, 4, 4) T_world_wrist."""
    angles: Floats
    """(F, D) rad"""


@dataclass(frozen=True, slots=True, eq=False)
class NormalEquations:
    """Gauss-Newton normal equations in blocks: the Hessian of poses, poses and shared, shared; and the right-hand
    sides."""

    poses: Floats
    """(F, 6 + D, 6 + D)"""
    mixed: Floats
    """(F, 6 + D, P)"""
    shared: Floats
    """(P, P)"""
    rhs_poses: Floats
    """(F, 6 + D) negative gradient."""
    rhs_shared: Floats
    """(P,) negative gradient."""


@dataclass(frozen=True, eq=False)
class FitProblem:
    """The markers to fit and the priors."""

    mean_hand: Proportions
    reference: HandModel
    """Source of the limits and the relaxed angles."""
    markers: FitMarkers
    prior: FitPrior
    positions: Floats
    """(F, M, 3) m, zero where not seen."""
    seen: Bools
    """(F, M)"""
    noise: float
    """m on each axis."""

    def pose_hand(self, state: FitState) -> PosedJoints:
        """Pose the hand in each frame, with its markers as sites."""
        rest = rest_frames(self.markers.proportions(self.mean_hand, state.parameters))
        hand = replace(self.reference, rest=rest, sites=self.markers.sites(state.parameters))
        return pose_joints(hand, state.root, state.angles)

    def residuals(self, state: FitState) -> Floats:
        """Return residuals (F, M, 3) m, modelled minus observed positions of markers; zero where not seen."""
        return self._residuals(self.pose_hand(state))

    def _residuals(self, posed: PosedJoints) -> Floats:
        differences = posed.site_positions(np.arange(len(self.markers.joints))) - self.positions
        return np.where(self.seen[..., None], differences, 0.0)

    def costs(self, state: FitState) -> tuple[Floats, float]:
        """Return half the weighted squares: (F,) of each frame, and of the shared parameters."""
        distances = np.linalg.norm(self.residuals(state), axis=-1) / self.noise
        markers = np.where(
            distances <= HUBER_THRESHOLD, distances**2 / 2, HUBER_THRESHOLD * (distances - HUBER_THRESHOLD / 2)
        ).sum(axis=1)
        relaxed, coupling = self._pose_residuals(state)
        poses = ((relaxed**2).sum(axis=1) + (coupling**2).sum(axis=1)) / 2
        prior = self.prior.residuals(state.parameters)[0]
        return markers + poses, self.prior_weight * float(prior @ prior) / 2

    @property
    def prior_weight(self) -> float:
        """Weight of the prior relative to the frames, which count as INDEPENDENT_FRAMES at most."""
        return max(len(self.positions) / INDEPENDENT_FRAMES, 1.0)

    @cached_property
    def _pose_spreads(self) -> Floats:
        """(D,) rad, standard deviations of the angles."""
        return np.array([POSE_SPREAD[movement] for movement in self.reference.movements])

    def _coupled_joints(self) -> list[tuple[int, int, int]]:
        """Return each finger's row in DIGITS and the indices of its PIP and DIP flexion."""
        triples = []
        for row, digit in enumerate(DIGITS[1:], 1):
            pip, dip = (self.reference.dof(joint, "flexion") for joint in CHAIN_JOINTS[digit][1:3])
            if pip is not None and dip is not None:
                triples.append((row, pip, dip))
        return triples

    def _pose_residuals(self, state: FitState) -> tuple[Floats, Floats]:
        """Return the angles' deviations from a relaxed hand (F, D), and the DIPs' from ρ times their PIPs (F, 4), in
        standard deviations."""
        coupling = [
            state.angles[:, dip] - state.parameters.rho[row] * state.angles[:, pip]
            for row, pip, dip in self._coupled_joints()
        ]
        return (state.angles - self.reference.neutral) / self._pose_spreads, np.stack(
            coupling, axis=1
        ) / DIP_COUPLING_SPREAD

    def normal_equations(self, state: FitState) -> NormalEquations:
        """Build the normal equations at a state, with markers weighted by their residuals."""
        posed = self.pose_hand(state)
        residuals = self._residuals(posed) / self.noise
        distances = np.linalg.norm(residuals, axis=-1)
        weights = np.sqrt(np.minimum(1.0, HUBER_THRESHOLD / np.maximum(distances, 1e-12))) * self.seen
        scale = (weights / self.noise)[..., None, None]
        sites = np.arange(len(self.markers.joints))
        frames, rows = len(residuals), 3 * len(sites)
        pose_jacobian = (posed.jacobians(sites)[0] * scale).reshape(frames, rows, -1)
        shared_jacobian = (self.markers.jacobian(posed, posed.site_positions(sites)) * scale).reshape(frames, rows, -1)
        weighted = (residuals * weights[..., None]).reshape(frames, rows, 1)
        transposed = pose_jacobian.swapaxes(1, 2)
        flat = shared_jacobian.reshape(-1, shared_jacobian.shape[-1])
        prior, prior_jacobian = self.prior.residuals(state.parameters)
        equations = NormalEquations(
            poses=transposed @ pose_jacobian,
            mixed=transposed @ shared_jacobian,
            shared=flat.T @ flat + self.prior_weight * prior_jacobian.T @ prior_jacobian,
            rhs_poses=-(transposed @ weighted)[..., 0],
            rhs_shared=-flat.T @ weighted.ravel() - self.prior_weight * prior_jacobian.T @ prior,
        )
        self._add_pose_prior(equations, state)
        return equations

    def _add_pose_prior(self, equations: NormalEquations, state: FitState) -> None:
        """Add the poses' prior to the normal equations."""
        relaxed, coupling = self._pose_residuals(state)
        spreads, spread = self._pose_spreads, DIP_COUPLING_SPREAD
        dofs = ROOT_DOFS + np.arange(len(spreads))
        equations.poses[:, dofs, dofs] += 1 / spreads**2
        equations.rhs_poses[:, dofs] -= relaxed / spreads
        for residual, (row, pip, dip) in zip(coupling.T, self._coupled_joints(), strict=True):
            jacobian = np.zeros((len(residual), equations.poses.shape[1]))
            jacobian[:, ROOT_DOFS + dip], jacobian[:, ROOT_DOFS + pip] = 1 / spread, -state.parameters.rho[row] / spread
            by_rho = -state.angles[:, pip] / spread
            equations.poses[:] += jacobian[:, :, None] * jacobian[:, None, :]
            equations.mixed[:, :, RHO.start + row] += jacobian * by_rho[:, None]
            equations.shared[RHO.start + row, RHO.start + row] += by_rho @ by_rho
            equations.rhs_poses[:] -= jacobian * residual[:, None]
            equations.rhs_shared[RHO.start + row] -= by_rho @ residual

    def apply_step(self, state: FitState, pose_step: Floats, shared_step: Floats) -> FitState:
        """Apply a step (F, 6 + D) to the poses, within the limits, and a step (P,) to the shared parameters."""
        root, angles = integrate(state.root, state.angles, pose_step)
        return FitState(state.parameters.apply_step(shared_step), root, np.clip(angles, *self.reference.limits.T))

    def at_limits(self, state: FitState, rhs: Floats) -> Bools:
        """Return whether pose variables (F, 6 + D) are at a limit that a step along `rhs` would cross."""
        low, high = self.reference.limits.T
        angles, directions = state.angles, rhs[:, ROOT_DOFS:]
        fixed = np.zeros(rhs.shape, bool)
        fixed[:, ROOT_DOFS:] = ((angles <= low) & (directions < 0)) | ((angles >= high) & (directions > 0))
        return fixed
