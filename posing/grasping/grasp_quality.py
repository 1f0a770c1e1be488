"""Quality of a grasp: contacts, opposition of thumb and fingers, and force balance."""

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from .candidates import GraspTask
from .distance_field import CachedDistance
from .finger_closing import Contacts

Floats = NDArray[np.float64]

TOUCH_DISTANCE_M = 0.002
"""m, a phalanx within this distance touches."""
OFF_BAR_M = 0.004
"""m, contacts farther than this from a bar's surface are not on the bar itself, but for instance on a mug's handle."""
OFF_BAR_FACTOR = 0.3
"""Factor for the value of such contacts."""
OPPOSITION_VALUE, BALANCE_VALUE = 2.5, 2.0
"""Value of a thumb exactly opposite the fingers, and of contacts in balance."""
PENETRATION_COST, PENETRATION_M = 2.0, 0.95e-3
"""Penalty for a phalanx inside the object, and the depth in m from which it counts as inside."""


def contact_values(task: GraspTask, contacts: Contacts, digits: range) -> Floats:
    """Return the value (F,) of the contacts of digits, in phalanges."""
    touches, shape = contacts.gaps < TOUCH_DISTANCE_M, task.object.shape
    off_bar = np.zeros_like(touches)
    if shape.kind == "bar" and task.grip.name == "wrap":
        offsets = contacts.points - shape.centre
        radial = np.linalg.norm(offsets - (offsets @ shape.axes[0])[..., None] * shape.axes[0], axis=-1)
        off_bar = radial > 0.5 * shape.thickness() + OFF_BAR_M
    inside = contacts.gaps < -PENETRATION_M
    values = (
        np.array(task.grip.contact_values) * touches * np.where(off_bar, OFF_BAR_FACTOR, 1.0)
        - PENETRATION_COST * inside
    )
    result: Floats = values[:, list(digits)].sum(axis=(1, 2))
    return result


def opposition_values(field: CachedDistance, contacts: Contacts) -> Floats:
    """Return the value (F,) of the opposition of thumb and fingers and of the balance of all contacts."""
    touching_phalanges = contacts.gaps < TOUCH_DISTANCE_M
    outwards = field.gradient(contacts.points)
    result = np.zeros(len(touching_phalanges))
    for row, (touches, out) in enumerate(zip(touching_phalanges, outwards, strict=True)):
        if touches[0].any() and touches[1:].any():
            thumb, fingers = out[0][touches[0]].mean(axis=0), out[1:][touches[1:]].mean(axis=0)
            opposition = 0.5 - 0.5 * float(rot.unit_vector(thumb) @ rot.unit_vector(fingers))
            result[row] = OPPOSITION_VALUE * opposition + BALANCE_VALUE * (1.0 - balance(out[touches]))
    return result


def balance(normals: Floats) -> float:
    """Return the distance, 0..1, of the convex hull of unit normals (N, 3) from the origin; 0 if forces can balance.

    By Gilbert's algorithm (Gilbert 1966).
    """
    point = normals.mean(axis=0)
    for _ in range(30):
        along = normals[(normals @ point).argmin()] - point
        step = -float(point @ along) / max(float(along @ along), 1e-12)
        if step <= 1e-6:
            break
        point = point + min(step, 1.0) * along
    return float(np.linalg.norm(point))
