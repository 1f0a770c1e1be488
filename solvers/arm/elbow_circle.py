"""Where an arm's elbow is: the circle in which two spheres meet, cut by the swivel plane. CGA-arm 4.1 and 5.1."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ..cga import generated as g
from ..cga.generated import Circle, Plane, Sphere
from ..cga.nearest_points import foot_on_line
from ..cga.objects import PairPoints, ends_of, line_of, positions, vector
from .arm_model import Arm

Floats = NDArray[np.float64]

FOLDED = 1e-6
"""Part of the arm's length that shoulder and wrist stay apart, so that a circle of elbows is left."""
ASIDE = 1e-6
"""Part of its distance that a pole must be aside of the line from shoulder to wrist to tell a plane."""


@dataclass(frozen=True, slots=True, eq=False)
class ArmTriangle:
    """An arm over N frames with its elbow towards the pole, in the shoulder's frame."""

    way: Floats
    """(N, 3) of length 1, from shoulder to wrist."""
    upper: Floats
    """(N, 3, 3) the upper arm's rotation."""
    elbow: Floats
    """(N,) rad"""
    hand: Floats
    """(N, 3, 3) the rotation that the wrist shall end in."""

    def rows(self, rows: NDArray[np.intp]) -> "ArmTriangle":
        """Some of its frames."""
        return ArmTriangle(self.way[rows], self.upper[rows], self.elbow[rows], self.hand[rows])

    def upper_at(self, swivel: Floats) -> Floats:
        """(N, ..., 3, 3) the upper arm's rotation at swivels (N, ...) rad."""
        more = (slice(None), *(None,) * (swivel.ndim - 1))
        turned: Floats = rot.to_matrix(rot.about(self.way[more], swivel)) @ self.upper[more]
        return turned

    def wrist_of(self, upper: Floats, elbow: Floats) -> Floats:
        """(N, ..., 3, 3) the wrist's turn after an upper arm (N, ..., 3, 3) and an elbow (N,) rad."""
        more = (slice(None), *(None,) * (upper.ndim - 3))
        fore = upper @ rot.to_matrix(rot.about(np.array([1.0, 0.0, 0.0]), elbow))[more]
        turn: Floats = np.swapaxes(fore, -1, -2) @ self.hand[more]
        return turn


def triangle_of(arm: Arm, wrist: Floats, base: Floats, pole: Floats) -> tuple[ArmTriangle, Floats]:
    """Shoulder, elbow and wrist with the elbow towards the pole, and the wrist's target (N, 3) m.

    Of T_world_wrist and T_world_shoulder (N, 4, 4) and poles (N, 3) m in the world; all found is in the shoulder's
    frame. The wrist stays in the direction of its target, as near as the elbow's range lets it.
    """
    into = np.swapaxes(base[:, :3, :3], 1, 2)
    place = (into @ (wrist[:, :3, 3] - base[:, :3, 3])[..., None])[..., 0]
    hand = into @ wrist[:, :3, :3] @ rot.to_matrix(rot.conjugate(np.array(arm.hand)))
    far = np.linalg.norm(place, axis=-1, keepdims=True)
    way = np.where(far > 0, place / np.where(far > 0, far, 1.0), np.array([0.0, 1.0, 0.0]))
    middle = np.clip(far, *distances(arm)) * way
    side = towards(arm, (into @ (pole - base[:, :3, 3])[..., None])[..., 0], way)
    elbow = _elbow(arm, middle, way, side)
    along = elbow / np.linalg.norm(elbow, axis=-1, keepdims=True)
    fore = middle - elbow
    # Of the swivel plane, across the upper arm and away from the pole: into this the elbow bends the forearm.
    bend = (along * side).sum(-1, keepdims=True) * way - (along * way).sum(-1, keepdims=True) * side
    upper = np.stack([np.cross(along, bend), along, bend], -1)
    angle = np.arctan2((fore * bend).sum(-1), (fore * along).sum(-1))
    return ArmTriangle(way, upper, np.clip(angle, *arm.elbow), hand), place


def distances(arm: Arm) -> tuple[float, float]:
    """m, how near and how far from the shoulder the elbow's range lets the wrist be, as bone lengths alone have it."""
    # An elbow bent by θ4 keeps the wrist √(u² + f² + 2 u f cos θ4) away.
    most, least = (
        math.sqrt(max(arm.upper**2 + arm.fore**2 + 2 * arm.upper * arm.fore * math.cos(x), 0.0)) for x in arm.elbow
    )
    least = max(least, FOLDED * (arm.upper + arm.fore))
    return least, max(least, most)


class Elbow(NamedTuple):
    """What the algebra makes of shoulder and wrist over N frames, the shoulder at the origin. CGA-arm 4.1."""

    upper: Sphere[Floats]
    """Where the elbow is as the upper arm has it."""
    fore: Sphere[Floats]
    """Where the elbow is as the forearm has it."""
    circle: Circle[Floats]
    """Where it may be: where these meet."""
    plane: Plane[Floats]
    """The swivel plane, which tells where on the circle."""
    ends: PairPoints[Floats]
    """The two elbows in that plane."""


def elbow_of(arm: Arm, wrist: Floats, way: Floats, side: Floats) -> Elbow:
    """Of a wrist (N, 3) m in a direction (N, 3), and an elbow to the side (N, 3), each of length 1."""
    nothing, size = vector(np.zeros_like(wrist)), np.ones(len(wrist))
    upper, fore = g.sphere(nothing, arm.upper * size), g.sphere(vector(wrist), arm.fore * size)
    circle = g.meet_sphere_sphere(upper, fore)
    plane = g.plane_at(vector(np.cross(way, side)), nothing)
    return Elbow(upper, fore, circle, plane, ends_of(g.meet_circle_plane(circle, plane)))


def _elbow(arm: Arm, wrist: Floats, way: Floats, side: Floats) -> Floats:
    """(N, 3) where the spheres about shoulder and wrist (N, 3) and the swivel plane meet, of two on its side (N, 3)."""
    ends = elbow_of(arm, wrist, way, side).ends
    one, other = positions(ends.first), positions(ends.second)
    on_side = ((one - other) * side).sum(-1, keepdims=True) >= 0
    elbow: Floats = np.where(on_side, one, other)
    return elbow


def towards(arm: Arm, pole: Floats, way: Floats) -> Floats:
    """(F, 3) of length 1, across the way (F, 3) from shoulder to wrist: to the pole, to arm.pole, or to any side."""
    line = line_of(g.join_line(g.up(vector(np.zeros_like(way))), g.up(vector(way))))
    side = np.zeros_like(way)
    for candidate in (pole, np.array(arm.pole), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])):
        place = np.broadcast_to(candidate, way.shape)
        out = place - positions(foot_on_line(line, vector(place)))
        length = np.linalg.norm(out, axis=-1, keepdims=True)
        usable = (length > ASIDE * np.linalg.norm(place, axis=-1, keepdims=True)) & ~np.any(
            side, axis=-1, keepdims=True
        )
        side = np.where(usable, out / np.where(length > 0, length, 1.0), side)
    # Once more square on the way: what is left of a pole that was nearly on it has rounded.
    side = side - (side * way).sum(-1, keepdims=True) * way
    unit: Floats = side / np.linalg.norm(side, axis=-1, keepdims=True)
    return unit
