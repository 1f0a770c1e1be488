"""Solids whose distance is a formula, their surfaces as triangles, and a hand with its skin."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knuckle.hand import proportions
from knuckle.hand.joints import Side
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.hand.mesh.surface import surface
from knuckle.hand.model import HandModel
from knuckle.posing.grasping.candidates import GraspedObject, GraspingHand
from knuckle.posing.grasping.object_shape import shape_of, surface_of
from knuckle.posing.grasping.skin_samples import SkinPoints, skin_points, weights_of_moving_joints

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Solid:
    """A solid in the world."""

    distance: Callable[[Floats], Floats]
    """(N, 3) m -> (N,) m, below 0 inside; exact."""
    vertices: Floats
    triangles: Ints

    def thing(self) -> GraspedObject:
        return GraspedObject(shape_of(surface_of(self.vertices, self.triangles)), self.vertices, self.distance)


def moved(solid: Solid, move: Floats) -> Solid:
    """The same elsewhere, by a rigid move (4, 4)."""
    back = np.linalg.inv(move)
    return Solid(
        lambda points: solid.distance(points @ back[:3, :3].T + back[:3, 3]),
        solid.vertices @ move[:3, :3].T + move[:3, 3],
        solid.triangles,
    )


def ball(radius: float) -> Solid:
    profile = [(radius * np.sin(t), radius * np.cos(t)) for t in np.linspace(0, np.pi, 25)]
    return Solid(lambda points: np.linalg.norm(points, axis=-1) - radius, *turned(profile))


def rod(radius: float, length: float) -> Solid:
    """About Z."""

    def distance(points: Floats) -> Floats:
        away = np.stack([np.hypot(points[:, 0], points[:, 1]) - radius, np.abs(points[:, 2]) - length / 2], -1)
        outside = np.linalg.norm(np.maximum(away, 0.0), axis=-1)
        far: Floats = outside + np.minimum(away.max(axis=-1), 0.0)
        return far

    return Solid(
        distance, *turned([(0.0, length / 2), (radius, length / 2), (radius, -length / 2), (0.0, -length / 2)])
    )


def block(sides: tuple[float, float, float]) -> Solid:
    half = 0.5 * np.array(sides)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([row for a, b, c, d in quads for row in ((a, b, c), (a, c, d))])

    def distance(points: Floats) -> Floats:
        away = np.abs(points) - half
        far: Floats = np.linalg.norm(np.maximum(away, 0.0), axis=-1) + np.minimum(away.max(axis=-1), 0.0)
        return far

    return Solid(distance, corners, triangles)


def turned(profile: list[tuple[float, float]], around: int = 48) -> tuple[Floats, Ints]:
    """A surface of revolution about Z of (radius, height), from its upper end down."""
    angle = 2 * np.pi * np.arange(around) / around
    rings = [np.stack([r * np.cos(angle), r * np.sin(angle), np.full(around, z)], -1) for r, z in profile]
    rows = []
    for ring in range(len(profile) - 1):
        for k in range(around):
            a, b = ring * around + k, ring * around + (k + 1) % around
            rows += [(a, a + around, b + around), (a, b + around, b)]
    return np.concatenate(rings), np.array(rows)


def hand_of(side: Side) -> tuple[HandModel, SkinPoints]:
    """An adult's hand, and its skin as it is at angles of zero."""
    measures = proportions.adult(side)
    hand, skin = proportions.build(measures), surface(measures)
    frames = joint_frames(hand, Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs))))[0]
    return hand, skin_points(skin.vertices, weights_of_moving_joints(skin.weights, hand), frames, dual_quaternions=True)


def holder(side: Side, root: Floats) -> GraspingHand:
    hand, flesh = hand_of(side)
    return GraspingHand(hand, flesh, root)


def skin_at(holder: GraspingHand, root: Floats, angles: Floats) -> Floats:
    """(V, 3) m"""
    points: Floats = holder.skin.posed(joint_frames(holder.hand, Pose(holder.hand, root[None], angles[None])))[0]
    return points


def rigid(rng: np.random.Generator, reach: float = 0.5) -> Floats:
    """Any rigid move."""
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    move = np.eye(4)
    move[:3, :3] = turn * np.sign(np.linalg.det(turn))
    move[:3, 3] = rng.uniform(-reach, reach, 3)
    return move
