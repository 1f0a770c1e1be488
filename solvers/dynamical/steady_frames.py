"""Mode `settle`: each frame iterated to convergence from its own start pose, however a take is split into pieces."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import ARRAY, SCALAR
from ...hand.targets import Targets
from ..chunks import in_chunks
from ..planar.driver import told as told_by_places
from ..solver import State, hold_last
from ..wrist_alignment import fit_wrist
from .bone_directions import by_headings
from .dynamical_plan import DynamicalPlan
from .limb_kinematics import among
from .limb_targets import look, many_frames, one_frame, told
from .limbs import LimbModel
from .start_pose import begun, from_turns
from .steady_limb import SettlingMethod, settle_many, settle_one

Floats = NDArray[np.float64]


def settled(plan: DynamicalPlan, targets: Targets, state: State, method: SettlingMethod) -> tuple[Floats, Floats]:
    """(F, 4, 4) roots, (1, 4, 4) if constant, and (F, D) angles; undetermined angles stay as in the frame before."""
    roots = fit_wrist(plan.base, targets, state.root, plan.worth.turn)
    if len(targets) == 1:
        return roots, _one(plan, targets, roots, state, method)
    angles = np.full((len(targets), plan.planar.hand.dofs), np.nan)

    def solve(chunk: slice) -> None:
        _chunk(plan, targets.select(chunk), roots[chunk] if len(roots) > 1 else roots, angles[chunk], method)

    in_chunks(len(targets), solve)
    known = np.isfinite(angles)
    for dof in np.flatnonzero(~np.all(known, axis=0)):
        angles[:, dof] = hold_last(angles[:, dof], known[:, dof], state.angles[dof])
    return roots, angles


def _one(plan: DynamicalPlan, targets: Targets, roots: Floats, state: State, method: SettlingMethod) -> Floats:
    """(1, D)"""
    hand = plan.planar.hand
    angles = state.angles.tolist()
    frames = one_frame(targets, roots[0])
    nowhere = [math.nan] * hand.dofs
    planar = told_by_places(plan.planar, targets, roots, 0)[0].tolist() if any(frames.weights) else nowhere
    for limb, headings in zip(plan.limbs, plan.headings, strict=True):
        if headings is not None:
            solved, at_rest = by_headings(SCALAR, limb, headings, frames)
            if at_rest:
                for dof, angle in zip(limb.dofs, solved, strict=True):
                    angles[dof] = angle
                continue
        seen = look(SCALAR, limb, frames)
        if not seen:
            continue
        known = told(SCALAR, limb, seen)
        begin = [planar[dof] for dof in limb.dofs]
        if not all(map(math.isfinite, begin)):
            ease = [float(hand.neutral[dof]) for dof in limb.dofs]
            begin = list(map(begun, begin, from_turns(SCALAR, limb, seen, ease)))
        solved = settle_one(limb, begin, seen, known, method)
        for dof, angle, knows in zip(limb.dofs, solved, known, strict=True):
            if knows:
                angles[dof] = angle
    return np.array([angles])


def _chunk(plan: DynamicalPlan, targets: Targets, roots: Floats, angles: Floats, method: SettlingMethod) -> None:
    """Write the angles (F, D) that the targets determine."""
    planar = told_by_places(plan.planar, targets, roots, 0)
    frames = many_frames(targets, roots)
    for limb, headings in zip(plan.limbs, plan.headings, strict=True):
        at_rest: Any = False
        if headings is not None:
            solved, at_rest = by_headings(ARRAY, limb, headings, frames)
            for dof, angle in zip(limb.dofs, solved, strict=False):
                angles[:, dof] = np.where(at_rest, angle, np.nan)
        seen = [] if np.all(at_rest) else look(ARRAY, limb, frames)
        if not seen:
            continue
        left = np.flatnonzero(~at_rest) if np.any(at_rest) else slice(None)
        seen = among(left, seen)
        known = told(ARRAY, limb, seen)
        begin = _begin(plan, limb, seen, planar[left][:, limb.dofs].T.copy())
        settle_many(limb, begin, seen, known, method)
        for dof, found, knows in zip(limb.dofs, begin, known, strict=True):
            angles[left, dof] = np.where(knows, found, np.nan)


def _begin(plan: DynamicalPlan, limb: LimbModel, seen: Any, planar: Floats) -> Floats:
    """Start angles (n, F): from position targets, else from rotation targets, else neutral."""
    if np.all(np.isfinite(planar)):
        return planar
    ease = [float(plan.planar.hand.neutral[dof]) for dof in limb.dofs]
    by_turns = from_turns(ARRAY, limb, seen, ease)
    return np.stack([np.where(np.isfinite(b), b, t) for b, t in zip(planar, by_turns, strict=True)])
