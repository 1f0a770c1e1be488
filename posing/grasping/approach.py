"""The path of a hand to its grasp: translator and rotor in one motor, in steps. CGA-arm 7.5."""

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...solvers.cga import generated as g
from ...solvers.cga import versors
from ...solvers.cga.generated import Motor
from ...solvers.cga.objects import vector

Floats = NDArray[np.float64]

MIN_ROTATION_RAD = 1e-9
"""rad; smaller rotations count as zero, because their screw axis is undefined."""


def motor_of(motion: Floats) -> Motor[Floats]:
    """Return the motor T R of a rigid motion (4, 4). CGA-arm (7.9)."""
    rotation = versors.rotor(rot.from_matrix(motion[:3, :3]))
    return g.translator_rotor(versors.translator(vector(motion[:3, 3])), rotation)


def screw_path(start: Floats, end: Floats, steps: int) -> Floats:
    """Return frames (N + 1, 4, 4) from start to end, each (4, 4), in N equal parts of the screw motion between them.

    A screw motion rotates about a line and translates along it, both in proportion: the motor's logarithm is scaled.
    """
    motion = end @ np.linalg.inv(start)
    fractions = np.linspace(0.0, 1.0, steps + 1)
    path: Floats = _fractions_of(motor_of(motion), fractions) @ start
    path[0], path[-1] = start, end
    return path


def _fractions_of(motor: Motor[Floats], fractions: Floats) -> Floats:
    """Return the motions (N, 4, 4) of fractions (N,) of a motor.

    A motor is exp(-(θ/2) L) about a unit line L = l + m n∞ with a pitch: R = cos θ/2 - l sin θ/2. Of its translation t,
    the component along the axis scales with the fraction; the rest results from the axis not passing the origin.
    """
    quaternion = np.array([motor.s, motor.e23, motor.e31, motor.e12], float)
    sign = -1.0 if quaternion[0] < 0 else 1.0
    sine = float(np.linalg.norm(quaternion[1:]))
    angle = 2.0 * np.arctan2(sine, sign * quaternion[0])
    translation = versors.matrix(motor)[:3, 3]
    result = np.tile(np.eye(4), (len(fractions), 1, 1))
    if angle < MIN_ROTATION_RAD:
        result[:, :3, 3] = fractions[:, None] * translation
        return result
    axis = -sign * quaternion[1:] / sine
    along = float(axis @ translation)
    across = translation - along * axis
    # The axis passes through the fixed point c: (1 - R) c = across.
    fixed_point = 0.5 * (across + np.cross(axis, across) / np.tan(0.5 * angle))
    rotations = rot.to_matrix(rot.from_axis_angle(axis, fractions * angle))
    result[:, :3, :3] = rotations
    result[:, :3, 3] = fixed_point - rotations @ fixed_point + fractions[:, None] * along * axis
    return result
