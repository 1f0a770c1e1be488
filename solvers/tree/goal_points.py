"""Goals as points on joints: a position goal is one point of a joint, an orientation goal three points on its axes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.rotations import to_matrix
from .goals import Goals
from .tree_skeleton import Skeleton

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PRIORITY_FACTOR = 1e4
"""Factor on the weights of pinned positions and closed loops."""
GOAL_GRID = 1e-10
"""Fraction of the reach to which goals are rounded."""
ORIENTATION_LEVER = 0.1
"""Distance of the three points of an orientation from their joint, as part of the reach. Each has half the weight,
because a small rotation moves two of them: a radian then counts as this fraction of the reach."""


@dataclass(frozen=True, slots=True, eq=False)
class GoalPoints:
    """S points on joints, those of loops last."""

    joints: Ints
    """(S,)"""
    offsets: Floats
    """(S, 3) m, in the joint's frame."""
    relative: Bools
    """(S,) whether a point belongs to an orientation: its goal is relative to the joint's position."""
    goals: Floats
    """(F, S, 3) m in the base's frame, or relative to the joint; zero where the weight is 0."""
    weights: Floats
    """(F, S) scaled so that the largest of a frame's goals is 1, as only their ratios count."""
    loops: int
    """Number of points that belong to loops."""


def goal_points(skeleton: Skeleton, goals: Goals) -> GoalPoints:
    """Convert all goals and loops to points."""
    frames, loops = len(goals), np.array(skeleton.loops, int).reshape(-1)
    lever = ORIENTATION_LEVER * skeleton.reach
    base_rotation, base_position = goals.root[:, :3, :3], goals.root[:, None, :3, 3]
    positions = np.where(goals.weights[..., None] > 0, goals.positions - base_position, 0.0) @ base_rotation
    orientations = np.where(goals.orientation_weights[..., None] > 0, goals.orientations, np.array([1.0, 0, 0, 0]))
    axes = (
        lever * np.swapaxes(to_matrix(orientations), -1, -2).reshape(frames, 3 * len(goals.oriented), 3) @ base_rotation
    )
    weights = np.concatenate([goals.weights, goals.orientation_weights], 1)
    largest = weights.max(1, initial=0.0)[:, None]
    scale = 1 / np.where(largest > 0, largest, 1.0)
    return GoalPoints(
        joints=np.concatenate([goals.joints, np.repeat(goals.oriented, 3), loops]).astype(int),
        offsets=np.concatenate(
            [goals.offsets, lever * np.tile(np.eye(3), (len(goals.oriented), 1)), np.zeros((len(loops), 3))]
        ),
        relative=np.repeat([False, True, False], [len(goals.joints), 3 * len(goals.oriented), len(loops)]),
        goals=_rounded(np.concatenate([positions, axes, np.zeros((frames, len(loops), 3))], 1), skeleton.reach),
        weights=np.concatenate(
            [
                scale * goals.weights * np.where(goals.pinned, PRIORITY_FACTOR, 1.0),
                scale * np.repeat(goals.orientation_weights, 3, axis=1) / 2,
                np.full((frames, len(loops)), PRIORITY_FACTOR),
            ],
            1,
        ),
        loops=len(loops),
    )


def _rounded(goals: Floats, reach: float) -> Floats:
    """Round goals to a grid far finer than the tolerance.

    The last bit of a goal may decide between two equally near solutions. Rounding in the base's frame makes the choice
    independent of the skeleton's pose in the world.
    """
    grain = GOAL_GRID * reach
    rounded: Floats = np.round(goals / grain) * grain
    return rounded
