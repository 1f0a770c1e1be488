"""Fit a hand's shape to frames, and estimate marker noise and joint statistics from the residuals.

Shape and poses are found together by the Levenberg-Marquardt method, with each frame's pose eliminated first (Triggs et
al. 2000, 6.1). Noise and joint statistics are the M step of expectation maximisation (Dempster et al. 1977). It
accounts for the noise that the poses absorb and for the poses' uncertainty, so that neither estimate shrinks to
nothing. pose_uncertainty.py describes what that uncertainty means for the shape.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...jacobians import ROOT_DOFS
from ...joints import DIGITS
from .chain import own_parameters, own_slopes
from .own_dips import dip_shares, independent_dips
from .pose_fit import (
    PoseEquations,
    PoseModel,
    Poses,
    VisibleMarkers,
    costs,
    damp_and_fix,
    free_variables,
    invert,
    normal_equations,
    solve,
)
from .pose_shares import PoseShares
from .pose_uncertainty import ShapeQuadratic, cost_of_uncertainty
from .priors import ShapePrior, apply_step, prior_weight, usual_pose_prior
from .skin_fit import COLUMNS, HAS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MIN_SPREAD, MAX_SPREAD = 0.00015, 0.005
"""m, bounds of a marker's standard deviation."""
POOLING_FRAMES = 30.0
"""Weight of all markers' mean noise in each marker's estimate, in frames."""
THUMB_PRIOR_FRAMES, FINGER_PRIOR_FRAMES = 10.0, 150.0
"""Weight of the usual joint statistics in a performer's, in frames. Neighbouring frames show nearly the same pose, so
that a few hundred of them determine the covariance of 26 angles poorly. The usual statistics of a finger, with its DIP
coupled to its PIP, are a better guide than those of the thumb, which has no such coupling."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedShape:
    """A hand, and its poses in the frames of the fit."""

    pose_model: PoseModel
    poses: Poses


def fit_shape(
    start: FittedShape,
    seen: VisibleMarkers,
    prior: ShapePrior,
    passes: int,
    tolerance: float = 1e-4,
    *,
    fitted: Ints | slice = slice(None),
    shares: PoseShares | None = None,
) -> FittedShape:
    """Find the most likely shape and poses by Levenberg-Marquardt.

    Args:
        start: shape and poses to start from.
        seen: the markers.
        prior: the prior of the shape.
        passes: most iterations.
        tolerance: relative decrease of the cost below which the search ends.
        fitted: the shape's parameters to fit; the others stay as they are.
        shares: what counts of the prior of the angles, and of the poses' covariance, over which the cost is expected;
            None: all of the prior, and the poses are taken as certain.
    """
    weight = prior_weight(len(seen))
    precision = start.pose_model.precision
    if shares is not None:
        start = _with_shares(start, shares)
    uncertainty = None if shares is None else _cost_of_uncertainty(start, seen, shares)
    total_step = np.zeros(prior.matrix.shape[1])

    def total(state: FittedShape, total_step: Floats) -> float:
        residuals = prior.residuals(state.pose_model.shape)
        expected = uncertainty.cost(total_step) if uncertainty else 0.0
        return float(costs(state.pose_model, state.poses, seen).sum() + weight * residuals @ residuals + expected)

    state, cost, damping = start, total(start, total_step), FIRST_DAMPING
    equations: _Equations | None = None
    for _ in range(passes):
        if equations is None:
            equations = _build_equations(state, seen, prior, weight, fitted)
            if uncertainty is not None:
                equations = equations.with_shape_cost(uncertainty, total_step, fitted)
        pose_step, shape_step = equations.step(damping)
        whole_step = np.zeros(prior.matrix.shape[1])
        whole_step[fitted] = shape_step
        shape = apply_step(state.pose_model.shape, whole_step)
        trial = FittedShape(
            replace(state.pose_model, shape=shape), state.poses.apply_step(pose_step, state.pose_model.limits)
        )
        trial_cost = total(trial, total_step + whole_step)
        if trial_cost < cost:
            decrease, cost, state, equations = cost - trial_cost, trial_cost, trial, None
            total_step = total_step + whole_step
            damping = max(damping / 5, 1e-9)
            if decrease < tolerance * abs(cost):
                break
        else:
            damping *= 10
            if damping > MAX_DAMPING:
                break
    return replace(state, pose_model=replace(state.pose_model, precision=precision))


def _with_shares(state: FittedShape, shares: PoseShares) -> FittedShape:
    """Return the state with only its share of the prior of the angles."""
    model = state.pose_model
    return replace(state, pose_model=replace(model, precision=shares.scale_precision(model.precision)))


FIRST_DAMPING, MAX_DAMPING = 1e-3, 1e6


@dataclass(frozen=True, slots=True, eq=False)
class _Equations:
    """Normal equations of poses and shape, in blocks."""

    poses: Floats
    """(F, 6 + D, 6 + D)"""
    free: NDArray[np.bool_]
    mixed: Floats
    """(F, 6 + D, S)"""
    shape: Floats
    """(S, S)"""
    rhs_poses: Floats
    rhs_shape: Floats

    def step(self, damping: float) -> tuple[Floats, Floats]:
        """Damped step of the poses (F, 6 + D) and of the shape (S,)."""
        inverted = invert(damp_and_fix(self.poses, self.free, np.full(len(self.poses), damping)))
        # With K K^T = inverted, the product of K^T mixed with itself takes half the work of mixed^T inverted mixed.
        halves = (np.linalg.cholesky(inverted).swapaxes(1, 2) @ self.mixed).reshape(-1, len(self.shape))
        pose_step = (inverted @ self.rhs_poses[..., None])[..., 0]
        reduced = self.shape + np.diag(damping * np.diag(self.shape)) - halves.T @ halves
        flat = self.mixed.reshape(halves.shape)
        shape_step = solve(reduced, (self.rhs_shape - flat.T @ pose_step.ravel())[:, None])[:, 0]
        pose_change = (flat @ shape_step).reshape(pose_step.shape)
        return pose_step - (inverted @ pose_change[..., None])[..., 0], shape_step

    def with_shape_cost(self, added: ShapeQuadratic, moved: Floats, fitted: Ints | slice) -> "_Equations":
        """Return the equations with a further cost of the shape, which has moved (S,) from where that was computed."""
        matrix = self.shape + added.matrix[fitted][:, fitted]
        return replace(self, shape=matrix, rhs_shape=self.rhs_shape - added.gradient_at(moved)[fitted])


def _build_equations(
    state: FittedShape, seen: VisibleMarkers, prior: ShapePrior, weight: float, fitted: Ints | slice = slice(None)
) -> _Equations:
    equations = normal_equations(state.pose_model, state.poses, seen)
    free = free_variables(state.pose_model.limits, state.poses, equations.rhs)
    frames, size = len(seen), prior.matrix.shape[1]
    residuals = prior.residuals(state.pose_model.shape)
    matrix, rhs = weight * prior.precision, -weight * (residuals @ prior.matrix)
    mixed = np.zeros((frames, equations.matrix.shape[1], size))
    for marker in range(seen.visible.shape[1]):
        # Of some two hundred parameters at most seventeen move a marker.
        marker_parameters = own_parameters(state.pose_model.shape, marker)
        rows = slice(3 * marker, 3 * marker + 3)
        slopes = own_slopes(state.pose_model.shape, equations.markers, marker)
        slopes = equations.whitening[:, :, marker].transpose(2, 0, 1) @ slopes
        flat = slopes.reshape(-1, len(marker_parameters))
        matrix[np.ix_(marker_parameters, marker_parameters)] += flat.T @ flat
        rhs[marker_parameters] += flat.T @ equations.residuals[:, rows].ravel()
        mixed[..., marker_parameters] += equations.jacobian[:, rows].swapaxes(1, 2) @ slopes
    return _Equations(
        poses=equations.matrix,
        free=free,
        mixed=mixed[..., fitted] * free[..., None],
        shape=matrix[fitted][:, fitted],
        rhs_poses=equations.rhs * free,
        rhs_shape=rhs[fitted],
    )


def shape_covariance(state: FittedShape, seen: VisibleMarkers, prior: ShapePrior, shares: PoseShares) -> Floats:
    """Covariance (S, S) of the parameters of a shape that was fitted to these frames, which count as independent ones.

    The poses are eliminated: what they leave open is in it.
    """
    weight = prior_weight(len(seen))
    state = _with_shares(state, shares)
    equations = _build_equations(state, seen, prior, weight)
    poses = damp_and_fix(equations.poses, equations.free, np.zeros(len(equations.poses)))
    explained = np.einsum("fns,fnt->st", equations.mixed, solve(poses, equations.mixed), optimize=True)
    covariance = weight * invert(equations.shape - explained)
    return np.asarray((covariance + covariance.T) / 2)


def update_statistics(state: FittedShape, seen: VisibleMarkers, usual_share: float = 1.0) -> FittedShape:
    """Update the markers' noise and the joint statistics from these frames.

    usual_share: factor on the weight of the usual joint statistics.
    """
    equations = normal_equations(state.pose_model, state.poses, seen)
    covariance = _pose_covariances(state, equations)
    sharpness = 1 / np.sqrt(_variances(state.pose_model, equations, covariance))
    mean, precision = _angle_statistics(state.poses.angles, covariance[:, ROOT_DOFS:, ROOT_DOFS:], usual_share)
    return replace(state, pose_model=replace(state.pose_model, sharpness=sharpness, mean=mean, precision=precision))


def _pose_covariances(state: FittedShape, equations: PoseEquations) -> Floats:
    """(F, 6 + D, 6 + D) of the poses; zero for angles at a limit."""
    free = free_variables(state.pose_model.limits, state.poses, equations.rhs)
    covariance = invert(damp_and_fix(equations.matrix, free, np.zeros(len(free))))
    covariance *= free[:, :, None] & free[:, None, :]
    return covariance


def _cost_of_uncertainty(state: FittedShape, seen: VisibleMarkers, shares: PoseShares) -> ShapeQuadratic:
    equations = normal_equations(state.pose_model, state.poses, seen)
    return cost_of_uncertainty(
        state.pose_model.shape, equations, shares.covariance * _pose_covariances(state, equations)
    )


def _variances(model: PoseModel, equations: PoseEquations, covariance: Floats) -> Floats:
    """Noise variances (M, 3) m² along the axes of each marker's bone; rarely seen markers tend to the mean of all."""
    count, frames = equations.whitening.shape[2:]
    squares = equations.residuals**2 + np.einsum("frn,frn->fr", equations.jacobian @ covariance, equations.jacobian)
    # The markers' robust weights, recovered from the lengths of the weighted axes.
    weight_sum = np.sum(equations.whitening**2, axis=(1, 3)).T / model.sharpness**2
    sums = squares.reshape(frames, count, 3).sum(axis=0) / model.sharpness**2
    pooled = sums.sum() / weight_sum.sum()
    variances = (sums + POOLING_FRAMES * pooled) / (weight_sum + POOLING_FRAMES)
    clipped: Floats = np.clip(variances, MIN_SPREAD**2, MAX_SPREAD**2)
    return clipped


def _angle_statistics(angles: Floats, covariances: Floats, usual_share: float) -> tuple[Floats, Floats]:
    """Mean (D,) and precision (D, D) of angles (F, D) with covariances (F, D, D)."""
    usual_mean, usual_precision = usual_pose_prior()
    frames, usual_frames = len(angles), np.full(angles.shape[1], FINGER_PRIOR_FRAMES)
    thumb = DIGITS.index("thumb")
    usual_frames[COLUMNS[thumb, HAS[thumb]]] = THUMB_PRIOR_FRAMES
    usual_frames *= usual_share
    total = frames + usual_frames
    centred = angles - angles.mean(axis=0)
    observed = centred.T @ centred + covariances.sum(axis=0)
    usual = np.sqrt(np.outer(usual_frames, usual_frames)) * invert(usual_precision)
    mean = (angles.sum(axis=0) + usual_frames * usual_mean) / total
    covariance = (observed + usual) / np.sqrt(np.outer(total, total))
    return mean, invert(independent_dips(covariance, dip_shares(covariance)))
