"""Targets of a sub-chain between two rotation targets, relative to the upper one."""

from dataclasses import replace

import numpy as np

from ...hand import jacobians
from ...hand.model import HandModel
from .parts import HandParts, TargetedSites, told
from .problem import RelativePoses, RelativeTargets


def seen_from(
    hand: HandModel, asked: TargetedSites, parts: HandParts, wanted: RelativeTargets, poses: RelativePoses
) -> RelativeTargets:
    """The targets of these parts, transformed with the target above each from its measured pose to its solved pose.

    Dynamical 5.1: a pair of rotation targets determines the angles between them, whatever the angles above. A target
    without a rotation target above it stays as it is; below one without a position target it is only rotated.
    """
    if wanted.turns is None:
        return wanted
    placed = jacobians.pose_joints(hand, poses.root, poses.angles[:, :-1])
    tells = told(hand, asked)
    places, turns = wanted.places.copy(), wanted.turns.copy()
    for target in np.unique(parts.targets[parts.targets < len(asked.sites)]):
        nearer = np.all(tells <= tells[target], axis=1) & np.any(tells != tells[target], axis=1)
        above = np.flatnonzero(nearer & asked.turns).tolist()
        if not above:
            continue
        upper = max(above, key=lambda t: int(tells[t].sum()))
        solved = placed.rotations[:, wanted.joints[upper]]
        back = solved @ wanted.turns[:, upper].swapaxes(-1, -2)
        turns[:, target] = back @ wanted.turns[:, target]
        if asked.places[upper]:
            site = (solved @ wanted.offsets[upper])[..., 0] + placed.positions[:, wanted.joints[upper]]
            apart = wanted.places[:, target] - wanted.places[:, upper]
            places[:, target] = site + (back @ apart[..., None])[..., 0]
    return replace(wanted, places=places, turns=turns)
