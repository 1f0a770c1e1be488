"""Points of a hand's skin that stay on a surface during a contact, with all other skin kept out of the surface.

The surface may move rigidly relative to the hand. Skin near it is kept outside the plane through the nearest point of
the surface, which is updated for each start of the search. A fingertip may roll about its point, and is lifted if other
skin would enter the surface.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import Flesh
from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel, Site
from ...posing.grasping.skin_samples import SkinPoints
from ...solvers.pose_problem import Objective, relative_size
from .contact_surface import ContactSurface
from .nearest_skin import nearest_skin

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PAD_WEIGHT, DEPTH_WEIGHT = 3.0, 3.0
"""Weights of a held point and of a point inside the surface, relative to flesh that is too deep in flesh."""
NEAR_DISTANCE = 6e-3
"""m of a hand of the usual length: skin farther than this from the surface is not constrained."""
ALLOWED_DEPTH = 0.3e-3
"""m, allowed depth of skin in the surface. The documentation promises 1 mm."""


@dataclass(frozen=True, slots=True, eq=False)
class SkinBySurface:
    """The skin of a hand beside a surface, over F frames."""

    hand: HandModel
    skin: SkinPoints
    """Skin of the digits, relative to the wrist."""
    surface: ContactSurface
    to_surface: Floats
    """(F, 4, 4) from the wrist's coordinates to the surface's."""

    def posed(self, rows: Ints, angles: Floats) -> tuple[Floats, Floats]:
        """Return the points of the skin (N, V, 3) m in some frames at angles (N, D), relative to the wrist and to the
        surface."""
        points = self.skin.posed(joint_frames(self.hand, Pose.at_origin(self.hand, angles)))
        to = self.to_surface[rows]
        return points, points @ to[:, :3, :3].swapaxes(1, 2) + to[:, None, :3, 3]

    def distances(self, rows: Ints, angles: Floats) -> Floats:
        """Return the distances (N, V) m of the skin's points from the surface, negative inside."""
        _, points = self.posed(rows, angles)
        return self.surface.nearest(points.reshape(-1, 3))[2].reshape(points.shape[:2])


@dataclass(frozen=True, slots=True, eq=False)
class HeldOnSurface:
    """Points of a hand's skin that are held on a surface from a first frame to a last one."""

    skin_by_surface: SkinBySurface
    pads: Ints
    """(P,) indices of the held points of the skin."""
    positions: Floats
    """(P, 3) m, their positions on the surface."""
    first: int
    last: int
    blends: tuple[int, int]
    """Minimum number of frames over which the hand approaches, and over which it leaves."""

    def is_held(self, rows: Ints) -> Bools:
        """Return (N,) whether the points are held in rows (N,) of the take."""
        return np.asarray((rows >= self.first) & (rows <= self.last))

    def touching(self, rows: Ints, flesh: Flesh) -> Bools:
        """Return (N, K) whether each of K pairs of capsules has a digit that is held in rows (N,)."""
        has_held_digit = np.isin(flesh.parts, self.skin_by_surface.skin.digit[self.pads]).any(axis=0)
        return np.asarray(self.is_held(rows)[:, None] & has_held_digit)

    def approach_frames(self) -> dict[int, int]:
        """Return first row of the hold -> frames of its approach."""
        return {self.first: self.blends[0]}

    def release_frames(self) -> dict[int, int]:
        """Return first row after the hold -> frames of its release."""
        return {self.last + 1: self.blends[1]}

    def objectives(self, rows: Ints, angles: Floats) -> tuple[HandModel, list[Objective]]:
        """Return the hand with a site for each held point, and the objectives in rows (N,), at angles (N, D) rad."""
        hand, skin_by_surface, is_held = self.skin_by_surface.hand, self.skin_by_surface, self.is_held(rows)
        points, on_surface = skin_by_surface.posed(rows, angles)
        within = NEAR_DISTANCE * relative_size(hand)
        skin = nearest_skin(skin_by_surface.surface, on_surface, is_held, skin_by_surface.skin.digit, within)
        point_indices = np.concatenate([self.pads, skin.columns])
        sites, skin_positions = sites_of_skin(hand, skin_by_surface.skin, points, point_indices, angles)
        # Several bones deform the skin, a single one moves a site: shift the goals by the difference.
        shifts, rotations = skin_positions - points[:, point_indices], skin_by_surface.to_surface[rows][:, :3, :3]
        goals, count = list[Objective](), len(hand.sites)
        for number, position in enumerate(self.positions):
            goal = to_wrist(skin_by_surface.to_surface[rows], position[None])
            weights = np.where(is_held, PAD_WEIGHT, 0.0)
            goals.append(Objective(count + number, goal + shifts[:, number], weights))
        is_near = is_held[:, None] & (skin.distances < within)
        for column, number in enumerate(range(len(self.pads), len(point_indices))):
            up = np.einsum("fji,fj->fi", rotations, skin.outwards[:, column])
            min_goal = to_wrist(skin_by_surface.to_surface[rows], skin.feet[:, column]) - ALLOWED_DEPTH * up
            weights = np.where(is_near[:, column], DEPTH_WEIGHT, 0.0)
            goals.append(Objective(count + number, min_goal + shifts[:, number], weights, above=up))
        return hand.with_sites(tuple(sites)), goals


def sites_of_skin(
    hand: HandModel, skin: SkinPoints, points: Floats, point_indices: Ints, angles: Floats
) -> tuple[list[Site], Floats]:
    """Return sites at C skin points (indices into V), and their positions (N, C, 3) m.

    points: (N, V, 3) m. A site is fixed in the first frame to the bone with the largest skinning weight.
    """
    joints = skin.heaviest[point_indices]
    frames = joint_frames(hand, Pose.at_origin(hand, angles))[:, joints]
    first = frames[0]
    local = np.einsum("cji,cj->ci", first[:, :3, :3], points[0, point_indices] - first[:, :3, 3])
    posed = np.einsum("fcij,cj->fci", frames[..., :3, :3], local) + frames[..., :3, 3]
    numbered = zip(point_indices.tolist(), joints.tolist(), local.tolist(), strict=True)
    return [
        Site(f"skin {point} {number}", joint, (x, y, z)) for number, (point, joint, (x, y, z)) in enumerate(numbered)
    ], posed


def to_wrist(to_surface: Floats, points: Floats) -> Floats:
    """Transform surface points (N, 3) or (1, 3) to the wrist's coordinates (N, 3). to_surface: (N, 4, 4)."""
    in_wrist: Floats = np.einsum("fji,fj->fi", to_surface[:, :3, :3], points - to_surface[:, :3, 3])
    return in_wrist
