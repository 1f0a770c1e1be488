"""Mode `settle`: each frame iterated to convergence from its own start pose, however a take is split into pieces."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import ARRAY, SCALAR
from ...hand.targets import Targets
from ..chunks import for_each_chunk
from ..planar.driver import solve_angles
from ..solver import State, hold_last_columns
from ..wrist_alignment import fit_wrist
from .bone_headings import solve_headings
from .dynamical_plan import DynamicalPlan
from .limb_kinematics import select_frames
from .limb_targets import many_frames, observed_dofs, one_frame, site_targets
from .settle_limb import SettlingMethod, settle_many, settle_one
from .start_pose import angles_from_rotations

Floats = NDArray[np.float64]


def settle(plan: DynamicalPlan, targets: Targets, state: State, method: SettlingMethod) -> tuple[Floats, Floats]:
    """Return (F, 4, 4) roots, (1, 4, 4) if constant, and (F, D) angles; undetermined angles stay as in the frame
    before."""
    roots = fit_wrist(plan.palm, targets, state.root, plan.weights.rotation)
    if len(targets) == 1:
        return roots, _settle_frame(plan, targets, roots, state, method)
    angles = np.full((len(targets), plan.planar.hand.dofs), np.nan)

    def solve(chunk: slice) -> None:
        own_roots = roots[chunk] if len(roots) > 1 else roots
        _settle_chunk(plan, targets.select(chunk), own_roots, angles[chunk], method)

    for_each_chunk(len(targets), solve)
    return roots, hold_last_columns(angles, np.isfinite(angles), state.angles)


def _settle_frame(plan: DynamicalPlan, targets: Targets, roots: Floats, state: State, method: SettlingMethod) -> Floats:
    """Return the angles (1, D) of a lone frame, in plain floats."""
    hand = plan.planar.hand
    angles = state.angles.tolist()
    frames = one_frame(targets, roots[0])
    planar = [math.nan] * hand.dofs
    if any(frames.weights):
        planar = solve_angles(plan.planar, targets, roots, 0)[0].tolist()
    for limb, directions in zip(plan.limbs, plan.directions, strict=True):
        if directions is not None:
            solved, converged = solve_headings(SCALAR, limb, directions, frames)
            if converged:
                for dof, angle in zip(limb.hand_dofs, solved, strict=True):
                    angles[dof] = angle
                continue
        limb_targets = site_targets(SCALAR, limb, frames)
        if not limb_targets:
            continue
        observed = observed_dofs(SCALAR, limb, limb_targets)
        start = [planar[dof] for dof in limb.hand_dofs]
        if not all(map(math.isfinite, start)):
            neutral = [float(hand.neutral[dof]) for dof in limb.hand_dofs]
            pairs = zip(start, angles_from_rotations(SCALAR, limb, limb_targets, neutral), strict=True)
            start = [angle if math.isfinite(angle) else rotated for angle, rotated in pairs]
        solved = settle_one(limb, start, limb_targets, observed, method)
        for dof, angle, seen in zip(limb.hand_dofs, solved, observed, strict=True):
            if seen:
                angles[dof] = angle
    return np.array([angles])


def _settle_chunk(plan: DynamicalPlan, targets: Targets, roots: Floats, angles: Floats, method: SettlingMethod) -> None:
    """Write the angles (F, D) that the targets determine."""
    planar = solve_angles(plan.planar, targets, roots, 0)
    frames = many_frames(targets, roots)
    for limb, directions in zip(plan.limbs, plan.directions, strict=True):
        converged: Any = False
        if directions is not None:
            solved, converged = solve_headings(ARRAY, limb, directions, frames)
            for dof, angle in zip(limb.hand_dofs, solved, strict=False):
                angles[:, dof] = np.where(converged, angle, np.nan)
        limb_targets = [] if np.all(converged) else site_targets(ARRAY, limb, frames)
        if not limb_targets:
            continue
        unconverged = np.flatnonzero(~converged) if np.any(converged) else slice(None)
        limb_targets = select_frames(unconverged, limb_targets)
        observed = observed_dofs(ARRAY, limb, limb_targets)
        limb_angles = planar[unconverged][:, limb.hand_dofs].T.copy()
        if not np.all(np.isfinite(limb_angles)):
            neutral = [float(plan.planar.hand.neutral[dof]) for dof in limb.hand_dofs]
            pairs = zip(limb_angles, angles_from_rotations(ARRAY, limb, limb_targets, neutral), strict=True)
            limb_angles = np.stack([np.where(np.isfinite(angle), angle, rotated) for angle, rotated in pairs])
        settle_many(limb, limb_angles, limb_targets, observed, method)
        for dof, angle, seen in zip(limb.hand_dofs, limb_angles, observed, strict=True):
            angles[unconverged, dof] = np.where(seen, angle, np.nan)
