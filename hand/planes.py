"""The plane in which a digit curls: FABRIK-CGA (3.8), with limits and for any of its joints' targets.

Everything here is in the frame of the digit's first joint at angles of zero, mirrored in X for a left hand, so
that one convention serves both: a plane through the origin with the normal Rz(abduction) · Ry(twist) · X.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

AHEAD = 0.001
"""m. A fingertip right below its knuckle tells nothing about abduction: its other joints do, else the finger points
straight ahead."""
UPRIGHT = 0.012
"""m. Joints in a line tell nothing about twist; the plane then stands upright on the palm, as (3.8) has it."""


def finger_plane(points: Floats, weights: Floats, end: int, limits: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Abduction and twist (N,) rad of the planes in which the digits bend to reach their targets.

    points (N, S, 3) m with weights (N, S), 0 = not known. Point `end` must be in the plane as far as the limits (2,),
    (2,) of abduction and twist let it. The others choose the twist; where none is known it takes the share of what is
    aside that fingers take by twisting, and more where abduction alone does not reach.
    """
    abduction_limits, twist_limits = limits
    tip = points[:, end]
    twist = _likely_twist(tip).clip(*twist_limits)
    wanted = _abduction_through(tip, twist)
    abduction = wanted.clip(*abduction_limits)
    twist = np.where(abduction == wanted, twist, _twist_through(tip, abduction, twist).clip(*twist_limits))
    others = np.flatnonzero(np.delete(weights, end, axis=1).any(axis=1))
    if len(others):
        counted = weights[others] * np.where(np.arange(weights.shape[1]) == end, END_WEIGHT, 1.0)
        abduction[others], twist[others] = _nearest_plane(points[others], counted, limits)
    return abduction, twist


def _likely_twist(tip: Floats) -> Floats:
    """(N,) the likeliest of the twists that together with abduction bring a tip (N, 3) into the plane.

    With small angles the plane holds the tip where x + abduction · y = twist · z. Of these pairs the likeliest has the
    least (abduction / ABDUCTION_SD)² + (twist / TWIST_SD)²: a tip ahead tells of abduction, one below the knuckle of
    twist, and nothing turns at once as a tip passes from the one to the other.
    """
    x, y, z = np.moveaxis(tip, -1, 0)
    by_twist = z * TWIST_SD**2
    twist: Floats = x * by_twist / np.maximum((y * ABDUCTION_SD) ** 2 + z * by_twist, 1e-12)
    return twist


ABDUCTION_SD, TWIST_SD = 8.0, 2.0
"""Degrees by which bent fingers lean and tilt about their mean: in ten headset hands (npm handy-work) 2 to 5 and 0.2 to
2.6, the leaning more in hands that spread."""


def _nearest_plane(points: Floats, weights: Floats, limits: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Abduction and twist (N,) of the planes nearest to all points within the limits, drawn to upright and ahead.

    Newton's steps (Gauss-Newton) on the sum of squared distances, from the nearest plane without limits: where a limit
    stops the one angle the other goes on alone. Begun there and going downhill, it stays with the points as they move;
    the two planes that hold the end alone would be exchanged at once.
    """
    known = np.where(weights[..., None] > 0, points, 0.0)
    scatter = np.einsum("nk,nki,nkj->nij", weights, known, known) + np.diag([0.0, AHEAD**2, UPRIGHT**2])
    normal = np.linalg.eigh(scatter)[1][..., 0]
    normal = normal * np.where(normal[:, :1] < 0, -1.0, 1.0)
    abduction = np.arctan2(normal[:, 1], normal[:, 0]).clip(*limits[0])
    twist = np.arcsin(np.clip(-normal[:, 2], -1.0, 1.0)).clip(*limits[1])
    for _ in range(STEPS):
        gradient, curve = _slopes(scatter, abduction, twist)
        step = np.linalg.solve(curve, -gradient[..., None])[..., 0]
        tilted = (twist + step[:, 1]).clip(*limits[1])
        # Newton's step of abduction once the twist is settled; the same the other way round.
        leaning = (abduction - (gradient[:, 0] + curve[:, 0, 1] * (tilted - twist)) / curve[:, 0, 0]).clip(*limits[0])
        tilted = (twist - (gradient[:, 1] + curve[:, 0, 1] * (leaning - abduction)) / curve[:, 1, 1]).clip(*limits[1])
        abduction, twist = leaning, tilted
    return abduction, twist


END_WEIGHT = 100.0
"""How much the end counts against another point: a tenth of a point's distance is left to it."""
STEPS = 6


def _slopes(scatter: Floats, abduction: Floats, twist: Floats) -> tuple[Floats, Floats]:
    """Half the gradient (N, 2) and curvature (N, 2, 2) of normal · scatter · normal by abduction and twist."""
    ca, sa, ct, st = np.cos(abduction), np.sin(abduction), np.cos(twist), np.sin(twist)
    normal = np.stack([ca * ct, sa * ct, -st], -1)
    by = np.stack([np.stack([-sa * ct, ca * ct, np.zeros_like(ca)], -1), np.stack([-ca * st, -sa * st, -ct], -1)], -2)
    curve: Floats = by @ scatter @ np.swapaxes(by, -1, -2)
    return (by @ scatter @ normal[..., None])[..., 0], curve + 1e-15 * np.eye(2)


def _abduction_through(tip: Floats, twist: Floats) -> Floats:
    """(N,) where x cos a + y sin a = z tan(twist): of the two solutions the one nearer to straight ahead.

    A tip right below the knuckle leaves abduction open: the nearer it is, the straighter ahead.
    """
    across = np.hypot(tip[:, 0], tip[:, 1])
    turn = np.arccos(np.clip(tip[:, 2] * np.tan(twist) / np.maximum(across, 1e-12), -1.0, 1.0))
    bearing = np.arctan2(tip[:, 1], tip[:, 0])
    apart = (np.stack([bearing - turn, bearing + turn]) + np.pi) % (2 * np.pi) - np.pi
    nearer = np.where(np.abs(apart[0]) <= np.abs(apart[1]), apart[0], apart[1])
    abduction: Floats = nearer * across**2 / (across**2 + AHEAD**2)
    return abduction


def _twist_through(tip: Floats, abduction: Floats, otherwise: Floats) -> Floats:
    """(N,) the twist that brings the tip into the plane at this abduction, where the tip is below the knuckle."""
    aside = tip[:, 0] * np.cos(abduction) + tip[:, 1] * np.sin(abduction)
    deep = np.abs(tip[:, 2]) > UPRIGHT
    return np.where(deep, np.arctan2(aside * np.sign(tip[:, 2]), np.abs(tip[:, 2])), otherwise)


def plane_axes(abduction: Floats, twist: Floats) -> Floats:
    """(N, 3, 3) rows: along the straight digit, towards the palm, and the plane's normal."""
    ca, sa, ct, st = np.cos(abduction), np.sin(abduction), np.cos(twist), np.sin(twist)
    along = np.stack([-sa, ca, np.zeros_like(ca)], -1)
    palmwards = -np.stack([ca * st, sa * st, ct], -1)
    normal = np.stack([ca * ct, sa * ct, -st], -1)
    return np.stack([along, palmwards, normal], -2)
