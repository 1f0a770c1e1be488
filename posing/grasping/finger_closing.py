"""Closing of fingers on a surface: joints bend until the skin touches, without penetration.

A step in which no point of the skin moves further than its distance from the surface cannot pass through it
(conservative advancement, Mirtich 1996). Steps shorten near the surface, so that a finger comes to rest on its outside,
however thin a wall is. Many hands are closed in one batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel
from .distance_field import Distance
from .skin_samples import LINKS, SkinPoints

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CONTACT_DISTANCE_M = 1e-4
"""m, points within this distance of their maximum depth touch."""
EXACT_DISTANCE_M = 1e-3
"""m, distances below this are computed exactly."""
MAX_STEPS = 80
"""Maximum number of steps."""
STEP_FRACTION = 0.9
"""Fraction of the free distance that a step uses. It is below 1 because lever arms grow a little while other joints
bend."""
PAD_DEPTH_M = 0.3e-3
"""m, maximum depth to which skin may be pressed in where it touches."""
CREASE_DEPTH_M = 0.8e-3
"""m, maximum depth to which skin may be pressed in at the base of a phalanx, where it folds."""
CREASE_FRACTION = 0.4
"""Fraction of a phalanx that is its crease."""


@dataclass(frozen=True, slots=True, eq=False)
class Contacts:
    """F closed hands and their contacts."""

    angles: Floats
    """(F, D) rad"""
    gaps: Floats
    """(F, 5, 3) m, the distance of each phalanx's skin from the surface; negative if pressed in."""
    points: Floats
    """(F, 5, 3, 3) m, the nearest point of its skin."""


@dataclass(frozen=True, slots=True, eq=False)
class Capsules:
    """K capsules for each of F hands."""

    ends: Floats
    """(F, K, 2, 3) m"""
    radii: Floats
    """(K,) m"""

    def distance(self, points: Floats) -> Floats:
        """Return the distances (F, V) m of points (F, V, 3) from the nearest capsule."""
        first, second = self.ends[:, None, :, 0], self.ends[:, None, :, 1]
        along, offsets = second - first, points[:, :, None] - first
        fractions = (offsets * along).sum(axis=-1) / np.maximum((along * along).sum(axis=-1), 1e-18)
        nearest_on_axis = np.clip(fractions, 0.0, 1.0)[..., None] * along
        distances: Floats = (np.linalg.norm(offsets - nearest_on_axis, axis=-1) - self.radii).min(axis=-1)
        return distances


def phalanges(hand: HandModel, roots: Floats, angles: Floats, skin: SkinPoints, digits: tuple[int, ...]) -> Capsules:
    """Return the phalanges of digits as capsules, as obstacles for other digits."""
    frames = joint_frames(hand, Pose(hand, roots, angles))
    joints = np.array([joint for digit in digits for joint in LINKS[digit]])
    digit, link, local = skin.digit, skin.link, skin.local()
    radii = []
    for index in digits:
        for k in range(3):
            points = local[(digit == index) & (link == k)]
            radii.append(float(np.median(np.linalg.norm(points[:, [0, 2]], axis=1))) if len(points) else 0.0)
    return Capsules(
        np.stack([frames[:, joints][..., :3, 3], frames[:, joints + 1][..., :3, 3]], axis=2), np.array(radii)
    )


def press_depths(skin: SkinPoints, hand: HandModel) -> Floats:
    """Return the depths (V,) m to which each point of the skin may be pressed in."""
    along = skin.local()[:, 1]
    lengths = np.array([[np.linalg.norm(hand.rest[joint + 1, :3, 3]) for joint in joints] for joints in LINKS])
    digit, link = skin.digit, skin.link
    crease = (digit < 0) | (along < CREASE_FRACTION * lengths[digit, link])
    return np.where(crease, CREASE_DEPTH_M, PAD_DEPTH_M)


