"""An Arm from where a rig's shoulder, elbow and wrist are at rest, whichever way it was modelled."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ..tree import SkeletonError, SwingTwistLimit
from .arm_model import FREE, Arm

Floats = NDArray[np.float64]

STRAIGHT = np.sin(np.deg2rad(2.0))
"""An elbow bent by less at rest says nothing of its axis."""


@dataclass(frozen=True, slots=True, eq=False)
class RestArm:
    """An arm of a rig at rest."""

    arm: Arm
    base: Floats
    """(4, 4) T_rig_shoulder: the frame that `solve` takes, before anything carries it."""
    rest: Floats
    """(3, 4, 4) T_rig_upper, T_rig_forearm and T_rig_wrist: the frames that `frames` gives, at the rig's rest."""


def from_rest(
    places: Floats,
    hand: Floats,
    back: Floats,
    pole: Floats,
    *,
    shoulder: SwingTwistLimit = FREE,
    elbow: tuple[float, float] = (0.0, np.deg2rad(150.0)),
    wrist: SwingTwistLimit = FREE,
) -> RestArm:
    """The arm of shoulder, elbow and wrist at places (3, 3) m, and a hand turned by (3, 3); all in the rig's space.

    back (3,): where the elbow points at rest if it is not bent enough to tell. pole (3,): where it shall point when it
    is posed. Limits as Arm's. Raises SkeletonError for bones without length, and for a straight arm along its back.
    """
    upper, fore = places[1] - places[0], places[2] - places[1]
    lengths = float(np.linalg.norm(upper)), float(np.linalg.norm(fore))
    if not all(length > 0 for length in lengths):
        raise SkeletonError(f"arm: upper arm and forearm are {lengths[0]:g} and {lengths[1]:g} m, expected more than 0")
    along, onwards = upper / lengths[0], fore / lengths[1]
    bend = onwards - (onwards @ along) * along
    if np.linalg.norm(bend) < STRAIGHT:
        bend = (back @ along) * along - back
        if not np.linalg.norm(bend) > 1e-6 * np.linalg.norm(back):
            raise SkeletonError("arm: it is straight and its back is along it, expected a back to one side")
    turned = rot.basis(along, bend)
    # The forearm's X is the elbow's axis as nearly as a forearm lets that is bent a little out of the plane.
    forearm = rot.basis(onwards, np.cross(turned[:, 0], onwards))
    rest = np.tile(np.eye(4), (3, 1, 1))
    rest[:, :3, :3] = turned, forearm, hand
    rest[:, :3, 3] = places
    w, x, y, z = rot.from_matrix(forearm.T @ hand).tolist()
    pole_x, pole_y, pole_z = (turned.T @ pole).tolist()
    arm = Arm(*lengths, shoulder, elbow, wrist, (w, x, y, z), (pole_x, pole_y, pole_z))
    return RestArm(arm, rest[0], rest)
