"""The path of an open hand to where its straight approach begins: around the object, if that is in the way."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.kinematics import Pose, joint_frames
from . import contact_frames
from .approach import screw_path
from .candidates import Holder, Thing
from .grasp_planning import Hold
from .skin_samples import thinned

Floats = NDArray[np.float64]

CHECKED = 12
"""Least number of poses at which a path is checked."""
SPACED = 0.1
"""Hand lengths between the skin points that are checked."""
SIDES = 8
"""Number of paths around an object that are tried."""
ROOM = 0.6
"""Hand lengths of clearance on a path around an object."""


def route(holder: Holder, thing: Thing, angles: Floats, hold: Hold, steps: int) -> Floats:
    """Return wrist poses (N + 1, 4, 4) from the hand's present one, with angles (D,) rad, to the start of its approach.

    A screw motion, or two by a point beside the object if the skin would penetrate it. If all paths penetrate the
    object, the one with the least penetration.
    """
    best: Floats | None = None
    depth = -np.inf
    for way in _ways(holder, thing, hold, steps):
        clear = _clearance(holder, thing, angles, hold, way)
        if clear > depth:
            best, depth = way, clear
        if clear >= 0:
            break
    assert best is not None, "there is always the straight way"
    return best


def _ways(holder: Holder, thing: Thing, hold: Hold, steps: int) -> Iterator[Floats]:
    yield screw_path(holder.root, hold.before, steps)
    if steps < 2:
        return
    half = screw_path(holder.root, hold.before, 2)[1]
    low, high = thing.vertices.min(axis=0), thing.vertices.max(axis=0)
    middle, around = (
        (low + high) / 2,
        0.5 * float(np.linalg.norm(high - low)) + ROOM * contact_frames.length(holder.hand),
    )
    along = rot.unit_vector(hold.before[:3, 3] - holder.root[:3, 3])
    # First the side on which the direct path passes the middle.
    side = half[:3, 3] - middle
    side = rot.unit_vector(side - (side @ along) * along)
    if not side.any():
        side = rot.unit_vector(np.cross(along, np.eye(3)[np.abs(along).argmin()]))
    first = steps // 2
    for turn in sorted(2 * np.pi * np.arange(SIDES) / SIDES, key=lambda angle: -np.cos(angle)):
        beside = half.copy()
        beside[:3, 3] = middle + around * rot.rotate(rot.from_axis_angle(along, turn), side)
        there, on = screw_path(holder.root, beside, first), screw_path(beside, hold.before, steps - first)
        yield np.concatenate([there, on[1:]])


def _clearance(holder: Holder, thing: Thing, angles: Floats, hold: Hold, way: Floats) -> float:
    """Return the least distance (m) of the skin from the object on a path, negative inside; the hand opens on it."""
    fine = max(1, -(-CHECKED // (len(way) - 1)))
    pieces = [screw_path(start, end, fine)[:-1] for start, end in pairwise(way)]
    roots = np.concatenate([*pieces, way[-1:]])
    opening = angles + np.linspace(0.0, 1.0, len(roots))[:, None] * (hold.opened - angles)
    few = thinned(holder.flesh, SPACED * contact_frames.length(holder.hand))
    skin = few.moved(joint_frames(holder.hand, Pose(holder.hand, roots, opening)))
    return float(thing.thickened(skin.reshape(-1, 3)).min())
