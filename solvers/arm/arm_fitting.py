"""Build an Arm from the rest positions of a rig's shoulder, elbow and wrist, in any rest pose."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ..tree import SkeletonError, SwingTwistLimit
from .arm_model import FREE, Arm

Floats = NDArray[np.float64]

STRAIGHT_SINE = np.sin(np.deg2rad(2.0))
"""Sine of the rest bend below which an elbow does not define its axis."""


@dataclass(frozen=True, slots=True, eq=False)
class RestArm:
    """An arm and its frames at the rig's rest pose."""

    arm: Arm
    base: Floats
    """(4, 4) T_rig_shoulder, the shoulder frame for `solve` while the rig's torso is at rest."""
    rest: Floats
    """(3, 4, 4) T_rig_upper, T_rig_forearm and T_rig_wrist, as `frames` returns them for the rest pose."""


def from_rest(
    positions: Floats,
    hand: Floats,
    back: Floats,
    pole: Floats,
    *,
    shoulder: SwingTwistLimit = FREE,
    elbow: tuple[float, float] = (0.0, np.deg2rad(150.0)),
    wrist: SwingTwistLimit = FREE,
) -> RestArm:
    """Build an arm from its rest pose. All inputs are in the rig's space.

    Args:
        positions: (3, 3) m, shoulder, elbow and wrist.
        hand: (3, 3) the hand's rotation.
        back: (3,) the direction in which the elbow points at rest, used if the arm is almost straight.
        pole: (3,) the direction in which the elbow points by default when it is posed.
        shoulder, elbow, wrist: limits, see Arm.

    Returns:
        The arm and its rest frames.

    Raises:
        SkeletonError: a bone has no length, or the arm is straight and parallel to `back`.
    """
    upper_vector, forearm_vector = positions[1] - positions[0], positions[2] - positions[1]
    lengths = float(np.linalg.norm(upper_vector)), float(np.linalg.norm(forearm_vector))
    if not all(length > 0 for length in lengths):
        raise SkeletonError(f"arm: upper arm and forearm are {lengths[0]:g} and {lengths[1]:g} m, expected more than 0")
    upper_direction, fore_direction = upper_vector / lengths[0], forearm_vector / lengths[1]
    bend = fore_direction - (fore_direction @ upper_direction) * upper_direction
    if np.linalg.norm(bend) < STRAIGHT_SINE:
        bend = (back @ upper_direction) * upper_direction - back
        if not np.linalg.norm(bend) > 1e-6 * np.linalg.norm(back):
            raise SkeletonError("arm: it is straight and parallel to `back`, expected another direction")
    upper_frame = rot.frame_from_yz(upper_direction, bend)
    # The forearm's X axis is as close to the elbow's axis as its direction, slightly out of the plane, allows.
    forearm = rot.frame_from_yz(fore_direction, np.cross(upper_frame[:, 0], fore_direction))
    rest_frames = np.tile(np.eye(4), (3, 1, 1))
    rest_frames[:, :3, :3] = upper_frame, forearm, hand
    rest_frames[:, :3, 3] = positions
    w, x, y, z = rot.from_matrix(forearm.T @ hand).tolist()
    pole_x, pole_y, pole_z = (upper_frame.T @ pole).tolist()
    arm = Arm(*lengths, shoulder, elbow, wrist, (w, x, y, z), (pole_x, pole_y, pole_z))
    return RestArm(arm, rest_frames[0], rest_frames)
