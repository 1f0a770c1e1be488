"""An arm in the algebra: the possible elbows, and whether the hand's end is within reach. CGA-arm 4.1 and 5.1."""

import numpy as np
from numpy.typing import NDArray

from ...hand.rotations import unit_vector
from ...solvers import arm as arms
from ...solvers.arm.elbow_circle import elbow_direction, elbow_objects
from ..following.touching import Shell, spheres, touch
from .digit_shapes import CASES
from .shapes import Shape, Space, Trace, first_of

Floats = NDArray[np.float64]


def trace_arm(arm: arms.Arm, shoulder: Floats, elbow: Floats, wrist: Floats, end: Floats) -> Trace:
    """Return the shapes by which the solver finds the elbow of an arm with these joints, each (3,) m in the world.

    The elbow itself serves as the pole, so that the solution is where it is.
    """
    space = Space(np.eye(4))
    space.matrix[:3, 3] = shoulder
    wrist_offset, last = wrist - shoulder, float(np.linalg.norm(end - wrist))
    direction = unit_vector(wrist_offset)
    if not np.any(direction):
        direction = np.array([0.0, 1.0, 0.0])
    side = elbow_direction(arm, (elbow - shoulder)[None], direction[None])
    solution = elbow_objects(arm, wrist_offset[None], direction[None], side)
    shell = Shell(*arms.reach_range(arm))
    goal = (end - shoulder)[None]
    reach_spheres = spheres(shell, np.array([last]), goal)
    case = touch(shell, last, np.zeros(3), goal, wrist_offset[None]).cases[0]
    ends = [np.array([float(x[0]) for x in point]) for point in solution.ends[:2]]
    nearer, farther = sorted(ends, key=lambda point: float(np.linalg.norm(point - (elbow - shoulder))))
    plane = first_of(solution.plane)
    shapes: list[Shape | None] = [
        space.point("P₀", 1, np.zeros(3)),
        space.point("T", 1, goal[0]),
        space.sphere("Sₜ", 1, first_of(reach_spheres.target)),
        space.sphere("Sₑ", 1, first_of(reach_spheres.bound)),
        space.circle("z", 1, first_of(reach_spheres.outer)),
        Shape("chain", "", 2, elbow, points=np.stack([shoulder, elbow, wrist, end])),
        space.sphere("S₁", 2, first_of(solution.upper)),
        space.sphere("S₂", 2, first_of(solution.fore)),
        space.circle("C", 2, first_of(solution.circle)),
        space.plane("π", 2, wrist_offset / 2, unit_vector(np.array([plane.e1, plane.e2, plane.e3])), 0.5 * arm.upper),
        space.pair("B", 2, (nearer, farther)),
        space.point("P₁", 2, elbow - shoulder),
        space.point("P₂", 2, wrist_offset),
    ]
    steps = (
        f"Reach: {CASES[case]}",
        "Elbow: the spheres of upper arm and forearm meet in C, and C meets the swivel plane π in the pair B",
    )
    return Trace("arm", steps, tuple(shape for shape in shapes if shape))
