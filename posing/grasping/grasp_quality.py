"""Quality of a grasp: contacts, opposition of thumb and fingers, and force balance."""

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from .candidates import Task
from .distance_field import Field
from .finger_closing import Touching

Floats = NDArray[np.float64]

TOUCHES = 0.002
"""m, a phalanx within this distance touches."""
BESIDE = 0.004
"""m, contacts this much further from a bar's axis than its surface are not on the bar, but on a mug's handle."""
ASIDE = 0.3
"""Factor for the value of such contacts."""
OPPOSED, BALANCED = 2.5, 2.0
"""Value of a thumb exactly opposite the fingers, and of contacts in balance."""
DEEP, INSIDE = 2.0, 0.95e-3
"""Penalty for a phalanx inside the object, and the depth in m from which it counts as inside."""


def worth(task: Task, touching: Touching, digits: range) -> Floats:
    """Return the value (F,) of the contacts of digits, in phalanges."""
    near, shape = touching.gaps < TOUCHES, task.thing.shape
    beside = np.zeros_like(near)
    if shape.kind == "bar" and task.grip.name == "wrap":
        away = touching.points - shape.centre
        radial = np.linalg.norm(away - (away @ shape.axes[0])[..., None] * shape.axes[0], axis=-1)
        beside = radial > 0.5 * shape.thickness() + BESIDE
    inside = touching.gaps < -INSIDE
    each = np.array(task.grip.finds) * near * np.where(beside, ASIDE, 1.0) - DEEP * inside
    result: Floats = each[:, list(digits)].sum(axis=(1, 2))
    return result


def opposed(field: Field, touching: Touching) -> Floats:
    """Return the value (F,) of the opposition of thumb and fingers and of the balance of all contacts."""
    near = touching.gaps < TOUCHES
    outwards = field.gradient(touching.points)
    result = np.zeros(len(near))
    for row, (touches, out) in enumerate(zip(near, outwards, strict=True)):
        if touches[0].any() and touches[1:].any():
            thumb, fingers = out[0][touches[0]].mean(axis=0), out[1:][touches[1:]].mean(axis=0)
            against = 0.5 - 0.5 * float(rot.unit_vector(thumb) @ rot.unit_vector(fingers))
            result[row] = OPPOSED * against + BALANCED * (1.0 - balance(out[touches]))
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
