"""Closing of fingers on a surface: joints bend until the skin touches, without penetration.

A step in which no point of the skin moves further than its distance from the surface cannot pass through it
(conservative advancement, Mirtich 1996). Steps shorten near the surface, so that a finger comes to rest on its outside,
however thin a wall is. Many hands are closed at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel
from .distance_field import Distance
from .skin_samples import LINKS, Flesh

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NEAR = 1e-4
"""m, points within this distance of their greatest depth touch."""
CLOSE = 1e-3
"""m, distances below this are computed exactly."""
STEPS = 80
"""Greatest number of steps."""
SHARE = 0.9
"""Share of the free distance that a step uses, because lever arms grow a little while other joints bend."""
PAD_DEPTH = 0.3e-3
"""m, greatest depth to which skin may be pressed in where it touches."""
CREASE_DEPTH = 0.8e-3
"""m, the same at the base of a phalanx, where skin folds."""
CREASE = 0.4
"""Share of a phalanx that is its crease."""


@dataclass(frozen=True, slots=True, eq=False)
class Touching:
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

    def distance(self, places: Floats) -> Floats:
        """Return the distances (F, V) m of points (F, V, 3) from the nearest capsule."""
        first, second = self.ends[:, None, :, 0], self.ends[:, None, :, 1]
        along, away = second - first, places[:, :, None] - first
        part = (away * along).sum(axis=-1) / np.maximum((along * along).sum(axis=-1), 1e-18)
        feet = np.clip(part, 0.0, 1.0)[..., None] * along
        near: Floats = (np.linalg.norm(away - feet, axis=-1) - self.radii).min(axis=-1)
        return near


def phalanges(hand: HandModel, roots: Floats, angles: Floats, flesh: Flesh, digits: tuple[int, ...]) -> Capsules:
    """Return the phalanges of digits as capsules, as obstacles for other digits."""
    frames = joint_frames(hand, Pose(hand, roots, angles))
    joints = np.array([joint for digit in digits for joint in LINKS[digit]])
    digit, link, local = flesh.digit, flesh.link, flesh.local()
    radii = []
    for one in digits:
        for k in range(3):
            skin = local[(digit == one) & (link == k)]
            radii.append(float(np.median(np.linalg.norm(skin[:, [0, 2]], axis=1))) if len(skin) else 0.0)
    return Capsules(
        np.stack([frames[:, joints][..., :3, 3], frames[:, joints + 1][..., :3, 3]], axis=2), np.array(radii)
    )


def depths(flesh: Flesh, hand: HandModel) -> Floats:
    """Return the depths (V,) m to which each point of the skin may be pressed in."""
    along = flesh.local()[:, 1]
    lengths = _lengths(hand)
    digit, link = flesh.digit, flesh.link
    crease = (digit < 0) | (along < CREASE * lengths[digit, link])
    return np.where(crease, CREASE_DEPTH, PAD_DEPTH)


@dataclass(frozen=True, slots=True, eq=False)
class Closing:
    """Closes hands of one model on one surface."""

    hand: HandModel
    flesh: Flesh
    distance: Distance
    near: float = NEAR
    """m, points within this distance of their greatest depth touch."""
    yields: float = 1.0
    """Share of `depths` to which skin may be pressed in; 0 for a sheet without an inside, which skin would pass
    through."""

    def close(
        self,
        roots: Floats,
        bends: tuple[Floats, Floats],
        digits: tuple[int, ...],
        *,
        paces: Floats | None = None,
        capsules: Capsules | None = None,
    ) -> Touching:
        """Bend the joints of digits until their skin touches; return the contacts.

        roots: (F, 4, 4) T_world_wrist. bends: first and last angles, (F, D) rad each. All joints of a digit bend
        together; when a phalanx touches, the joints before it stop, and those beyond continue until their own phalanges
        touch or reach the last angles.

        paces: (F, 3) relative speeds of a finger's joints, outwards. A finger whose first joint leads wraps around the
        object; one with equal speeds touches it with its tip. capsules: further obstacles.
        """
        begin, end = bends
        moves = np.isin(self.flesh.digit, digits) | np.isin(self.flesh.leaning, digits)
        flesh = self.flesh.chosen(np.flatnonzero(moves))
        allowed = self.yields * depths(flesh, self.hand)
        speeds = np.ones((len(begin), 3)) if paces is None else paces
        going = _Going.of(self.hand, flesh, np.abs(end - begin), speeds, digits)
        first: Floats | None = None
        watched = _Watched(self.distance)
        for _ in range(STEPS):
            angles = begin + going.gone(self.hand.dofs) * (end - begin)
            frames = joint_frames(self.hand, Pose(self.hand, roots, angles))
            places = flesh.moved(frames)
            far = watched.at_least(places)
            if capsules is not None:
                far = np.minimum(far, capsules.distance(places))
            # Points that are too deep at the start must not get deeper.
            first = far if first is None else first
            free = far + np.maximum(allowed, -first)
            going.stop(free, self.near)
            if going.stopped.all():
                break
            going.advance(free, places, frames)
        return going.touching(angles, watched.now(places), places)

    def approach(self, roots: Floats, angles: Floats, ways: Floats, most: float) -> Floats:
        """Return distances (F,) m, up to `most`, that hands can move along unit vectors (F, 3) until skin touches."""
        places = self.flesh.moved(joint_frames(self.hand, Pose(self.hand, roots, angles)))
        gone = np.zeros(len(roots))
        watched = _Watched(self.distance)
        for _ in range(STEPS):
            free = watched.at_least(places + (gone[:, None] * ways)[:, None]).min(axis=1)
            step = np.minimum(np.maximum(free - NEAR, 0.0), most - gone)
            gone = gone + step
            if not np.any(step > NEAR):
                break
        return gone


class _Watched:
    """Lower bounds on the distances of moving points: a point's distance minus its displacement since it was computed.

    Once the bound is below half the distance, or near the surface, the distance is computed again.
    """

    def __init__(self, distance: Distance) -> None:
        self._distance = distance
        self._known: Floats | None = None
        self._where = np.zeros(0)

    def at_least(self, places: Floats) -> Floats:
        """Return lower bounds (F, V) m on the distances of points (F, V, 3), exact near the surface."""
        if self._known is None:
            return self.now(places)
        least: Floats = self._known - np.linalg.norm(places - self._where, axis=-1)
        stale = (least < 0.5 * self._known) | (least < CLOSE)
        if stale.any():
            least[stale] = self._distance(places[stale])
            self._known[stale], self._where[stale] = least[stale], places[stale]
        return least

    def now(self, places: Floats) -> Floats:
        """Return the distances (F, V) m of points (F, V, 3)."""
        self._known = self._distance(places.reshape(-1, 3)).reshape(places.shape[:2])
        self._where = places.copy()
        return self._known.copy()


@dataclass(slots=True, eq=False)
class _Going:
    """The progress of F closing hands."""

    bent: Floats
    """(F, 5, 3) 0..1, progress of each joint."""
    stopped: Bools
    """(F, 5, 3)"""
    paces: Floats
    """(F, 3)"""
    rates: Floats
    """(F, 5, 3) rad, greatest rotation of each joint over its range, times its pace."""
    rows: list[list[NDArray[np.int64]]]
    """By digit and phalanx, the points of its skin."""
    dofs: list[list[NDArray[np.int64]]]
    """By digit and joint, its degrees of freedom."""

    @classmethod
    def of(cls, hand: HandModel, flesh: Flesh, away: Floats, paces: Floats, digits: tuple[int, ...]) -> "_Going":
        """Return the start of motions by angles `away` (F, D) rad."""
        dofs = [[np.flatnonzero(hand.axis_joint == joint) for joint in joints] for joints in LINKS]
        rates = np.stack([np.stack([away[:, rows].sum(axis=1) for rows in joints], -1) for joints in dofs], 1)
        # Skin of the palm that moves with a digit counts as its first phalanx.
        palm = flesh.digit < 0
        digit, link = np.where(palm, flesh.leaning, flesh.digit), np.where(palm, 0, flesh.link)
        rows = [[np.flatnonzero((digit == one) & (link == k)) for k in range(3)] for one in range(5)]
        stopped = np.ones(rates.shape, bool)
        stopped[:, list(digits)] = False
        return cls(np.zeros_like(rates), stopped, paces, rates * paces[:, None], rows, dofs)

    def gone(self, count: int) -> Floats:
        """Return the progress (F, D), 0..1, of each angle."""
        result = np.zeros((len(self.bent), count))
        for digit, joints in enumerate(self.dofs):
            for link, dofs in enumerate(joints):
                result[:, dofs] = self.bent[:, digit, link, None]
        return result

    def stop(self, free: Floats, near: float) -> None:
        """Stop the joints before skin that touches, and those that are done; free: (F, V) m of free distance."""
        for digit, link, rows in self._skins():
            touches = free[:, rows].min(axis=1) <= near
            self.stopped[:, digit, : link + 1] |= touches[:, None]
        self.stopped |= self.bent >= 1.0 - 1e-9

    def advance(self, free: Floats, places: Floats, frames: Floats) -> None:
        """Advance by the longest step in which no point of the skin moves further than its free distance."""
        step = np.full((len(self.bent), 5), np.inf)
        # A step ends when the first joint of a digit is done, because then the motion of the others changes.
        left = np.where(self.stopped, np.inf, (1.0 - self.bent) / np.maximum(self.paces, 1e-9)[:, None])
        step = np.minimum(step, left.min(axis=2))
        for digit, link, rows in self._skins():
            ways = np.zeros((len(self.bent), len(rows)))
            for k in range(link + 1):
                speed = self.rates[:, digit, k] * ~self.stopped[:, digit, k]
                if speed.any():
                    arms = places[:, rows] - frames[:, None, LINKS[digit][k], :3, 3]
                    ways += speed[:, None] * np.linalg.norm(arms, axis=-1)
            least = (np.maximum(free[:, rows], 0.0) / np.maximum(ways, 1e-12)).min(axis=1)
            step[:, digit] = np.minimum(step[:, digit], SHARE * least)
        gone = np.where(np.isfinite(step), step, 0.0)[..., None] * self.paces[:, None]
        self.bent = np.minimum(self.bent + np.where(self.stopped, 0.0, gone), 1.0)

    def touching(self, angles: Floats, far: Floats, places: Floats) -> Touching:
        """Return the contacts of skin points `places` (F, V, 3) m at distances `far` (F, V) m."""
        gaps, points = np.full(self.bent.shape, np.inf), np.zeros((*self.bent.shape, 3))
        each = np.arange(len(far))
        for digit, link, rows in self._skins():
            nearest = rows[far[:, rows].argmin(axis=1)]
            gaps[:, digit, link], points[:, digit, link] = far[each, nearest], places[each, nearest]
        return Touching(angles, gaps, points)

    def _skins(self) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
        """Yield digit, phalanx and skin points of all phalanges that have any."""
        for digit, links in enumerate(self.rows):
            for link, rows in enumerate(links):
                if len(rows):
                    yield digit, link, rows


def _lengths(hand: HandModel) -> Floats:
    """Return the lengths (5, 3) m of the phalanges; for the thumb, its metacarpal first."""
    return np.array([[float(np.linalg.norm(hand.rest[joint + 1, :3, 3])) for joint in joints] for joints in LINKS])
