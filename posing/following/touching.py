"""Touching a point with the end of a chain: the three cases of CGA-arm 5.1, and those that the paper leaves out.

A chain can move the joint before its last bone, p_2, to any position between two distances from its base p_0; the last
bone, of length d_3, rotates freely about p_2. For the end to be on the target p_t, p_2 must be on the sphere S_t of
radius d_3 about p_t, and within the bounding sphere S_e about p_0:

    S_t = p_t - ½ d_3² n∞,    S_e = p_0 - ½ most² n∞,    z_s = S_e ∧ S_t

    inside   S_t lies in S_e: all of its points are solutions
    circle   they intersect: the part of S_t on one side of the circle z_s is solutions
    tangent  they touch: one solution, the chain is straight
    outside  S_t lies beyond: no solution, the chain points straight at the target
    near     the target is too near to the base: the chain cannot fold further, or its last bone is too long

Of many solutions, the one nearest to the desired p_2 is taken; the paper takes the upper point of S_t.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import SolverError
from ...hand import rotations as rot
from ...solvers.cga import generated as g
from ...solvers.cga.generated import Circle, Sphere, Vector
from ...solvers.cga.nearest_points import nearest_on_circle, nearest_on_sphere
from ...solvers.cga.objects import circle_parameters, positions, select, unit, vector
from ...solvers.cga.versors import quaternion, rotor_between

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Case = Literal["inside", "circle", "tangent", "outside", "near", "unknown"]
"""unknown: the target is not finite."""
REACHED: frozenset[Case] = frozenset(("inside", "circle", "tangent"))


@dataclass(frozen=True, slots=True)
class Shell:
    """The distances from a chain's base at which the joint before its last bone can be.

    Raises SolverError unless 0 <= least <= most < infinity.
    """

    least: float
    most: float
    """m"""

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most < np.inf:
            raise SolverError(
                f"the reach is from {self.least} to {self.most} m, expected an increasing range of at least 0"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Spheres:
    """The algebra's objects for N targets, relative to the chain's base."""

    target: Sphere[Floats]
    """S_t"""
    bound: Sphere[Floats]
    """S_e"""
    hollow: Sphere[Floats]
    """Sphere inside which the chain cannot fold."""
    outer: Circle[Floats]
    """z_s = S_e ∧ S_t"""
    inner: Circle[Floats]
    """The intersection of the hollow and S_t."""


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """Results for N targets."""

    cases: tuple[Case, ...]
    """(N,)"""
    before: Floats
    """(N, 3) m, p_2; NaN where the target is not finite."""
    end: Floats
    """(N, 3) m, positions of the chain's end: the target or the nearest point to it."""
    distances: Floats
    """(N,) m, distances of the end from the target."""


def spheres(shell: Shell, last: Floats, goal: Floats) -> Spheres:
    """Return the spheres and circles for last bones of lengths (N,) m and targets (N, 3) m relative to the base."""
    nothing, size = vector(np.zeros_like(goal)), np.ones(len(goal))
    target = g.sphere(vector(goal), last)
    bound, hollow = g.sphere(nothing, shell.most * size), g.sphere(nothing, shell.least * size)
    return Spheres(target, bound, hollow, g.meet_sphere_sphere(bound, target), g.meet_sphere_sphere(hollow, target))


def touch(shell: Shell, last: Floats | float, base: Floats, goal: Floats, desired: Floats) -> Touch:
    """Return the positions of a chain's end, and of the joint before its last bone.

    last: (N,) m, the length of the last bone, which may be 0. base: (3,) or (N, 3) m. goal: (N, 3) m, the targets.
    desired: (N, 3) m, desired positions of p_2.
    """
    finite = np.all(np.isfinite(goal), axis=-1) & np.all(np.isfinite(desired), axis=-1)
    target = np.where(finite[:, None], goal - base, 0.0)
    desired_joint = np.where(finite[:, None], desired - base, 0.0)
    length: Floats = np.broadcast_to(np.asarray(last, float), len(target))
    case, joint = _joint(shell, spheres(shell, length, target), length, vector(target), vector(desired_joint))
    end = nearest_on_sphere(joint, length, vector(target))
    reached = np.isin(case, list(REACHED))
    ends = np.where(reached[:, None], target, positions(end))
    cases: list[Case] = np.where(finite, case, "unknown").tolist()
    nowhere = np.where(finite, 0.0, np.nan)[:, None]
    missed = np.linalg.norm(ends - target, axis=-1) + nowhere[:, 0]
    return Touch(tuple(cases), positions(joint) + base + nowhere, ends + base + nowhere, missed)


def _joint(
    shell: Shell, objects: Spheres, last: Floats, goal: Vector[Floats], desired: Vector[Floats]
) -> tuple[NDArray[np.str_], Vector[Floats]]:
    """Return the case of each target, and p_2 relative to the base."""
    free = nearest_on_sphere(goal, last, desired)
    distances = np.linalg.norm(positions(free), axis=-1)
    bound_square, bound_apart = _relation(objects.bound, objects.target, objects.outer)
    hollow_square, hollow_apart = _relation(objects.hollow, objects.target, objects.inner)
    beyond = bound_apart & (bound_square < 0)
    swallowed = ~bound_apart & (bound_square < 0) & (last > shell.most)
    hidden = ~hollow_apart & (hollow_square < 0) & (last <= shell.least)
    # If S_t touches the bounding sphere from inside, there are many solutions; if the bounding sphere is inside, one.
    touching = (bound_square == 0) & (bound_apart | (last > shell.most))
    case = np.select(
        [beyond, swallowed | hidden, touching, bound_square > 0], ["outside", "near", "tangent", "circle"], "inside"
    )
    directions = positions(unit(select(1.0 * (np.linalg.norm(positions(goal), axis=-1) > 0), goal, desired), _UP))
    joint = np.select(
        [
            (beyond | swallowed)[:, None],
            hidden[:, None],
            (distances > shell.most)[:, None],
            (distances < shell.least)[:, None],
        ],
        [
            np.where(swallowed, -shell.most, shell.most)[:, None] * directions,
            shell.least * directions,
            positions(nearest_on_circle(objects.outer, desired)),
            positions(nearest_on_circle(objects.inner, desired)),
        ],
        positions(free),
    )
    return case, vector(joint)


_UP = Vector(0.0, 0.0, 1.0)


def _relation(first: Sphere[Floats], second: Sphere[Floats], circle: Circle[Floats]) -> tuple[Floats, Bools]:
    """Return the sign of C², and whether S · S' < 0: disjoint spheres are then apart, else one is inside the other."""
    return circle_parameters(circle).case, g.dot_sphere_sphere(first, second) < 0


def aimed_frames(frames: Floats, tip: Floats, found: Touch) -> Floats:
    """Return frames (N, 4, 4) of the joint before the last bone, at p_2 and rotated minimally to put the end in place.

    frames: (N, 4, 4) desired. tip: (3,) or (N, 3) m, the end in these. They are not rotated for a last bone of no
    length or an unknown target.
    """
    pointing = (frames[:, :3, :3] @ np.broadcast_to(tip, (len(frames), 3))[..., None])[..., 0]
    towards_end = np.where(np.isfinite(found.end), found.end - found.before, pointing)
    rotors = rotor_between(unit(vector(pointing), _UP), unit(vector(towards_end), _UP))
    result = frames.copy()
    result[:, :3, :3] = rot.to_matrix(quaternion(rotors)) @ frames[:, :3, :3]
    result[:, :3, 3] = np.where(np.isfinite(found.before), found.before, frames[:, :3, 3])
    return result
