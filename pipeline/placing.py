"""Mirror and move solved hands in the scene."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..hand import mirror, similarity
from .take import SolvedHand

Floats = NDArray[np.float64]


def mirror_hand(solved: SolvedHand) -> SolvedHand:
    """Mirror a solved hand into one of the other side. Angles stay the same, and so do limits and errors."""
    hand = mirror.model(solved.hand)
    return replace(
        solved,
        side=hand.side,
        hand=hand,
        proportions=solved.proportions.mirrored(),
        targets=mirror.targets(solved.targets),
        smoothed_targets=mirror.targets(solved.smoothed_targets),
        pose=mirror.pose(solved.pose, hand),
    )


def move_hand(solved: SolvedHand, matrix: Floats) -> SolvedHand:
    """Move a solved hand by a similarity (4, 4). Angles stay the same; lengths and errors are scaled."""
    factor, _ = similarity.factor_and_rotation(matrix)
    hand = similarity.model(solved.hand, factor)
    return replace(
        solved,
        hand=hand,
        proportions=solved.proportions.scaled(factor),
        targets=similarity.targets(solved.targets, matrix),
        smoothed_targets=similarity.targets(solved.smoothed_targets, matrix),
        pose=similarity.pose(solved.pose, hand, matrix),
    )
