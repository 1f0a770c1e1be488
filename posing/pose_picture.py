"""A small picture of a posed hand, drawn without a graphics card: previews of saved poses."""

import numpy as np
from numpy.typing import NDArray

from ..hand.mesh.creases import vertex_normals
from ..hand.mesh.skinning import deform_skin
from ..hand.mesh.surface import surface
from ..hand.poses import NamedPose, angles
from ..hand.proportions import adult, build

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SIZE = 128
"""Pixels along each side."""
OVERSAMPLING = 2
"""Samples along each side of a pixel."""
SPLITS = 9
"""Samples along each side of a quad of the skin, so that no pixel is missed."""
MARGIN = 1.08
BACK, UP = np.array([-0.5, 0.1, -0.85]), np.array([0.0, 1.0, 0.0])
"""The direction to the viewer and upwards in the wrist's frame of a right hand: its palm, from the thumb's side."""
LIGHT = np.array([0.35, 0.45, 0.82])
"""The direction to the light, in the view."""
SKIN = np.array([0.80, 0.68, 0.60])


def pose_picture(pose: NamedPose) -> Floats:
    """Return the picture (SIZE, SIZE, 4) RGBA from 0 to 1 of an adult's right hand in a pose, bottom row first."""
    measures = adult("right")
    hand, skin = build(measures), surface(measures)
    vertices = deform_skin(skin, hand, angles(hand, pose))
    view = _view_axes()
    points = _samples((vertices @ view.T)[skin.quads])
    normals = _samples((vertex_normals(vertices, skin.quads) @ view.T)[skin.quads])
    outside = normals[:, 2] > 0
    points, normals = points[outside], normals[outside]
    pixels = SIZE * OVERSAMPLING
    low, high = points.min(axis=0), points.max(axis=0)
    scale = pixels / (MARGIN * float((high - low)[:2].max()))
    # The nearest sample in a cell is the visible one; it is written last. Each sample covers two by two cells, so that
    # nothing behind shows through between the samples of a large quad.
    order = np.argsort(points[:, 2], kind="stable")
    corner = ((points - (low + high) / 2)[order, :2] * scale + pixels / 2 - 0.5).astype(np.int64)
    covered = (corner[:, None] + [[0, 0], [1, 0], [0, 1], [1, 1]]).clip(0, pixels - 1).reshape(-1, 2)
    seen = np.full(pixels * pixels, -1)
    seen[covered[:, 1] * pixels + covered[:, 0]] = np.repeat(order, 4)
    picture: Floats = _shaded(seen, normals).reshape(SIZE, OVERSAMPLING, SIZE, OVERSAMPLING, 4).mean(axis=(1, 3))
    return picture


def _view_axes() -> Floats:
    """Return the axes (3, 3) of the view in the wrist's frame: right, up, towards the viewer."""
    back = BACK / np.linalg.norm(BACK)
    side = np.cross(UP, back)
    side /= np.linalg.norm(side)
    return np.stack([side, np.cross(back, side), back])


def _samples(corners: Floats) -> Floats:
    """Return values (Q * SPLITS², 3) within quads (Q, 4, 3), interpolated between the corners."""
    u, v = (part.ravel() for part in np.meshgrid(*[(np.arange(SPLITS) + 0.5) / SPLITS] * 2))
    weights = np.stack([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v], axis=1)
    values: Floats = np.einsum("sc,qca->qsa", weights, corners).reshape(-1, 3)
    return values


def _shaded(seen: Ints, normals: Floats) -> Floats:
    """Return RGBA (P, 4) of the visible samples, transparent black where there is none (-1)."""
    facing = normals[seen] @ (LIGHT / np.linalg.norm(LIGHT))
    colors = np.append(SKIN * (0.35 + 0.65 * facing.clip(0.0))[:, None], np.ones((len(seen), 1)), axis=1)
    shaded: Floats = np.where((seen >= 0)[:, None], colors.clip(0.0, 1.0), 0.0)
    return shaded
