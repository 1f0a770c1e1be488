"""Touching a point with the end of a chain: the three cases of CGA-arm 5.1, and those that the paper leaves out.

A chain brings the joint before its last bone, p_2, anywhere between two distances from its base p_0; the last bone, of
length d_3, turns freely about p_2. To be on the target p_t with its end, p_2 must be on the sphere S_t of radius d_3
about it, and within the bounding sphere S_e about p_0:

    S_t = p_t - ½ d_3² n∞,    S_e = p_0 - ½ most² n∞,    z_s = S_e ∧ S_t

    inside   S_t lies in S_e: all of it are solutions
    circle   they meet: the part of S_t on one side of the circle z_s
    tangent  they touch: one solution, the chain is straight
    outside  S_t lies beyond: none, and the chain is straight towards the target
    near     the target is nearer to the base than a chain that cannot fold further, or a longer last bone, lets its end

Of many solutions it is the one nearest to where p_2 is wanted, where the paper takes the upper point of S_t.
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
from ...solvers.cga.objects import positions, round_of, select, unit, vector
from ...solvers.cga.versors import quaternion, rotor_between

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Case = Literal["inside", "circle", "tangent", "outside", "near", "unknown"]
"""unknown: of a target that is not finite."""
REACHED: frozenset[Case] = frozenset(("inside", "circle", "tangent"))


@dataclass(frozen=True, slots=True)
class Shell:
    """How far from its base a chain brings the joint before its last bone.

    Raises SolverError for what is not 0 <= least <= most, finite.
    """

    least: float
    most: float
    """m"""

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most < np.inf:
            raise SolverError(f"reach: from {self.least} to {self.most} m, expected less to more, from 0 on")


@dataclass(frozen=True, slots=True, eq=False)
class Spheres:
    """The algebra's objects of N targets, places counted from the chain's base."""

    target: Sphere[Floats]
    """S_t"""
    bound: Sphere[Floats]
    """S_e"""
    hollow: Sphere[Floats]
    """Within which the chain does not fold."""
    outer: Circle[Floats]
    """z_s = S_e ∧ S_t"""
    inner: Circle[Floats]
    """Where the hollow meets S_t."""


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """What came of N targets."""

    cases: tuple[Case, ...]
    """(N,)"""
    before: Floats
    """(N, 3) m, p_2; NaN where the target is not finite."""
    end: Floats
    """(N, 3) m, where the chain's end comes to: the target, or the nearest to it."""
    missed: Floats
    """(N,) m, from there to the target."""


def spheres(shell: Shell, last: Floats, goal: Floats) -> Spheres:
    """Of a last bone of lengths (N,) m and targets (N, 3) m from the base."""
    nothing, size = vector(np.zeros_like(goal)), np.ones(len(goal))
    target = g.sphere(vector(goal), last)
    bound, hollow = g.sphere(nothing, shell.most * size), g.sphere(nothing, shell.least * size)
    return Spheres(target, bound, hollow, g.meet_sphere_sphere(bound, target), g.meet_sphere_sphere(hollow, target))


def touch(shell: Shell, last: Floats | float, base: Floats, goal: Floats, wanted: Floats) -> Touch:
    """Where a chain brings its end, and the joint before its last bone.

    last: (N,) m, the length of the last bone; base: (3,) or (N, 3) m, goal and wanted: (N, 3) m, the target and where
    p_2 shall be if it may. Any length, also 0, and any place are good.
    """
    known = np.all(np.isfinite(goal), axis=-1) & np.all(np.isfinite(wanted), axis=-1)
    out = np.where(known[:, None], goal - base, 0.0)
    before = np.where(known[:, None], wanted - base, 0.0)
    length: Floats = np.broadcast_to(np.asarray(last, float), len(out))
    case, joint = _joint(shell, spheres(shell, length, out), length, vector(out), vector(before))
    end = nearest_on_sphere(joint, length, vector(out))
    reached = np.isin(case, list(REACHED))
    ends = np.where(reached[:, None], out, positions(end))
    cases: list[Case] = np.where(known, case, "unknown").tolist()
    nowhere = np.where(known, 0.0, np.nan)[:, None]
    missed = np.linalg.norm(ends - out, axis=-1) + nowhere[:, 0]
    return Touch(tuple(cases), positions(joint) + base + nowhere, ends + base + nowhere, missed)


def _joint(
    shell: Shell, of: Spheres, last: Floats, goal: Vector[Floats], wanted: Vector[Floats]
) -> tuple[NDArray[np.str_], Vector[Floats]]:
    """The case of each target, and p_2 from the base."""
    free = nearest_on_sphere(goal, last, wanted)
    far = np.linalg.norm(positions(free), axis=-1)
    meets, aside = _how(of.bound, of.target, of.outer)
    meets_inner, aside_inner = _how(of.hollow, of.target, of.inner)
    apart = aside & (meets < 0)
    swallowed = ~aside & (meets < 0) & (last > shell.most)
    hidden = ~aside_inner & (meets_inner < 0) & (last <= shell.least)
    # Spheres that touch from within leave many solutions, unless it is the bounding one that lies within.
    touching = (meets == 0) & (aside | (last > shell.most))
    case = np.select(
        [apart, swallowed | hidden, touching, meets > 0], ["outside", "near", "tangent", "circle"], "inside"
    )
    way = positions(unit(select(1.0 * (np.linalg.norm(positions(goal), axis=-1) > 0), goal, wanted), _UP))
    joint = np.select(
        [(apart | swallowed)[:, None], hidden[:, None], (far > shell.most)[:, None], (far < shell.least)[:, None]],
        [
            np.where(swallowed, -shell.most, shell.most)[:, None] * way,
            shell.least * way,
            positions(nearest_on_circle(of.outer, wanted)),
            positions(nearest_on_circle(of.inner, wanted)),
        ],
        positions(free),
    )
    return case, vector(joint)


_UP = Vector(0.0, 0.0, 1.0)


def _how(one: Sphere[Floats], other: Sphere[Floats], circle: Circle[Floats]) -> tuple[Floats, Bools]:
    """The sign of C², and whether S · S' < 0: spheres that do not meet then lie apart, else one in the other."""
    return round_of(circle).case, g.dot_sphere_sphere(one, other) < 0


def aimed(frames: Floats, tip: Floats, found: Touch) -> Floats:
    """(N, 4, 4) frames of the joint before the last bone, turned as little as may be so that their end is where it was
    found: tip (3,) or (N, 3) m in frames (N, 4, 4). A last bone without length does not turn, nor a target unknown."""
    pointing = (frames[:, :3, :3] @ np.broadcast_to(tip, (len(frames), 3))[..., None])[..., 0]
    there = np.where(np.isfinite(found.end), found.end - found.before, pointing)
    turn = rotor_between(unit(vector(pointing), _UP), unit(vector(there), _UP))
    result = frames.copy()
    result[:, :3, :3] = rot.to_matrix(quaternion(turn)) @ frames[:, :3, :3]
    result[:, :3, 3] = np.where(np.isfinite(found.before), found.before, frames[:, :3, 3])
    return result
