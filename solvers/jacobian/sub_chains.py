"""Targets of a sub-chain between two rotation targets, relative to the upper one."""

from dataclasses import replace

import numpy as np

from ...hand import jacobians
from ...hand.model import HandModel
from .parts import HandParts, TargetedSites, constrained_dofs
from .relative_targets import RelativePoses, RelativeTargets


def move_with_upper_targets(
    hand: HandModel, sites: TargetedSites, parts: HandParts, targets: RelativeTargets, poses: RelativePoses
) -> RelativeTargets:
    """Return the targets of these parts, transformed with the target above each from its measured pose to its solved
    pose.

    Dynamical 5.1: a pair of rotation targets determines the angles between them, whatever the angles above. A target
    without a rotation target above it stays as it is; below one without a position target it is only rotated.
    """
    if targets.rotations is None:
        return targets
    posed = jacobians.pose_joints(hand, poses.root, poses.angles[:, :-1])
    constrained = constrained_dofs(hand, sites)
    positions, rotations = targets.positions.copy(), targets.rotations.copy()
    for target in np.unique(parts.targets[parts.targets < len(sites.sites)]):
        target_dofs = constrained[target]
        is_above = np.all(constrained <= target_dofs, axis=1) & np.any(constrained != target_dofs, axis=1)
        above = np.flatnonzero(is_above & sites.rotations).tolist()
        if not above:
            continue
        upper = max(above, key=lambda t: int(constrained[t].sum()))
        solved = posed.rotations[:, targets.joints[upper]]
        change = solved @ targets.rotations[:, upper].swapaxes(-1, -2)
        rotations[:, target] = change @ targets.rotations[:, target]
        if sites.positions[upper]:
            position = (solved @ targets.offsets[upper])[..., 0] + posed.positions[:, targets.joints[upper]]
            arm = targets.positions[:, target] - targets.positions[:, upper]
            positions[:, target] = position + (change @ arm[..., None])[..., 0]
    return replace(targets, positions=positions, rotations=rotations)