@dataclass(frozen=True, slots=True, eq=False)
class Closing:
    """Closes hands of one model on one surface."""

    hand: HandModel
    skin: SkinPoints
    distance: Distance
    contact_distance: float = CONTACT_DISTANCE_M
    """m, points within this distance of their maximum depth touch."""
    press_share: float = 1.0
    """Fraction of `press_depths` to which skin may be pressed in; 0 for a sheet without an inside, which skin would
    pass through."""

    def close(
        self,
        roots: Floats,
        bends: tuple[Floats, Floats],
        digits: tuple[int, ...],
        *,
        joint_speeds: Floats | None = None,
        capsules: Capsules | None = None,
    ) -> Contacts:
        """Bend the joints of digits until their skin touches; return the contacts.

        roots: (F, 4, 4) T_world_wrist. bends: first and last angles, (F, D) rad each. All joints of a digit bend
        together; when a phalanx touches, the joints before it stop, and those beyond continue until their own phalanges
        touch or reach the last angles.

        joint_speeds: (F, 3) relative speeds of a finger's joints, outwards. A finger whose first joint leads wraps
        around the object; one with equal speeds touches it with its tip. capsules: further obstacles.
        """
        start, end = bends
        moving = np.isin(self.skin.digit, digits) | np.isin(self.skin.moving_digit, digits)
        skin = self.skin.subset(np.flatnonzero(moving))
        allowed = self.press_share * press_depths(skin, self.hand)
        speeds = np.ones((len(start), 3)) if joint_speeds is None else joint_speeds
        progress = _Progress.of(self.hand, skin, np.abs(end - start), speeds, digits)
        start_distances: Floats | None = None
        bounds = _DistanceBounds(self.distance)
        for _ in range(MAX_STEPS):
            angles = start + progress.by_angle(self.hand.dofs) * (end - start)
            frames = joint_frames(self.hand, Pose(self.hand, roots, angles))
            points = skin.posed(frames)
            distances = bounds.at_least(points)
            if capsules is not None:
                distances = np.minimum(distances, capsules.distance(points))
            # Points that are too deep at the start must not get deeper.
            start_distances = distances if start_distances is None else start_distances
            free = distances + np.maximum(allowed, -start_distances)
            progress.stop(free, self.contact_distance)
            if progress.stopped.all():
                break
            progress.advance(free, points, frames)
        return progress.touching(angles, bounds.exact(points), points)

    def approach(self, roots: Floats, angles: Floats, directions: Floats, maximum: float) -> Floats:
        """Return distances (F,) m, up to `maximum`, that hands can move along unit vectors (F, 3) without contact."""
        points = self.skin.posed(joint_frames(self.hand, Pose(self.hand, roots, angles)))
        travelled = np.zeros(len(roots))
        bounds = _DistanceBounds(self.distance)
        for _ in range(MAX_STEPS):
            free = bounds.at_least(points + (travelled[:, None] * directions)[:, None]).min(axis=1)
            step = np.minimum(np.maximum(free - CONTACT_DISTANCE_M, 0.0), maximum - travelled)
            travelled = travelled + step
            if not np.any(step > CONTACT_DISTANCE_M):
                break
        return travelled


class _DistanceBounds:
    """Lower bounds on the distances of moving points: a point's distance minus its displacement since it was computed.

    Once the bound is below half the distance, or near the surface, the distance is computed again.
    """

    def __init__(self, distance: Distance) -> None:
        self._distance = distance
        self._known: Floats | None = None
        self._computed_at = np.zeros(0)

    def at_least(self, points: Floats) -> Floats:
        """Return lower bounds (F, V) m on the distances of points (F, V, 3), exact near the surface."""
        if self._known is None:
            return self.exact(points)
        lower_bounds: Floats = self._known - np.linalg.norm(points - self._computed_at, axis=-1)
        stale = (lower_bounds < 0.5 * self._known) | (lower_bounds < EXACT_DISTANCE_M)
        if stale.any():
            lower_bounds[stale] = self._distance(points[stale])
            self._known[stale], self._computed_at[stale] = lower_bounds[stale], points[stale]
        return lower_bounds

    def exact(self, points: Floats) -> Floats:
        """Return the distances (F, V) m of points (F, V, 3)."""
        self._known = self._distance(points.reshape(-1, 3)).reshape(points.shape[:2])
        self._computed_at = points.copy()
        return self._known.copy()


