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
    (2,) of abduction and twist let it. The others choose the twist; where none is known the plane is upright unless
    abduction alone does not reach.
    """
    abduction_limits, twist_limits = limits
    others = np.delete(weights, end, axis=1).any(axis=1)
    leaning, tilted = _fit(points, weights)
    twist = np.where(others, tilted, 0.0).clip(*twist_limits)
    tip = points[:, end]
    wanted = _abduction_through(tip, twist, np.where(others, leaning, 0.0))
    abduction = wanted.clip(*abduction_limits)
    further = _twist_through(tip, abduction, twist).clip(*twist_limits)
    return abduction, np.where(abduction == wanted, twist, further)


def _fit(points: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Abduction and twist (N,) of the plane nearest to all known points, drawn to upright and straight ahead."""
    known = np.where(weights[..., None] > 0, points, 0.0)
    scatter = np.einsum("nk,nki,nkj->nij", weights, known, known)
    scatter = scatter + np.diag([0.0, AHEAD**2, UPRIGHT**2])
    normal = np.linalg.eigh(scatter)[1][..., 0]
    normal = normal * np.where(normal[:, :1] < 0, -1.0, 1.0)
    return np.arctan2(normal[:, 1], normal[:, 0]), np.arcsin(np.clip(-normal[:, 2], -1.0, 1.0))


def _abduction_through(tip: Floats, twist: Floats, otherwise: Floats) -> Floats:
    """(N,) where x cos a + y sin a = z tan(twist): of the two solutions the one nearer to `otherwise`.

    A tip right below the knuckle leaves abduction open: the nearer it is, the more counts `otherwise`.
    """
    across = np.hypot(tip[:, 0], tip[:, 1])
    turn = np.arccos(np.clip(tip[:, 2] * np.tan(twist) / np.maximum(across, 1e-12), -1.0, 1.0))
    bearing = np.arctan2(tip[:, 1], tip[:, 0])
    apart = np.stack([bearing - turn, bearing + turn]) - otherwise
    apart = (apart + np.pi) % (2 * np.pi) - np.pi
    nearer = np.where(np.abs(apart[0]) <= np.abs(apart[1]), apart[0], apart[1])
    abduction: Floats = otherwise + nearer * across**2 / (across**2 + AHEAD**2)
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
