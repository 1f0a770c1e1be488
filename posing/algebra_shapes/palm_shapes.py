"""The palm in the algebra: its plane through three of its joints, and the knuckles found on it. FABRIK-CGA 3.4.1."""

import math

import numpy as np
from numpy.typing import NDArray

from ...hand import kinematics
from ...hand.joints import CHAIN_JOINTS, DIGITS
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...solvers.cga import generated as g
from ...solvers.cga.generated import Plane, Vector
from ...solvers.cga.objects import pair_points
from ...solvers.conformal.sphere_intersection import intersect_spheres
from ...solvers.conformal.three_marker_palm import palm_plane, three_marker_palm
from .shapes import Shape, Space, Trace, subscript, vector_of

Floats = NDArray[np.float64]

MARKERS = ("index-finger-phalanx-proximal", "pinky-finger-phalanx-proximal", "wrist")
"""p, q and r as in the paper, on two knuckles and the wrist."""
STEPS = (
    "Plane: Φ goes through P, Q and R, two knuckles and the wrist (3.2)",
    "Knuckles: the spheres about two of P, Q and R meet in a circle, and that meets the knuckle's plane in a pair",
)


def trace_palm(hand: HandModel, pose: Pose) -> Trace:
    """Return the shapes by which the solver finds the knuckles of a hand in a pose (one frame) from three palm points.

    Raises HandError for a hand without these joints.
    """
    frames = kinematics.joint_frames(hand, pose)[0]
    from_world = np.linalg.inv(pose.root[0])
    positions = {
        joint: from_world[:3, :3] @ frame[:3, 3] + from_world[:3, 3]
        for joint, frame in zip(hand.joints, frames, strict=True)
    }
    three = [positions[joint] for joint in MARKERS]
    knuckles = [positions[CHAIN_JOINTS[digit][0]] for digit in DIGITS[1:]]
    p, q, r = (vector_of(point) for point in three)
    plane, determined = palm_plane(p, q, r)
    space = Space(pose.root[0])
    middle = np.mean(three, axis=0)
    size = 0.7 * max(math.dist(middle, point) for point in three)
    shapes = [space.point(name, 1, point) for name, point in zip("PQR", three, strict=True)]
    if not determined:
        return Trace("palm", STEPS, tuple(shapes))
    normal = np.array([plane.e1, plane.e2, plane.e3])
    shapes.append(space.plane("Φ", 1, middle, normal, size))
    trio = three_marker_palm([_floats(point) for point in three], [_floats(point) for point in knuckles], 1.0)
    solved = trio.find_joints((p, q, r), plane)
    for number, (joint, point) in enumerate(zip(trio.joints, solved, strict=True)):
        level = Plane(plane.e1, plane.e2, plane.e3, plane.ei + joint.offset[2])
        first, second = ((p, q, r)[marker] for marker in joint.markers)
        shapes += _knuckle(space, number, (first, second), joint.lengths, level)
        shapes.append(space.point(f"F{subscript(number + 2)}", 2, np.array(point)))
    return Trace("palm", STEPS, tuple(shapes))


def _knuckle(
    space: Space,
    number: int,
    markers: tuple[Vector[float], Vector[float]],
    lengths: tuple[float, float],
    level: Plane[float],
) -> list[Shape]:
    """Return the spheres about two markers, their circle C (3.5), and where it meets the knuckle's plane, B (3.6)."""
    circle, disjoint = intersect_spheres(markers, lengths)
    spheres = [g.sphere(marker, length) for marker, length in zip(markers, lengths, strict=True)]
    shapes = [space.sphere("", 2, sphere, faint=True) for sphere in spheres]
    drawn_circle = None if disjoint else space.circle(f"C{subscript(number + 2)}", 2, circle)
    if drawn_circle is None:
        return shapes
    ends = pair_points(g.meet_circle_plane(circle, level))
    pairs = [space.pair(f"B{subscript(number + 2)}", 2, (ends.first, ends.second))] if ends.case > 0 else []
    return [*shapes, drawn_circle, *pairs]


def _floats(position: Floats) -> tuple[float, float, float]:
    x, y, z = (float(number) for number in position)
    return x, y, z
