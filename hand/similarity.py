"""Move, rotate and scale hands, poses and targets: x becomes s R x + t, with the matrix [s R, t] of a similarity."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from . import rotations as rot
from .kinematics import Pose
from .model import HandModel, Site
from .targets import Targets

Floats = NDArray[np.float64]


def factor_and_rotation(matrix: Floats) -> tuple[float, Floats]:
    """Return s and R (3, 3) of a similarity (4, 4)."""
    factor = float(np.cbrt(np.linalg.det(matrix[:3, :3])))
    return factor, matrix[:3, :3] / factor


def model(hand: HandModel, factor: float) -> HandModel:
    """Return the same hand, larger or smaller."""
    rest = np.array(hand.rest)
    rest[:, :3, 3] *= factor
    sites = tuple(Site(site.name, site.joint, _scale(site.offset, factor)) for site in hand.sites)
    return replace(hand, rest=rest, sites=sites)


def _scale(offset: tuple[float, float, float], factor: float) -> tuple[float, float, float]:
    x, y, z = offset
    return factor * x, factor * y, factor * z


def pose(original: Pose, hand: HandModel, matrix: Floats) -> Pose:
    """Return a pose moved by a similarity (4, 4), on `hand`, the scaled model."""
    _, rotation = factor_and_rotation(matrix)
    root = np.array(original.root)
    root[:, :3, :3] = rotation @ original.root[:, :3, :3]
    root[:, :3, 3] = original.root[:, :3, 3] @ matrix[:3, :3].T + matrix[:3, 3]
    return Pose(hand, root, original.angles)


def targets(original: Targets, matrix: Floats) -> Targets:
    """Return targets moved by a similarity (4, 4)."""
    _, rotation = factor_and_rotation(matrix)
    linear, angular = original.velocities, original.angular_velocities
    return replace(
        original,
        positions=original.positions @ matrix[:3, :3].T + matrix[:3, 3],
        rotations=None if original.rotations is None else rot.multiply(rot.from_matrix(rotation), original.rotations),
        velocities=None if linear is None else linear @ matrix[:3, :3].T,
        angular_velocities=None if angular is None else angular @ rotation.T,
    )
