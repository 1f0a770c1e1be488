"""What a sub-chain between two measured turns is asked for: where its target is as seen from the one above it."""

from dataclasses import replace

import numpy as np

from ...hand import jacobians
from ...hand.model import HandModel
from .parts import HandParts, TargetedSites, told
from .problem import RelativePoses, RelativeTargets


def seen_from(
    hand: HandModel, asked: TargetedSites, parts: HandParts, wanted: RelativeTargets, poses: RelativePoses
) -> RelativeTargets:
    """The targets of these parts, moved along with those above them from where these are measured to where they are.

    Dynamical, section 5.1: a pair of measured turns tells the angles between them, whatever the angles above. A target
    without a measured turn above it stays where it is; one whose upper target has no measured place is only turned.
    """
    if wanted.turns is None:
        return wanted
    placed = jacobians.place(hand, poses.root, poses.angles[:, :-1])
    tells = told(hand, asked)
    places, turns = wanted.places.copy(), wanted.turns.copy()
    for target in np.unique(parts.targets[parts.targets < len(asked.sites)]):
        nearer = np.all(tells <= tells[target], axis=1) & np.any(tells != tells[target], axis=1)
        above = np.flatnonzero(nearer & asked.turns).tolist()
        if not above:
            continue
        upper = max(above, key=lambda t: int(tells[t].sum()))
        solved = placed.turns[:, wanted.joints[upper]]
        back = solved @ wanted.turns[:, upper].swapaxes(-1, -2)
        turns[:, target] = back @ wanted.turns[:, target]
        if asked.places[upper]:
            site = (solved @ wanted.offsets[upper])[..., 0] + placed.places[:, wanted.joints[upper]]
            apart = wanted.places[:, target] - wanted.places[:, upper]
            places[:, target] = site + (back @ apart[..., None])[..., 0]
    return replace(wanted, places=places, turns=turns)
