"""The path of a hand to its grasp: translator and rotor in one motor, in steps. CGA-arm 7.5."""

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...solvers.cga import generated as g
from ...solvers.cga import versors
from ...solvers.cga.generated import Motor
from ...solvers.cga.objects import vector

Floats = NDArray[np.float64]

STRAIGHT = 1e-9
"""rad; smaller rotations count as zero, because their screw axis is undefined."""


def motor_of(move: Floats) -> Motor[Floats]:
    """Return the motor T R of a rigid motion (4, 4). CGA-arm (7.9)."""
    turn = versors.rotor(rot.from_matrix(move[:3, :3]))
    return g.translator_rotor(versors.translator(vector(move[:3, 3])), turn)


def screw_path(start: Floats, end: Floats, steps: int) -> Floats:
    """Return frames (N + 1, 4, 4) from start to end, each (4, 4), in N equal parts of the screw motion between them.

    A screw motion rotates about a line and translates along it, both in proportion: the motor's logarithm is scaled.
    """
    move = end @ np.linalg.inv(start)
    parts = np.linspace(0.0, 1.0, steps + 1)
    path: Floats = _parts(motor_of(move), parts) @ start
    path[0], path[-1] = start, end
    return path


def _parts(whole: Motor[Floats], parts: Floats) -> Floats:
    """Return the motions (N, 4, 4) of fractions (N,) of a motor.

    A motor is exp(-(θ/2) L) about a unit line L = l + m n∞ with a pitch: R = cos θ/2 - l sin θ/2. Of its translation t,
    the component along the axis scales with the fraction; the rest results from the axis not passing the origin.
    """
    turn = np.array([whole.s, whole.e23, whole.e31, whole.e12], float)
    sign = -1.0 if turn[0] < 0 else 1.0
    sine = float(np.linalg.norm(turn[1:]))
    angle = 2.0 * np.arctan2(sine, sign * turn[0])
    way = versors.matrix(whole)[:3, 3]
    result = np.tile(np.eye(4), (len(parts), 1, 1))
    if angle < STRAIGHT:
        result[:, :3, 3] = parts[:, None] * way
        return result
    axis = -sign * turn[1:] / sine
    along = float(axis @ way)
    across = way - along * axis
    # The axis goes through the fixed point c: (1 - R) c = across.
    middle = 0.5 * (across + np.cross(axis, across) / np.tan(0.5 * angle))
    turns = rot.to_matrix(rot.from_axis_angle(axis, parts * angle))
    result[:, :3, :3] = turns
    result[:, :3, 3] = middle - turns @ middle + parts[:, None] * along * axis
    return result
