"""Place a palm on a surface: flat on its heel and pads, by the least movement from its current pose.

Each round moves the wrist by a twist (v, ω) that brings the nearest skin of the heel and of both sides of the pads to
the surface and leaves no skin in it: a quadratic program of the distances' first derivatives. On a curved surface, such
as a ball, the three get as near as the skin between them allows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.joints import JOINT_INDEX, KNUCKLES
from ...hand.kinematics import Pose, joint_frames
from ...posing.grasping.skin_samples import SkinPoints
from ...solvers.qp.quadratic_program import QuadraticProgram, solve
from .contact_surface import ContactSurface
from .faced_surface import LIFT_DISTANCES, FacedSurface

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HEEL, PADS = 0.45, 0.7
"""End of the heel and start of the pads, as fractions of the distance from the wrist to the knuckles."""
REGIONS = 3
"""The heel, and the pads on the index finger's and on the little finger's side."""
MAX_PASSES, MAX_ROUNDS = 4, 10
"""Number of passes over all skin points, and of rounds with the nearest ones."""
MAX_NEAR = 150
"""Number of nearest points used in each region."""
MAX_STEP, STILL_STEP = 0.02, 1e-5
"""m, maximum movement of the skin in a round, and movement below which it is still."""
MOVEMENT_COST = 1e-2
"""Cost of moving the palm by 1 m relative to 1 m of its distance, so that a palm that is free to slide does not."""
ALLOWED_DEPTH = 0.1e-3
"""m, allowed depth of skin points in the surface. There is more skin between them, and the documentation promises 1 mm.
"""
MAX_BOUNDED = 80
"""Number of points that are kept out of the surface in one batch, the nearest ones."""


@dataclass(frozen=True, slots=True, eq=False)
class PalmSkin:
    """The skin of a palm in some frames of a take."""

    points: Floats
    """(N, 3) m relative to the wrist."""
    region: Ints
    """(N,) the region of the palmar side that contains each point, -1 for none."""

    @property
    def middle(self) -> Floats:
        """(3,) m, mean of the points."""
        return np.asarray(self.points.mean(axis=0))

    def transformed(self, transform: Floats) -> Floats:
        """Return the points (N, 3) with the wrist at a frame (4, 4)."""
        return self.points @ transform[:3, :3].T + transform[:3, 3]

    def nearest(self, distances: Floats) -> "PalmSkin":
        """Return the points of each region that are nearest to a surface; distances: (N,) of the points from it."""
        order = np.argsort(distances, kind="stable")
        nearest = [order[self.region[order] == region][:MAX_NEAR] for region in range(-1, REGIONS)]
        rows = np.concatenate(nearest)
        return PalmSkin(self.points[rows], self.region[rows])

    def with_points(self, points: Floats) -> "PalmSkin":
        """Return the palm with additional skin (N, 3) m to keep out of the surface."""
        return PalmSkin(np.concatenate([self.points, points]), np.append(self.region, np.full(len(points), -1)))


def palm_skin(skin: SkinPoints, pose: Pose) -> PalmSkin:
    """Return the skin of a palm in the frames of a pose; skin: of the palm, relative to the wrist."""
    frames = joint_frames(pose.hand, Pose.at_origin(pose.hand, pose.angles))
    points = skin.posed(frames).reshape(-1, 3)
    knuckles = frames[..., :3, 3].mean(axis=0)[[JOINT_INDEX[joint] for joint in KNUCKLES]]
    middle = knuckles.mean(axis=0)
    fraction = points @ middle / (middle @ middle)
    to_little = (points - middle) @ (knuckles[-1] - knuckles[0])
    region = np.select([fraction < HEEL, fraction < PADS, to_little < 0.0], [0, -1, 1], 2)
    for number in range(REGIONS):
        # The palmar half of the hand carries it; +Z is out of the back.
        region_points = np.flatnonzero(region == number)
        if len(region_points):
            region[region_points[points[region_points, 2] > np.median(points[region_points, 2])]] = -1
    return PalmSkin(points, region)


def rest_on_surface(palm: PalmSkin, surface: ContactSurface, start: Floats) -> Floats | None:
    """Return T_surface_wrist (4, 4) of a palm that rests on a surface, by the least movement from a start (4, 4).

    None for a palm that faces away from the surface.
    """
    lifted = _facing(palm, surface, start)
    if lifted is None:
        return None
    transform, surface = lifted, FacedSurface(surface, start[:3, 2])
    for _ in range(MAX_PASSES):
        previous, nearest_skin = transform, palm.nearest(surface.nearest(palm.transformed(transform))[2])
        for _ in range(MAX_ROUNDS):
            points = nearest_skin.transformed(transform)
            step = _twist(points, nearest_skin.region, *surface.nearest(points)[1:], back=transform[:3, 2])
            transform = _apply_twist(transform, step, points.mean(axis=0))
            if np.abs(step).max() < STILL_STEP:
                break
        if np.abs(transform - previous).max() < STILL_STEP:
            break
    _, outwards, distances = surface.nearest(palm.transformed(transform))
    deepest = int(distances.argmin())
    if distances[deepest] < -ALLOWED_DEPTH:
        transform[:3, 3] -= (distances[deepest] + ALLOWED_DEPTH) * outwards[deepest]
    return transform


def _facing(palm: PalmSkin, surface: ContactSurface, start: Floats) -> Floats | None:
    """Return a start pose (4, 4) whose nearest part of the surface faces the palm; None if there is none."""
    middle, back = start[:3, :3] @ palm.middle + start[:3, 3], start[:3, 2]
    lifted = middle + np.concatenate([[0.0], LIFT_DISTANCES])[:, None] * back
    nearest_points, outwards, distances = surface.nearest(lifted)
    for number, (foot, up) in enumerate(zip(nearest_points, outwards, strict=True)):
        if up @ back > 0.0 and (number == 0 or distances[number] > 0.0):
            facing = start.copy()
            if number:
                facing[:3, 3] += (up @ (foot - middle)) * up
            return facing
    return None


def _twist(points: Floats, region: Ints, outwards: Floats, distances: Floats, *, back: Floats) -> Floats:
    """Return the twist (v, ω) (6,) that brings a palm to rest; rotations in m at the palm's radius.

    points: (N, 3) m. outwards: (N, 3) unit, out of the surface. distances: (N,) m from the surface. back: (3,)
    unit, out of the back of the hand.
    """
    # Clip distances to one step, so that far or deep skin moves along the surface's normal. Bounds on the twist would
    # move it along the world's axes.
    distances = distances - max(distances.min() - MAX_STEP / 2, 0.0) - min(distances.min() + MAX_STEP / 2, 0.0)
    offsets = points - points.mean(axis=0)
    radius = float(np.sqrt((offsets**2).sum(axis=1).mean()))
    rows = np.concatenate([outwards, np.cross(offsets, outwards) / radius], axis=1)
    supports = [
        region_points[distances[region_points].argmin()]
        for number in range(REGIONS)
        if len(region_points := np.flatnonzero(region == number))
    ]
    # Surface that does not face the palm, as beyond the edge of a table, does not support it.
    bears = np.clip(outwards[supports] @ back, 0.0, 1.0) ** 2
    hessian = MOVEMENT_COST * np.eye(6) + np.einsum("s,si,sj->ij", bears, rows[supports], rows[supports])
    gradient = np.einsum("s,s,si->i", bears, distances[supports], rows[supports])
    bounded = np.argsort(distances, kind="stable")[:MAX_BOUNDED]
    low = np.concatenate([np.full(6, -MAX_STEP), -ALLOWED_DEPTH - distances[bounded]])
    high = np.concatenate([np.full(6, MAX_STEP), np.full(len(bounded), np.inf)])
    twist = solve(QuadraticProgram(hessian, gradient, low, high, rows[bounded])).x
    return np.concatenate([twist[:3], twist[3:] / radius])


def _apply_twist(transform: Floats, twist: Floats, about: Floats) -> Floats:
    """Apply a twist (v, ω) (6,) m, rad to a frame (4, 4), with its rotation about a point (3,)."""
    angle = float(np.linalg.norm(twist[3:]))
    rotation = rot.to_matrix(rot.from_axis_angle(rot.unit_vector(twist[3:]), angle)) if angle else np.eye(3)
    result = np.eye(4)
    result[:3, :3] = rotation @ transform[:3, :3]
    result[:3, 3] = rotation @ (transform[:3, 3] - about) + about + twist[:3]
    return result
