"""Joints that bend until the skin touches a surface, and no further: never through what they touch.

The skin's points are known to be at a distance from the surface; a step in which none of them goes further than that
cannot pass through it (conservative advancement, Mirtich 1996). Steps shorten as the surface comes near, so that a
finger comes to rest on it from outside, however thin a wall is. Many hands are closed at once.
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
"""m, what is as near to where it may come touches."""
CLOSE = 1e-3
"""m, what is nearer is known as it is."""
STEPS = 80
"""At most so many steps."""
SHARE = 0.9
"""Of the way that is free, what a step takes: the arms of joints grow a little while others bend."""
PAD_DEPTH = 0.3e-3
"""m, how deep skin may be pressed in where it touches: flesh yields."""
CREASE_DEPTH = 0.8e-3
"""m, the same where a phalanx begins: skin folds there."""
CREASE = 0.4
"""The part of a phalanx that is its crease."""


@dataclass(frozen=True, slots=True, eq=False)
class Touching:
    """Hands that were closed."""

    angles: Floats
    """(F, D) rad"""
    gaps: Floats
    """(F, 5, 3) m, how near the skin of each phalanx is; below 0 it is pressed in."""
    points: Floats
    """(F, 5, 3, 3) m, the place of its skin that is nearest."""


@dataclass(frozen=True, slots=True, eq=False)
class Capsules:
    """Rounded rods, K for each of F hands."""

    ends: Floats
    """(F, K, 2, 3) m"""
    radii: Floats
    """(K,) m"""

    def distance(self, places: Floats) -> Floats:
        """(F, V) m from places (F, V, 3) to the nearest."""
        first, second = self.ends[:, None, :, 0], self.ends[:, None, :, 1]
        along, away = second - first, places[:, :, None] - first
        part = (away * along).sum(axis=-1) / np.maximum((along * along).sum(axis=-1), 1e-18)
        feet = np.clip(part, 0.0, 1.0)[..., None] * along
        near: Floats = (np.linalg.norm(away - feet, axis=-1) - self.radii).min(axis=-1)
        return near


def phalanges(hand: HandModel, roots: Floats, angles: Floats, flesh: Flesh, digits: tuple[int, ...]) -> Capsules:
    """The phalanges of digits as capsules, for what must not go through them."""
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
    """(V,) m, how deep each point of the skin may be pressed into what it touches."""
    along = flesh.local()[:, 1]
    lengths = _lengths(hand)
    digit, link = flesh.digit, flesh.link
    crease = (digit < 0) | (along < CREASE * lengths[digit, link])
    return np.where(crease, CREASE_DEPTH, PAD_DEPTH)


@dataclass(frozen=True, slots=True, eq=False)
class Closing:
    """What closes hands of one kind on one surface."""

    hand: HandModel
    flesh: Flesh
    distance: Distance
    near: float = NEAR
    """m, what is as near to as deep as it may come touches."""
    yields: float = 1.0
    """The part of its depth by which skin may be pressed in; 0 for a sheet without an inside, which would let it
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
        """Bends the joints of digits from angles to angles, two of (F, D) rad, until their skin touches.

        roots: (F, 4, 4) T_world_wrist. All joints of a digit bend together; where a phalanx touches, the joints before
        it stop, and those beyond go on until their own phalanges touch or are bent as far as they shall.

        paces: (F, 3) how fast each joint goes beside the others, outwards; a finger whose first joint leads lays itself
        around what it holds, one whose joints go alike comes to it with its tip. capsules: what else the skin must not
        go through.
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
            # What is too deep from the beginning comes no deeper.
            first = far if first is None else first
            free = far + np.maximum(allowed, -first)
            going.stop(free, self.near)
            if going.stopped.all():
                break
            going.advance(free, places, frames)
        return going.touching(angles, watched.now(places), places)

    def approach(self, roots: Floats, angles: Floats, ways: Floats, most: float) -> Floats:
        """(F,) m, how far hands may go along ways (F, 3) of length 1 until their skin touches, at most `most` m."""
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
    """Distances of points that move. They are asked anew where a point has moved by half of what it was away: until
    then it is away by no less than what it had left."""

    def __init__(self, distance: Distance) -> None:
        self._distance = distance
        self._known: Floats | None = None
        self._where = np.zeros(0)

    def at_least(self, places: Floats) -> Floats:
        """(F, V) m, no more than how far places (F, V, 3) are, and near the surface just that."""
        if self._known is None:
            return self.now(places)
        least: Floats = self._known - np.linalg.norm(places - self._where, axis=-1)
        stale = (least < 0.5 * self._known) | (least < CLOSE)
        if stale.any():
            least[stale] = self._distance(places[stale])
            self._known[stale], self._where[stale] = least[stale], places[stale]
        return least

    def now(self, places: Floats) -> Floats:
        """(F, V) m, how far places (F, V, 3) are."""
        self._known = self._distance(places.reshape(-1, 3)).reshape(places.shape[:2])
        self._where = places.copy()
        return self._known.copy()


@dataclass(slots=True, eq=False)
class _Going:
    """F hands that close: how far each joint of their digits is."""

    bent: Floats
    """(F, 5, 3) 0..1"""
    stopped: Bools
    """(F, 5, 3)"""
    paces: Floats
    """(F, 3)"""
    rates: Floats
    """(F, 5, 3) rad, the most by which each joint turns on its whole way, at its pace."""
    rows: list[list[NDArray[np.int64]]]
    """By digit and phalanx, the points of its skin."""
    dofs: list[list[NDArray[np.int64]]]
    """By digit and joint, its degrees of freedom."""

    @classmethod
    def of(cls, hand: HandModel, flesh: Flesh, away: Floats, paces: Floats, digits: tuple[int, ...]) -> "_Going":
        """At the beginning of a way of (F, D) rad."""
        dofs = [[np.flatnonzero(hand.axis_joint == joint) for joint in joints] for joints in LINKS]
        rates = np.stack([np.stack([away[:, rows].sum(axis=1) for rows in joints], -1) for joints in dofs], 1)
        # Skin of the palm that goes along with a digit counts as its first phalanx.
        palm = flesh.digit < 0
        digit, link = np.where(palm, flesh.leaning, flesh.digit), np.where(palm, 0, flesh.link)
        rows = [[np.flatnonzero((digit == one) & (link == k)) for k in range(3)] for one in range(5)]
        stopped = np.ones(rates.shape, bool)
        stopped[:, list(digits)] = False
        return cls(np.zeros_like(rates), stopped, paces, rates * paces[:, None], rows, dofs)

    def gone(self, count: int) -> Floats:
        """(F, D) 0..1, how far each movement is."""
        result = np.zeros((len(self.bent), count))
        for digit, joints in enumerate(self.dofs):
            for link, dofs in enumerate(joints):
                result[:, dofs] = self.bent[:, digit, link, None]
        return result

    def stop(self, free: Floats, near: float) -> None:
        """Stops the joints before skin that touches, free (F, V) m from where it may come, and those that are done."""
        for digit, link, rows in self._skins():
            touches = free[:, rows].min(axis=1) <= near
            self.stopped[:, digit, : link + 1] |= touches[:, None]
        self.stopped |= self.bent >= 1.0 - 1e-9

    def advance(self, free: Floats, places: Floats, frames: Floats) -> None:
        """The longest step on which no skin goes further than it is free to."""
        step = np.full((len(self.bent), 5), np.inf)
        # The first joint of a digit that is done ends the step: with it the others' ways change.
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
        """What touches where, with skin (F, V, 3) as far (F, V) from the surface."""
        gaps, points = np.full(self.bent.shape, np.inf), np.zeros((*self.bent.shape, 3))
        each = np.arange(len(far))
        for digit, link, rows in self._skins():
            nearest = rows[far[:, rows].argmin(axis=1)]
            gaps[:, digit, link], points[:, digit, link] = far[each, nearest], places[each, nearest]
        return Touching(angles, gaps, points)

    def _skins(self) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
        """Digit, phalanx and the points of its skin, of all that have some."""
        for digit, links in enumerate(self.rows):
            for link, rows in enumerate(links):
                if len(rows):
                    yield digit, link, rows


def _lengths(hand: HandModel) -> Floats:
    """(5, 3) m, of the phalanges; of the thumb's metacarpal first."""
    return np.array([[float(np.linalg.norm(hand.rest[joint + 1, :3, 3])) for joint in joints] for joints in LINKS])