@dataclass(slots=True, eq=False)
class _Progress:
    """The progress of F closing hands."""

    joint_progress: Floats
    """(F, 5, 3) 0..1, progress of each joint."""
    stopped: Bools
    """(F, 5, 3)"""
    joint_speeds: Floats
    """(F, 3)"""
    rates: Floats
    """(F, 5, 3) rad, maximum rotation of each joint over its range, times its speed."""
    rows: list[list[NDArray[np.int64]]]
    """Points of the skin, by digit and phalanx."""
    dofs: list[list[NDArray[np.int64]]]
    """Degrees of freedom, by digit and joint."""

    @classmethod
    def of(
        cls, hand: HandModel, skin: SkinPoints, ranges: Floats, joint_speeds: Floats, digits: tuple[int, ...]
    ) -> "_Progress":
        """Return the start of motions through angle ranges (F, D) rad."""
        dofs = [[np.flatnonzero(hand.axis_joint == joint) for joint in joints] for joints in LINKS]
        rates = np.stack([np.stack([ranges[:, rows].sum(axis=1) for rows in joints], -1) for joints in dofs], 1)
        # Skin of the palm that moves with a digit counts as its first phalanx.
        palm = skin.digit < 0
        digit, link = np.where(palm, skin.moving_digit, skin.digit), np.where(palm, 0, skin.link)
        rows = [[np.flatnonzero((digit == number) & (link == k)) for k in range(3)] for number in range(5)]
        stopped = np.ones(rates.shape, bool)
        stopped[:, list(digits)] = False
        return cls(np.zeros_like(rates), stopped, joint_speeds, rates * joint_speeds[:, None], rows, dofs)

    def by_angle(self, count: int) -> Floats:
        """Return the progress (F, D), 0..1, of each angle."""
        progress = np.zeros((len(self.joint_progress), count))
        for digit, joints in enumerate(self.dofs):
            for link, dofs in enumerate(joints):
                progress[:, dofs] = self.joint_progress[:, digit, link, None]
        return progress

    def stop(self, free: Floats, contact_distance: float) -> None:
        """Stop the joints before skin that touches, and those that are done; free: (F, V) m, free distances."""
        for digit, link, rows in self._skins():
            touches = free[:, rows].min(axis=1) <= contact_distance
            self.stopped[:, digit, : link + 1] |= touches[:, None]
        self.stopped |= self.joint_progress >= 1.0 - 1e-9

    def advance(self, free: Floats, points: Floats, frames: Floats) -> None:
        """Advance by the longest step in which no point of the skin moves further than its free distance."""
        step = np.full((len(self.joint_progress), 5), np.inf)
        # A step ends when the first joint of a digit is done, because then the motion of the others changes.
        remaining = np.where(
            self.stopped, np.inf, (1.0 - self.joint_progress) / np.maximum(self.joint_speeds, 1e-9)[:, None]
        )
        step = np.minimum(step, remaining.min(axis=2))
        for digit, link, rows in self._skins():
            path_lengths = np.zeros((len(self.joint_progress), len(rows)))
            for k in range(link + 1):
                speed = self.rates[:, digit, k] * ~self.stopped[:, digit, k]
                if speed.any():
                    arms = points[:, rows] - frames[:, None, LINKS[digit][k], :3, 3]
                    path_lengths += speed[:, None] * np.linalg.norm(arms, axis=-1)
            allowed = (np.maximum(free[:, rows], 0.0) / np.maximum(path_lengths, 1e-12)).min(axis=1)
            step[:, digit] = np.minimum(step[:, digit], STEP_FRACTION * allowed)
        advance_by = np.where(np.isfinite(step), step, 0.0)[..., None] * self.joint_speeds[:, None]
        self.joint_progress = np.minimum(self.joint_progress + np.where(self.stopped, 0.0, advance_by), 1.0)

    def touching(self, angles: Floats, distances: Floats, skin_points: Floats) -> Contacts:
        """Return the contacts of skin points (F, V, 3) m at distances (F, V) m."""
        gaps, points = np.full(self.joint_progress.shape, np.inf), np.zeros((*self.joint_progress.shape, 3))
        frames = np.arange(len(distances))
        for digit, link, rows in self._skins():
            nearest = rows[distances[:, rows].argmin(axis=1)]
            gaps[:, digit, link], points[:, digit, link] = distances[frames, nearest], skin_points[frames, nearest]
        return Contacts(angles, gaps, points)

    def _skins(self) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
        """Yield digit, phalanx and skin points of all phalanges that have any."""
        for digit, links in enumerate(self.rows):
            for link, rows in enumerate(links):
                if len(rows):
                    yield digit, link, rows
