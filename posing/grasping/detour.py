"""The path of an open hand to the start of its straight approach: around the object, if that obstructs it."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.kinematics import Pose, joint_frames
from . import contact_frames
from .approach import screw_path
from .candidates import GraspedObject, GraspingHand
from .grasp_planning import Grasp
from .skin_samples import thinned

Floats = NDArray[np.float64]

MIN_CHECKED_POSES = 12
"""Minimum number of poses at which a path is checked."""
SKIN_SPACING = 0.1
"""Hand lengths between the skin points that are checked."""
DETOUR_COUNT = 8
"""Number of paths around an object that are tried."""
CLEARANCE = 0.6
"""Hand lengths of clearance on a path around an object."""


def route(holder: GraspingHand, thing: GraspedObject, angles: Floats, hold: Grasp, steps: int) -> Floats:
    """Return wrist poses (N + 1, 4, 4) from the hand's current one, with angles (D,) rad, to the start of its approach.

    The path is a screw motion, or two screw motions through a point beside the object if the skin would penetrate it.
    If all paths penetrate the object, it is the one with the least penetration.
    """
    best: Floats | None = None
    best_clearance = -np.inf
    for path in _paths(holder, thing, hold, steps):
        clearance = _clearance(holder, thing, angles, hold, path)
        if clearance > best_clearance:
            best, best_clearance = path, clearance
        if clearance >= 0:
            break
    assert best is not None, "there is always the direct path"
    return best


def _paths(holder: GraspingHand, thing: GraspedObject, hold: Grasp, steps: int) -> Iterator[Floats]:
    yield screw_path(holder.root, hold.approach_start, steps)
    if steps < 2:
        return
    midpoint = screw_path(holder.root, hold.approach_start, 2)[1]
    low, high = thing.vertices.min(axis=0), thing.vertices.max(axis=0)
    middle, radius = (
        (low + high) / 2,
        0.5 * float(np.linalg.norm(high - low)) + CLEARANCE * contact_frames.hand_length(holder.hand),
    )
    direction = rot.unit_vector(hold.approach_start[:3, 3] - holder.root[:3, 3])
    # Try the side first on which the direct path passes the object's centre.
    side = midpoint[:3, 3] - middle
    side = rot.unit_vector(side - (side @ direction) * direction)
    if not side.any():
        side = rot.perpendicular(direction)
    first = steps // 2
    for roll in sorted(2 * np.pi * np.arange(DETOUR_COUNT) / DETOUR_COUNT, key=lambda angle: -np.cos(angle)):
        beside = midpoint.copy()
        beside[:3, 3] = middle + radius * rot.rotate(rot.from_axis_angle(direction, roll), side)
        to_detour, from_detour = (
            screw_path(holder.root, beside, first),
            screw_path(beside, hold.approach_start, steps - first),
        )
        yield np.concatenate([to_detour, from_detour[1:]])


def _clearance(holder: GraspingHand, thing: GraspedObject, angles: Floats, hold: Grasp, path: Floats) -> float:
    """Return the minimum distance (m) of the skin from the object on a path, negative inside; the hand opens along the
    path."""
    subdivisions = max(1, -(-MIN_CHECKED_POSES // (len(path) - 1)))
    pieces = [screw_path(start, end, subdivisions)[:-1] for start, end in pairwise(path)]
    roots = np.concatenate([*pieces, path[-1:]])
    opening = angles + np.linspace(0.0, 1.0, len(roots))[:, None] * (hold.opened - angles)
    skin_sample = thinned(holder.skin, SKIN_SPACING * contact_frames.hand_length(holder.hand))
    skin = skin_sample.posed(joint_frames(holder.hand, Pose(holder.hand, roots, opening)))
    return float(thing.thickened(skin.reshape(-1, 3)).min())
