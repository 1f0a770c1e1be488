"""Digits of a hand that a correction holds on a surface over a range of a take."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import Flesh
from ...hand.generators import Steps
from ...hand.joints import DIGITS
from ...hand.kinematics import Pose
from ...posing.grasping.skin_samples import SkinPoints
from .flesh_problem import FleshProblem
from .held_on_surface import HeldOnSurface, SkinBySurface
from .hold_in_range import HeldRange, hold_in_range
from .nearest_skin import min_distance

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LAST_BONE = 2
"""Index of the bone of a digit that ends at its tip."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldBySurface:
    """A hand that holds points of its skin on a surface, and how well."""

    motion: HeldRange
    off: float
    """m, maximum distance of the held points from their targets."""
    depth: float
    """m, maximum depth of the moving digits' skin in the surface while points are held."""


def touching_point(skin: SkinPoints, local: Floats, digit: str, direction: Floats) -> int:
    """Return the index of the skin point of a digit's last bone that is farthest in a direction (3,) of that bone's
    frame.

    local: (V, 3) m, the points in the frames of their bones.
    """
    rows = np.flatnonzero((skin.digit == DIGITS.index(digit)) & (skin.link == LAST_BONE))
    return int(rows[(local[rows] @ direction).argmax()])


def hold_on_surface(
    pose: Pose,
    times: Floats,
    skin_by_surface: SkinBySurface,
    flesh: Flesh,
    free: Ints,
    *,
    pads: Ints,
    positions: Floats,
    full: Bools,
    continues: tuple[bool, bool],
) -> Steps[HeldBySurface]:
    """Return how a hand holds points of its skin on a surface in a range of frames, and keeps its digits out of it.

    Args:
        pose: the F frames of the range, with the wrist at the origin. times: (F,) s. skin_by_surface: the hand's skin
            and the surface. flesh: flesh of the hand. free: the angles that may change, as in hand.jacobians. pads:
            (P,) indices of the held points of the skin. positions: (P, 3) m, their positions on the surface. full: (F,)
            whether a frame is between the blends. continues: whether the take has frames before and after the range.
    """

    def hold_in(first: int, last: int) -> HeldOnSurface:
        return HeldOnSurface(skin_by_surface, pads, positions, first, last, (first, len(pose) - 1 - last))

    problem = FleshProblem(pose.hand, flesh, free)
    motion = yield from hold_in_range(pose, times, problem, hold_in, full=full, continues=continues)
    assert motion is not None
    rows = np.flatnonzero(motion.rows.mask(len(pose)))
    _, points = skin_by_surface.posed(rows, motion.pose.angles[rows])
    error = np.linalg.norm(points[:, pads] - positions, axis=-1).max(initial=0.0)
    return HeldBySurface(motion, float(error), max(-min_distance(skin_by_surface.surface, points), 0.0))
